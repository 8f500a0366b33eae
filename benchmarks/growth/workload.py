"""Makes a project of any size along any axis: golden set, configuration, and a system that answers at once.

The answers follow from the number in the question, so that asking costs next to nothing and every run is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SYSTEM = '''"""A system that answers at once: the number in the question says which documents come back."""

class Answers:
    def __init__(self, shift: int = 0, documents: int = 1000, every: int = 7):
        self.shift, self.documents, self.every = shift, documents, every

    def retrieve(self, query, k):
        number = int(query.split(maxsplit=1)[0])
        # Some questions are answered otherwise when the system is shifted.
        start = number * 7 + (self.shift if number % self.every == 0 else 0)
        return [f"d{(start + i) % self.documents:06}" for i in range(k)]
'''


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a project is along each axis."""

    queries: int = 1_000
    documents: int = 1_000
    judgments: int = 10
    """Judged documents of each query."""
    hits: int = 10
    """Documents that come back for each query."""
    question: int = 8
    """Words of each query."""
    text: int = 40
    """Words of each document."""
    paraphrases: int = 0
    """Other wordings of each query."""
    segments: int = 8
    """Categories of the queries."""
    measures: int = 5
    sessions: int = 1_000
    """Sessions of the log of live traffic, with two queries each."""
    every: int = 7
    """One of so many queries is answered otherwise by the shifted system."""

    def times(self, axis: str, factor: int) -> Size:
        """Return the size with one axis multiplied, and with documents enough for all hits and judgments."""
        size = replace(self, **{axis: max(getattr(self, axis), 1) * factor})
        return replace(size, documents=max(size.documents, 2 * size.hits, 4 * size.judgments))


MEASURES = ("nDCG", "R", "P", "RR", "AP")


def measure_names(size: Size) -> list[str]:
    """Return as many measures as the size has, with cut-offs from 10 up."""
    return [f"{MEASURES[i % 5]}@{10 + i // 5}" for i in range(size.measures)]


def make_project(folder: Path, size: Size) -> Path:
    """Write a project into a folder that must not exist yet, and return the folder."""
    make_golden(folder / "golden", size)
    (folder / "system.py").write_text(SYSTEM)
    (folder / "karat.toml").write_text(
        f'[golden]\npath = "golden"\n[eval]\nsystem = "system:Answers"\nk = {size.hits}\n'
        f"measures = {json.dumps(measure_names(size))}\nparaphrases = {json.dumps(size.paraphrases > 0)}\n"
        f"[eval.parameters]\ndocuments = {size.documents}\nevery = {size.every}\n"
    )
    return folder


def make_golden(folder: Path, size: Size, *, changed: int = 0) -> Path:
    """Write a golden set in karat's format; the first ``changed`` queries are worded otherwise."""
    folder.mkdir(parents=True)
    (folder / "golden.toml").write_text('name = "growth"\nversion = "1.0.0"\n')
    _write(folder / "documents.jsonl", (_document(number, size) for number in range(size.documents)))
    _write(folder / "queries.jsonl", (_query(number, size, number < changed) for number in range(size.queries)))
    _write(folder / "judgments.jsonl", _judgments(size))
    return folder


def make_trec(folder: Path, size: Size) -> list[Path]:
    """Write judgments and two runs as TREC has them."""
    folder.mkdir(parents=True)
    qrels, one, other = (folder / name for name in ("qrels.txt", "one.txt", "other.txt"))
    with qrels.open("w") as file:
        file.writelines(f"{row['query']} 0 {row['document']} {row['grade']}\n" for row in _judgments(size))
    for path, shift in ((one, 0), (other, 3)):
        with path.open("w") as file:
            for query in range(size.queries):
                documents = ((query * 7 + shift + i) % size.documents for i in range(size.hits))
                file.writelines(f"q{query:06} Q0 d{d:06} {i + 1} {size.hits - i} r\n" for i, d in enumerate(documents))
    return [qrels, one, other]


def grade_pool(path: Path) -> None:
    """Fill in a grade in each row of a pool."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    _write(path, (row | {"grade": number % 4} for number, row in enumerate(rows)))


def _document(number: int, size: Size) -> dict[str, Any]:
    words = " ".join(_words(number * 104_729, size.text))
    return {"id": f"d{number:06}", "text": f"Document {number}. {words}.", "tier": f"t{number % 3}"}


def question(number: int, size: Size, *, changed: bool = False) -> str:
    """Return the text of a query."""
    return f"{number} {' '.join(_words(number * 15_485_863 + changed, size.question))}"


def _query(number: int, size: Size, changed: bool) -> dict[str, Any]:
    words = " ".join(_words(number * 15_485_863 + changed, size.question))
    row = {
        "id": f"q{number:06}",
        "text": question(number, size, changed=changed),
        "category": f"c{number % size.segments:05}",
    }
    if size.paraphrases:
        row["paraphrases"] = [f"{number} again {i} {words}" for i in range(size.paraphrases)]
    return row


def _words(seed: int, count: int) -> Iterable[str]:
    """Return made-up words, of which a few are frequent and most are rare, as in real text."""
    state = seed + 1
    for _ in range(count):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        yield f"w{int(20_000 ** ((state >> 33) / 2**31))}"


def _judgments(size: Size) -> Iterable[dict[str, Any]]:
    for query in range(size.queries):
        for i in range(size.judgments):
            document = (query * 7 + 3 * i) % size.documents
            yield {"query": f"q{query:06}", "document": f"d{document:06}", "grade": (query + i) % 4}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
