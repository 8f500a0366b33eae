"""Files in every format, plain, gzipped, piped and on standard input, give the same scores; others are refused."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import karat
from each import each
from karat.measures import _files
from karat.measures._files import FORMATS, find

MEASURES = ["nDCG@10", "AP", "RR", "P@2", "Judged@10", "NumRet"]

# Ids that look like numbers, comments, other scripts and Windows paths; a tie; an unjudged and an unanswered query.
QRELS = {
    "q1": {"d1": 3, "#d2": 0, "d10": 1},
    "301": {"FT911-3": 1, "d\u00e9j\u00e0": 2},
    "\u95ee": {"c:\\a": 1, "1e5": -1},
    "not-in-run": {"d1": 1},
}
RUN = {
    "q1": {"d1": 0.5, "#d2": 12.25, "x": 0.5, "d10": -3.0},
    "301": {"d\u00e9j\u00e0": 1e-7, "FT911-3": 1e-8},
    "\u95ee": {"1e5": 16777217.0, "c:\\a": 16777216.0},
    "not-judged": {"d1": 1.0},
}
WANTED = karat.score(QRELS, RUN, MEASURES).to_dicts()

Table = dict[str, dict[str, Any]]
VALUE = {"qrels": "relevance", "run": "score"}


def rows(table: Table) -> list[tuple[str, str, Any]]:
    """Return the triples of a table, the best first."""
    return [(q, d, v) for q, docs in table.items() for d, v in sorted(docs.items(), key=lambda pair: -pair[1])]


def trec(table: Table, kind: str, gap: str = " ", end: str = "\n") -> str:
    """Write TREC's format."""
    lines = []
    for rank, (q, d, v) in enumerate(rows(table)):
        lines.append(gap.join([q, "0", d, str(v)] if kind == "qrels" else [q, "Q0", d, str(rank), repr(v), "tag"]))
    return "".join(line + end for line in lines)


def delimited(lines: Iterable[Iterable[Any]], delimiter: str, end: str = "\n") -> str:
    """Write CSV, or TSV, which has no quotes."""
    text = io.StringIO()
    quoting = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting, quotechar='"').writerows(lines)
    return text.getvalue()


def named(table: Table, kind: str, delimiter: str, end: str = "\n") -> str:
    """Write a table with a header."""
    return delimited([("query_id", "doc_id", VALUE[kind]), *rows(table)], delimiter, end)


def shuffled(table: Table, kind: str, delimiter: str) -> str:
    """Write columns in another order, with other names and between other columns."""
    head = ("note", "Score" if kind == "run" else "Rel", " docno ", "lang", "QID", "text")
    lines = [("a, b" if delimiter == "," else "a b", v, d, "en", q, 'say "hi"') for q, d, v in rows(table)]
    return delimited([head, *lines], delimiter)


def beir(table: Table, kind: str) -> str:
    """Write BEIR's qrels; a run in the same layout."""
    return delimited([("query-id", "corpus-id", "score"), *rows(table)], "\t")


def records(table: Table, kind: str) -> list[dict[str, Any]]:
    """Return one record for each row, with a key that is nobody's business."""
    return [{"query_id": q, "doc_id": d, VALUE[kind]: v, "extra": {"list": [1]}} for q, d, v in rows(table)]


def parquet(table: Table, kind: str) -> bytes:
    """Write Parquet."""
    buffer = io.BytesIO()
    pl.DataFrame(records(table, kind)).drop("extra").with_row_index().write_parquet(buffer)
    return buffer.getvalue()


