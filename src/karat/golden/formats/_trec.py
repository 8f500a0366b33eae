"""TREC's files: topics, qrels and documents, each known by what is in it, whatever it is called.

- Qrels have four columns: topic, iteration, document, grade. The iteration is not kept, and judgments below 0 are
  left out with a note.
- Topics are SGML (``<top>`` with ``<num>`` and ``<title>``, or ``<topic number="1">`` with ``<query>``), or lines of an
  id, a tab and a text. The title is the query; description and narrative are metadata.
- Documents are SGML (``<DOC>`` with ``<DOCNO>`` and ``<TEXT>``) or JSONL.

A folder has one file of qrels; of several, one is chosen by its path, and the topics and documents beside it (files
whose names begin with topics, queries, documents, docs or corpus) come along. Without topics every judged query is
there with its id for a text, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from karat.core import Document, GoldenSet, InputError, Query, shorten
from karat.files import Reading
from karat.golden._documents import read_documents
from karat.golden._format import FORMATS, Format
from karat.golden.formats import _beir, _smart
from karat.golden.formats._head import Head, head
from karat.golden.formats._qrels import Qrels, fields, graded, read_qrels
from karat.golden.formats._records import name_of
from karat.golden.formats._sgml import block, block_sgml, inline, inline_sgml, numbered

_Kind = Literal["", "qrels", "topics", "lines", "documents", "rows"]

_OTHERS = (".csv", ".json", ".md")  # what TREC's files never are, whatever is in them
_LOOKED_AT = 100  # files of a folder, by recognise
_SAMPLE = 50  # lines that have to look alike
_DOCUMENT = re.compile(r"<DOC>(.*?)</DOC>", re.S | re.I)
_OPENED = re.compile(r"<DOC>", re.I)
_NUMBER = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.S | re.I)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HL|HEAD|TTL)>(.*?)</\1>", re.S | re.I)
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.S | re.I)
_TOPIC = re.compile(r"<top(?:ic)?\b([^<>]*)>(.*?)(?=</?top(?:ic)?\b|\Z)", re.S | re.I)
_FIELD = re.compile(r"<(\w+)\b[^<>]*>([^<]*(?:<(?![A-Za-z/])[^<]*)*)")
_ATTRIBUTE = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.I)
_LABELS = {
    "num": re.compile(r"\s*number\s*:", re.I),
    "title": re.compile(r"\s*topic\s*:", re.I),
    "desc": re.compile(r"\s*description\s*:", re.I),
    "narr": re.compile(r"\s*narrative\s*:", re.I),
}
"""What some topics write behind a tag, as in ``<num> Number: 301``."""


def _read(path: Path, reading: Reading) -> GoldenSet:
    files = {file: _kind(file) for file in _files(path)}
    chosen = _choose(path, [file for file, kind in files.items() if kind == "qrels"])
    qrels = read_qrels(chosen, reading, widths=(4,), header=False)
    if len(qrels.columns) > 1:
        reading.note(f"{chosen}: the second column has {len(qrels.columns):,} values (subtopics?), and is not kept")
    documents: list[Document] = []
    queries: list[Query] = []
    for file, kind in files.items():
        match kind:
            case "documents":
                documents += _documents(file, reading)
            case "rows":
                documents += read_documents(file, reading)
            case "topics":
                queries += _topics(file, reading)
            case "lines":
                queries += _lines(file, reading)
            case "" if file != chosen:
                reading.note(f"{file}: neither topics nor qrels nor documents, not read")
    return GoldenSet(
        name=name_of(path),
        **qrels.scale,
        documents=tuple(documents),
        queries=_matched(queries, qrels, reading) if queries else _unnamed(qrels, chosen, reading),
        judgments=tuple(qrels.judgments),
    )


def _files(path: Path) -> list[Path]:
    """Give the files to look at: all of a folder, or a file with those beside it that say what they are."""
    if path.is_dir():
        inside = (file for file in sorted(path.rglob("*")) if file.is_file())
        return [file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    names = ("topics", "queries", "documents", "docs", "corpus")
    beside = (file for file in sorted(path.parent.iterdir()) if file.is_file() and file.name.startswith(names))
    return [path, *(file for file in beside if file != path)]


def _choose(path: Path, found: list[Path]) -> Path:
    if not path.is_dir():
        return path
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError("holds no qrels: lines of topic, iteration, document, grade", source=str(path))
    names = ", ".join(file.name for file in found)
    raise InputError(f"holds several qrels: {names}", source=str(path), hint=f"name one of them, as in {found[0]}")


def _kind(file: Path) -> _Kind:
    seen = head(file)
    if file.suffix in _OTHERS:
        return ""
    lines = seen.lines[:_SAMPLE]
    if _are_qrels(lines):  # first: the id of a query may be <top>
        return "qrels"
    start = seen.text.lstrip()[:200].lower()
    if re.match(r"<doc>", start):
        return "documents"
    if re.match(r"(<[?!][^>]*>\s*)*<(top|topics|topic)\b", start):
        return "topics"
    if {"id", "_id", "docid", "doc_id"} & seen.keys and {"text", "contents", "content"} & seen.keys:
        return "rows"
    if lines and all(line.count("\t") == 1 and line.split("\t")[0].strip() for line in lines):
        return "lines"
    return "qrels" if _is_empty_qrels(file, seen) else ""


def _are_qrels(lines: tuple[str, ...]) -> bool:
    """Say so if four lines in five are: what is wrong with the fifth is told when it is read."""
    rows = [fields(line) for line in lines]
    fitting = [row for row in rows if len(row) == 4 and re.fullmatch(r"-?\d{1,9}", row[3])]
    return bool(rows) and len(fitting) >= 0.8 * len(rows)


def _is_empty_qrels(file: Path, seen: Head) -> bool:
    return file.name.startswith("qrels") and seen.whole and not seen.text.strip()


def _documents(path: Path, reading: Reading) -> Iterator[Document]:
    text = "\n".join(reading.lines(path))
    end = 0
    for found in _DOCUMENT.finditer(text):
        end = found.end()
        number, title = _NUMBER.search(found[1]), _TITLE.search(found[1])
        if number is None or not inline(number[1]):
            reading.errors.append(_error("a document has no <DOCNO>", path, text, found.start()))
            continue
        texts = _TEXT.findall(found[1]) or [_TITLE.sub("", _NUMBER.sub("", found[1]))]
        yield Document(
            id=inline(number[1]),
            text="\n".join(map(block, texts)),
            title=inline(title[2]) if title else "",
        )
    if opened := _OPENED.search(text, end):
        reading.errors.append(_error("a <DOC> is never closed", path, text, opened.start()))


def _error(what: str, path: Path, text: str, at: int) -> InputError:
    return InputError(what, source=str(path), line=text.count("\n", 0, at) + 1)


def _topics(path: Path, reading: Reading) -> Iterator[Query]:
    text = "\n".join(reading.lines(path))
    for found in _TOPIC.finditer(text):
        parts = {tag.lower(): _field(tag.lower(), value) for tag, value in _FIELD.findall(found[2])}
        attribute = _ATTRIBUTE.search(found[1])
        number = parts.get("num") or (inline(attribute[1]) if attribute else "")
        title = parts.get("title", parts.get("query", parts.get("desc", parts.get("question"))))
        if not number or title is None:
            what = "a topic has no <num>" if not number else f"topic {shorten(number)} has no <title>"
            reading.errors.append(_error(what, path, text, found.start()))
            continue
        more = {
            "description": parts.get("desc") or parts.get("description") or parts.get("question"),
            "narrative": parts.get("narr") or parts.get("narrative"),
        }
        yield Query(id=number, text=title, metadata={key: value for key, value in more.items() if value})


def _field(tag: str, value: str) -> str:
    label = _LABELS[tag].match(value) if tag in _LABELS else None
    return inline(value[label.end() :] if label else value)


def _lines(path: Path, reading: Reading) -> Iterator[Query]:
    for number, line in enumerate(reading.lines(path), 1):
        if not line.strip():
            continue
        name, tab, text = line.removesuffix("\r").partition("\t")
        if tab and name.strip():
            yield Query(id=name.strip(), text=text)
        else:
            reading.errors.append(InputError("no id, tab and text", source=str(path), line=number))


def _matched(queries: list[Query], qrels: Qrels, reading: Reading) -> tuple[Query, ...]:
    """Call topic 051 by the number 51 where the qrels do."""
    found, renamed = [], 0
    taken = {query.id for query in queries}
    for query in queries:
        bare = query.id.lstrip("0")
        if query.id.isdecimal() and query.id not in qrels.queries and bare in qrels.queries and bare not in taken:
            query, renamed = replace(query, id=bare), renamed + 1
        found.append(query)
    if renamed:
        reading.note(f"{renamed:,} topics have leading zeros that the qrels leave out: ids are those of the qrels")
    return tuple(found)


def _unnamed(qrels: Qrels, path: Path, reading: Reading) -> tuple[Query, ...]:
    reading.note(f"{path}: no topics beside it: the text of each of {len(qrels.queries):,} queries is its id")
    return tuple(Query(id=name, text=name) for name in qrels.queries)


def _write(golden: GoldenSet, path: Path) -> None:
    path.mkdir()
    with (path / "topics.sgml").open("w", encoding="utf-8", newline="") as file:
        file.writelines(map(_topic_sgml, golden.queries))
    if golden.documents:
        with (path / "documents.sgml").open("w", encoding="utf-8", newline="") as file:
            file.writelines(map(_document_sgml, golden.documents))
    with (path / "qrels.txt").open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{_id(query)} 0 {_id(document)} {grade}\n" for query, document, grade in graded(golden))


def _topic_sgml(query: Query) -> str:
    title = inline_sgml(query.text)
    if _LABELS["title"].match(title):
        title = numbered(title[0]) + title[1:]
    return f"<top>\n<num> Number: {inline_sgml(_id(query.id))}\n<title> {title}\n</top>\n\n"


def _document_sgml(document: Document) -> str:
    number = f"<DOC>\n<DOCNO> {inline_sgml(_id(document.id))} </DOCNO>\n"
    title = f"<TITLE> {inline_sgml(document.title)} </TITLE>\n" if document.title else ""
    return f"{number}{title}<TEXT>\n{block_sgml(document.text)}\n</TEXT>\n</DOC>\n\n"


def _id(name: str) -> str:
    """Refuse an id that columns separated by blanks cannot hold."""
    if fields(name) != [name] or "\0" in name or name[0] == "\ufeff":
        raise InputError(f"id {shorten(name)} holds white space, which TREC's qrels cannot", hint="rename it")
    return name


def _recognise(path: Path) -> bool:
    if _beir.recognise(path) or _smart.recognise(path):
        return False
    if not path.is_dir():
        return _kind(path) == "qrels"
    if (path / "golden.toml").exists():
        return False
    files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
    return any(_kind(file) == "qrels" for file in files[:_LOOKED_AT])


FORMATS.add(
    "trec",
    Format(
        name="trec",
        summary="topics, qrels and documents in TREC's SGML, in one folder; or a qrels file",
        read=_read,
        recognise=_recognise,
        write=_write,
        folder=True,
        keeps=frozenset(
            {
                *("set.documents", "set.queries", "set.judgments"),
                *("document.id", "document.text", "document.title", "query.id", "query.text"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
