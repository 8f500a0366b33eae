"""karat's own format: a folder that diffs well in git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from each import each
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Session, Span, Target
from karat.files import Mistakes

FULL = GoldenSet(
    name='a "name"\x7f',
    version="1.2.3",
    description="two\nlines",
    created="2026-11-15",
    grades=("no", "yes"),
    relevant=1,
    documents=(
        Document(id="d1", text="in the row\r\n\x00?".replace("\x00", "\u2028"), title="T", type="A", format="text"),
        Document(
            id="d2",
            text="in a file\r\nwith its own line ends\n",
            path="documents/d2.md",
            domain="policy",
            tags=("a", "b"),
            tier="critical",
            version="2",
            superseded_by="d1",
            metadata={"nested": {"x": [1, None]}},
        ),
    ),
    queries=(
        Query(
            id="q",
            text="?",
            paraphrases=("¿?", "e\u0301"),
            category="c",
            type="t",
            intent="i",
            answer="a",
            negatives=(Target(document="d1"), Target(document="d2", section="S.1")),
            anchors=(Target(document="d2", section="S.2"),),
            must_show=("d1",),
            chain=("d1", "d2"),
            top_chunk="d1:chunk:0",
            session=Session(id="s", documents=("d2",), turn=3),
            harvested="2026-01-01",
            metadata={"k": "v"},
        ),
        Query(id="empty", text=""),
    ),
    judgments=(
        Judgment(query="q", target=Target(document="d1", span=Span(0, 3)), grade=1),
        Judgment(
            query="q",
            target=Target(document="d2", block="S.1.p.Bk001"),
            grade=0,
            source="implicit",
            annotator="ana",
            confidence=0.5,
            date="2026-11-15",
            channels=("bm25",),
        ),
    ),
    classes={"same thing": ("d1", "d2")},
    gate={"P@5": 0.6, "nDCG(gain='exp')@10": 0.5},
)


def test_all_of_the_model_goes_round(tmp_path: Path) -> None:
    """What is written is read again: every field, odd characters, line ends, texts in files of their own."""
    assert golden.write(FULL, tmp_path / "set") == ()
    assert golden.read(tmp_path / "set") == FULL
    assert golden.read(tmp_path / "set" / "golden.toml") == FULL
    assert (tmp_path / "set" / "documents" / "d2.md").read_bytes() == FULL.documents[1].text.encode()


def test_defaults_are_not_written(tmp_path: Path) -> None:
    """A row holds what somebody said and nothing else, so that a diff shows it."""
    plain = GoldenSet(
        judgments=(Judgment(query="q", target=Target(document="d"), grade=0),), queries=(Query(id="q", text="?"),)
    )
    golden.write(plain, tmp_path / "set")
    assert (tmp_path / "set" / "judgments.jsonl").read_text() == '{"query": "q", "document": "d", "grade": 0}\n'
    assert (tmp_path / "set" / "queries.jsonl").read_text() == '{"id": "q", "text": "?"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set to break."""
    golden.write(replace(FULL, name="set"), tmp_path / "set")
    return tmp_path / "set"


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as raised:
        golden.read(folder)
    return str(raised.value)


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname", "documents/../../secret.txt", "link"])
def test_no_path_leads_out_of_the_set(folder: Path, path: str) -> None:
    """A row cannot make karat read a file that lies elsewhere, by name or through a link."""
    (folder.parent / "secret.txt").write_text("secret")
    (folder / "link").symlink_to(folder.parent / "secret.txt")
    (folder / "documents.jsonl").write_text(f'{{"id": "d", "path": "{path}"}}\n')
    assert "line 1: path" in refused(folder)
    assert "leads out of the set's folder" in refused(folder)


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    """A document whose path leads out is refused, and nothing is left behind."""
    wrong = replace(FULL, documents=(Document(id="d", path="../../x.md"),))
    with pytest.raises(InputError, match="leads out of the folder"):
        golden.write(wrong, tmp_path / "a" / "set")
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("golden.toml", "name = ", "golden.toml: is not valid TOML"),
        ("golden.toml", "relevant = 'two'", "golden.toml: 'relevant' is 'two', not a whole number"),
        ("golden.toml", "[gate]\n'P@5' = 'high'", "gate: 'P@5' is 'high', not a number"),
        ("golden.toml", "[classes]\na = 'd1'", "classes: 'a' is 'd1', not a list"),
        ("queries.jsonl", '{"id": "q"}', "queries.jsonl, line 1: 'text' is missing"),
        ("queries.jsonl", '{"id": "q", "text": "?", "negatives": [{"section": "S.1"}]}', "negatives[0]: 'document' is"),
        ("queries.jsonl", '{"id": "q", "text": "?", "session": {"turn": 1}}', "session: 'id' is missing"),
        ("queries.jsonl", b'{"id": "q", "text": "\xff"}', "line 1: byte 0xff is not UTF-8"),
        ("judgments.jsonl", '{"query": "q", "document": "d"}', "line 1: 'grade' is missing"),
        (
            "judgments.jsonl",
            '{"query": "q", "document": "d", "grade": 1, "source": "manuel"}',
            "did you mean 'manual'?",
        ),
        ("judgments.jsonl", '{"query": "q", "document": "d", "grade": 1, "confidence": 2}', "not between 0 and 1"),
        ("judgments.jsonl", '{"query": "q", "document": "d", "grade": 1, "span": [3]}', "not [start, end] in bytes"),
        ("judgments.jsonl", '{"query": "q", "docu', "line 1: is not valid JSON"),
        ("documents.jsonl", '{"id": "d", "path": "none.md"}', "none.md: no such file"),
        ("documents.jsonl", '{"id": "d", "path": "a\\u0000b"}', "leads out of the set's folder"),
        (
            "judgments.jsonl",
            '{"query": "q", "document": "d", "grade": 1, "span": [1, 1' + "0" * 40 + "]}",
            "so many bytes",
        ),
        ("golden.toml", "x = " + "[" * 5000 + "]" * 5000, "golden.toml: is nested too deep"),
        ("documents.jsonl", '{"id": "d", "path": "documents/d2.md", "text": "x"}', "both 'text' and 'path' are given"),
    ],
)
def test_a_mistake_is_reported_with_its_place(folder: Path, file: str, text: str | bytes, message: str) -> None:
    """Each mistake names file, line and field."""
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert message in refused(folder)


