"""The streaming reader against the exact one, and tables of Polars, pandas and Arrow."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import karat
from each import each
from karat.measures import _files, _frames, _stream, read_judgments
from karat.measures._score import align_run

MEASURES = ["nDCG@10", "AP", "RR", "P@3", "Judged@10", "NumRet", "Bpref"]


@contextmanager
def streaming(chunk: int = 4 * 2**20, rows: int = 200_000) -> Iterator[None]:
    """Read every file with the streaming reader, in pieces of ``chunk`` bytes and ``rows`` rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "_LARGE", 0)
        patch.setattr(_frames, "_CHUNK", chunk)
        patch.setattr(_frames, "_CACHED", chunk)
        patch.setattr(_frames, "ROWS", rows)
        patch.setattr(_stream, "ROWS", rows)
        yield


def seen(qrels: Path, run: Path) -> Any:
    """Return all that a measure can see of two files, or the message of the error."""
    try:
        judgments = read_judgments(qrels)
        alignment = align_run(judgments, run)
    except karat.KaratError as error:
        return str(error)
    pairs = [(query, judgments.documents[j]) for query, start, end in judgments.spans() for j in range(start, end)]
    return {
        "judged": dict(zip(pairs, zip(alignment.grades.tolist(), alignment.ranks.tolist(), strict=True), strict=True)),
        "retrieved": dict(zip(alignment.queries, alignment.retrieved.tolist(), strict=True)),
        "in_run": dict(zip(alignment.queries, alignment.in_run.tolist(), strict=True)),
        "not_judged": alignment.not_judged,
    }


def both(folder: Path, qrels: bytes, run: bytes, ending: str = ".txt", **sizes: int) -> tuple[Any, Any]:
    """Read the same files exactly and streaming."""
    paths = folder / f"qrels{ending}", folder / f"run{ending}"
    for path, content in zip(paths, (qrels, run), strict=True):
        path.write_bytes(content)
    exact = seen(*paths)
    with streaming(**sizes):
        return exact, seen(*paths)


QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
RUN = b"q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\nq2 Q0 d1 1 3.5 t\n"


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(RUN.replace(b" ", b"\t"), id="tabs"),
        pytest.param(RUN.replace(b" ", b" \t  "), id="runs of blanks and tabs"),
        pytest.param(RUN.replace(b"q2 Q0", b"q2\tQ0").replace(b" t\n", b" 7\n"), id="one tab"),
        pytest.param(RUN.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + RUN, id="BOM"),
        pytest.param(RUN.replace(b"\n", b"\n\n \t\n"), id="blank lines"),
        pytest.param(b"\n\n" + RUN, id="blank lines first"),
        pytest.param(b"  " + RUN.replace(b"\n", b" \n "), id="blanks around lines"),
        pytest.param(RUN[:-1], id="no last line end"),
        pytest.param(RUN.replace(b"d2", b"#d2"), id="number sign"),
        pytest.param(RUN.replace(b"d2", b'"d2,'), id="quote and comma"),
        pytest.param(RUN.replace(b"d2", "\u00e9\u4e2d\U0001f600".encode()), id="other scripts"),
        pytest.param(RUN.replace(b"d2", b"d\x1b[31m"), id="escape sequence"),
        pytest.param(RUN.replace(b"q1 Q0 d2", b"q1\x0cQ0\x0bd2"), id="form feed between columns"),
        pytest.param(RUN + b"\xef\xbb\xbfq1 Q0 d9 1 9 t\n", id="BOM inside"),
        pytest.param(b"".join(sorted(RUN.splitlines(keepends=True), key=lambda line: line[6:])), id="interleaved"),
        pytest.param(RUN + b"q9 Q0 d1 1 1 t\n", id="unjudged query"),
        *(
            pytest.param(RUN.replace(b"2.0", spelling), id=spelling.decode())
            for spelling in (
                b"+2",
                b".5",
                b"5.",
                b"1e5",
                b"-1E-5",
                b"007",
                b"-0",
                b"0.1000000000000000055511151231257827",
            )
        ),
        pytest.param(RUN.replace(b"2.0", b"16777217").replace(b"1.0", b"16777216"), id="more than single precision"),
        pytest.param(RUN.replace(b"2.0", b"1.0"), id="tie"),
    ],
)
@pytest.mark.parametrize("chunk", [4 * 2**20, 25], ids=["whole", "pieces"])
def test_readers_agree_on_every_layout(tmp_path: Path, run: bytes, chunk: int) -> None:
    """Whatever stands between and around the columns, both readers see the same run."""
    exact, streamed = both(tmp_path, QRELS, run, chunk=chunk, rows=2)
    assert isinstance(exact, dict)
    assert streamed == exact


