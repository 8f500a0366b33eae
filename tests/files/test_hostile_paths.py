"""Whatever a verb reads may be a bomb, a pipe, a socket or a device: one message, exit code 2, and no waiting."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from cli.gate_project import accept, main, make_project, make_run
from cli.test_outputs import commands
from each import each
from karat import online
from karat.cli._main import cli
from karat.core import InputError, UsageError
from karat.files import MAX_BYTES, Reading, max_bytes, parse_size
from karat.golden import read_documents

LIMIT = 1 << 18
MEGABYTE = gzip.compress(bytes(1 << 20))
BOMB = MEGABYTE * 64
QRELS = "q01 0 d01 1\n"
RUN = "q01 Q0 d01 1 2.0 t\n"

REPLAY = ["shadow", "replay", "live.db", "--control", ".", "--treatment", ".", "--feature", "x"]
READS = {
    # what is read: the path that is replaced, and the verb that reads it
    "judgments": ("qrels.txt", ["score", "qrels.txt", "run.txt"]),
    "a run": ("run.txt", ["score", "qrels.txt", "run.txt"]),
    "a run of trec-eval": ("run.txt", ["trec-eval", "qrels.txt", "run.txt"]),
    "fields": ("kinds.csv", ["score", "qrels.txt", "run.txt", "--by", "kind", "--queries", "kinds.csv"]),
    "classes": ("classes.txt", ["score", "qrels.txt", "run.txt", "--classes", "classes.txt"]),
    "a run to fuse": ("run.txt", ["fuse", "run.txt", "qrels.json"]),
    "a run to pool": ("run.txt", ["golden", "pool", "run.txt", "--golden", "."]),
    "a head": ("set/golden.toml", ["golden", "convert", "set", "made"]),
    "queries": ("set/queries.jsonl", ["golden", "convert", "set", "made"]),
    "documents": ("set/documents.jsonl", ["golden", "convert", "set", "made"]),
    "judgments of a set": ("set/judgments.jsonl", ["golden", "diff", "set", "set"]),
    "a document": ("docs/a.md", ["golden", "synth", "docs", "made"]),
    "rows of documents": ("rows.jsonl", ["golden", "synth", "rows.jsonl", "made"]),
    "a document to outline": ("docs/a.md", ["golden", "outline", "docs/a.md"]),
    "a judged pool": ("pool.jsonl", ["golden", "merge", "set", "pool.jsonl"]),
    "ids of an index": ("ids.txt", ["golden", "check", "set", "--index", "ids.txt"]),
    "chunks of an index": ("rows.jsonl", ["golden", "check", "set", "--chunks", "rows.jsonl"]),
    "a configuration": ("karat.toml", ["golden", "convert", ".", "made"]),
    "a policy": ("policy.toml", ["gate", "runs/new.jsonl", "--policy", "policy.toml"]),
    "a baseline": ("baseline.json", ["gate", "runs/new.jsonl"]),
    "another baseline": ("other.json", ["baseline", "show", "--baseline", "other.json"]),
    "a saved run": ("runs/new.jsonl", ["gate", "runs/new.jsonl"]),
    "a run to evaluate": ("run.txt", ["eval", ".", "--run", "run.txt"]),
    "a run to compare": ("runs/new.jsonl", ["compare", "runs/old.jsonl", "runs/new.jsonl", "--golden", "."]),
    "a decision": ("decision.json", ["report", "decision.json"]),
    "a sweep": ("sweep.toml", ["sweep", "sweep.toml", "--dry-run"]),
    "a log": ("experiments.json", ["experiments", "list"]),
    "new documents": ("rows.jsonl", ["gain", ".", "--documents", "rows.jsonl"]),
    "labels": ("pool.jsonl", ["judge", "calibrate", "pool.jsonl", "--pool", "pool.jsonl"]),
    "an old judge": ("policy.toml", ["judge", "bridge", "policy.toml", "karat.toml", "runs/new.jsonl"]),
    "logged spans": ("spans.jsonl", ["online", "import", "live.db", "spans.jsonl", "--from", "otlp"]),
    "logged queries": ("ubi.jsonl", ["online", "import", "live.db", "ubi.jsonl"]),
    "a report to record": ("decision.json", ["online", "record", "decision.json", "live.db"]),
    "queries to replay": ("ids.txt", [*REPLAY, "--queries", "ids.txt"]),
    "a batch of a trial": ("decision.json", ["trial", "record", "rerank", "decision.json", "--store", "live.db"]),
    "a run to label": ("run.txt", ["label", "queue", "new", "run.txt"]),
    "rows to label": ("pool.jsonl", ["label", "queue", "new", "pool.jsonl", "--kind", "rows"]),
    "a queue": ("labels/queues/old.jsonl", ["label", "next", "old", "--who", "ana"]),
    "guidelines": ("labels/guidelines.md", ["label", "next", "old", "--who", "ana"]),
    "a proposal": ("labels/proposals/0001.jsonl", ["label", "show", "1"]),
    "blocks that moved": ("moves.jsonl", ["migrate", "judgments", "set", "moves.jsonl", "--documents", "set"]),
    "documents of an index": ("rows.jsonl", ["migrate", "blocks", "rows.jsonl", "set"]),
    "a golden set to harvest beside": ("set/queries.jsonl", ["harvest", "live.db", "--golden", ".", "-o", "made"]),
    "a batch to plan by": ("decision.json", ["trial", "plan", "decision.json"]),
}
SPECIAL = {"a named pipe": "pipe", "a socket": "socket", "a device": "zero"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with all that is read above."""
    folder = tmp_path_factory.mktemp("hostile")
    made = make_project(folder)
    old, _ = make_run(folder, made, [2] * 12, "old"), make_run(folder, made, [1] * 12, "new")
    shutil.copy(accept(folder, old), folder / "other.json")
    (folder / "docs").mkdir()
    for name, text in (
        ("qrels.txt", QRELS), ("run.txt", RUN), ("qrels.json", '{"q01": {"d01": 1}}'), ("docs/a.md", "A text.\n"),
        ("kinds.csv", "id,kind\nq01,a\n"), ("classes.txt", "d01 A\n"), ("ids.txt", "d01\n"),
        ("rows.jsonl", '{"id": "d01", "text": "A text."}\n'), ("policy.toml", 'extends = "default"\n'),
        ("pool.jsonl", '{"query": "q01", "document": "x01", "grade": 0}\n'),
        ("experiments.json", '{"experiments": []}'),
        ("sweep.toml", '[[variants]]\nname = "a"\n"eval.k" = 5\n'), ("decision.json", "{}"),
        ("spans.jsonl", '{"resourceSpans": []}\n'),
        ("ubi.jsonl", '{"query_id": "q", "user_query": "Where?", "timestamp": "2026-11-18T00:00:00Z"}\n'),
    ):  # fmt: skip
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["label", "queue", "old", "runs/new.jsonl"]) == 0
        assert main(["label", "save", "old", "q01", "x01", "0", "--who", "ana"]) == 0
        assert main(["label", "propose", "--query", "q01", "--paraphrase", "What?", "--who", "ana"]) == 0
        assert main(["migrate", "blocks", "set", "set", "-o", "moves.jsonl"]) == 4
    (folder / "labels" / "guidelines.md").write_text("Be kind.\n")
    with online.open(folder / "live.db") as log:
        log.record("Where?", ["d01"])
    online.ingest(folder / "live.db")
    return folder