def test_mistakes_of_all_files_come_together(folder: Path) -> None:
    """One reading tells the mistakes of every file."""
    for name in ("documents", "queries", "judgments"):
        (folder / f"{name}.jsonl").write_text("{}\n")
    with pytest.raises(Mistakes) as raised:
        golden.read(folder)
    assert len(raised.value.errors) == 3


def test_unknown_keys_are_notes(folder: Path) -> None:
    """A misspelt key is reported wherever it is, and does not stop the reading."""
    (folder / "golden.toml").write_text("nmae = 'x'\n")
    (folder / "queries.jsonl").write_text(
        '{"id": "q", "text": "?", "catgory": "x", "anchors": [{"document": "d1", "sect": 1}]}\n'
    )
    notes = golden.read(folder).notes
    assert [note.split(": ", 1)[1] for note in notes] == [
        "unknown key 'nmae', ignored, did you mean 'name'?",
        "unknown key 'sect', ignored, did you mean 'section'?",
        "unknown key 'catgory', ignored, did you mean 'category'?",
    ]


def test_a_set_without_queries_says_which_file_is_missing(folder: Path) -> None:
    """Documents and judgments may be absent; queries may not."""
    for name in ("documents", "judgments"):
        (folder / f"{name}.jsonl").unlink()
    assert golden.read(folder).documents == ()
    (folder / "queries.jsonl").unlink()
    assert refused(folder).endswith("queries.jsonl: no such file")


def test_a_crash_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder appears under its name only when it is complete."""

    def fail(self: Path, target: Path) -> Path:
        assert sorted(p.name for p in self.iterdir()) == [
            "documents", "documents.jsonl", "golden.toml", "judgments.jsonl", "queries.jsonl",
        ]  # fmt: skip
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        golden.write(FULL, tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


@each(
    ("wrong", "message"),
    [
        (Document(id="d", path="golden.toml"), "is used by another file of the set"),
        (Document(id="d", path="documents/d2.md"), "is used by another file of the set"),
        (Document(id="d", metadata={"x": float("nan")}), "'d' cannot be written as JSON"),
        (Document(id="d", metadata={"x": {1}}), "'d' cannot be written as JSON"),
        (Document(id="d", text="\ud800"), "half of a surrogate pair"),
    ],
)
def test_what_would_not_come_back_is_not_written(tmp_path: Path, wrong: Document, message: str) -> None:
    """Two texts in one file, the set's own files, and what JSON has no room for are refused, and nothing is left."""
    with pytest.raises(InputError, match=message):
        golden.write(replace(FULL, documents=(FULL.documents[1], wrong)), tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_a_byte_order_mark_comes_back(tmp_path: Path) -> None:
    """A text that begins with one keeps it, though files are read without theirs."""
    marked = replace(FULL, documents=(Document(id="d", text="\ufefftext", path="d.txt"),))
    golden.write(marked, tmp_path / "set")
    assert golden.read(tmp_path / "set").documents == marked.documents


def test_judgments_in_columns_have_the_targets_of_the_long_way(tmp_path: Path) -> None:
    """A confidence in the last row needs the long way for all of them; an empty span is none."""
    rows = [
        '{"query": "q", "document": "a", "span": [2, 9], "grade": 3, "source": "validated"}',
        '{"query": "q", "document": "a", "section": "S.1", "block": "b", "grade": 1}',
        '{"query": "q", "document": "a", "span": [2, 9], "section": "S.1", "grade": 0, "date": "2026"}',
    ]
    (tmp_path / "golden.toml").write_text('name = "mine"\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "?"}\n')
    sets = []
    for last in ("", ', "confidence": 0.5'):
        lines = [*rows, f'{{"query": "q", "document": "b", "span": [0, 1], "grade": 2{last}}}']
        (tmp_path / "judgments.jsonl").write_text("\n".join(lines) + "\n")
        sets.append(golden.read(tmp_path))
    columns, rowwise = (golden_set.held_judgments for golden_set in sets)
    assert not isinstance(columns, tuple)
    assert isinstance(rowwise, tuple)
    assert sets[0].judgments == (*rowwise[:3], replace(rowwise[3], confidence=None))