@pytest.mark.parametrize(
    "qrels",
    [
        pytest.param(QRELS.replace(b" ", b"\t"), id="tabs"),
        pytest.param(QRELS.replace(b" d", b"\td"), id="blanks and tabs"),
        pytest.param(QRELS.replace(b"d1 2", b"d1\t2"), id="one tab"),
        pytest.param(QRELS.replace(b" ", b"  "), id="double blanks"),
        pytest.param(QRELS.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + QRELS, id="BOM"),
        pytest.param(b"\n" + QRELS.replace(b"\n", b"\n\n"), id="blank lines"),
        pytest.param(QRELS[:-1], id="no last line end"),
        pytest.param(b"".join(sorted(QRELS.splitlines(keepends=True), key=lambda line: line[5:])), id="interleaved"),
        pytest.param(QRELS.replace(b"d1 1", b"d1 +1"), id="plus sign"),
        pytest.param(QRELS.replace(b"d1 1", b"d1 0000000000000000000001"), id="leading zeros"),
        pytest.param(QRELS.replace(b"d1 1", b"d1 1.0"), id="as pandas writes it"),
    ],
)
@pytest.mark.parametrize("chunk", [4 * 2**20, 25], ids=["whole", "pieces"])
def test_readers_agree_on_every_layout_of_judgments(tmp_path: Path, qrels: bytes, chunk: int) -> None:
    """Whatever stands between and around the columns, both readers see the same judgments."""
    exact, streamed = both(tmp_path, qrels, RUN, chunk=chunk, rows=2)
    assert isinstance(exact, dict)
    assert streamed == exact


BAD_RUNS = [
    *(
        pytest.param(RUN.replace(b"1.0", text), id=f"score {text.decode()}")
        for text in (b"nan", b"inf", b"-inf", b"1e999", b"3,5", b"x", b"1_000", "٣".encode(), b"0x10", b'"1"', b"1e")
    ),
    pytest.param(RUN.replace(b" 1.0 t", b" 1.0"), id="too few columns"),
    pytest.param(RUN.replace(b" 1.0 t", b" 1.0 t x"), id="too many columns"),
    pytest.param(RUN + b"q3 Q0 d8 1 2.0 t x\nq3 Q0 d9 2 1.0\n", id="too many, then too few"),
    pytest.param(RUN.replace(b"d1 1 2.0", b"d\x011 1 2.0").replace(b"1.0 t", b"1.0"), id="control"),
    pytest.param(RUN.replace(b"d2", b"d\r2"), id="carriage return in an id"),
    pytest.param(RUN.replace(b"1.0", b"1\r.0"), id="carriage return in a score"),
    pytest.param(RUN.replace(b"\n", b"\r"), id="only carriage returns"),
    pytest.param(RUN + b"q1 Q0 d1 3 0.5 t\n", id="duplicate"),
    pytest.param(RUN + b"q9 Q0 d1 3 0.5 t\n" * 2, id="duplicate of an unjudged query"),
    pytest.param(RUN.replace(b"d2", b"\xff"), id="document not UTF-8"),
    pytest.param(RUN.replace(b"q2", b"\xff"), id="query not UTF-8"),
    pytest.param(RUN.replace(b"1.0 t", b"1.0 \xff"), id="tag not UTF-8"),
    pytest.param(RUN.replace(b"d2", b"d\x00"), id="NUL"),
    pytest.param(RUN.replace(b"q", b"x"), id="no query in common"),
    pytest.param(QRELS, id="judgments for a run"),
]


