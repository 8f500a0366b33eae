"""``--by`` of ``karat eval``, ``karat compare`` and ``karat score`` takes any field of the queries' metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from each import each
from in_process import run_karat

QUERIES: list[dict[str, Any]] = [
    {"id": "q1", "text": "when does the pool open", "metadata": {"lang": "en", "tags": ["a", "b"], "level": 1}},
    {"id": "q2", "text": "wann macht das Bad auf", "metadata": {"lang": "de", "tags": ["b"], "level": 2}},
    {"id": "q3", "text": "where is the bar", "metadata": {"level": 2}},
]
"""The system finds what it shares words with: nothing for q2."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    documents = [{"id": "pool", "text": "The pool does open at six."}, {"id": "bar", "text": "The bar is upstairs."}]
    judgments = [{"query": f"q{n}", "document": name, "grade": 3} for n, name in enumerate(("pool", "pool", "bar"), 1)]
    for name, rows in {"queries": QUERIES, "documents": documents, "judgments": judgments}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "golden.toml").write_text('name = "lodge"\n')
    (tmp_path / "karat.toml").write_text("[pipeline]\ndense = false\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_segments(by: str) -> dict[str, tuple[float | None, int]]:
    """Return the mean of RR and the number of queries for each value."""
    process = run_karat("eval", ".", "-m", "RR@10", "--by", by, "--json")
    assert process.returncode == 0, process.stderr
    values = json.loads(process.stdout)["runs"][0]["by"][by]
    cells = {value: segment["measures"]["RR@10"] for value, segment in values.items()}
    return {value: (cell["mean"], cell["n"]) for value, cell in cells.items()}


@each(
    ("by", "segments"),
    [
        ("lang", {"de": (0.0, 1), "en": (1.0, 1)}),
        ("level", {"1": (1.0, 1), "2": (0.5, 2)}),
        ("tags", {"a": (1.0, 1), "b": (0.5, 2)}),  # a query counts in each value of a list
    ],
)
def test_eval_has_means_by_a_field_of_the_metadata(by: str, segments: dict[str, tuple[float, int]]) -> None:
    assert read_segments(by) == segments


def test_the_table_shows_them() -> None:
    lines = run_karat("eval", ".", "-m", "RR@10", "--by", "level").stdout.decode().splitlines()
    start = lines.index(next(line for line in lines if line.startswith("level")))
    assert [line.split() for line in lines[start : start + 3]] == [
        ["level", "RR@10", "queries"],
        ["1", "1.0000", "1"],
        ["2", "0.5000", "2"],
    ]


@each(
    ("verb", "by", "message"),
    [
        ("eval", "lnag", "karat: lodge: no query has a lnag; did you mean 'lang'?"),
        ("eval", "zzz", "karat: lodge: no query has a zzz; their metadata has 'lang', 'tags', 'level'"),
        ("eval", "category", "karat: lodge: no query has a category; their metadata has 'lang', 'tags', 'level'"),
        ("compare", "lnag", "karat: lodge: no query has a lnag; did you mean 'lang'?"),
    ],
)
def test_a_field_that_no_query_has_is_an_error(verb: str, by: str, message: str, folder: Path) -> None:
    """The message is printed before anything is asked, and the file of no run appears."""
    if verb == "compare":
        assert run_karat("eval", ".").returncode == 0
    before = sorted(folder.rglob("*.jsonl"))
    runs = ["."] if verb == "eval" else [next((folder / "runs").glob("*.jsonl"))] * 2
    process = run_karat(verb, *runs, "--by", by)
    assert (process.returncode, process.stdout) == (2, b"")
    assert process.stderr.decode().strip() == message
    assert sorted(folder.rglob("*.jsonl")) == before


def test_one_value_divides_nothing(folder: Path) -> None:
    """A field with a single value says so, instead of nothing."""
    rows = [{**row, "metadata": {"lang": "en"}} for row in QUERIES]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert b"by lang: the queries have only one value" in run_karat("eval", ".", "--by", "lang").stdout


def test_score_takes_queries_that_lack_the_field(folder: Path) -> None:
    """They come under (none)."""
    (folder / "qrels.json").write_text('{"q1": {"pool": 1}, "q2": {"pool": 1}, "q3": {"bar": 1}}')
    (folder / "run.json").write_text('{"q1": ["pool"], "q2": ["bar"], "q3": ["pool", "bar"]}')
    arguments = ["score", "qrels.json", "run.json", "-m", "RR", "--by", "lang", "--queries", "queries.jsonl"]
    printed = [line.split() for line in run_karat(*arguments).stdout.decode().splitlines()]
    assert [*printed[printed.index(["lang", "RR", "queries"]) :]] == [
        ["lang", "RR", "queries"],
        ["(none)", "0.5000", "1/1"],
        ["de", "0.0000", "1/1"],
        ["en", "1.0000", "1/1"],
    ]
