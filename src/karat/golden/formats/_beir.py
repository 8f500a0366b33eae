"""BEIR's folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``.

- Of several splits ``test`` is read; another one is chosen by the path of its file. Queries that only other splits
  judge are left out.
- Judgments have three columns (query, document, grade) or TREC's four; a header and blank rows are skipped. BEIR's own
  reader drops what is not above 0. Here a grade of 0 is kept, and what is below is left out with a note.
- ``qrels.tsv`` may lie beside ``corpus.jsonl``, each file may be gzipped, and the corpus may be missing.

Every grade above 0 is relevant to BEIR's tools, whatever grade the set that was written calls relevant.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from karat.core import Document, GoldenSet, InputError, Query, shorten
from karat.files import Reading
from karat.golden._format import FORMATS, Format
from karat.golden.formats._qrels import Qrels, graded, read_qrels
from karat.golden.formats._records import name_of

_HEADER = ("query-id", "corpus-id", "score")


def _read(path: Path, reading: Reading) -> GoldenSet:
    folder = _folder(path)
    splits = _splits(folder)
    chosen = path if path.is_file() else _choose(folder, splits)
    qrels = _qrels(chosen, reading)
    others = {name: split for name, split in splits.items() if split.resolve() != chosen.resolve()}
    corpus, queries = _file(folder, "corpus.jsonl"), _file(folder, "queries.jsonl")
    if queries is None:
        raise InputError("holds no queries.jsonl", source=str(folder))
    return GoldenSet(
        name=name_of(folder),
        **qrels.scale,
        documents=_documents(corpus, reading) if corpus else (),
        queries=_judged(_queries(queries, reading), qrels, others, reading),
        judgments=tuple(qrels.judgments),
    )


def _qrels(path: Path, reading: Reading) -> Qrels:
    return read_qrels(path, reading, widths=(3, 4), header=True)


def _folder(path: Path) -> Path:
    """Give the folder of a set by the folder itself or by the file of a split."""
    if path.is_dir():
        return path
    return next((above for above in (path.parent, path.parent.parent) if _file(above, "queries.jsonl")), path.parent)


def _file(folder: Path, name: str) -> Path | None:
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _splits(folder: Path) -> dict[str, Path]:
    found = {file.name.removesuffix(".gz").removesuffix(".tsv"): file for file in sorted(folder.glob("qrels/*.tsv*"))}
    beside = _file(folder, "qrels.tsv")
    return found or ({"qrels": beside} if beside else {})


def _choose(folder: Path, splits: dict[str, Path]) -> Path:
    if not splits:
        raise InputError("holds neither qrels/*.tsv nor qrels.tsv", source=str(folder))
    if "test" in splits or len(splits) == 1:
        return splits.get("test") or next(iter(splits.values()))
    names = ", ".join(splits)
    hint = f"name the file of one, as in {next(iter(splits.values()))}"
    raise InputError(f"holds several splits and no test: {names}", source=str(folder), hint=hint)


def _documents(path: Path, reading: Reading) -> tuple[Document, ...]:
    found = []
    for row in reading.jsonl(path):
        with row:
            found.append(
                Document(
                    id=row.id("_id"),
                    text=row.text("text", default=""),
                    title=row.text("title", default=""),
                    metadata=row.mapping("metadata"),
                )
            )
    return tuple(found)


def _queries(path: Path, reading: Reading) -> list[Query]:
    found = []
    for row in reading.jsonl(path):
        with row:
            found.append(Query(id=row.id("_id"), text=row.text("text"), metadata=row.mapping("metadata")))
    return found


def _judged(queries: list[Query], qrels: Qrels, others: dict[str, Path], reading: Reading) -> tuple[Query, ...]:
    """Leave out the queries that belong to other splits only; a query that none judges stays."""
    # Mistakes in a split that is not read are not told: it may be someone else's.
    elsewhere = {query for split in others.values() for query in _qrels(split, Reading()).queries}
    kept = tuple(query for query in queries if query.id in qrels.queries or query.id not in elsewhere)
    if len(kept) < len(queries):
        names = ", ".join(others)
        reading.note(f"{len(queries) - len(kept):,} queries left out, which only other splits judge ({names})")
    return kept


def _write(golden: GoldenSet, path: Path) -> None:
    (path / "qrels").mkdir(parents=True)
    documents = (
        {"_id": document.id, "title": document.title, "text": document.text, "metadata": document.metadata}
        for document in golden.documents
    )
    queries = (
        {"_id": query.id, "text": query.text, **({"metadata": query.metadata} if query.metadata else {})}
        for query in golden.queries
    )
    _write_rows(path / "corpus.jsonl", documents)
    _write_rows(path / "queries.jsonl", queries)
    with (path / "qrels" / "test.tsv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(_HEADER)
        for query, document, grade in graded(golden):
            _check(query)
            _check(document)
            rows.writerow((query, document, grade))


def _write_rows(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _check(name: str) -> None:
    """Refuse an id that would break a row in two."""
    if any(mark in name for mark in "\t\n\r\0"):
        raise InputError(f"id {shorten(name)} holds a tab or a line break, which BEIR's qrels cannot", hint="rename it")


def recognise(path: Path) -> bool:
    """Look for queries.jsonl and a file of judgments; the path may be that file."""
    folder = _folder(path)
    if _file(folder, "queries.jsonl") is None or (folder / "golden.toml").exists():
        return False
    splits = _splits(folder).values()
    return bool(splits) if path.is_dir() else path.resolve() in {split.resolve() for split in splits}


FORMATS.add(
    "beir",
    Format(
        name="beir",
        summary="a folder: corpus.jsonl, queries.jsonl, qrels/test.tsv",
        read=_read,
        recognise=recognise,
        write=_write,
        folder=True,
        keeps=frozenset(
            {
                *("set.documents", "set.queries", "set.judgments"),
                *("document.id", "document.text", "document.title", "document.metadata"),
                *("query.id", "query.text", "query.metadata"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