@pytest.mark.parametrize("run", BAD_RUNS)
@pytest.mark.parametrize("chunk", [4 * 2**20, 25], ids=["whole", "pieces"])
def test_readers_agree_on_every_mistake_in_a_run(tmp_path: Path, run: bytes, chunk: int) -> None:
    """What is wrong with a run is said in the same words by both readers, with its file."""
    exact, streamed = both(tmp_path, QRELS, run, chunk=chunk, rows=2)
    assert isinstance(exact, str)
    assert "run.txt" in exact
    assert streamed == exact


@pytest.mark.parametrize(
    "qrels",
    [
        pytest.param(QRELS.replace(b"d1 1", b"d1 1.5"), id="fraction"),
        pytest.param(QRELS.replace(b"d1 1", b"d1 x"), id="letter"),
        pytest.param(QRELS.replace(b"d1 1", b"d1 1000000000000001"), id="huge"),
        pytest.param(QRELS.replace(b"d1 1", b"d1 99999999999999999999"), id="more than 64 bits"),
        pytest.param(QRELS + b"q1 0 d1 1\n", id="duplicate"),
        pytest.param(QRELS + b"q1 0 d8\nq1 0 d9 1 x\n", id="too few, then too many"),
    ],
)
def test_readers_agree_on_every_mistake_in_judgments(tmp_path: Path, qrels: bytes) -> None:
    """What is wrong with judgments is said in the same words by both readers."""
    exact, streamed = both(tmp_path, qrels, RUN)
    assert isinstance(exact, str)
    assert "qrels.txt, line " in exact
    assert streamed == exact


CSV_QRELS = b"query_id,doc_id,relevance\nq1,d1,1\nq1,d2,0\nq2,d1,2\n"
CSV_RUN = b"query_id,doc_id,score,x\nq1,d1,2.0,a\nq1,d2,1.0,a\nq2,d1,3.5,a\n"


@each(
    ("old", "new"),
    [
        (b"", b""),
        (b"d2", b" d2 "),
        (b"2.0", b" 2.0"),
        (b"d2", b"d\x1f"),
        (b"d2", "d\u00a0".encode()),
        (b"\n", b"\r\n"),
        (b"\n", b"\n\n"),
        (b"d2", b'"d""2"'),
        (b"d2", b'"d\n2"'),
        (b"d2", b'd"2'),
        (b"d2", b'"d"2'),
        (b"d2", b'"d2'),
        (b"d2", b""),
        (b"1.0,a", b"1.0"),
        (b"1.0,a", b"1.0,"),
        (b"1.0,a", b"1.0,a,b"),
        (b"1.0", b"inf"),
        (b"1.0", b"1_0"),
        (b"score,x", b"score,score"),
        (b"score,x", b"points,x"),
        (b"query_id,doc_id,score,x\n", b""),
        (b"d2", b"d\x00"),
        (b"d2", b"\xff"),
        (b"1.0,a", b"1.0,\xff"),
        (b"1.0,a", b"1.0,a\rb"),
        (b"d2", b"d1"),
        (b"q", b"x"),
    ],
)
@each("ending", [".csv", ".tsv"])
def test_readers_agree_on_tables(tmp_path: Path, old: bytes, new: bytes, ending: str) -> None:
    """A CSV or TSV run gives the same ranks, or the same message, however it is read."""
    run = CSV_RUN.replace(old, new) if old else CSV_RUN
    qrels = CSV_QRELS
    if ending == ".tsv":
        qrels, run = qrels.replace(b",", b"\t"), run.replace(b",", b"\t")
    exact, streamed = both(tmp_path, qrels, run, ending, rows=2)
    assert streamed == exact


