"""``karat init``: a project, a golden set to start with, and CI; and a repository that lives by them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from cli.init_repository import WORKFLOW, Run, enter_repository
from karat import golden
from karat.core import UsageError
from karat.golden import LONGEST_QUERY, SHORTEST_QUERY
from karat.projects import open_project
from karat.schema import json_schema
from karat.start import Start, start_project

VERB = "init"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository: ten pages and a retriever over them."""
    return enter_repository(tmp_path, monkeypatch)


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
    comment = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    assert '"pass" is exit code 0 with a warning, so that a small loss stays green (pull requests)' in comment
    assert '"fail" is exit code 4 (releases). karat power DIR --gate shows what these queries can see.' in comment


def test_the_linter_says_nothing_that_only_init_could_mend(run: Run, repository: Path) -> None:
    """No errors; the warnings are true of these ten pages and of any set of sentences, which init announces."""
    out, _ = run("--documents", "docs", "--yes")
    assert out.endswith("; until then karat golden check . warns that they prove little.\n")
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


TABLE = "question;document\nwhen is breakfast?;breakfast\nhow warm is the pool?;pool\n"


def test_a_golden_set_that_is_there_is_used(run: Run, repository: Path) -> None:
    """Nothing is made in its place, CI watches the file, and its queries are not to be replaced."""
    (repository / "questions.csv").write_text(TABLE)
    out, _ = run("--documents", "docs", "--golden", "questions.csv", "--yes")
    assert "questions.csv: exists already\n  2 queries, 2 judgments\n" in out
    assert "Replace the queries" not in out
    assert not (repository / "golden").exists()
    assert (repository / "questions.csv").read_text() == TABLE
    assert '- "questions.csv"\n' in (repository / WORKFLOW).read_text()
    project = open_project(repository)
    assert (len(project.golden.documents), len(project.golden.queries)) == (10, 2)
    before = files(repository)
    again, _ = run("--documents", "docs", "--golden", "questions.csv", "--yes")
    assert files(repository) == before
    assert "karat.toml: exists already\n" in again


def test_a_golden_set_that_cannot_be_used_stops_the_start(run: Run, repository: Path) -> None:
    """Nothing is written: not for one that cannot be read, nor beside a configuration that names another."""
    (repository / "table.csv").write_text("frage;dokument\nwann?;pool\n")
    outside = repository.parent / "outside.csv"
    outside.write_text(TABLE)
    before = files(repository)
    for path, problem in (
        ("nothing.csv", "nothing.csv: no such file or folder"),
        ("table.csv", "call the columns of a table of your own 'question' and 'document'"),
        (str(outside), "is outside of the repository, so that CI would not have it"),
    ):
        assert problem in run("--documents", "docs", "--golden", path, "--yes", code=2)[1]
    assert files(repository) == before
    (repository / "karat.toml").write_text('[golden]\npath = "mine"\n')
    (repository / "table.csv").write_text(TABLE)
    _, err = run("--documents", "docs", "--golden", "table.csv", "--yes", code=2)
    assert "karat.toml: its golden set is mine; name table.csv there, or leave it out here" in err


def test_documents_of_a_set_with_spans_are_read_as_they_stand(run: Run, repository: Path) -> None:
    """Its spans count the bytes of the front matter, too."""
    page = repository / "docs" / "lift.md"
    page.write_text("---\ntitle: Lift\n---\n\nThe lift stops at midnight, every night of the week.\n")
    judgment = '{"query": "q1", "document": "lift", "grade": 1%s}\n'
    (repository / "mine").mkdir()
    (repository / "mine" / "golden.toml").write_text('grades = ["no", "yes"]\n')
    (repository / "mine" / "queries.jsonl").write_text('{"id": "q1", "text": "when does the lift stop?"}\n')
    (repository / "mine" / "judgments.jsonl").write_text(judgment % "")
    run("--documents", "docs", "--golden", "mine", "--ci", "none", "--yes")
    assert tomllib.loads((repository / "karat.toml").read_text())["golden"]["front_matter"] == "title"
    (repository / "karat.toml").unlink()
    (repository / "mine" / "judgments.jsonl").write_text(judgment % ', "span": [21, 40]')
    run("--documents", "docs", "--golden", "mine", "--ci", "none", "--yes")
    assert "front_matter" not in tomllib.loads((repository / "karat.toml").read_text())["golden"]


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


def test_next_steps_are_those_that_are_left(run: Run, repository: Path) -> None:
    """A baseline that exists is not to be recorded, and queries of people are not to be replaced."""
    out, _ = run("--documents", "docs", "--ci", "none", "--yes")
    assert "next: karat check ., then karat baseline update ., and commit baseline.json with the rest.\n" in out
    assert "next: Replace the queries with what people ask." in out
    (repository / "baseline.json").write_text("{}")
    (repository / "golden" / "queries.jsonl").write_text('{"id": "q1", "text": "when may I swim?"}\n')
    out, _ = run("--documents", "docs", "--ci", "none", "--yes")
    assert out.endswith("\nnext: karat check .\n")


def test_front_matter_of_a_new_project_is_a_title(run: Run, repository: Path) -> None:
    """The key says so, and no query is made of it. A project that is there keeps what it has."""
    page = repository / "docs" / "pool.md"
    page.write_text(f"---\ntitle: The pool\nsummary: This is not a sentence of the page.\n---\n{page.read_text()}")
    out, _ = run("--documents", "docs", "--ci", "none", "--yes")
    assert "front matter of 1 document is no text; its title is the first heading" in out
    project = open_project(repository)
    pool = project.golden.document_by_id["pool"]
    assert pool.text.startswith("# The pool\n\nThe pool opens at six.")
    assert not any("not a sentence" in query.text for query in project.golden.queries)
    config = repository / "karat.toml"
    config.write_text(config.read_text().replace("front_matter", "# front_matter"))
    run("--documents", "docs", "--ci", "none", "--yes")
    assert open_project(repository).golden.document_by_id["pool"].text.startswith("---\ntitle")


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
        (["search.py"], "search.py: cannot be created: a file has this name"),
        (["search.py/deep/er"], "search.py: cannot be created: a file has this name"),
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