# name: (ending, writer)
LAYOUTS: dict[str, tuple[str, Callable[[Table, str], str | bytes]]] = {
    "trec": ("", trec),
    "trec tabs": ("", lambda t, k: trec(t, k, "\t")),
    "trec runs of blanks": ("", lambda t, k: trec(t, k, " \t  ", " \n")),
    "trec CRLF": ("", lambda t, k: trec(t, k, end="\r\n")),
    "trec BOM": ("", lambda t, k: "\ufeff" + trec(t, k)),
    "trec blank lines": ("", lambda t, k: "\n \n" + trec(t, k, end="\n\n\t\n")),
    "trec no last line end": ("", lambda t, k: trec(t, k).rstrip()),
    "json": (".json", lambda t, k: json.dumps(t)),
    "json indented": (".json", lambda t, k: json.dumps(t, indent=2, ensure_ascii=False)),
    "json BOM CRLF": (".json", lambda t, k: "\ufeff" + json.dumps(t, indent=2).replace("\n", "\r\n")),
    "json records": (".json", lambda t, k: json.dumps(records(t, k))),
    "jsonl": (".jsonl", lambda t, k: "".join(json.dumps(r) + "\n" for r in records(t, k))),
    "jsonl CRLF": (".jsonl", lambda t, k: "\r\n\r\n".join(json.dumps(r) for r in records(t, k))),
    "csv": (".csv", lambda t, k: named(t, k, ",")),
    "csv BOM CRLF": (".csv", lambda t, k: "\ufeff" + named(t, k, ",", "\r\n")),
    "csv shuffled": (".csv", lambda t, k: shuffled(t, k, ",")),
    "csv without header": (".csv", lambda t, k: delimited(rows(t), ",")),
    "csv trec": (".csv", lambda t, k: trec(t, k, ",")),
    "csv blanks": (".csv", lambda t, k: named(t, k, ",").replace(",", " , ").replace("\n", "\n\n")),
    "tsv": (".tsv", lambda t, k: named(t, k, "\t")),
    "tsv CRLF": (".tsv", lambda t, k: named(t, k, "\t", "\r\n")),
    "tsv shuffled": (".tsv", lambda t, k: "\t".join(shuffled(t, k, ",").replace("a, b", "ab").split(","))),
    "tsv without header": (".tsv", lambda t, k: delimited(rows(t), "\t").replace('"', "")),
    "tsv trec": (".tsv", lambda t, k: trec(t, k, "\t")),
    "beir": (".tsv", beir),
    "parquet": (".parquet", parquet),
}


def content(layout: str, kind: str) -> bytes:
    """Return the judgments or the run in a layout."""
    written = LAYOUTS[layout][1](QRELS if kind == "qrels" else RUN, kind)
    return written.encode() if isinstance(written, str) else written


@pytest.mark.slow
@each("layout", LAYOUTS)
@each("how", ["named", "upper case", "sniffed", "gzipped", "gzip without its ending", "sniffed gzip"])
def test_every_format_gives_the_same_scores(tmp_path: Path, layout: str, how: str) -> None:
    """One set of judgments and one run, in every format, by ending and by content, gzipped and plain."""
    ending = {"named": "{}", "upper case": "{}", "sniffed": ".dat", "gzipped": "{}.gz", "gzip without its ending": "{}"}
    paths = []
    for kind in ("qrels", "run"):
        path = tmp_path / (kind + ending.get(how, ".gz").format(LAYOUTS[layout][0]))
        path = path.with_suffix(path.suffix.upper()) if how == "upper case" else path
        path.write_bytes(gzip.compress(content(layout, kind)) if "gzip" in how else content(layout, kind))
        paths.append(path)
    assert karat.score(*paths, MEASURES).to_dicts() == WANTED
    assert karat.score(*map(str, paths), MEASURES).to_dicts() == WANTED


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_standard_input_is_read_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, packed: bool
) -> None:
    """``-`` is standard input, whose format is sniffed, gzipped or not."""
    data = gzip.compress(content(layout, "run")) if packed else content(layout, "run")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert karat.score(QRELS, "-", MEASURES).to_dicts() == WANTED


@contextmanager
def piped(data: bytes) -> Iterator[str]:
    """Yield the path of a pipe that holds some bytes, as a shell passes it for <(command)."""
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    yield f"/dev/fd/{reader}"
    thread.join()
    os.close(reader)


