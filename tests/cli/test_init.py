"""``karat init``: a project, a golden set to start with, and CI; and a repository that lives by them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from karat import golden
from karat.core import UsageError
from karat.golden import LONGEST_QUERY, SHORTEST_QUERY
from karat.projects import open_project
from karat.schema import json_schema
from karat.start import Start, start_project

VERB = "init"
Run = Callable[..., tuple[str, str]]
WORKFLOW = ".github/workflows/karat.yml"
ROOMS = ("pool", "sauna", "library", "garage", "kitchen", "garden", "terrace", "cellar", "lobby", "gym")
FINDER = """
from pathlib import Path

PAGES = {page.stem: set(page.read_text().lower().split()) for page in Path("docs").glob("*.md")}


def find(query, k):
    words = set(query.lower().split())
    return sorted(PAGES, key=lambda name: (-len(words & PAGES[name]), name))[:k]
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository: ten pages and a retriever over them."""
    (tmp_path / "docs").mkdir()
    for room in ROOMS:
        text = f"The {room} opens at six. Keys for the {room} hang at the desk. Nobody smokes in the {room}.\n"
        (tmp_path / "docs" / f"{room}.md").write_text(text)
    (tmp_path / "search.py").write_text(FINDER)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_a_project_that_opens(run: Run, repository: Path) -> None:
    """Configuration, golden set and workflow; the set is made from the documents and has no errors."""
    out, _ = run("--documents", "docs", "--yes")
    written = ["karat.toml", "golden", ".gitignore", WORKFLOW]
    assert out.splitlines()[:4] == [f"{name}: written" for name in written]
    assert "next: karat check ., then karat baseline update ., and commit" in out
    project = open_project(repository)
    assert len(project.golden.documents) == 10
    assert len(project.golden.queries) == 30
    assert not golden.check(project.golden).errors
    assert (repository / ".gitignore").read_text() == "/.karat/\n/runs/\n/reports/\n/karat-report/\n/karat.db*\n"
    assert not (repository / ".gitlab-ci.yml").exists()


@pytest.mark.parametrize(
    ("ci", "expected"), [("github", {WORKFLOW}), ("gitlab", {".gitlab-ci.yml"}), ("both", {WORKFLOW, ".gitlab-ci.yml"}),
                      ("none", set())],
)  # fmt: skip
def test_the_ci_is_chosen(run: Run, repository: Path, ci: str, expected: set[str]) -> None:
    """Only the workflows that were asked for are written."""
    run("--ci", ci, "--yes")
    assert {WORKFLOW, ".gitlab-ci.yml"} & files(repository).keys() == expected


@pytest.mark.parametrize(("options", "written"), [((), "pass"), (("--on-inconclusive", "fail"), "fail")])
def test_what_an_inconclusive_gate_does_is_written(
    run: Run, repository: Path, options: tuple[str, ...], written: str
) -> None:
    """With its default, and with a comment that says what both mean."""
    run(*options, "--yes")
    text = (repository / "karat.toml").read_text()
    assert tomllib.loads(text)["gate"] == {"extends": "default", "on_inconclusive": written}
    assert '"pass" warns (pull requests), "fail" exits with 4 (releases)' in text


def test_the_linter_says_nothing_that_only_init_could_mend(run: Run, repository: Path) -> None:
    """No errors; the warnings are true of these ten pages and of any set of sentences, which init announces."""
    out, _ = run("--documents", "docs", "--yes")
    assert out.endswith("ask; until then karat golden check . warns that they prove little.\n")
    report = golden.check(open_project(repository).golden)
    assert report.errors == ()
    assert {finding.rule for finding in report.warnings} == {
        "copied-query", "low-resolution", "no-hard-negatives", "single-relevant", "template-query", "unreachable-floor",
        "weak-judgments",
    }  # fmt: skip


def test_without_documents_there_is_an_example(run: Run, repository: Path) -> None:
    """The project opens and can be checked before anybody wrote anything."""
    run("--yes")
    assert open_project(repository).golden.name == "example"


@pytest.mark.slow
def test_four_questions_at_most(repository: Path, environment: dict[str, str]) -> None:
    """What the options leave open is asked for, on standard error; each question has a default."""

    def ask(answers: str, *options: str) -> str:
        process = subprocess.run(
            [sys.executable, "-m", "karat", "init", *options],
            input=answers, env=environment, cwd=repository, capture_output=True, text=True, timeout=600, check=True,
        )  # fmt: skip
        assert "Your documents" not in process.stdout
        return process.stderr

    assert ask("docs\nsearch:find\nboth\nfail\n").count("]: ") == 4
    config = tomllib.loads((repository / "karat.toml").read_text())
    assert config["eval"]["system"] == "search:find"
    assert config["gate"]["on_inconclusive"] == "fail"
    assert (repository / ".gitlab-ci.yml").exists()
    options = ("--system", "search:find", "--ci", "both", "--on-inconclusive", "pass")
    assert ask("\n", *options).count("]: ") == 1
    assert ask("", "--yes") == ""


def test_nothing_that_is_there_is_changed(run: Run, repository: Path) -> None:
    """A file of the user's stays byte for byte; what would have been written is shown as a diff."""
    (repository / "karat.toml").write_text('[golden]\npath = "golden"\n')
    (repository / ".gitignore").write_text("/.karat/\n/runs/\n/reports/\n/karat-report\n/karat.db*")
    (repository / "golden").mkdir()
    (repository / "golden" / "queries.jsonl").write_text("mine\n")
    before = files(repository)
    out, _ = run("--documents", "docs", "--ci", "none", "--yes")
    assert files(repository) == before
    assert "karat.toml: exists and differs; left as it is\n  --- karat.toml (yours)\n" in out
    assert "  +measures = " in out
    assert "golden: exists and differs; left as it is\n  would have got 30 queries" in out
    assert ".gitignore: exists already\n" in out


