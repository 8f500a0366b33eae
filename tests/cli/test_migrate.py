"""``karat migrate``: texts, JSON, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from cli.gate_project import main
from each import each
from karat.schema.migration import (
    BlockHistory,
    CarriedJudgments,
    MigrationReport,
    MigrationTable,
    RolloutReport,
)

TEXTS = [f"Room {n} has a bed by window {n * 3}, a lamp of kind {n * 7} and towel {n * 11}." for n in range(30)]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    code = main(("migrate", *arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folders of documents: in the second one a paragraph is new, and one is gone."""
    monkeypatch.chdir(tmp_path)
    for name, texts in (("v1", TEXTS), ("v2", ["News of the day.", *TEXTS[:29]])):
        Path(name).mkdir()
        Path(name, "rooms.md").write_text("# Rooms\n\n" + "\n\n".join(texts) + "\n")


def write(name: str, *rows: object) -> str:
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return name


def test_a_table_with_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    """One of 30 blocks is gone: exit code 1, and the block is shown with its first words."""
    code, out, err = call(capsys, "blocks", "v1", "v2", "-o", "moves.jsonl", "--from", "one", "--to", "two")
    assert code == 1
    assert "migration: fail\ndocuments: 1 changed\nblocks: 29 shift, 1 unmapped\n" in out
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["redirect coverage"][2:] == ["0.9667", ">=", "0.995", "30", "fail"]
    assert "rooms        S.1.p.Bk030  Room 29 has a bed by window 87," in out
    assert "30 old ids name other text" in err
    (line,) = Path("moves.jsonl").read_text().splitlines()
    table = msgspec.json.decode(line, type=MigrationTable)
    assert (table.doc_id, table.from_version, table.to_version) == ("rooms", "one", "two")
    assert [mapping.new_block_id for mapping in table.mappings[:2]] == ["S.1.p.Bk002", "S.1.p.Bk003"]


def test_what_a_person_confirms_and_how_many_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON of an unmapped block can be given back as --gone: then too few blocks are left to tell, or enough."""
    code, out, _ = call(capsys, "blocks", "v1", "v2", "--json")
    report = msgspec.json.decode(out, type=MigrationReport)
    assert code == 1
    gone = write("gone.jsonl", *(msgspec.to_builtins(row) for row in report.unmapped))
    assert call(capsys, "blocks", "v1", "v2", "--gone", gone)[0] == 4
    code, out, err = call(capsys, "blocks", "v1", "v2", "--gone", gone, "--least", "20", "--history", "former.jsonl")
    assert (code, "migration: pass" in out, "confirmed to be gone" in err) == (0, True, True)
    first = msgspec.json.decode(Path("former.jsonl").read_text().splitlines()[0], type=BlockHistory)
    assert (first.id, first.id_prev) == ("S.1.p.Bk002", ("S.1.p.Bk001",))


def test_chunks_of_a_project_and_of_another_chunker(capsys: pytest.CaptureFixture[str]) -> None:
    """The same documents cut in two ways: --cut for both, --new-cut for the second."""
    code, out, _ = call(
        capsys,
        "blocks",
        "v1",
        "v1",
        "--cut",
        "sentence,size=60,overlap=0",
        "--new-cut",
        "sentence,size=20,overlap=0",
        "--least",
        "1",
    )
    assert code == 0
    assert "split" in out
    Path("v1/karat.toml").write_text('[golden]\npath = "."\ndocuments = "."\n[pipeline]\nchunk = "whole"\n')
    write("v1/queries.jsonl", {"id": "q", "text": "?"})
    Path("v1/golden.toml").write_text('name = "rooms"\n')
    write("v1/documents.jsonl", {"id": "rooms", "text": "\n\n".join(TEXTS)})
    Path("v1/karat.toml").write_text('[pipeline]\nchunk = { name = "whole" }\n')
    code, out, _ = call(capsys, "blocks", "v1", "v2", "--cut", "outline", "--new-cut", "pipeline")
    assert "blocks: 29 merge, 1 unmapped" in out


def test_blocks_of_another_index(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows with offsets, or without: whatever the index calls its blocks."""
    before = write("old.jsonl", *({"id": f"c{n}", "document": "d", "text": text} for n, text in enumerate(TEXTS)))
    joined, at, rows = "", 0, []
    for n, text in enumerate(TEXTS):
        rows.append({"chunk_id": f"k{n}", "doc_id": "d", "content": text, "offsets": [at, at + len(text)]})
        at, joined = at + len(text) + 1, joined + text
    after = write("new.jsonl", *rows)
    code, out, _ = call(capsys, "blocks", before, after, "--least", "30")
    assert (code, "blocks: 30 shift" in out) == (0, True)