@each("layout", ["trec", "json", "csv", "parquet"])
def test_a_pipe_is_read_once(layout: str) -> None:
    """What comes through a pipe, as from the shell's <(command), loses nothing to the sniffing of its format."""
    with piped(content(layout, "run")) as path:
        scores = karat.score(QRELS, path, MEASURES)
    assert scores.to_dicts() == WANTED


def test_a_long_pipe_is_read_to_its_end() -> None:
    """A pipe that holds more than the sniffed head gives all of its lines."""
    lines = "".join(f"q1 Q0 d{i} 0 {-i} t\n" for i in range(20_000))
    with piped(lines.encode()) as path:
        scores = karat.score({"q1": {"d1": 1}}, path, ["NumRet"])
    assert scores.sum("NumRet") == 20_000


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if not layout.startswith("parquet")])
def test_the_streaming_reader_gives_the_same_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """Every format has the same scores when it is read as a large file."""
    monkeypatch.setattr(_files, "_LARGE", 0)
    paths = [tmp_path / f"{kind}{LAYOUTS[layout][0]}" for kind in ("qrels", "run")]
    for path in paths:
        path.write_bytes(content(layout, path.name.split(".")[0]))
    assert karat.score(*paths, MEASURES).to_dicts() == WANTED


def test_lists_are_rankings_and_relevant_documents(tmp_path: Path) -> None:
    """In JSON a list of documents means their order in a run, and grade 1 in judgments."""
    (tmp_path / "qrels").write_text('{"q1": ["a", "c"], "q2": ["b"]}')
    (tmp_path / "run").write_text('{"q1": ["b", "a", "c"], "q2": []}')
    scores = karat.score(tmp_path / "qrels", tmp_path / "run", ["AP", "NumRet"])
    assert scores.to_dicts() == [
        {"query_id": "q1", "AP": (1 / 2 + 2 / 3) / 2, "NumRet": 3.0},
        {"query_id": "q2", "AP": 0.0, "NumRet": 0.0},
    ]


@each("format", ["trec", "json", "jsonl", "csv", "tsv", "parquet"])
def test_a_named_format_overrides_the_ending(tmp_path: Path, format: str) -> None:
    """A file with a misleading ending is read as the format that is named."""
    path = tmp_path / ("run.csv" if format != "csv" else "run.json")
    path.write_bytes(content({"json": "json indented"}.get(format, format), "run"))
    assert karat.score(QRELS, path, MEASURES, format=format).to_dicts() == WANTED


@each(
    ("head", "format"),
    [
        (b'{"q1": {"d1": 1}}', "json"),
        (b'{"q1":["d1","d2"]}', "json"),
        (b'{\n  "q1": {\n', "json"),
        (b'{"q\\"1": {"d": 1}, "q2": {}}\n', "json"),
        (b'{"query_id": "q1", "doc_id": "d1", "score": 1}', "jsonl"),
        (b'{"metadata": {"a": 1}, "query_id": "q1"}\n{"metadata": {}}', "jsonl"),
        (b'\xef\xbb\xbf\n {"_id": "q1"}\n', "jsonl"),
        (b'{"query_id": "' + b"x" * 70_000 + b'"}\n{"query_id": "b"}', "jsonl"),
        (b'[{"query_id": "q1"}]', "json"),
        (b"query_id\tdoc_id\tscore\trank\n", "tsv"),
        (b"rank\tscore\tdocid\tqid\ttag\tq0\n", "tsv"),
        (b"query-id\tcorpus-id\tscore\n", "tsv"),
        (b"query id,doc id,score,the rank\n", "csv"),
        (b"q1\td1\t1\n", "tsv"),
        (b"q1,d1,0.5\n", "csv"),
        (b"q1,Q0,d1,1,0.5,tag\n", "csv"),
        (b"q1\t0\td1\t1\n", "trec"),
        (b"q1 Q0 d1 1 0.5 a,b,c\n", "trec"),
        (b"q1 0 d1 1\n", "trec"),
        (b"PAR1", "parquet"),
        (b"what is this", "trec"),
    ],
)
def test_formats_are_told_by_content(tmp_path: Path, head: bytes, format: str) -> None:
    """A file without a telling name has the format that its first line shows."""
    (tmp_path / "file").write_bytes(head)
    assert find(tmp_path / "file").format == format


