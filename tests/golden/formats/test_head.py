"""What the first bytes of a file show."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given

from golden.formats.golden_strategies import mappings, quick
from karat.golden.formats._head import Head, read_head


def test_keys_of_records_are_the_same_in_every_layout() -> None:
    """A list, lines, or one object; keys further in have a path."""
    record = '{"input": "a: {", "context": ["x"], "meta": {"k": [{"deep": 1}]}}'
    keys = {"input", "context", "meta", "meta.k", "meta.k[].deep"}
    for text in (record, f"[{record}, {record}]", f"{record}\n{record}\n", f"[{record[:-1]}"):
        assert Head(text=text).keys == keys
    assert Head(text='{"queries": [{"id": 1}, {"text": 2}]}').keys == {"queries", "queries[].id", "queries[].text"}


def test_a_text_that_is_cut_off_shows_what_is_there() -> None:
    """Also within a string, whose quotes then do not pair."""
    assert Head(text='[{"a": "x", "b": "cut: {\\"c').keys == {"a", "b"}
    assert Head(text="}}]").keys == frozenset()


def test_a_header_is_read_as_csv() -> None:
    """Quoted names and blanks included; JSON has none."""
    assert Head(text='\n question ,"corpus_id"\nx,y\n').columns == {"question", "corpus_id"}
    assert Head(text='{"a": 1}').columns == frozenset()


def test_what_cannot_be_read_shows_nothing(tmp_path: Path) -> None:
    """A folder, a missing file, a damaged archive: never an error."""
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"[" * 9999)[:20])
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "cut.gz"):
        assert read_head(path).text == ""


def test_a_packed_file_shows_what_is_in_it(tmp_path: Path) -> None:
    """As do a byte-order mark and bytes that are no text."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(b'\xef\xbb\xbf{"a": 1, "\xff": 2}'))
    assert read_head(tmp_path / "a.gz").keys == {"a", "\ufffd"}


def test_lines_leave_out_the_last_where_it_may_be_cut(tmp_path: Path) -> None:
    """Half a line would look like one with too few columns."""
    (tmp_path / "long").write_text("1 0 d1 1\n" * 10_000)
    assert set(read_head(tmp_path / "long").lines) == {"1 0 d1 1"}
    assert Head(text="a\r\n\nb").lines == ("a", "b")


@pytest.mark.slow
@quick
@given(value=mappings)
def test_keys_are_those_of_the_parser(value: dict[str, object]) -> None:
    """The walk finds the keys that json finds, for keys that need no escapes and are not empty."""
    keys = {key for key in Head(text=json.dumps(value)).keys if "." not in key and "[]" not in key}
    assert {key for key in value if key and json.dumps(key)[1:-1] == key and "." not in key and "[]" not in key} <= keys