@each(
    ("rows", "problem"),
    [
        (
            [{"id": "a", "document": "d", "text": "x", "offsets": [0, 9]}],
            "the text has 1 bytes, but its offsets have 9",
        ),
        ([{"id": "a", "document": "d", "text": "x", "offsets": [5, 4]}], "do not rise from 0"),
        ([{"id": "a", "document": "d", "text": "x", "offsets": [10**14, 10**14 + 1]}], "hold 1 of"),
        (
            [{"id": "a", "document": "d", "text": "x", "offsets": [0, 1]}, {"id": "b", "document": "d", "text": "y"}],
            "have no offsets",
        ),
        (
            [
                {"id": "a", "document": "d", "text": "éé", "offsets": [0, 4]},
                {"id": "b", "document": "d", "text": "yy", "offsets": [1, 3]},
            ],
            "overlap with other bytes",
        ),
        ([{"id": "a", "document": "d"}], "'text' (or 'content') is missing"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "has a document id twice"),
    ],
)
def test_blocks_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], rows: list[dict[str, object]], problem: str
) -> None:
    """One message that says what is wrong, and exit code 2."""
    code, out, err = call(capsys, "blocks", write("bad.jsonl", *rows), "v2")
    assert (code, out) == (2, "")
    assert problem in err


@each(
    ("arguments", "problem"),
    [
        (("nowhere", "v2"), "no such file or folder"),
        (("v1", "v2", "--cut", "sentense"), "unknown chunker 'sentense'"),
        (("v1", "v2", "--cut", "sentence,size"), "is not an option of a chunker"),
        (("v1", "v2", "--gone", "v1/rooms.md"), "v1/rooms.md"),
        (("v1", "v2", "-o", "v1/rooms.md"), "v1/rooms.md"),
    ],
)
def test_calls_that_make_no_sense(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str) -> None:
    """Exit code 2, and nothing is written over what was read."""
    before = Path("v1/rooms.md").read_text()
    code, _, err = call(capsys, "blocks", *arguments)
    assert code == 2
    assert problem in err
    assert Path("v1/rooms.md").read_text() == before


def test_hostile_ids_are_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """An id that would clear the screen or command a CI job is escaped."""
    evil = "\x1b[2J::error::x"
    before = write("old.jsonl", {"id": evil, "document": evil, "text": f"{evil} gone"})
    after = write("new.jsonl", {"id": "a", "document": evil, "text": "all is new here"})
    code, out, err = call(capsys, "blocks", before, after)
    assert code == 1
    assert "\x1b[2J" not in out + err
    assert not any(line.startswith("::") for line in (out + err).splitlines())


def test_shadow_records(capsys: pytest.CaptureFixture[str]) -> None:
    """Two of three queries cite the same: exit code 1, stay in the shadow; all three: go on; too few: 4."""
    call(capsys, "blocks", "v1", "v2", "-o", "moves.jsonl")
    good = {"query": "q1", "control": ["S.1.p.Bk001"], "treatment": ["S.1.p.Bk002"]}
    bad = {"query": "q2", "control": ["S.1.p.Bk001"], "treatment": ["S.1.p.Bk001"]}
    code, out, _ = call(capsys, "shadow", "moves.jsonl", write("shadow.jsonl", good, good, bad), "--least", "1")
    assert code == 1
    assert "rollout: fail\ncitations: 33.3% of 3 queries differ (0.8% to 90.6%)\nstay in the shadow" in out
    assert "q2     S.1.p.Bk001         S.1.p.Bk001" in out
    code, out, _ = call(capsys, "shadow", "moves.jsonl", write("shadow.jsonl", good), "--least", "1")
    assert (code, "go on: 5 % of the traffic as a canary" in out) == (0, True)
    code, out, _ = call(capsys, "shadow", "moves.jsonl", "shadow.jsonl", "--json")
    assert code == 4
    assert msgspec.json.decode(out, type=RolloutReport).stage == "shadow"


def test_judgments_with_their_files(capsys: pytest.CaptureFixture[str]) -> None:
    """A proposal is written as a set and a pool; the report counts, and the set stays as it was."""
    call(capsys, "blocks", "v1", "v2", "-o", "moves.jsonl")
    Path("gold").mkdir()
    Path("gold/golden.toml").write_text('name = "rooms"\n')
    write("gold/documents.jsonl", {"id": "rooms", "text": Path("v1/rooms.md").read_text()})
    write("gold/queries.jsonl", {"id": "q", "text": "bed?"})
    write(
        "gold/judgments.jsonl",
        {"query": "q", "document": "rooms", "block": "S.1.p.Bk001", "grade": 3},
        {"query": "q", "document": "rooms", "block": "S.1.p.Bk030", "grade": 1},
    )
    before = Path("gold/judgments.jsonl").read_text()
    arguments = ("judgments", "gold", "moves.jsonl", "--documents", "v2")
    code, out, _ = call(capsys, *arguments, "-o", "gold2", "--pool", "look.jsonl")
    assert code == 0
    assert "gold2: of 2 judgments 1 carried, 0 to judge (0 rows), 1 lost" in out
    assert "q      rooms#S.1.p.Bk030      1  lost  its text is nowhere in the new version" in out
    assert '"block": "S.1.p.Bk002"' in Path("gold2/judgments.jsonl").read_text()
    assert (Path("look.jsonl").read_text(), Path("gold/judgments.jsonl").read_text()) == ("", before)
    code, out, _ = call(capsys, *arguments, "--json")
    assert msgspec.json.decode(out, type=CarriedJudgments).lost == 1
    assert call(capsys, *arguments[:3])[0] == 2