def test_blank_lines_longer_than_the_head_are_skipped(tmp_path: Path) -> None:
    """A file that begins with very many blank lines is no empty file."""
    (tmp_path / "run").write_bytes(b"\n" * 100_000 + content("csv", "run"))
    assert karat.score(QRELS, tmp_path / "run", MEASURES).to_dicts() == WANTED


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "the file is empty"), (b" \n\t\r\n", "the file holds only blanks"), (b"\n" * 100_000, "holds only blanks")],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_file_without_content_is_refused(tmp_path: Path, data: bytes, message: str, packed: bool) -> None:
    """An empty file is an error, not a run without queries."""
    (tmp_path / "run.txt").write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(karat.InputError, match=rf"run\.txt: .*{message}"):
        karat.score(QRELS, tmp_path / "run.txt")


@pytest.mark.parametrize("large", [2**40, 0], ids=["exact", "streamed"])
def test_a_byte_order_mark_is_no_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    """A file that holds only a byte-order mark and blanks is refused, as judgments and as a run."""
    monkeypatch.setattr(_files, "_LARGE", large)
    (tmp_path / "file.txt").write_bytes(b"\xef\xbb\xbf \n\n")
    for pair in ((QRELS, tmp_path / "file.txt"), (tmp_path / "file.txt", RUN)):
        with pytest.raises(karat.InputError, match="only blanks"):
            karat.score(*pair)


