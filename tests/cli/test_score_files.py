"""``karat score -o FILE`` writes the format that the ending of the file names, or says which there are."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from each import each
from in_process import run_karat

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 2}, "q3": {"d": 1}}
GOOD = {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"x": 2.0, "c": 1.0}}
POOR = {"q1": {"x": 3.0, "a": 2.0}, "q2": {"x": 2.0, "y": 1.0}, "q3": {"y": 1.0}}
FIELDS = '{"_id": "q1", "kind": "=price"}\n{"_id": "q2", "kind": "place"}\n{"_id": "q3", "kind": "place"}\n'
"""RR is 1, 1/2 and 0 for the one, and 1/2, 0 and 0 for the other run."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, table in {"qrels": QRELS, "good": GOOD, "poor": POOR}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    (tmp_path / "queries.jsonl").write_text(FIELDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *arguments: str) -> str:
    """Score both runs into a file, and return what is in it; nothing is printed."""
    process = run_karat("score", "qrels.json", "good.json", "poor.json", "-m", "RR", *arguments, "-o", name)
    assert (process.returncode, process.stdout) == (0, b""), process.stderr
    return Path(name).read_bytes().decode()


@each("separator", [",", "\t"])
def test_tables_have_a_row_for_each_value(separator: str) -> None:
    """Means, segments and queries, at full precision, with how many queries have a value."""
    text = write(
        "scores.csv" if separator == "," else "scores.tsv", "--by", "kind", "--queries", "queries.jsonl", "--per-query"
    )
    rows = list(csv.DictReader(io.StringIO(text), delimiter=separator))
    good = [row for row in rows if row["run"] == "good.json"]
    assert len(rows) == 2 * len(good) == 2 * (1 + 2 + 3)
    assert [(row["segment"], row["query"], row["value"], row["queries"], row["total"]) for row in good] == [
        ("", "", "0.5", "3", "3"),
        ("'=price", "", "1.0", "1", "1"),  # no spreadsheet computes it
        ("place", "", "0.25", "2", "2"),
        ("", "q1", "1.0", "", ""),
        ("", "q2", "0.5", "", ""),
        ("", "q3", "0.0", "", ""),
    ]


def test_a_value_that_is_missing_is_no_number() -> None:
    """A query without a value has an empty field, and the mean says how many queries it is over."""
    rows = list(csv.DictReader(io.StringIO(write("scores.csv", "--missing", "exclude", "--per-query"))))
    (mean,) = [row for row in rows if row["run"] == "good.json" and not row["query"]]
    assert (mean["value"], mean["queries"], mean["total"]) == ("0.75", "2", "3")
    (missing,) = [row for row in rows if row["run"] == "good.json" and row["query"] == "q3"]
    assert missing["value"] == ""


def test_bounds_are_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(write("scores.csv", "--bounds"))))
    poor = rows[1]
    assert (poor["run"], poor["worst"], poor["best"]) == ("poor.json", str((1 / 2 + 0 + 0) / 3), "1.0")


def test_markdown_has_the_best_in_bold_and_the_notes() -> None:
    """What the numbers leave out stands below them."""
    text = write("scores.MD")
    assert "| RR | **0.5000** | 0.1667 | 3/3 |" in text
    assert "- good.json: 1 query judged but not in the run, scored as an empty list: q3" in text


def test_latex_has_the_best_in_bold_and_the_notes() -> None:
    text = write("scores.tex")
    assert "    RR & \\textbf{0.5000} & 0.1667 & 3/3 \\\\\n" in text
    assert "scored as an empty list: q3." in text[text.index("\\caption") : text.index("\\begin{tabular}")]


def test_html_is_a_page_with_the_tables_and_the_notes() -> None:
    text = write("scores.html", "--by", "kind", "--queries", "queries.jsonl")
    assert text.startswith("<!doctype html>")
    assert "script-src" not in text
    for part in ("0.5000 *", "poor.json by kind", "=price", "scored as an empty list: q3"):
        assert part in text


@each("name", ["scores.parquet", "scores.xlsx", "scores.jsonl", "scores.pdf", "scores.txt.gz"])
def test_another_ending_is_refused_before_anything_is_read(name: str, folder: Path) -> None:
    """The message lists the endings; no file appears."""
    process = run_karat("score", "not-there.json", "good.json", "-o", name)
    assert (process.returncode, process.stdout) == (2, b"")
    ending = name.rpartition(".")[2]
    known = "choose from .csv, .html, .json, .md, .tex, .tsv, .txt"
    assert process.stderr.decode().startswith(f"karat: --output {name}: no format ends in .{ending}; {known}")
    assert not (folder / name).exists()


def test_json_and_another_ending_contradict() -> None:
    process = run_karat("score", "qrels.json", "good.json", "--json", "-o", "scores.csv")
    assert process.returncode == 2
    assert b"--json is for a file that ends in .json" in process.stderr


@each(
    "arguments",
    [
        ["eval", "."],
        ["check", "."],
        ["sweep", "sweep.toml"],
        ["harvest", "live.db"],
        ["golden", "merge", ".", "judged.jsonl"],
    ],
)
def test_a_folder_cannot_go_to_standard_output(arguments: list[str], folder: Path) -> None:
    """No folder called "-" appears."""
    for name in ("golden.toml", "queries.jsonl", "documents.jsonl"):
        (folder / name).touch()
    (folder / "golden.toml").write_text('name = "x"\n')
    (folder / "queries.jsonl").write_text('{"id": "q1", "text": "pool"}\n')
    (folder / "documents.jsonl").write_text('{"id": "pool", "text": "The pool."}\n')
    (folder / "judgments.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 3}\n')
    (folder / "judged.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 2}\n')
    process = run_karat(*arguments, "-o", "-")
    assert (process.returncode, process.stdout) == (2, b"")
    assert b"--output -: this verb writes a folder; name one" in process.stderr
    assert not (folder / "-").exists()


def test_rows_of_a_verb_go_to_standard_output(folder: Path) -> None:
    """``karat golden judge -o -`` prints what it would write, and nothing else."""
    (folder / "golden.toml").write_text('name = "x"\n')
    (folder / "queries.jsonl").write_text('{"id": "q1", "text": "when does the pool open"}\n')
    (folder / "documents.jsonl").write_text('{"id": "pool", "text": "The pool does open at six."}\n')
    (folder / "judgments.jsonl").write_text('{"query": "q1", "document": "pool", "grade": 3}\n')
    row = {"query": "q1", "query_text": "when does the pool open", "document": "pool", "text": "The pool does open."}
    (folder / "pool.jsonl").write_text(json.dumps(row) + "\n")
    arguments = ["golden", "judge", "pool.jsonl", "--by", "overlap", "-o"]
    written = run_karat(*arguments, "rows.jsonl")
    assert written.returncode == 0, written.stderr
    printed = run_karat(*arguments, "-")
    assert printed.stdout == (folder / "rows.jsonl").read_bytes()
    assert not (folder / "-").exists()
