"""Input that once ended in a traceback is one message with exit code 2."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cli.gate_project import accept, edited, main, make_project, make_run
from karat.cli._main import cli
from karat.core import InputError
from karat.files import parse_json, parse_toml
from karat.start._repository import Repository

DEEP = 3000
NESTED = "[" * DEEP
OBJECTS = '{"a":' * DEEP
DOTTED = "{" + f"{'a.' * 98}a = {{" * 50 + "b = 1" + "}" * 51
"""Fifty braces, and nearly five thousand levels."""
GATE = ["gate", "runs/new.jsonl"]
CHECK = ["golden", "check", "."]
DOCUMENTS = ["golden", "synth", "docs", "made"]
INIT = ["init", ".", "--documents", "docs", "--yes"]
READERS = {
    # the file, and verbs that read it
    "karat.toml": [GATE, CHECK, INIT, ["runs", "list", "."], ["sweep", "sweep.toml", "--dry-run"]],
    "pyproject.toml": [GATE, CHECK, INIT, ["golden", "pool", "runs/new.jsonl"], ["eval", ".", "--run", "run.json"]],
    "policy.toml": [[*GATE, "--policy", "policy.toml"]],
    "sweep.toml": [["sweep", "sweep.toml", "--dry-run"]],
    "set/golden.toml": [GATE, CHECK, ["golden", "tag", "set"]],
    "trec/scale.toml": [["golden", "check", "trec"]],
    "set/queries.jsonl": [
        GATE,
        CHECK,
        ["golden", "convert", "set", "made"],
        ["golden", "convert", "set", "f", "--to", "fit"],
    ],
    "set/documents.jsonl": [GATE, CHECK],
    "set/judgments.jsonl": [GATE, CHECK],
    "pool.jsonl": [["golden", "merge", ".", "pool.jsonl"]],
    "ids.jsonl": [[*CHECK, "--index", "ids.jsonl"]],
    "rows.jsonl": [[*CHECK, "--chunks", "rows.jsonl"], ["golden", "synth", "rows.jsonl", "made"]],
    "docs/a.json": [DOCUMENTS, INIT, ["golden", "outline", "docs/a.json"]],
    "experiments.json": [
        ["experiments", "list"],
        ["experiments", "show", "exp-001"],
        ["runs", "prune", ".", "--keep", "1"],
    ],
    "baseline.json": [
        GATE,
        ["baseline", "show", "."],
        ["compare", "runs/new.jsonl", "baseline.json"],
        ["runs", "list", "."],
    ],
    "decision.json": [["report", "decision.json"]],
    "runs/new.jsonl": [GATE, ["trend", "."], ["runs", "list", "."], ["score", "qrels.txt", "runs/new.jsonl"]],
    "run.json": [["score", "qrels.txt", "run.json"], ["eval", ".", "--run", "run.json"]],
}
BAD_TEXT = {
    # what is nested: the file, and its text
    "karat.toml": ("karat.toml", f"a = {NESTED}"),
    "karat.toml, closed": ("karat.toml", f"a = {NESTED}{']' * DEEP}"),
    "tables": ("karat.toml", "a = " + "{a = " * DEEP),
    "a dotted key": ("karat.toml", f"{'a.' * 30_000}a = 1"),
    "a quoted key": ("karat.toml", '"a" . ' * 30_000 + "a = 1"),
    "a header": ("karat.toml", f"[{'a.' * 30_000}a]"),
    "dotted keys in inline tables": ("karat.toml", f"a = {DOTTED}"),
    "dotted keys of parameters": ("karat.toml", f'[golden]\npath = "set"\n[eval.parameters]\na = {DOTTED}'),
    "digits": ("karat.toml", f"a = {'9' * 5000}"),
    "parameters": ("karat.toml", f'[golden]\npath = "set"\n[eval.parameters]\na = {NESTED}{"]" * DEEP}'),
    "parameters, not so deep": ("karat.toml", f'[golden]\npath = "set"\n[eval.parameters]\na = {"[" * 250}{"]" * 250}'),
    "pyproject.toml": ("pyproject.toml", f"[tool.karat]\na = {NESTED}"),
    "a policy": ("policy.toml", f"a = {NESTED}"),
    "a policy with dotted keys": ("policy.toml", f"a = {DOTTED}"),
    "a policy's header": ("policy.toml", f"[{'a.' * 30_000}a]"),
    "a sweep": ("sweep.toml", f"a = {NESTED}"),
    "a sweep with dotted keys": ("sweep.toml", f'[[variants]]\nname = "a"\n"eval.parameters.x" = {DOTTED}'),
    "a sweep's inline tables": ("sweep.toml", "a = " + "{a = " * DEEP),
    "a golden set": ("set/golden.toml", f"a = {NESTED}"),
    "a scale": ("trec/scale.toml", f"a = {NESTED}"),
    "queries": ("set/queries.jsonl", NESTED),
    "metadata": ("set/queries.jsonl", f'{{"id": "q01", "text": "a", "metadata": {"[" * 900}{"]" * 900}}}\n'),
    "documents": ("set/documents.jsonl", OBJECTS),
    "judgments": ("set/judgments.jsonl", NESTED),
    "a pool": ("pool.jsonl", NESTED),
    "ids": ("ids.jsonl", OBJECTS),
    "chunks": ("rows.jsonl", OBJECTS),
    "a document": ("docs/a.json", NESTED + "]" * DEEP),
    "a document, not so deep": ("docs/a.json", "[" * 900 + "]" * 900),
    "a log": ("experiments.json", NESTED),
    "entries of a log": ("experiments.json", f'{{"experiments": [{OBJECTS}'),
    "a baseline": ("baseline.json", '{"karat": "baseline", "a": ' + NESTED),
    "a decision": ("decision.json", '{"karat": "report", "a": ' + NESTED),
    "a run": ("runs/new.jsonl", '{"karat": "run", "a": ' + NESTED),
    "a run of JSON": ("run.json", NESTED),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that all verbs read without a mistake."""
    folder = tmp_path_factory.mktemp("crashes")
    made = make_project(folder, 'system = "own:find"\n')
    old, _ = make_run(folder, made, [2] * 12, "old"), make_run(folder, made, [1] * 12, "new")
    accept(folder, old)
    for name in ("docs", "trec"):
        (folder / name).mkdir()
    for name, text in (
        ("qrels.txt", "q01 0 d01 1\n"), ("own.py", "def find(query, k):\n    return ['d01']\n"),
        ("docs/a.json", '{"text": "A text of some words."}'), ("policy.toml", 'extends = "default"\n'),
        ("pool.jsonl", '{"query": "q01", "document": "x01", "grade": 0}\n'), ("ids.jsonl", '{"id": "d01"}\n'),
        ("rows.jsonl", '{"id": "d01", "text": "A text."}\n'), ("experiments.json", '{"experiments": []}'),
        ("sweep.toml", '[[variants]]\nname = "a"\n"eval.k" = 5\n'), ("decision.json", "{}"),
        ("trec/qrels.txt", "q01 0 d01 1\n"), ("run.json", '{"q01": {"d01": 1}}'), ("requirements.txt", "karat\n"),
        ("pyproject.toml", ""),
    ):  # fmt: skip
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    folder = tmp_path / "project"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    return folder