@pytest.fixture
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a copy of the project, with a low limit; a verb that waits for a pipe is ended."""
    folder = tmp_path / "project"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KARAT_MAX_BYTES", str(LIMIT))
    signal.alarm(600)
    yield folder
    signal.alarm(0)


@pytest.mark.parametrize("what", READS)
def test_bombs_are_refused(project: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    """A file of kilobytes that unpacks to many megabytes is noticed at the limit, and memory stays near it."""
    path, arguments = READS[what]
    main(arguments)  # imports what it needs
    Path(path).write_bytes(BOMB)
    capsys.readouterr()
    tracemalloc.start()
    try:
        code = main(arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = capsys.readouterr().err
    assert (code, message.count("\n")) == (2, 1), message
    assert f"unpacks to more than {LIMIT:,} bytes, the most that karat reads; if that is meant, raise" in message
    assert Path(path).name in message
    assert peak < 24 * LIMIT  # the imports, the rest of the project, and the bytes up to the limit


@pytest.mark.parametrize("what", READS)
@each("kind", SPECIAL)
def test_what_is_no_file_is_refused(project: Path, capsys: pytest.CaptureFixture[str], what: str, kind: str) -> None:
    """A pipe that nobody writes to, a socket and a link to a device: neither read nor waited for."""
    path, arguments = READS[what]
    replace(Path(path), kind)
    capsys.readouterr()
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert len(message.splitlines()) <= 3, message


OWN = [
    "live.db", "live.db.key", "live.db.journal/keys", "live.db.journal/ingest.lock", "live.db.journal/*.seg",
    ".karat/tokens.json", ".karat/audit.jsonl", "labels/queues/old.jsonl",
]  # fmt: skip
WORKING = [
    ["online", "import", "live.db", "ubi.jsonl"], ["online", "ingest", "live.db"], ["online", "health", "live.db"],
    ["online", "report", "live.db"], ["online", "expire", "live.db"], ["online", "forget", "live.db", "--session", "x"],
    ["flag", "set", "new", "--percent", "5", "--author", "ana", "--reason", "so", "--store", "live.db"],
    ["trial", "list", "--store", "live.db"], ["serve", "token", "add", "Bob"], ["serve", "token", "list"],
    ["label", "save", "old", "q02", "x02", "0", "--who", "ana"], ["label", "status"], ["doctor", "."],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("own", OWN)
def test_what_karat_keeps_for_itself_may_be_no_file(
    project: Path, capsys: pytest.CaptureFixture[str], own: str, kind: str
) -> None:
    """Somebody put a pipe, a socket or a device in the place of a log, its journal, its keys or the tokens."""
    assert main(["serve", "token", "add", "Ada"]) == 0
    with online.open("live.db") as log:
        log.record("And where?", ["d01"])
        for arguments in WORKING:
            paths = list(Path().glob(own))
            assert paths
            for path in paths:
                replace(path, kind)
            capsys.readouterr()
            code = main(arguments)
            message = capsys.readouterr().err
            assert "Traceback" not in message, (arguments, message)
            assert code in (0, 1, 2, 3), (arguments, message)  # 1: the log is not well
        online.open("live.db").close()


FOLDERS = {
    # a folder of Parquet files: one of them, and the verbs that read it
    "a run": ("lists/a.parquet", [["score", "qrels.txt", "lists"]]),
    "a log": (
        "days/queries/date=2026-11-18/0000.parquet",
        [
            ["online", "report", "days"],
            ["harvest", "days", "-o", "made"],
            ["online", "import", "new.db", "days"],
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FOLDERS)
def test_a_folder_of_parquet_files_may_hold_anything(
    project: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """A pipe among its files is not waited for, and what unpacks to too much is not unpacked."""
    path, lines = FOLDERS[what]
    Path("lists").mkdir()
    frame = pl.DataFrame({"query": ["q01"], "document": ["d01"], "score": [1.0]})
    frame.write_parquet("lists/a.parquet")
    with online.open("days.db") as log:
        log.record("Where?", ["d01"], time=1794960000.0)
    online.ingest("days.db")
    assert main(["online", "export", "days.db", "days", "--format", "parquet"]) == 0
    file = Path(path)
    whole = pl.read_parquet(file)
    capsys.readouterr()
    pl.concat([whole] * 20_000, rechunk=True).write_parquet(file, compression="zstd")
    assert file.stat().st_size < LIMIT
    contents = Path("days/export.json")  # says how many there are
    contents.write_text(re.sub(r'("queries": ?)1\b', r"\g<1>20000", contents.read_text()))
    for line in lines:
        assert (line, main(line)) == (line, 2)
        assert f"unpacks to more than {LIMIT:,} bytes" in capsys.readouterr().err
    for kind in ("a named pipe", "a device"):
        replace(file, kind)
        for line in lines:
            assert (line, main(line)) == (line, 2)
            assert f"{file.name}: is {kind}, not a file" in capsys.readouterr().err


def replace(path: Path, kind: str) -> None:
    """Put a pipe, a socket or a link to a device in the place of a file."""
    path.unlink()
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    else:
        path.symlink_to("/dev/zero")


def test_the_limit_is_for_a_whole_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred documents, none of which is too large, unpack to as much as one that is."""
    monkeypatch.setenv("KARAT_MAX_BYTES", "100K")
    for number in range(100):
        (tmp_path / f"{number:02}.md").write_bytes(gzip.compress(b"x" * 2000))
    with pytest.raises(InputError, match=r"51\.md: with what was read before it, unpacks to more than 102,400 bytes"):
        read_documents(tmp_path, Reading())
    monkeypatch.setenv("KARAT_MAX_BYTES", "200K")
    assert len(read_documents(tmp_path, Reading())) == 100