@each(
    ("old", "new"),
    [
        (b"", b""),
        (b'"d2"', b"2"),
        (b'"d2"', b"2.5"),
        (b'"d2"', b"null"),
        (b'"d2"', b'""'),
        (b'"d', b"1.5e"),
        (b'"d1"', b"1.5"),
        (b"d2", b"\\ud800"),
        (b"d2", b"\xff"),
        (b"1.5", b"1"),
        (b"1.5", b'"1.5"'),
        (b"1.5", b"true"),
        (b"1.5", b"NaN"),
        (b"1.5", b"1e999"),
        (b'"score": 1.5', b'"score": 1.5, "score": 2'),
        (b'"score": 1.5', b'"score": 1.5, "extra": {"a": [1]}'),
        (b'"score"', b'"sim"'),
        (b'"score"', b'"points"'),
        (b"}\n", b"}\r\n\n"),
        (b"}\n{", b"} {"),
        (b"d2", b"d1"),
    ],
)
def test_readers_agree_on_json_lines(tmp_path: Path, old: bytes, new: bytes) -> None:
    """A JSONL run gives the same ranks, or the same message, however it is read."""
    rows = [("q1", "d1", 1.5), ("q1", "d2", 1.5), ("q2", "d1", 1.5)]
    run = b"".join(json.dumps({"query_id": q, "doc_id": d, "score": s}).encode() + b"\n" for q, d, s in rows)
    qrels = b'{"qid": "q1", "doc": "d1", "grade": 1}\n{"qid": "q2", "doc": "d1", "grade": 2}\n'
    exact, streamed = both(tmp_path, qrels, run.replace(old, new) if old else run, ".jsonl", rows=2)
    assert streamed == exact


@each(
    "grade",
    [
        "1",
        "1.0",
        "1.5",
        '"1"',
        "true",
        "null",
    ],
)
def test_readers_agree_on_grades_of_json_lines(tmp_path: Path, grade: str) -> None:
    """A grade of JSON is whole, and no text, for both readers: none is cut to fit."""
    qrels = f'{{"qid": "q1", "doc": "d1", "grade": {grade}}}\n'.encode()
    exact, streamed = both(tmp_path, qrels, b'{"qid": "q1", "doc": "d1", "score": 1}\n', ".jsonl")
    assert streamed == exact


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_readers_agree_on_a_header_without_rows(tmp_path: Path, ending: str) -> None:
    """A table of judgments that has only a header is refused by both readers."""
    separator = b"," if ending == ".csv" else b"\t"
    head = CSV_QRELS.split(b"\n")[0].replace(b",", separator) + b"\n"
    exact, streamed = both(tmp_path, head, CSV_RUN.replace(b",", separator), ending)
    assert "holds no rows" in exact
    assert streamed == exact


# Few ids, so that queries are interleaved and documents stand twice; few scores, so that there are ties.
IDS = st.sampled_from(["1", "2", "10", "a", "b", "#", "B\u00e9", "\u4e2d", "\U0001f600", "x" * 70])
SCORES = st.one_of(
    st.sampled_from(
        ["1", "1.0", "2", "-1", "0", "-0", "1e0", "+2", "16777216", "16777217", "5e-324", "1.7976931348623157e308"]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-5, max_value=5).map(lambda d: f"{d:f}"),
)
ODD_SCORES = st.sampled_from(["nan", "inf", "1e999", "x", "1,5", "--1", "1_0", "1e", "\u0663"])
GAPS = st.sampled_from([" ", " ", " ", "\t", "  ", " \t "])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n", "\n \t\n", "\n "])


@st.composite
def trec_text(draw: st.DrawFn, kind: str, *, regular: bool = False) -> bytes:
    """Draw a TREC file that is mostly right, in any order and, unless it should be regular, any layout."""
    pairs = draw(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=25, unique=draw(st.integers(0, 9)) > 0))
    gap = " " if regular else draw(st.sampled_from([" ", None]))
    wrong_width = draw(st.integers(0, 20 * len(pairs)))  # mostly no line; never two, which would even out
    lines = []
    for number, (query, document) in enumerate(pairs):
        if kind == "qrels":
            fields = [query, "0", document, str(draw(st.integers(-1, 3)))]
        else:
            score = draw(ODD_SCORES if draw(st.integers(0, 99)) == 0 else SCORES)
            fields = [
                query,
                "Q0",
                document,
                draw(st.sampled_from(["1", "x"])),
                score,
                draw(st.sampled_from(["t", "1"])),
            ]
        if number == wrong_width:
            fields = fields[:-1] if draw(st.booleans()) else [*fields, "more"]
        line = fields[0]
        for field in fields[1:]:
            line += (gap or draw(GAPS)) + field
        lines.append(line + (draw(ENDS) if gap is None else "\n"))
    text = "".join(lines)
    return (
        ("\ufeff" if draw(st.integers(0, 9)) == 0 else "") + (text if draw(st.booleans()) else text.rstrip())
    ).encode()