def run_all(verbs: list[list[str]], capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[object, str]]:
    """Run verbs, and return the exit code and the messages of each."""
    results = {}
    for arguments in verbs:
        code = main(arguments)
        results[" ".join(arguments)] = code, capsys.readouterr().err
    return results


@pytest.mark.parametrize("what", BAD_TEXT)
def test_what_is_nested_too_deep_is_one_message(project: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    """Wherever it stands, no verb that reads it ends in a traceback."""
    name, text = BAD_TEXT[what]
    if name == "pyproject.toml":
        Path("karat.toml").unlink()
    Path(name).write_text(text)
    results = run_all(READERS[name], capsys)
    assert [verb for verb, (_, message) in results.items() if "Traceback" in message] == []
    assert all(code in (0, 1, 2, 4) for code, _ in results.values())
    assert any(code == 2 for code, _ in results.values()) or name == "docs/a.json" or what.endswith("not so deep")


FOUND = {
    # what fuzzing found: files with their contents, the verb that reads them, and the message
    "a carriage return in the first line": (
        {"golden.csv": b"question,references\rcorpus_id\n"}, ["golden", "convert", "golden.csv", "made"],
        "golden.csv: is not a golden set that karat recognises",
    ),
    "a carriage return in BEIR's qrels": (
        {"beir/queries.jsonl": b'{"_id": "q1", "text": "a"}\n',
         "beir/qrels.tsv": b'query-id\tcorpus-id\tscore\nq1\t"d"\rx\tmany\n'},
        ["golden", "convert", "beir", "made"], "beir/qrels.tsv, line 2: grade 'many' is not a whole number",
    ),
    "a file in the place of SMART's folder": (
        {"cran.qry": b".I 1\n.W\nheat\n"}, ["golden", "convert", "cran.qry", "made", "--from", "smart"],
        "cran.qry: is a file, not a folder; it needs files of documents, queries and judgments",
    ),
    "two mistakes in the only run of a folder": (
        {"traces/a.jsonl": b'{"qid": "q01", "topk": 1}\n{"qid": "q02", "topk": 2}\n'},
        ["golden", "pool", "traces", "--golden", "."],
        "traces: holds no run that can be read; traces/a.jsonl, line 1: 'topk' is 1, not a list; left out",
    ),
    "a name that no file system has": (
        {"karat.toml": b'[golden]\npath = "%s"\n' % (b"x" * 5000)}, CHECK, "is not a usable path: the name is too long",
    ),
    "a grade that no array holds": (
        {"set/judgments.jsonl": b'{"query": "q01", "document": "d01", "grade": 100000000000000000000}\n'}, GATE,
        "set/judgments.jsonl, line 1: 'grade' is 100000000000000000000, which is too large a number",
    ),
    "a hit whose id is a list": (
        {"traces/a.jsonl": b'{"query": "q01", "text": "?", "hits": [{"id": [], "score": 1}]}\n'},
        ["golden", "pool", "traces/a.jsonl", "--golden", "."], "traces/a.jsonl",
    ),
    "a segment whose value has two lines": (
        {"policy.toml": b'[[gate.rules]]\nmetric = "R@5"\nmin = -1\nwhere = { category = "a\\nb" }\n'},
        [*GATE, "--policy", "policy.toml"], "the rule on R@5 category=a\\nb has min = -1, which the worst run passes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_what_fuzzing_found_is_one_message(project: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    """Each of these files ended in a traceback, or in a message of several lines."""
    files, verb, message = FOUND[what]
    for name, content in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content)
    assert main(verb) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("value", [None, 5, ["x"], "missing"], ids=str)
def test_a_header_that_does_not_name_its_set_is_read_or_refused(
    project: Path, capsys: pytest.CaptureFixture[str], value: object
) -> None:
    """Whatever stands in the place of what identifies the golden set, or nothing, no verb ends in a traceback."""

    def change(record: dict[str, Any]) -> dict[str, Any]:
        if "golden" in record:
            kept = {"fingerprint": "sha256:0"}
            record["golden"] = kept if value == "missing" else dict.fromkeys(record["golden"], value) | kept
        return record

    edited(project / "runs" / "new.jsonl", change)
    Path("baseline.json").unlink()
    run = "runs/new.jsonl"
    verbs = [
        GATE, ["report", run], ["report", run, "--json"], ["report", run, "--comment"], ["show", run, "q01"],
        *(["report", run, "--format", name, "--output", "-"] for name in ("html", "junit", "latex", "github")),
        ["compare", "runs/old.jsonl", run], ["trend", "."], ["trend", ".", "--json"], ["runs", "show", run],
        ["runs", "list", "."], ["eval", ".", "--run", run], ["eval", ".", "--run", run, "--json"],
        ["baseline", "update", run, "--force", "x"], ["baseline", "show", "."], ["baseline", "diff", run],
        ["score", "qrels.txt", run], ["golden", "pool", run], ["power", "--run", run],
    ]  # fmt: skip
    results = run_all(verbs, capsys)
    assert [verb for verb, (code, message) in results.items() if "Traceback" in message or code == 3] == []


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, as somebody."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside.md", "/dev/zero"])
def test_a_tag_with_a_link_out_of_the_set_is_one_message(
    project: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    """Git's archive of the tag is not unpacked through the link; the verb says what to do."""
    (project / "set" / "link.md").symlink_to(target)
    git(project, "init", "--quiet")
    git(project, "add", "set")
    git(project, "commit", "--quiet", "-m", "a")
    git(project, "tag", "golden-dataset-v1.0.0")
    assert main(["golden", "tag", "set"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("karat: golden-dataset-v1.0.0: cannot be unpacked: ")
    assert message.endswith("; name the last release with --since\n")
    assert message.count("\n") == 1


def test_a_tag_that_unpacks_to_too_much_is_one_message(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Git keeps zeros in next to no place; its archive is read up to the limit."""
    (project / "set" / "zeros").write_bytes(bytes(4 << 20))
    git(project, "init", "--quiet")
    git(project, "add", "set")
    git(project, "commit", "--quiet", "-m", "a")
    git(project, "tag", "golden-dataset-v1.0.0")
    assert main(["golden", "tag", "set", "--max-bytes", "1M"]) == 2
    assert "git archive of set: unpacks to more than 1,048,576 bytes" in capsys.readouterr().err


def verbs(group: click.Command, name: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the name of every verb."""
    if not isinstance(group, click.Group):
        yield name
        return
    for verb in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), verb)
        assert command is not None
        yield from verbs(command, (*name, verb))


def test_a_working_directory_that_is_gone_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the verb, even if all of its paths are absolute: nothing is found by chance, and nothing is written."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for verb in verbs(cli):
        assert main([*verb, "a", "b", "c"]) == 2
        assert capsys.readouterr().err == (
            "karat: the current folder cannot be used: No such file or directory; change into a folder that exists, "
            "such as with 'cd ~'\n"
        )


def test_requirements_that_name_each_other_are_read_once(project: Path) -> None:
    """Twelve lists, each of which names all others: as many ways through them as there are atoms."""
    names = [f"list{i}.txt" for i in range(12)]
    for name in names:
        Path(name).write_text("".join(f"-r {other}\n--requirement={other}\n" for other in names) + f"only-{name}\n")
    lines = list(Repository(project).read_requirements("list0.txt"))
    assert [line for line in lines if not line.startswith("-")] == [f"only-{name}" for name in names]
    Path("requirements.txt").write_text("-r list0.txt\n")
    assert main(["init", ".", "--yes"]) == 0


@pytest.mark.parametrize("parse", [parse_toml, parse_json], ids=["TOML", "JSON"])
def test_the_message_on_nesting_names_the_file(parse: Callable[[str, str], object]) -> None:
    """The library says it, too, and not the command line alone, which knows of no file."""
    text = "[" * 100_000
    with pytest.raises(InputError, match=r"^karat\.toml: is nested too deep$"):
        parse(f"a = {text}" if parse is parse_toml else text, "karat.toml")