def test_the_limit_can_be_raised(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By an option, for one call; sizes have units, and what is no size is a mistake."""
    Path("run.txt").write_bytes(gzip.compress(RUN.encode() + b"\n" * (1 << 20)))
    assert main(["score", "qrels.txt", "run.txt"]) == 2
    assert main(["score", "qrels.txt", "run.txt", "--max-bytes", "2M"]) == 0
    assert os.environ["KARAT_MAX_BYTES"] == str(LIMIT)
    capsys.readouterr()
    assert main(["score", "qrels.txt", "run.txt", "--max-bytes", "many"]) == 2
    assert capsys.readouterr().err == "karat: --max-bytes 'many' is not a size; write bytes such as 4000000000, or 4G\n"
    os.environ["KARAT_MAX_BYTES"] = "0"
    assert main(["score", "qrels.txt", "run.txt"]) == 2
    assert "KARAT_MAX_BYTES '0' is not a size" in capsys.readouterr().err


def test_labels_of_any_size_are_not_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are read as they grow, and not unpacked, so that their size tells how much that would be."""
    with Path("labels/people/ana.jsonl").open("r+b") as file:
        file.truncate(1 << 40)
    capsys.readouterr()
    assert main(["label", "status"]) == 2
    message = capsys.readouterr().err
    assert "labels/people/ana.jsonl: has more than 262,144 bytes, the most that karat reads; if that" in message


def test_every_verb_that_reads_data_can_raise_the_limit() -> None:
    """Or its message would name an option that it does not have."""
    without = {verb for verb, command in commands(cli) if not any("--max-bytes" in own.opts for own in command.params)}
    nothing = ("completion", "doctor", "engine doctor", "measures", "systems list")
    stores = (f"{group} {verb}" for group, verbs in ONLY_STORES.items() for verb in verbs.split())
    assert without == {*nothing, *stores, "trec-eval"}


ONLY_STORES = {
    "flag": "history list set",
    "serve token": "add list revoke",
    "store": "check copy migrate",
    "trial": "decide list reopen report start status stop",
}


@each(("text", "size"), [("1", 1), ("2k", 2048), ("3MB", 3 << 20), ("4GiB", 4 << 30)])
def test_sizes_have_units(text: str, size: int) -> None:
    """Of 1,024, in either case, with or without B."""
    assert parse_size(text, "") == size


@each("text", ["", "-1", "1.5G", "G", "0", "1X", "9" * 30])
def test_what_is_no_size_is_a_mistake(text: str) -> None:
    """Neither nothing, nor a fraction, nor an unknown unit."""
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text, "")


def test_the_default_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is the one that the documentation states."""
    monkeypatch.delenv("KARAT_MAX_BYTES", raising=False)
    assert max_bytes() == MAX_BYTES == 2 * 1024**3


ENDLESS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))
from karat.files import read_bytes
from karat.core import InputError
try:
    read_bytes(sys.argv[1])
except InputError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("source", ["bomb", "-", "/dev/stdin"])
def test_memory_stays_near_the_limit(tmp_path: Path, source: str) -> None:
    """In a process with 400 MB of addresses, gigabytes in a file or an endless stream are refused at 100 MB."""
    (tmp_path / "bomb").write_bytes(MEGABYTE * 512)
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            [sys.executable, "-c", ENDLESS, source],
            cwd=tmp_path, stdin=endless, env=os.environ | {"KARAT_MAX_BYTES": "100M"}, capture_output=True, text=True,
        )  # fmt: skip
    assert done.stderr == ""
    assert "more than 104,857,600 bytes" in done.stdout