PIECES = {"chunk": st.sampled_from([1, 7, 30, 100, 10_000]), "rows": st.sampled_from([1, 2, 5, 1000])}


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(qrels=trec_text("qrels", regular=True), run=trec_text("run"), **PIECES)
def test_readers_agree_on_drawn_runs(qrels: bytes, run: bytes, chunk: int, rows: int) -> None:
    """Ties, interleaved queries, odd layouts and mistakes: both readers see the same or say the same."""
    with tempfile.TemporaryDirectory() as folder:
        exact, streamed = both(Path(folder), qrels, run, chunk=chunk, rows=rows)
    assert streamed == exact


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(qrels=trec_text("qrels"), **PIECES)
def test_readers_agree_on_drawn_judgments(qrels: bytes, chunk: int, rows: int) -> None:
    """Judgments in any layout and order, with mistakes or without, are the same for both readers."""
    with tempfile.TemporaryDirectory() as folder:
        exact, streamed = both(Path(folder), qrels, b"1 Q0 1 1 1 t\n", chunk=chunk, rows=rows)
    assert streamed == exact


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(st.tuples(IDS, IDS, st.floats(-5, 5)), min_size=1, max_size=30, unique_by=lambda row: row[:2]),
    judged=st.lists(st.tuples(IDS, IDS, st.integers(-1, 3)), min_size=1, max_size=15, unique_by=lambda row: row[:2]),
    size=st.sampled_from([1, 3, 1000]),
    ending=st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]),
)
def test_readers_agree_on_drawn_tables(rows: Any, judged: Any, size: int, ending: str) -> None:
    """Rows in any order give the same ranks in every format, streamed or not, as the dicts that they stand for."""
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = pl.DataFrame(judged, schema=["query_id", "doc_id", "relevance"], orient="row")
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, f"qrels{ending}"), Path(folder, f"run{ending}")
        for frame, path in zip((qrels, run), paths, strict=True):
            write_frame(frame, path)
        exact = seen(*paths)
        with streaming(rows=size):
            streamed = seen(*paths)
    assert streamed == exact
    if isinstance(exact, dict):
        dicts: dict[str, dict[str, float]] = {}
        for query, document, value in rows:
            dicts.setdefault(query, {})[document] = value
        for (query, document), (_, rank) in exact["judged"].items():
            order = sorted(dicts.get(query, {}), key=lambda d: (dicts[query][d], d.encode()), reverse=True)
            assert rank == (order.index(document) + 1 if document in order else 0)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame in the format that the ending names."""
    match path.suffix:
        case ".csv":
            frame.write_csv(path)
        case ".tsv":
            frame.write_csv(path, separator="\t", quote_style="never")
        case ".jsonl":
            frame.write_ndjson(path)
        case ".parquet":
            frame.write_parquet(path)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one giant query", "many queries", "interleaved", "all tied", "few long lines"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_file_beyond_the_threshold_gives_the_same(tmp_path: Path, shape: str, packed: bool) -> None:
    """A run of some megabytes, which is streamed without being told to, has the scores of its dicts."""
    rng = random.Random(7)
    run = big_run(shape, rng)
    qrels = {
        q: {d: rng.randrange(-1, 4) for d in rng.sample(sorted(docs), min(20, len(docs)))} for q, docs in run.items()
    }
    lines = [f"{q} Q0 {d} 0 {score!r} t\n" for q, docs in run.items() for d, score in docs.items()]
    if shape == "interleaved":
        rng.shuffle(lines)
    text = "".join(lines).encode()
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    assert _files.find(path).large
    assert karat.score(qrels, path, MEASURES).to_dicts() == karat.score(qrels, run, MEASURES).to_dicts()


def big_run(shape: str, rng: random.Random) -> dict[str, dict[str, float]]:
    """Make a run whose file has more than 4 MB."""
    queries, depth, width = {"one giant query": (1, 150_000, 8), "few long lines": (3, 20, 100_000)}.get(
        shape, (180, 1000, 8)
    )
    scores = [1.0] if shape == "all tied" else [rng.random() for _ in range(depth * 3 // 4)]
    return {
        f"q{i}": {f"d{j:0{width}d}": rng.choice(scores) for j in rng.sample(range(depth * 2), depth)}
        for i in range(queries)
    }


ROWS = {"query_id": ["q1", "q2", "q1", "q1"], "doc_id": ["d1", "d1", "d3", "d2"], "score": [2.0, 3.5, 2.0, 9.0]}
GRADES = {"doc_id": ["d2", "d1", "d1"], "relevance": [0, 1, 2], "query_id": ["q1", "q1", "q2"], "note": ["x", "y", "z"]}
WANTED = karat.score(
    {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}, {"q1": {"d1": 2.0, "d3": 2.0, "d2": 9.0}, "q2": {"d1": 3.5}}, MEASURES
).to_dicts()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(pl.DataFrame, id="polars"),
        pytest.param(pl.LazyFrame, id="polars lazy"),
        pytest.param(lambda d: pl.DataFrame(d).cast({pl.String: pl.Categorical}), id="polars categorical"),
        pytest.param(lambda d: pl.DataFrame(d).with_row_index(), id="polars with another column"),
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(lambda d: pd.DataFrame(d).astype({"doc_id": object, "query_id": object}), id="pandas object"),
        pytest.param(lambda d: pd.DataFrame(d).astype({"doc_id": "string", "query_id": "string"}), id="pandas string"),
        pytest.param(lambda d: pd.DataFrame(d).astype({"doc_id": "category"}), id="pandas category"),
        pytest.param(lambda d: pd.DataFrame(d).set_index(pd.Index([5] * len(d["doc_id"]))), id="pandas odd index"),
        pytest.param(lambda d: pd.DataFrame(d).convert_dtypes(), id="pandas nullable"),
        pytest.param(pa.table, id="arrow"),
        pytest.param(lambda d: pa.RecordBatch.from_pydict(d), id="arrow batch"),
        pytest.param(lambda d: pa.concat_tables([pa.table(d).slice(0, 1), pa.table(d).slice(1)]), id="arrow chunked"),
    ],
)
def test_tables_are_taken_in_any_order(make: Callable[[Any], Any]) -> None:
    """Polars, pandas and Arrow tables give the scores of the dicts that they stand for; extra columns are ignored."""
    assert karat.score(make(GRADES), make(ROWS), MEASURES).to_dicts() == WANTED


def test_whole_float_grades_and_integer_ids_are_taken() -> None:
    """Grades that became floats in a frame are whole numbers still, and integer ids are text."""
    qrels = pl.DataFrame({"qid": [1, 1, 2], "docid": [7, 8, 7], "rel": [1.0, 0.0, 2.0]})
    run = {"1": {"7": 1.0, "8": 2.0}, "2": {"7": 1.0}}
    same = {"1": {"7": 1, "8": 0}, "2": {"7": 2}}
    assert karat.score(qrels, run, MEASURES).to_dicts() == karat.score(same, run, MEASURES).to_dicts()


def test_tables_are_not_changed() -> None:
    """Scoring leaves frames as they were."""
    polars, pandas, arrow = pl.DataFrame(ROWS), pd.DataFrame(ROWS), pa.table(ROWS)
    for run in (polars, pandas, arrow):
        karat.score(GRADES_FRAME, run, MEASURES)
    assert polars.equals(pl.DataFrame(ROWS))
    assert pandas.equals(pd.DataFrame(ROWS))
    assert arrow.equals(pa.table(ROWS))


GRADES_FRAME = pl.DataFrame(GRADES)


@each(
    ("run", "message"),
    [
        pytest.param(pl.DataFrame({**ROWS, "doc_id": ["d1", None, "d3", "d2"]}), "row 2 has no document id", id="null"),
        pytest.param(pl.DataFrame({**ROWS, "query_id": ["q1", "q2", "", "q1"]}), "row 3 has no query id", id="empty"),
        pytest.param(pl.DataFrame({**ROWS, "score": [1.0, None, 1.0, 1.0]}), "row 2: score None", id="null score"),
        pytest.param(pl.DataFrame({**ROWS, "score": [1.0, 1.0, 1.0, np.nan]}), "row 4: score nan", id="NaN score"),
        pytest.param(pl.DataFrame({**ROWS, "score": ["1", "2", "3", "4"]}), "'score' has type String", id="text score"),
        pytest.param(pl.DataFrame({"a": [1], "b": [2]}), "no query column among 'a', 'b'", id="names"),
        pytest.param(
            pl.DataFrame(ROWS).vstack(pl.DataFrame(ROWS)), "'d1' appears twice for query 'q1'", id="duplicate"
        ),
        pytest.param(pd.DataFrame({**ROWS, "score": [1, None, 2, 3]}), "row 2: score nan", id="pandas NaN score"),
        pytest.param(
            pd.concat([pd.DataFrame(ROWS)] * 2, axis=1), "column 'query_id' appears twice", id="pandas columns twice"
        ),
        pytest.param(
            pd.DataFrame({**ROWS, "doc_id": ["d1", None, "d3", "d2"]}), "row 2 has no document id", id="pandas None"
        ),
        pytest.param(
            pd.DataFrame({**ROWS, "doc_id": pd.Series(["d1", np.nan, "d3", "d2"], dtype=object)}),
            "row 2 has no document id",
            id="pandas NaN id",
        ),
        pytest.param(
            pd.DataFrame({**ROWS, "doc_id": pd.array(["d1", pd.NA, "d3", "d2"], dtype="string")}),
            "row 2 has no document id",
            id="pandas NA id",
        ),
        pytest.param(
            pd.DataFrame({**ROWS, "doc_id": pd.Categorical(["d1", None, "d3", "d2"])}),
            "row 2 has no document id",
            id="pandas category None",
        ),
        pytest.param(pl.DataFrame({**ROWS, "doc_id": [1.5, 2.0, 3.0, 4.0]}), "doc_id", id="float ids"),
        pytest.param(pl.DataFrame({**ROWS, "doc_id": [True, False, True, False]}), "doc_id", id="Boolean ids"),
        pytest.param(pl.DataFrame(ROWS).head(0), "no rows", id="no rows"),
        pytest.param(pl.Series([1, 2]), "give a path", id="polars series"),
        pytest.param(pd.Series([1, 2]), "give a path", id="pandas series"),
        pytest.param(pa.array([1, 2]), "give a path", id="arrow array"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(run: Any, message: str) -> None:
    """Missing ids and scores are named by their row, and columns by their names."""
    with pytest.raises(karat.KaratError) as caught:
        karat.score(GRADES_FRAME, run, ["P@1"])
    assert message in str(caught.value)


@each("value", [1.5, float("inf"), None, 2.0**60])
def test_a_grade_in_a_table_is_whole(value: float | None) -> None:
    """A fraction, an infinity, a null or a huge grade in a frame is an error that names the row."""
    with pytest.raises(karat.InputError, match=r"^qrels, row 2: grade "):
        karat.score(pl.DataFrame({**GRADES, "relevance": [1.0, value, 1.0]}), pl.DataFrame(ROWS), ["P@1"])


def test_judgments_without_rows_are_refused() -> None:
    """An empty frame of judgments is an error of one line."""
    with pytest.raises(karat.InputError, match="no rows"):
        karat.score(GRADES_FRAME.head(0), pl.DataFrame(ROWS), ["P@1"])
