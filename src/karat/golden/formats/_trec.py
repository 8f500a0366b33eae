"""TREC's files: topics, qrels and documents, each recognised by its content, whatever its name.

- Qrels have four columns: topic, iteration, document, grade. The iteration is not kept, and judgments below 0 are left
  out with a note.
- Topics are read by ``_topics``, or are lines of an id, a tab and a text.
- Documents are SGML (``<DOC>`` with ``<DOCNO>`` and ``<TEXT>``) or JSONL. ``<DOC>`` records are topics if their file is
  called topics or queries, or if the qrels name them as topics and none of them as a document.

A folder has one file of qrels. If there are several, one is chosen by its path, and the topics and documents beside it
(files whose names begin with topics, queries, documents, docs or corpus) are read as well. Without topics, the text of
each judged query is its id, and a note says so. Extension: ``scale.toml`` beside the qrels, if the scale cannot be
inferred from the grades.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from karat.core import Document, GoldenSet, InputError, Query, shorten
from karat.files import Reading, record_folder
from karat.golden._documents import read_documents
from karat.golden._format import FORMATS, Format
from karat.golden.formats import _beir, _smart
from karat.golden.formats._head import Head, read_head
from karat.golden.formats._qrels import Qrels, graded_pairs, read_qrels, split_fields
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scalefile import SCALE_FILE, read_scale_file, write_scale_file
from karat.golden.formats._sgml import (
    Lines,
    escape_block,
    escape_inline,
    find_elements,
    parse_block,
    parse_inline,
    remove_elements,
)
from karat.golden.formats._topics import encode_topic, find_topic, name_articles, read_topics

_Kind = Literal["", "qrels", "topics", "lines", "records", "rows"]

_OTHERS = (".csv", ".json", ".md")  # endings that TREC's files never have
_BESIDE = ("topics", "queries", "documents", "docs", "corpus")
_TOPIC_NAMES = ("topic", "quer")
_LOOKED_AT = 100  # files of a folder, when it is recognised
_SAMPLE = 50  # lines that have to look alike
_DOCUMENT = r"<DOC(?:\s++([^<>\s]++))?\s*+>"
_OPENED = re.compile(r"<DOC(?:\s[^<>]*)?>", re.I)
_TITLES = "TITLE|HEADLINE|HL|HEAD|TTL"


def _read(path: Path, reading: Reading) -> GoldenSet:
    files = {file: _find_kind(file) for file in _find_files(path)}
    chosen = _choose_qrels(path, [file for file, kind in files.items() if kind == "qrels"])
    qrels = read_qrels(chosen, reading, widths=(4,), header=False)
    if len(qrels.columns) > 1:
        reading.note(f"{chosen}: the second column has {len(qrels.columns):,} values (subtopics?), and is not kept")
    documents: list[Document] = []
    queries: list[Query] = []
    for file, kind in files.items():
        match kind:
            case "records":
                records = list(_read_records(file, reading))
                if _are_topics(file, records, qrels):
                    queries += [Query(id=record.id, text=record.title or record.text) for record in records]
                else:
                    documents += records
            case "rows":
                documents += read_documents(file, reading)
            case "topics":
                queries += read_topics(file, reading)
            case "lines":
                queries += _read_lines(file, reading)
            case "" if file != chosen:
                reading.note(f"{file}: neither topics nor qrels nor documents, not read")
    queries = name_articles(queries, documents, reading)
    return GoldenSet(
        name=name_from_path(path),
        **read_scale_file(chosen.parent, qrels, reading),
        documents=tuple(documents),
        queries=_match_ids(queries, qrels, reading) if queries else _queries_without_text(qrels, chosen, reading),
        judgments=tuple(qrels.judgments),
    )


def _find_files(path: Path) -> list[Path]:
    """Return all files of a folder, or a file and those beside it whose names say what they are."""
    if path.is_dir():
        record_folder(path)
        inside = (file for file in sorted(path.rglob("*")) if file.is_file())
        shown = (file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts))
        return [file for file in shown if file.name != SCALE_FILE]
    beside = (file for file in sorted(path.parent.iterdir()) if file.is_file() and file.name.startswith(_BESIDE))
    return [path, *(file for file in beside if file != path)]


def _choose_qrels(path: Path, candidates: list[Path]) -> Path:
    if not path.is_dir():
        return path
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise InputError("holds no qrels: lines of topic, iteration, document, grade", source=str(path))
    names = ", ".join(file.name for file in candidates)
    hint = f"name one of them, such as {candidates[0]}"
    raise InputError(f"holds several qrels: {names}", source=str(path), hint=hint)


def _find_kind(file: Path) -> _Kind:
    head = read_head(file)
    if file.suffix in _OTHERS:
        return ""
    lines = head.lines[:_SAMPLE]
    if _are_qrels(lines):  # first, because the id of a query may be <top>
        return "qrels"
    if head.text.lstrip()[:1] == "<" and (kind := _find_markup(head.text)):
        return kind
    if {"id", "_id", "docid", "doc_id"} & head.keys and {"text", "contents", "content"} & head.keys:
        return "rows"
    if lines and all(line.count("\t") == 1 and line.split("\t")[0].strip() for line in lines):
        return "lines"
    return "qrels" if _is_empty_qrels(file, head) else ""


def _find_markup(text: str) -> _Kind:
    """Return whether markup holds topics or ``<DOC>`` records, in whatever root element."""
    topic, opened, number = find_topic(text), _OPENED.search(text), next(find_elements(text, "DOCNO"), None)
    if topic is not None and (opened is None or number is None or topic < number.start):
        return "topics"
    return "records" if opened is not None else ""


def _are_qrels(lines: tuple[str, ...]) -> bool:
    """Return whether four lines in five are judgments. The others are reported as mistakes when the file is read."""
    rows = [split_fields(line) for line in lines]
    fitting = [row for row in rows if len(row) == 4 and re.fullmatch(r"-?\d{1,9}", row[3])]
    return bool(rows) and len(fitting) >= 0.8 * len(rows)


def _is_empty_qrels(file: Path, head: Head) -> bool:
    return file.name.startswith("qrels") and head.whole and not head.text.strip()


def _read_records(path: Path, reading: Reading) -> Iterator[Document]:
    """Yield ``<DOC>`` records. The number is in ``<DOCNO>``, or in the tag as in ``<DOC 51>``."""
    text = reading.text(path)
    lines, end = Lines(text), 0
    for record in find_elements(text, "DOC", _DOCUMENT):
        end, body = record.end, record.text
        number, title = next(find_elements(body, "DOCNO"), None), next(find_elements(body, _TITLES), None)
        name = parse_inline(number.text if number else record.tag[3:])
        if not name:
            problem = "a document has no <DOCNO>"
            reading.errors.append(InputError(problem, source=str(path), line=lines.number(record.start)))
            continue
        texts = [element.text for element in find_elements(body, "TEXT")]
        texts = texts or [remove_elements(remove_elements(body, "DOCNO"), _TITLES)]
        yield Document(
            id=name,
            text="\n".join(map(parse_block, texts)),
            title=parse_inline(title.text) if title else "",
        )
    if opened := _OPENED.search(text, end):
        line = lines.number(opened.start())
        reading.errors.append(InputError("a <DOC> is never closed", source=str(path), line=line))


def _are_topics(file: Path, records: list[Document], qrels: Qrels) -> bool:
    """Return whether ``<DOC>`` records are topics, by the name of their file or because the qrels call them so."""
    if file.name.lower().startswith(_TOPIC_NAMES):
        return True
    names = {record.id for record in records}
    judged = {judgment.target.document for judgment in qrels.judgments}
    return not names.isdisjoint(qrels.queries) and names.isdisjoint(judged)


def _read_lines(path: Path, reading: Reading) -> Iterator[Query]:
    for number, line in enumerate(reading.lines(path), 1):
        if not line.strip():
            continue
        name, tab, text = line.removesuffix("\r").partition("\t")
        if tab and name.strip():
            yield Query(id=name.strip(), text=text)
        else:
            reading.errors.append(InputError("no id, tab and text", source=str(path), line=number))


def _match_ids(queries: list[Query], qrels: Qrels, reading: Reading) -> tuple[Query, ...]:
    """Return the queries, with topic 051 called 51 if the qrels call it so."""
    matched, renamed = [], 0
    names = {query.id for query in queries}
    for query in queries:
        bare = query.id.lstrip("0")
        if query.id.isdecimal() and query.id not in qrels.queries and bare in qrels.queries and bare not in names:
            query, renamed = replace(query, id=bare), renamed + 1
        matched.append(query)
    if renamed:
        reading.note(f"{renamed:,} topics have leading zeros that the qrels leave out: ids are those of the qrels")
    return tuple(matched)


def _queries_without_text(qrels: Qrels, path: Path, reading: Reading) -> tuple[Query, ...]:
    reading.note(f"{path}: no topics beside it: the text of each of {len(qrels.queries):,} queries is its id")
    return tuple(Query(id=name, text=name) for name in qrels.queries)


def _write(golden: GoldenSet, path: Path) -> None:
    path.mkdir()
    write_scale_file(golden, path)
    with (path / "topics.sgml").open("w", encoding="utf-8", newline="") as file:
        file.writelines(encode_topic(_check_id(query.id), query.text) for query in golden.queries)
    if golden.documents:
        with (path / "documents.sgml").open("w", encoding="utf-8", newline="") as file:
            file.writelines(map(_encode_document, golden.documents))
    with (path / "qrels.txt").open("w", encoding="utf-8", newline="") as file:
        file.writelines(
            f"{_check_id(query)} 0 {_check_id(document)} {grade}\n" for query, document, grade in graded_pairs(golden)
        )


def _encode_document(document: Document) -> str:
    number = f"<DOC>\n<DOCNO> {escape_inline(_check_id(document.id))} </DOCNO>\n"
    title = f"<TITLE> {escape_inline(document.title)} </TITLE>\n" if document.title else ""
    return f"{number}{title}<TEXT>\n{escape_block(document.text)}\n</TEXT>\n</DOC>\n\n"


def _check_id(name: str) -> str:
    """Refuse an id that columns separated by blanks cannot hold."""
    if split_fields(name) != [name] or "\0" in name or name[0] == "\ufeff":
        raise InputError(f"id {shorten(name)} holds white space, which TREC's qrels cannot", hint="rename it")
    return name


def _recognise(path: Path) -> bool:
    if _beir.recognise(path) or _smart.recognise(path):
        return False
    if not path.is_dir():
        return _find_kind(path) == "qrels"
    if (path / "golden.toml").exists():
        return False
    files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
    return any(_find_kind(file) == "qrels" for file in files[:_LOOKED_AT])


FORMATS.add(
    "trec",
    Format(
        name="trec",
        summary="topics, qrels and documents in TREC's SGML, in one folder; or a qrels file",
        read=_read,
        recognise=_recognise,
        write=_write,
        folder=True,
        published="NIST publishes topics and qrels on the data pages of each TREC track",
        keeps=frozenset(
            {
                *("set.documents", "set.queries", "set.judgments", "set.grades", "set.relevant"),
                *("document.id", "document.text", "document.title", "query.id", "query.text"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