def test_a_gzip_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    """No truncated gzip file gives a score, wherever it was cut."""
    packed = gzip.compress(content("trec", "run"))
    for length in range(2, len(packed)):
        (tmp_path / "run.gz").write_bytes(packed[:length])
        with pytest.raises(karat.InputError, match=r"cannot be unpacked: .*damaged or cut off"):
            karat.score(QRELS, tmp_path / "run.gz")


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    """A gzip file with a flipped bit in its data or its checksum is refused, and so is one with junk behind it."""
    packed = bytearray(gzip.compress(content("trec", "run")))
    for at in (10, len(packed) // 2, len(packed) - 8, len(packed) - 1):
        damaged = packed[:]
        damaged[at] ^= 255
        (tmp_path / "run.gz").write_bytes(damaged)
        with pytest.raises(karat.InputError, match="cannot be unpacked"):
            karat.score(QRELS, tmp_path / "run.gz")
    (tmp_path / "run.gz").write_bytes(bytes(packed) + b"junk")
    with pytest.raises(karat.InputError, match="cannot be unpacked"):
        karat.score(QRELS, tmp_path / "run.gz")


def test_a_gzip_file_may_have_several_members(tmp_path: Path) -> None:
    """Gzip files that were put together with cat are one file."""
    lines = content("trec", "run").splitlines(keepends=True)
    (tmp_path / "run.gz").write_bytes(gzip.compress(b"".join(lines[:3])) + gzip.compress(b"".join(lines[3:])))
    assert karat.score(QRELS, tmp_path / "run.gz", MEASURES).to_dicts() == WANTED


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    """A Parquet file that was cut, and one that never was one, give one line of explanation."""
    data = content("parquet", "run")
    for length in (4, 8, len(data) // 2, len(data) - 1):
        (tmp_path / "run.parquet").write_bytes(data[:length])
        with pytest.raises(karat.InputError, match=r"run\.parquet: is not a valid Parquet file") as caught:
            karat.score(QRELS, tmp_path / "run.parquet")
        assert "\n" not in str(caught.value)


@each(
    ("name", "message"),
    [
        ("missing.txt", "missing.txt: no such file"),
        (".", "is a folder, not a file"),
        ("run.txt/x", "cannot be read: Not a directory"),
        ("a\0b", "is not a usable path"),
        ("\ud800", "is not a usable path"),
        ("x" * 300, "cannot be read: File name too long"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(tmp_path: Path, name: str, message: str) -> None:
    """What the system has against a path is said in one line."""
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 1 t\n")
    with pytest.raises(karat.InputError, match=message):
        karat.score(QRELS, f"{tmp_path}/{name}")


def test_an_empty_path_is_named() -> None:
    """An empty name, as from an unset variable of the shell, is shown as such."""
    with pytest.raises(karat.InputError, match=r"^'': "):
        karat.score(QRELS, "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    """A file that may not be read is an input error."""
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 d1 1 1 t\n")
    path.chmod(0)
    with pytest.raises(karat.InputError, match="cannot be read: Permission denied"):
        karat.score(QRELS, path)


def test_closed_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was started without standard input says so."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(karat.InputError, match="standard input: is closed"):
        karat.score(QRELS, "-")


def test_an_unknown_format_names_near_misses() -> None:
    """A misspelt format is answered with the one that was meant."""
    with pytest.raises(karat.UsageError, match="unknown format 'jsnl', did you mean 'jsonl'"):
        karat.score(QRELS, "run", format="jsnl")
    assert set(FORMATS) == {"trec", "json", "jsonl", "csv", "tsv", "parquet"}


def test_a_file_that_vanishes_is_an_input_error(tmp_path: Path) -> None:
    """A file that is deleted between being found and being read is an error, not a traceback."""
    path = tmp_path / "run.txt"
    path.write_bytes(content("trec", "run"))
    source = find(path)
    path.unlink()
    for act in (source.read, source.open, lambda: source.large):
        with pytest.raises(karat.InputError, match="no such file"):
            act()


SPAN = {
    "name": "search",
    "context": {"trace_id": "7f"},
    "attributes": {
        "openinference.span.kind": "RETRIEVER",
        "karat.query": "q1",
        "input.value": "Is there wifi?",
        "retrieval.documents": [{"document": {"id": "pool"}}, {"document": {"id": "wifi:chunk:3"}}],
    },
}


@pytest.mark.parametrize("indent", [None, 2])
def test_spans_of_a_tracing_tool_are_a_run(tmp_path: Path, indent: int | None) -> None:
    """Whose queries are named by an attribute of karat's, or else by their text; judgments they are not."""
    path, other = tmp_path / "spans.json", tmp_path / "other.json"
    path.write_text(json.dumps(SPAN, indent=indent))
    assert karat.score({"q1": {"wifi": 1}}, path, ["RR"]).mean() == {"RR": 0.5}
    unnamed = {key: value for key, value in SPAN["attributes"].items() if key != "karat.query"}
    other.write_text(json.dumps({**SPAN, "attributes": unnamed}, indent=indent))
    assert karat.score({"Is there wifi?": {"pool": 1}}, other, ["RR"]).mean() == {"RR": 1.0}
    with pytest.raises(karat.InputError, match="holds spans, not judgments"):
        karat.score(path, other, ["RR"])


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (bz2.compress, "bzip2"), (lzma.compress, "xz"), (lambda data: b"\x28\xb5\x2f\xfd" + data + b"\xff", "zstd"),
        (lambda data: b"PK\x03\x04\xff" + data, "zip"),
    ],
    ids=["bzip2", "xz", "zstd", "zip"],
)  # fmt: skip
def test_a_file_that_another_program_packed_is_named(tmp_path: Path, pack: Callable[[bytes], bytes], name: str) -> None:
    """It is no text in another encoding, so that iconv would be bad advice."""
    run = tmp_path / "run.txt"
    run.write_bytes(pack(b"q1 Q0 d1 1 1.0 t\n"))
    with pytest.raises(karat.InputError, match=f"run.txt: is packed with {name}; unpack it, or pack it with gzip"):
        karat.score({"q1": {"d1": 1}}, run, ["RR"])
