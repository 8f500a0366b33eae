"""BEIR's folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``.

- Of several splits ``test`` is read. Another split is chosen by the path of its file. Queries that only other splits
  judge are left out.
- Judgments have three columns (query, document, grade) or TREC's four. A header and blank rows are skipped. BEIR's own
  reader drops grades that are not above 0. karat keeps a grade of 0, and leaves out lower ones with a note.
- ``qrels.tsv`` may be beside ``corpus.jsonl``, each file may be gzipped, and the corpus may be missing.
- Extensions: ``scale.toml`` if the scale cannot be inferred from the grades, and ``"answerable": false`` in the row of
  a query that has no answer.

To BEIR's own tools every grade above 0 is relevant, whatever grade a written set calls relevant.
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
from karat.golden.formats._listing import declare_answerable
from karat.golden.formats._qrels import Qrels, graded_pairs, read_qrels
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scalefile import read_scale_file, write_scale_file

_HEADER = ("query-id", "corpus-id", "score")


def _read(path: Path, reading: Reading) -> GoldenSet:
    folder = _find_folder(path)
    splits = _find_splits(folder)
    chosen = path if path.is_file() else _choose_split(folder, splits)
    qrels = _read_qrels(chosen, reading)
    others = {name: split for name, split in splits.items() if split.resolve() != chosen.resolve()}
    corpus, queries = _find_file(folder, "corpus.jsonl"), _find_file(folder, "queries.jsonl")
    if queries is None:
        raise InputError("holds no queries.jsonl", source=str(folder))
    return GoldenSet(
        name=name_from_path(folder),
        **read_scale_file(folder, qrels, reading),
        documents=_read_documents(corpus, reading) if corpus else (),
        queries=_keep_judged(_read_queries(queries, reading), qrels, others, reading),
        judgments=tuple(qrels.judgments),
    )


def _read_qrels(path: Path, reading: Reading) -> Qrels:
    return read_qrels(path, reading, widths=(3, 4), header=True)


def _find_folder(path: Path) -> Path:
    """Return the folder of a set, given that folder or the file of a split."""
    if path.is_dir():
        return path
    return next(
        (above for above in (path.parent, path.parent.parent) if _find_file(above, "queries.jsonl")), path.parent
    )


def _find_file(folder: Path, name: str) -> Path | None:
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _find_splits(folder: Path) -> dict[str, Path]:
    splits = {file.name.removesuffix(".gz").removesuffix(".tsv"): file for file in sorted(folder.glob("qrels/*.tsv*"))}
    beside = _find_file(folder, "qrels.tsv")
    return splits or ({"qrels": beside} if beside else {})


def _choose_split(folder: Path, splits: dict[str, Path]) -> Path:
    if not splits:
        raise InputError("holds neither qrels/*.tsv nor qrels.tsv", source=str(folder))
    if "test" in splits or len(splits) == 1:
        return splits.get("test") or next(iter(splits.values()))
    names = ", ".join(splits)
    hint = f"name the file of one split, such as {next(iter(splits.values()))}"
    raise InputError(f"holds several splits, none of them called test: {names}", source=str(folder), hint=hint)


def _read_documents(path: Path, reading: Reading) -> tuple[Document, ...]:
    documents = []
    for row in reading.jsonl(path):
        with row:
            documents.append(
                Document(
                    id=row.id("_id"),
                    text=row.text("text", default=""),
                    title=row.text("title", default=""),
                    metadata=row.mapping("metadata"),
                )
            )
    return tuple(documents)


def _read_queries(path: Path, reading: Reading) -> list[Query]:
    queries = []
    for row in reading.jsonl(path):
        with row:
            queries.append(
                Query(
                    id=row.id("_id"),
                    text=row.text("text"),
                    answerable=row.flag("answerable", default=True),
                    metadata=row.mapping("metadata"),
                )
            )
    return queries


def _keep_judged(queries: list[Query], qrels: Qrels, others: dict[str, Path], reading: Reading) -> tuple[Query, ...]:
    """Return the queries without those that only other splits judge. A query that no split judges is kept."""
    # Mistakes in the other splits are not reported, since those splits are not used.
    elsewhere = {query for split in others.values() for query in _read_qrels(split, Reading()).queries}
    judged = tuple(query for query in queries if query.id in qrels.queries or query.id not in elsewhere)
    if len(judged) < len(queries):
        names = ", ".join(others)
        reading.note(f"{len(queries) - len(judged):,} queries left out, which only other splits judge ({names})")
    return judged


def _write(golden: GoldenSet, path: Path) -> None:
    (path / "qrels").mkdir(parents=True)
    documents = (
        {"_id": document.id, "title": document.title, "text": document.text, "metadata": document.metadata}
        for document in golden.documents
    )
    queries = (
        {
            "_id": query.id,
            "text": query.text,
            **declare_answerable(query),
            **({"metadata": query.metadata} if query.metadata else {}),
        }
        for query in golden.queries
    )
    write_scale_file(golden, path)
    _write_rows(path / "corpus.jsonl", documents)
    _write_rows(path / "queries.jsonl", queries)
    with (path / "qrels" / "test.tsv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(_HEADER)
        for query, document, grade in graded_pairs(golden):
            _check_id(query)
            _check_id(document)
            rows.writerow((query, document, grade))


def _write_rows(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _check_id(name: str) -> None:
    """Refuse an id that would split its row."""
    if any(mark in name for mark in "\t\n\r\0"):
        raise InputError(f"id {shorten(name)} holds a tab or a line break, which BEIR's qrels cannot", hint="rename it")


def recognise(path: Path) -> bool:
    """Return whether there are queries.jsonl and a file of judgments, which the path may name."""
    folder = _find_folder(path)
    if _find_file(folder, "queries.jsonl") is None or (folder / "golden.toml").exists():
        return False
    splits = _find_splits(folder).values()
    return bool(splits) if path.is_dir() else path.resolve() in {split.resolve() for split in splits}


FORMATS.add(
    "beir",
    Format(
        name="beir",
        summary="a folder: corpus.jsonl, queries.jsonl, qrels/test.tsv",
        read=_read,
        recognise=recognise,
        published="the BEIR benchmark publishes its sets as zip files, such as scifact.zip: unpack one here",
        write=_write,
        folder=True,
        keeps=frozenset(
            {
                *("set.documents", "set.queries", "set.judgments", "set.grades", "set.relevant"),
                *("document.id", "document.text", "document.title", "document.metadata"),
                *("query.id", "query.text", "query.answerable", "query.metadata"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
