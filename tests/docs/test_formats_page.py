"""The page on formats has every format and every key, and what it shows as a file is read as one."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from docs.test_docs import FENCE, PAGES, ROOT, blocks
from each import each
from karat import golden
from karat.core import Document, GoldenSet, InputError, Judgment, Query, Session, Target

PAGE = ROOT / "docs" / "golden-formats.md"

REQUIRED: dict[str, dict[str, Any]] = {
    "documents.jsonl": {"id": "d"},
    "queries.jsonl": {"id": "q", "text": "?"},
    "judgments.jsonl": {"query": "q", "document": "d", "grade": 1},
}
"""A row of each file of karat's format, with no field that may be left out."""


def names(kind: Any) -> set[str]:
    """Return the fields of a part of the model."""
    return {field.name for field in fields(kind)}


KEYS = {
    "golden.toml": names(GoldenSet) - {"documents", "queries", "judgments", "notes"},
    "documents.jsonl": names(Document),
    "queries.jsonl": names(Query),
    "judgments.jsonl": names(Judgment) - {"target"} | names(Target),
}


def section(title: str) -> str:
    """Return the text under a heading, up to the next one that is not below it."""
    page = PAGE.read_text(encoding="utf-8")
    plain = FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), page)  # where # begins no heading
    heading = re.search(rf"^(#+) {re.escape(title)}$", plain, re.MULTILINE)
    assert heading, f"no heading {title}"
    following = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(plain, heading.end())
    return page[heading.end() : following.start() if following else len(page)]


def example(title: str, language: str) -> str:
    """Return the first block in a language under a heading."""
    block = next((fence for fence in FENCE.finditer(section(title)) if fence[2] == language), None)
    assert block, f"no {language} under {title}"
    return block[3]


def keys(title: str) -> set[str]:
    """Return the keys in the table under a heading."""
    cells = re.findall(r"^\| (`[^|]+) \|", section(title), re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


def own_formats() -> list[str]:
    """Return the formats of karat itself, without those of other packages that may be installed."""
    return [known.name for known in golden.FORMATS if known.read.__module__.startswith("karat.")]


@each("name", own_formats())
def test_every_format_has_a_section_and_a_row(name: str) -> None:
    """A format has a heading of its name, an example, and a row that says whether it is written."""
    assert FENCE.search(section(name)), f"no example of {name}"
    row = re.search(rf"^\| \[{name}\]\(#{name}\) \|[^|]*\| read(, written)?[^|]*\|", PAGE.read_text(), re.MULTILINE)
    assert row, f"no row of {name}"
    assert bool(row[1]) == (golden.FORMATS.get(name).write is not None)


def test_the_page_counts_the_formats() -> None:
    """The first sentence says how many are read and how many are written."""
    words = {len(own_formats()): "fourteen", sum(known.write is not None for known in golden.FORMATS): "eleven"}
    assert words == {14: "fourteen", 11: "eleven"}, "change the first sentence of the page"
    assert "reads fourteen formats of golden sets and writes eleven" in PAGE.read_text(encoding="utf-8")


@each("file", KEYS)
def test_every_key_of_karats_format_is_described(file: str) -> None:
    """The table of a file has every field of what the file holds, and no other."""
    assert keys(file) == KEYS[file]


def test_every_key_of_a_session_is_described() -> None:
    """A session is an object within a query, described in its row."""
    row = re.search(r"^\| `session` .*$", section("queries.jsonl"), re.MULTILINE)
    assert row
    assert [name for name in names(Session) if f"`{name}`" not in row[0]] == []


def test_no_key_is_described_that_the_reader_does_not_know(tmp_path: Path) -> None:
    """A set with every key of the tables is read without a word on unknown keys."""
    special: dict[str, Any] = {"grades": ["no", "yes"], "relevant": 1, "gate": {}, "classes": {}}
    lines = [f"{key} = {json.dumps(special.get(key, 'x'))}" for key in keys("golden.toml")]
    (tmp_path / "golden.toml").write_text("\n".join(lines))
    for file, required in REQUIRED.items():
        (tmp_path / file).write_text(json.dumps({**dict.fromkeys(keys(file)), **required}))
    assert golden.read(tmp_path).notes == ()


@pytest.mark.parametrize("file", REQUIRED)
def test_what_is_required_is_said_to_be(tmp_path: Path, file: str) -> None:
    """Without a key that the table calls required a row is a mistake, and without the others it is not."""
    rows = re.findall(r"^\| (`[^|]+) \|[^|]+\| required \|", section(file), re.MULTILINE)
    assert {key for cell in rows for key in re.findall(r"`(\w+)`", cell)} == REQUIRED[file].keys()
    (tmp_path / "golden.toml").touch()
    (tmp_path / "queries.jsonl").touch()
    (tmp_path / file).write_text(json.dumps(REQUIRED[file]))
    golden.read(tmp_path)
    for key in REQUIRED[file]:
        (tmp_path / file).write_text(json.dumps({**REQUIRED[file], key: None}))
        with pytest.raises(InputError, match=f"'{key}' is missing"):
            golden.read(tmp_path)


def test_the_example_of_karats_format_is_a_set(tmp_path: Path) -> None:
    """The four blocks together are a set in which the linter finds no error."""
    (tmp_path / "golden.toml").write_text(example("golden.toml", "toml"))
    for file in REQUIRED:
        (tmp_path / file).write_text(example(file, "json"))
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "maps.md").write_text("# Maps\n\nMaps of the town are sold at the counter.\n")
    shown = golden.read(tmp_path)
    assert shown.notes == ()
    assert golden.check(shown).ok
    assert next(iter(shown.decided.values())) == 2, "the page says so below the judgments"


@each("name", [name for name in own_formats() if "```json" in section(name) and name != "karat"])
def test_every_example_in_json_is_a_file_of_its_format(tmp_path: Path, name: str) -> None:
    """The example is recognised, every key is known, and it has a query with a judgment."""
    text = example(name, "json")
    file = tmp_path / "example"
    file.write_text(text)
    assert [known.name for known in golden.FORMATS if known.recognise(file)] == [name]
    shown = golden.read(file)
    assert not [note for note in shown.notes if "unknown key" in note]
    assert shown.queries
    assert shown.judgments


@each("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_json_and_toml_blocks_parse(page: Path) -> None:
    """A block in JSON is one value, or one on each line; a block in TOML is TOML."""
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}, line {block.line}"
        if block.info == "toml":
            assert tomllib.loads(block.text), where
        elif block.info == "json":
            assert json_values(block.text, where), where


def json_values(text: str, where: str) -> list[Any]:
    """Return the values of a block."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        pass  # it may be JSONL
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            values.append(json.loads(line))
        except json.JSONDecodeError as error:
            pytest.fail(f"{where}, row {number}: {error}")
    return values
