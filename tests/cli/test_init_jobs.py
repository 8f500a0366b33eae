"""What ``karat init`` wrote runs: a repository that lives by its CI, and the comments and reports of that."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from cli.init_repository import FINDER, ROOMS, WORKFLOW, Run, enter_repository
from karat import golden
from karat.projects import open_project

VERB = "init"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository: ten pages and a retriever over them."""
    return enter_repository(tmp_path, monkeypatch)


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
    (repository / "karat.toml").write_text(re.sub(r"(?m)^# must_pass = .*", 'must_pass = ["q022"]', config))
    job = Job(repository, environment)
    assert list(job.steps()) == ["Install", "Gate", "Report", "Comment on the pull request"]

    first = job.run("Gate")
    assert first.returncode == 0, first.stderr
    accept(job)
    fresh(repository)
    green = job.run("Gate")
    assert green.returncode == 0, green.stderr
    policy = "karat.toml (default, except must_pass)"
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
        ["sh", "-e", "-c", lines], cwd=repository, env=job.environment, capture_output=True, timeout=600
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
            ["sh", "-e", "-c", line], cwd=repository, env=environment | {"PATH": path}, check=True, timeout=600
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
def test_a_changed_document_is_measured_with_a_retriever_of_ones_own(
    run: Run, repository: Path, environment: dict[str, str]
) -> None:
    """Whether it reads the documents by itself, or takes in those of the golden set, of which there is no copy."""
    run("--documents", "docs", "--system", "search:find", "--yes")
    config = tomllib.loads((repository / "karat.toml").read_text())
    assert config["golden"]["documents"] == "docs"
    assert not (repository / "golden" / "documents.jsonl").exists()
    assert "documents_may_change" not in config["gate"]
    job = Job(repository, environment)
    job.run("Gate")
    accept(job)
    fresh(repository)
    for room in ROOMS[:5]:
        (repository / "docs" / f"{room}.md").write_text("Nothing of what it was.\n")
    texts = {document.text.strip() for document in open_project(repository).golden.documents}
    assert "Nothing of what it was." in texts
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