def test_twice_is_the_same_as_once(run: Run, repository: Path) -> None:
    """The second time nothing differs and nothing is written."""
    run("--documents", "docs", "--ci", "both", "--yes")
    before = files(repository)
    document = json.loads(run("--documents", "docs", "--ci", "both", "--json")[0])
    jsonschema.validate(document, json_schema("start"))
    assert {file["state"] for file in document["files"]} == {"same"}
    assert files(repository) == before


def test_a_project_in_a_folder_of_the_repository(run: Run, repository: Path) -> None:
    """The workflow lies where GitHub looks, and its paths lead to the project, whatever the folder is called."""
    run("my tests: 'a'", "--documents", "docs", "--ci", "both", "--yes")
    folder = "my tests: 'a'"
    assert (repository / folder / "karat.toml").exists()
    github = yaml.safe_load((repository / ".github" / "workflows" / "karat-my-tests-a.yml").read_text())
    assert github["name"] == f"karat {folder}"
    assert f"{folder}/golden/**" in github[True]["pull_request"]["paths"]
    (gate,) = [step["run"] for step in github["jobs"]["gate"]["steps"] if step.get("name") == "Gate"]
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat-my-tests-a"]
    check = gitlab["script"][1]
    assert check in gate.splitlines()
    shown = subprocess.run(["sh", "-c", check.replace("karat", "printf %s,", 1)], capture_output=True, text=True)
    assert shown.stdout == f"check,{folder},--reports,karat-report,"
    assert f"/{folder}/runs/" in (repository / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "search"], "'search' is not a retriever; write package.module:name"),
        (["--system", 'a:b"\nx = 1'], "is not a retriever"),
        (["--documents", "nowhere"], "nowhere: no such file or folder"),
        (["--documents", ".git"], "holds no .md, .txt or .json file"),
        (["--documents", "search.py"], "search.py: is one file; name the folder that contains it, or a JSONL file"),
        (["a${{b"], "'a${{b' cannot stand in a workflow, where $ has a special meaning"),
        (["c++"], "'c++' cannot stand in a workflow, where + has a special meaning"),
        (["a\nb"], "cannot stand in a configuration"),
        (["search.py"], "search.py: cannot be made: a file is in its place"),
        (["search.py/deep/er"], "search.py: cannot be made: a file is in its place"),
        (["--karat", "-r"], "'-r' is not something that pip can install"),
        (["--karat", "0.1\nrm"], "is not something that pip can install"),
        (["--karat", "later"], "'later': write a version, a requirement such as karat>=1, a wheel"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_written(
    run: Run, repository: Path, arguments: list[str], message: str
) -> None:
    """Exit code 2, and the repository is as it was."""
    before = files(repository)
    _, err = run(*arguments, "--yes", code=2)
    assert message in err
    assert files(repository) == before


def test_documents_without_a_sentence_are_refused(run: Run, repository: Path) -> None:
    """A set without queries would measure nothing."""
    (repository / "short").mkdir()
    (repository / "short" / "a.md").write_text("Hm.\n")
    _, err = run("--documents", "short", "--yes", code=2)
    assert "holds no sentence to ask for; write a few of 11 to 300 characters, or name other documents" in err


def test_the_length_of_a_first_query_is_documented() -> None:
    """The page says how long a sentence must be to become a query."""
    page = Path(__file__).parents[2] / "docs" / "init.md"
    assert f"{SHORTEST_QUERY} to {LONGEST_QUERY} characters" in page.read_text(encoding="utf-8")


def test_the_library_does_the_same(repository: Path) -> None:
    """``start_project`` gives what became of each file; a CI that is unknown is a mistake."""
    files = start_project(Start(folder=repository, documents=repository / "docs", ci="gitlab"))
    assert [(file.path.name, file.state) for file in files] == [
        ("karat.toml", "written"), ("golden", "written"), (".gitignore", "written"), (".gitlab-ci.yml", "written"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="is not a CI"):
        Start(folder=repository, ci="jenkins")  # type: ignore[arg-type]


def test_what_the_retriever_needs_is_installed_and_watched(run: Run, repository: Path) -> None:
    """With a retriever of one's own, its requirements are installed, and a change to code starts the workflow."""
    (repository / "requirements.txt").write_text("httpx\n")
    run("--system", "search:find", "--ci", "both", "--yes")
    github = yaml.safe_load((repository / WORKFLOW).read_text())
    assert {"**/*.py", "requirements.txt"} <= set(github[True]["pull_request"]["paths"])
    assert github[True]["pull_request"]["paths"] == github[True]["push"]["paths"]
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    assert gitlab["before_script"][1] == "python -m pip install -r requirements.txt"


@pytest.mark.parametrize("place", ["karat.toml", "pyproject.toml"])
def test_a_retriever_that_the_configuration_names_is_watched(run: Run, repository: Path, place: str) -> None:
    """Also if karat init does not name it: CI has to run when its code changes, and needs its requirements."""
    prefix = "" if place == "karat.toml" else "tool.karat."
    (repository / place).write_text(f'[{prefix}golden]\npath = "golden"\n[{prefix}eval]\nsystem = "search:find"\n')
    (repository / "requirements.txt").write_text("httpx\n")
    run("--documents", "docs", "--ci", "both", "--karat", "1", "--yes")
    github = yaml.safe_load((repository / WORKFLOW).read_text())
    assert "**/*.py" in github[True]["pull_request"]["paths"]
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    assert all("**/*.py" in rule["changes"] for rule in gitlab["rules"])
    assert gitlab["before_script"] == ["python -m pip install karat==1", "python -m pip install -r requirements.txt"]


def test_the_pipeline_needs_no_code_and_says_what_a_retriever_would(run: Run, repository: Path) -> None:
    """The pattern for Python files is in the workflow, commented out, for who writes a retriever later."""
    run("--ci", "both", "--yes")
    for name in (WORKFLOW, ".gitlab-ci.yml"):
        text = (repository / name).read_text()
        assert text.count('# - "**/*.py" # for a retriever of your own\n') == 2
        uncommented = text.replace("# - ", "- ").replace(" # for a retriever of your own", "")
        assert str(yaml.safe_load(uncommented)).count("**/*.py") == 2
        assert "**/*.py" not in str(yaml.safe_load(text))


def test_embeddings_are_kept_between_runs_of_ci(run: Run, repository: Path) -> None:
    """The user's cache is among what both CIs cache."""
    run("--ci", "both", "--yes")
    steps = yaml.safe_load((repository / WORKFLOW).read_text())["jobs"]["gate"]["steps"]
    (cache,) = [step for step in steps if step.get("uses", "").startswith("actions/cache@")]
    assert "~/.cache/karat" in cache["with"]["path"].splitlines()
    job = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    assert job["variables"]["KARAT_CACHE"] == "$CI_PROJECT_DIR/.cache/karat"
    assert ".cache/" in job["cache"]["paths"]


class Job:
    """A job of a workflow, whose commands are run as the runner does it.

    Its gh writes down what it is told, and looks for comments as the real one does: that too has ``env`` in a filter.
    """

    def __init__(self, repository: Path, environment: dict[str, str], workflow: str = WORKFLOW) -> None:
        self.repository = repository
        self.workflow = repository / workflow
        self.outside = repository.parent / f"{repository.name}-outside"
        self.outside.mkdir()
        (self.outside / "gh").write_text(
            '#!/bin/sh\necho "$@" >>"$GH_LOG"\ncase $* in *--paginate*) jq --raw-output "$5" "$GH_KNOWN" ;; esac\n'
        )
        (self.outside / "gh").chmod(0o755)
        (self.outside / "known").touch()
        self.environment = environment | {
            "PATH": f"{self.outside}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.outside / "summary.md"),
            "GH_LOG": str(self.outside / "gh.log"),
            "GH_KNOWN": str(self.outside / "known"),
            "GITHUB_WORKFLOW": "karat shop",
            "RUNNER_TEMP": str(self.outside),
        }

    def steps(self) -> dict[str, str]:
        """Return the commands of the workflow, by the names of their steps."""
        steps = yaml.safe_load(self.workflow.read_text())["jobs"]["gate"]["steps"]
        return {step["name"]: step["run"] for step in steps if "run" in step}

    def run(self, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the commands of a step verbatim."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.steps()[name]],
            cwd=self.repository, env=self.environment | more, capture_output=True, text=True, timeout=600,
        )  # fmt: skip


def breaks(repository: Path) -> None:
    """Make the retriever prefer what has the fewest words in common, and give five pages at most."""
    (repository / "search.py").write_text(FINDER.replace("-len(words", "len(words").replace("[:k]", "[:5]"))


def accept(job: Job) -> None:
    """Record the newest run as the baseline."""
    command = ["karat", "baseline", "update", "."]
    subprocess.run(command, cwd=job.repository, env=job.environment, check=True, capture_output=True, timeout=600)


def fresh(repository: Path) -> None:
    """Take away what a job left behind: every job begins with a clone."""
    for name in ("runs", "karat-report"):
        shutil.rmtree(repository / name, ignore_errors=True)


@pytest.mark.slow
def test_a_repository_from_scratch_is_gated(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """Init, a baseline, a green run; then the retriever breaks, and the workflow's own commands fail with 1."""
    run("--documents", "docs", "--system", "search:find", "--yes")
    config = (repository / "karat.toml").read_text()
    assert "# must_pass" in config
    (repository / "karat.toml").write_text(config.replace('# must_pass = ["a query\'s id"]', 'must_pass = ["q022"]'))
    job = Job(repository, environment)
    assert list(job.steps()) == ["Install", "Gate", "Report", "Comment on the pull request"]

    first = job.run("Gate")
    assert first.returncode == 0, first.stderr
    accept(job)
    fresh(repository)
    green = job.run("Gate")
    assert green.returncode == 0, green.stderr
    policy = "karat.toml (default, but for must_pass)"
    assert f"PASS by policy {policy}: it may ship" in green.stdout
    reported = job.run("Report")
    assert reported.returncode == 0, reported.stderr
    assert reported.stdout.splitlines() == [
        f"::notice title=karat pass::7 checks by policy {policy}: it may ship; "
        "R@5 1.0000 (+0.0000), RR@10 1.0000 (+0.0000), nDCG@5 1.0000 (+0.0000)"
    ]
    assert "FAIL" not in (job.outside / "summary.md").read_text()
    fresh(repository)

    breaks(repository)
    red = job.run("Gate")
    assert red.returncode == 1, red.stderr
    assert f"FAIL by policy {policy}: 4 of 7 checks failed" in red.stdout
    reported = job.run("Report")
    assert reported.returncode == 0, reported.stderr
    errors = dict(
        line.removeprefix("::error title=karat fail%3A ").split("::") for line in reported.stdout.splitlines()[:-1]
    )
    assert list(errors) == ["R@5", "RR@10", "nDCG@5", "q022"]
    assert errors["R@5"].startswith("dropped by 1, more than 0.05 (")
    assert errors["R@5"].endswith("p = 0.0001) (now 0.0000, baseline 1.0000, -1.0000)")
    assert "nothing relevant" in errors["q022"]
    assert reported.stdout.splitlines()[-1].startswith(
        f"::notice title=karat fail::by policy {policy}: 4 of 7 checks failed; R@5 0.0000"
    )
    assert "FAIL" in (job.outside / "summary.md").read_text()


@pytest.mark.slow
def test_a_retriever_in_a_folder_of_the_repository(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """Its module lies beside karat.toml, and the workflow calls karat from the root."""
    folder = repository / "services" / "search"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "find.py").write_text(FINDER)
    run("services/search", "--documents", "docs", "--system", "app.find:find", "--yes")
    job = Job(repository, environment, ".github/workflows/karat-services-search.yml")
    gate = job.run("Gate")
    assert gate.returncode == 0, gate.stderr
    assert "INCONCLUSIVE" in gate.stdout


@pytest.mark.slow
def test_the_reports_of_a_broken_retriever(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """The comment has verdict, measures with their numbers and queries by name; the others are of the same decision."""
    run("--documents", "docs", "--system", "search:find", "--yes")
    job = Job(repository, environment)
    job.run("Gate")
    accept(job)
    fresh(repository)
    breaks(repository)
    assert [job.run(name).returncode for name in ("Gate", "Report")] == [1, 0]
    comment = (repository / "karat-report" / "comment.md").read_text()
    mark, *_ = comment.splitlines()
    assert mark == f"<!-- karat-report {golden.read(repository / 'golden').name} -->"
    assert "3 of 6 checks failed: R@5, RR@10, nDCG@5" in comment
    assert "| R@5 | 0.0000 | 1.0000 |" in comment
    assert "### Query q001: The cellar opens at six." in comment
    assert "- R@5: 0.000 (was 1.000, worse)" in comment
    report = repository / "karat-report"
    assert sorted(path.suffix for path in report.glob("rag-eval-*")) == [".html", ".json", ".md"]
    (decision,) = report.glob("*.json")
    assert json.loads(decision.read_text())["verdict"]["outcome"] == "fail"
    failures = ElementTree.parse(report / "junit.xml").getroot().iter("failure")
    assert sum("dropped by 1" in (failure.get("message") or "") for failure in failures) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "code"), [("queries.jsonl", 2), ("search.py", 3)])
def test_where_nothing_is_decided_nothing_is_reported(
    run: Run, repository: Path, environment: dict[str, str], broken: str, code: int
) -> None:
    """A broken set or system ends the gate with its own message; the steps after it find nothing to report on."""
    run("--documents", "docs", "--system", "search:find", "--ci", "both", "--yes")
    path = next(repository.rglob(broken))
    path.write_text("{")
    job = Job(repository, environment)
    gate = job.run("Gate")
    assert gate.returncode == code
    assert broken in gate.stderr + gate.stdout or "search" in gate.stderr
    workflow = yaml.safe_load((repository / WORKFLOW).read_text())
    conditions = {step["name"]: step.get("if", "") for step in workflow["jobs"]["gate"]["steps"] if "name" in step}
    assert "hashFiles('karat-report/rag-eval-*.json') != ''" in conditions["Report"]
    assert "hashFiles" not in conditions["Comment on the pull request"], "an old comment would stay as it was"
    assert not list(repository.glob("karat-report/*"))
    variables = {"COMMENTS": "c", "COMMENT": "one", "COMMIT": "0123456789", "RUN": "https://host.example/1"}
    assert job.run("Comment on the pull request", **variables).returncode == 0
    assert (job.outside / "karat-comment.md").read_text() == (
        "<!-- karat: karat shop -->\n❌ No decision: karat could not evaluate this change; the job says why.\n\n"
        "\nCommit 0123456, [this run](https://host.example/1)\n"
    )
    (after,) = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]["after_script"]
    process = subprocess.run(["sh", "-c", after], cwd=repository, env=job.environment, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def comments(*bodies: str, login: str = "github-actions[bot]") -> str:
    """Return the comments of a pull request as GitHub's API does, numbered from 41."""
    return json.dumps([{"id": 41 + i, "user": {"login": login}, "body": body} for i, body in enumerate(bodies)])


@pytest.mark.parametrize(
    ("there", "sent"),
    [
        (comments(), "POST repos/o/r/issues/7/comments"),
        (comments("hello", "<!-- karat: karat shop -->\nold"), "PATCH repos/o/r/issues/comments/42"),
        (
            comments("<!-- karat: karat shop -->\n1", "<!-- karat: karat shop -->\r\n2"),
            "PATCH repos/o/r/issues/comments/42",
        ),
        (comments("<!-- karat: karat shop2 -->\n1"), "POST repos/o/r/issues/7/comments"),
        (comments("<!-- karat: karat sho -->\n1"), "POST repos/o/r/issues/7/comments"),
        (comments("quoting:\n<!-- karat: karat shop -->"), "POST repos/o/r/issues/7/comments"),
        (comments("<!-- karat: karat shop -->", login="mallory"), "POST repos/o/r/issues/7/comments"),
    ],
)
def test_the_comment_of_its_golden_set_is_changed(
    run: Run, repository: Path, environment: dict[str, str], there: str, sent: str
) -> None:
    """Its own comment, by its whole mark, is changed, the latest if there are several; else one is posted."""
    if not shutil.which("jq"):
        assert os.environ.get("CI") != "true", "jq is missing"
        pytest.skip("UNTESTED: the comment is not looked for, there is no jq")
    run("--yes")
    job = Job(repository, environment)
    (repository / "karat-report").mkdir()
    (repository / "karat-report" / "comment.md").write_text("<!-- karat-report shop -->\n\nFAIL")
    (job.outside / "known").write_text(there)
    variables = {"COMMENTS": "repos/o/r/issues/7/comments", "COMMENT": "repos/o/r/issues/comments"}
    process = job.run("Comment on the pull request", **variables, COMMIT="abcdef0123", RUN="https://host.example/1")
    assert process.returncode == 0, process.stderr
    search, last = (job.outside / "gh.log").read_text().splitlines()
    assert search.startswith("api --paginate repos/o/r/issues/7/comments --jq ")
    body = job.outside / "karat-comment.md"
    assert last == f"api --silent --method {sent} --field body=@{body}"
    assert body.read_text() == (
        "<!-- karat: karat shop -->\n<!-- karat-report shop -->\n\nFAIL\n"
        "\nCommit abcdef0, [this run](https://host.example/1)\n"
    )


@pytest.mark.parametrize("name", ['a"b', "$(touch x)`touch x`", "'", "-n"])
def test_a_mark_is_no_command(run: Run, repository: Path, environment: dict[str, str], name: str) -> None:
    """Whatever the workflow is called, its mark is compared and never run."""
    if not shutil.which("jq"):
        assert os.environ.get("CI") != "true", "jq is missing"
        pytest.skip("UNTESTED: the comment is not looked for, there is no jq")
    run("--yes")
    job = Job(repository, environment)
    (job.outside / "known").write_text(comments(f"<!-- karat: {name} -->\nold"))
    process = job.run(
        "Comment on the pull request", COMMENTS="c", COMMENT="one", COMMIT="1", GITHUB_WORKFLOW=name, RUN="r"
    )
    assert process.returncode == 0, process.stderr
    assert (job.outside / "gh.log").read_text().splitlines()[-1].startswith("api --silent --method PATCH one/41 ")
    assert not (repository / "x").exists()


def test_a_comment_that_cannot_be_looked_for_is_not_posted_twice(
    run: Run, repository: Path, environment: dict[str, str]
) -> None:
    """Where GitHub does not answer the step fails, which does not fail the job, instead of posting another one."""
    run("--yes")
    job = Job(repository, environment)
    (job.outside / "gh").write_text('#!/bin/sh\necho "$@" >>"$GH_LOG"\nexit 1\n')
    assert job.run("Comment on the pull request", COMMENTS="c", COMMENT="one", COMMIT="1", RUN="r").returncode != 0
    assert "POST" not in (job.outside / "gh.log").read_text()
    steps = yaml.safe_load((repository / WORKFLOW).read_text())["jobs"]["gate"]["steps"]
    assert (steps[-1]["continue-on-error"], steps[-1]["shell"]) == (True, "bash"), "pipefail comes with the shell"


@pytest.mark.slow
def test_a_retriever_that_ends_the_process_has_not_passed(
    run: Run, repository: Path, environment: dict[str, str]
) -> None:
    """karat ends with 3 and its own message; what an earlier job left behind is not a decision either."""
    run("--documents", "docs", "--system", "search:find", "--ci", "both", "--yes")
    (repository / "search.py").write_text("import os\n\n\ndef find(query, k):\n    os._exit(0)\n")
    (repository / "karat-report").mkdir()
    (repository / "karat-report" / "rag-eval-2020-01-01.json").write_text("{}")
    job = Job(repository, environment)
    gate = job.run("Gate")
    assert gate.returncode == 3
    assert "the system ended the process by os._exit(0)" in gate.stderr
    script = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]["script"]
    lines = "\n".join(script)
    process = subprocess.run(
        ["sh", "-e", "-c", lines], cwd=repository, env=job.environment, capture_output=True, timeout=60
    )
    assert process.returncode != 0


@pytest.mark.slow
def test_gitlab_does_the_same(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """The job's script gates, and what comes after it writes the reports, as its artefacts name them."""
    run("--documents", "docs", "--system", "search:find", "--ci", "gitlab", "--yes")
    job: dict[str, Any] = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["karat"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for line in (*job["script"], *job["after_script"]):
        subprocess.run(
            ["sh", "-e", "-c", line], cwd=repository, env=environment | {"PATH": path}, check=True, timeout=60
        )
    assert (repository / job["artifacts"]["reports"]["junit"]).exists()
    assert (repository / "karat-report" / "comment.md").exists()
    assert all((repository / kept).exists() for kept in job["artifacts"]["paths"])


def test_a_changed_document_is_measured(run: Run, repository: Path, environment: dict[str, str]) -> None:
    """With the pipeline the documents are read where they are: a change to one is a change to what is measured."""
    run("--documents", "docs", "--yes")
    config = tomllib.loads((repository / "karat.toml").read_text())
    assert config["golden"] == {"path": "golden", "documents": "docs"}
    assert "documents_may_change" not in config["gate"]  # it has no effect any more
    assert not (repository / "golden" / "documents.jsonl").exists()
    before = open_project(repository).golden
    assert before.document_by_id["pool"].text == (repository / "docs" / "pool.md").read_text()
    (repository / "docs" / "pool.md").write_text("Nothing of what it was.\n")
    after = open_project(repository).golden
    assert golden.fingerprint(after) != golden.fingerprint(before)
    workflow = yaml.safe_load((repository / WORKFLOW).read_text())
    assert "docs/**" in workflow[True]["pull_request"]["paths"]


@pytest.mark.slow
def test_a_retriever_of_ones_own_reads_the_documents_itself(
    run: Run, repository: Path, environment: dict[str, str]
) -> None:
    """The set holds a copy, so that a changed document is measured and compared with the baseline."""
    run("--documents", "docs", "--system", "search:find", "--yes")
    config = tomllib.loads((repository / "karat.toml").read_text())
    assert "documents" not in config["golden"]
    assert "documents_may_change" not in config["gate"]
    job = Job(repository, environment)
    job.run("Gate")
    accept(job)
    fresh(repository)
    for room in ROOMS[:5]:
        (repository / "docs" / f"{room}.md").write_text("Nothing of what it was.\n")
    assert job.run("Gate").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "documents"),
    [(["--documents", "docs"], "docs"), (["evaluation", "--documents", "docs"], "../docs"),
     (["--documents", "rows.jsonl"], "rows.jsonl"), (["docs/inner", "--documents", "docs"], None),
     (["--documents", "."], None), (["--documents", "../outside"], None), (["--documents", "linked"], None)],
)  # fmt: skip
def test_documents_are_read_where_they_are_if_a_clone_has_them(
    run: Run, repository: Path, tmp_path_factory: pytest.TempPathFactory, arguments: list[str], documents: str | None
) -> None:
    """No path leads out of the repository, and none to the reports of the project; then there is a copy, and a word."""
    outside = repository.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "far.md").write_text("The island opens at six.\n")
    (repository / "linked").symlink_to(outside)
    (repository / "rows.jsonl").write_text('{"id": "row", "text": "The row opens at six."}\n')
    folder = repository / (arguments[0] if not arguments[0].startswith("--") else ".")
    out, _ = run(*arguments, "--yes")
    assert tomllib.loads((folder / "karat.toml").read_text())["golden"].get("documents") == documents
    assert ("a change there is not measured" in out) == (documents is None)
    assert (folder / "golden" / "documents.jsonl").exists() == (documents is None)
    project = open_project(folder)
    assert project.golden.documents
    assert not golden.check(project.golden).errors
