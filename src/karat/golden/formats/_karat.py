"""karat's own format: a folder that diffs well in git.

``golden.toml`` describes the set and its grades. ``documents.jsonl``, ``queries.jsonl`` and ``judgments.jsonl`` have
one record per line, without fields that have their default. A document has its text in its row, or in a file inside the
folder, whose relative ``path`` the row gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from karat.core import (
    GRADES,
    NORMALISER,
    SOURCES,
    Document,
    GoldenSet,
    InputError,
    Judgment,
    Query,
    Session,
    Source,
    Target,
    did_you_mean,
    shorten,
)
from karat.files import Reading, Row, parse_toml, read_bytes
from karat.golden._format import EVERYTHING, FORMATS, Format
from karat.golden._kept import mark_source
from karat.golden.formats._plain import decode_documents, decode_judgments, decode_queries

_FILES = ("documents.jsonl", "queries.jsonl", "judgments.jsonl")
_PLAIN = dict.fromkeys(("query", "document", "section", "block", "source", "annotator", "date"), str) | {"grade": int}
"""The fields of nearly all judgments, with their types."""
_REQUIRED = frozenset({"query", "document", "grade"})
_SOURCES: dict[str, Source] = {source: source for source in SOURCES}


def _read(path: Path, reading: Reading) -> GoldenSet:
    folder = path if path.is_dir() else path.parent
    head = folder / "golden.toml"
    described = reading.text(head)
    values = _read_head(described, head, reading)
    files = [folder / name for name in _FILES]
    contents = [read_bytes(file) if file == files[1] or file.exists() else b"" for file in files]
    documents, queries, judgments = decode_documents(contents[0]), decode_queries(contents[1]), _decode(contents[2])
    golden = GoldenSet(
        **values,
        documents=_read_documents(files[0], folder, reading) if documents is None else documents,
        queries=tuple(_read_records(files[1], reading, read_query)) if queries is None else queries,
        judgments=tuple(_read_records(files[2], reading, read_judgment)) if judgments is None else judgments,
    )
    if documents is not None and queries is not None and judgments is not None:
        mark_source(golden, [described.encode(), *contents])
    return golden


def _decode(data: bytes) -> Any:
    """Return judgments as a golden set takes them, in columns; () without any, None if they need the long way."""
    return decode_judgments(data) if data else ()


def _read_records(path: Path, reading: Reading, build: Any) -> Iterable[Any]:
    for row in reading.jsonl(path):
        with row:
            yield build(row)


def _read_head(text: str, path: Path, reading: Reading) -> dict[str, Any]:
    values = parse_toml(text, str(path))
    head: dict[str, Any] = {}
    with Row(reading, values, str(path)) as row:
        grades = row.texts("grades") or GRADES
        head |= {
            "name": row.text("name", default=path.absolute().parent.name),
            "version": row.text("version", default=""),
            "description": row.text("description", default=""),
            "created": str(row.value("created", default="")),
            "grades": grades,
            "relevant": row.integer("relevant", default=lowest_relevant(len(grades) - 1)),
            "normaliser": row.text("normaliser", default=NORMALISER),
            "gate": _read_gate(row),
            "classes": _read_classes(row),
        }
    return head


def lowest_relevant(top: int) -> int:
    """Return the lowest relevant grade of a set that declares none: 2 on a scale up to 3, else 1."""
    return 2 if top == 3 else 1


def _read_gate(row: Row) -> dict[str, float]:
    table = row.row("gate")
    if table is None:
        return {}
    return {measure: table.number(measure, default=0.0) for measure in row.mapping("gate")}


def _read_classes(row: Row) -> dict[str, tuple[str, ...]]:
    table = row.row("classes")
    return {} if table is None else {name: table.ids(name) for name in row.mapping("classes")}


def _read_documents(path: Path, folder: Path, reading: Reading) -> tuple[Document, ...]:
    documents = []
    root = folder.resolve()
    for row in reading.jsonl(path):
        with row:
            place = row.text("path", default="")
            documents.append(
                Document(
                    id=row.id("id"),
                    text=_read_text(folder / place, root, row, reading) if place else row.text("text", default=""),
                    title=row.text("title", default=""),
                    type=row.text("type", default=""),
                    format=row.text("format", default=""),
                    domain=row.text("domain", default=""),
                    tags=row.texts("tags"),
                    tier=row.text("tier", default=""),
                    version=row.text("version", default=""),
                    superseded_by=row.id("superseded_by", default=""),
                    path=place,
                    metadata=row.mapping("metadata"),
                )
            )
    return tuple(documents)


def _read_text(file: Path, root: Path, row: Row, reading: Reading) -> str:
    """Return the text of a document's file, which must be inside the resolved folder."""
    if row.has("text"):
        raise row.error("both 'text' and 'path' are given", "keep one of them")
    if not _is_inside(file, root):
        raise row.error(f"path {shorten(row.text('path'))} leads out of the set's folder", "copy the file into it")
    return reading.text(file)


def _is_inside(file: Path, root: Path) -> bool:
    """Return whether a path can be resolved and leads to a place inside a resolved folder."""
    try:
        return file.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, or a NUL
        return False


def _read_target(row: Row) -> Target:
    """Return the target of a row."""
    return Target(
        document=row.id("document"),
        section=row.text("section", default=""),
        block=row.text("block", default=""),
        span=row.span("span"),
    )


def _read_targets(row: Row, name: str) -> tuple[Target, ...]:
    """Return a list of targets. An item that is only text is the id of a document."""
    targets = []
    for i, item in enumerate(row.list(name)):
        if isinstance(item, dict):
            nested = row.nested(item, f"{name}[{i}]")
            targets.append(_read_target(nested))
            nested.close()
        else:
            targets.append(Target(document=row.nested({"document": item}, f"{name}[{i}]").id("document")))
    return tuple(targets)


def read_query(row: Row) -> Query:
    """Return the query of a row."""
    session = row.row("session")
    return Query(
        id=row.id("id"),
        text=row.text("text"),
        paraphrases=row.texts("paraphrases"),
        category=row.text("category", default=""),
        type=row.text("type", default=""),
        intent=row.text("intent", default=""),
        answer=row.text("answer", default=""),
        negatives=_read_targets(row, "negatives"),
        anchors=_read_targets(row, "anchors"),
        must_show=row.ids("must_show"),
        chain=row.ids("chain"),
        top_chunk=row.text("top_chunk", default=""),
        session=None if session is None else _read_session(session),
        answerable=row.flag("answerable", default=True),
        harvested=row.text("harvested", default=""),
        metadata=row.mapping("metadata"),
    )


def _read_session(row: Row) -> Session:
    session = Session(
        id=row.id("id"),
        documents=row.ids("documents"),
        turn=row.integer("turn", default=1),
        remember=row.ids("remember"),
    )
    row.close()
    return session


def read_judgment(row: Row) -> Judgment:
    """Return the judgment of a row."""
    values = row.plain(_PLAIN, _REQUIRED)
    source = None if values is None else _SOURCES.get(values.get("source", "manual"))
    if values is None or source is None:
        return _read_any_judgment(row)
    get = values.get
    return Judgment(
        query=values["query"],
        target=Target(document=values["document"], section=get("section", ""), block=get("block", "")),
        grade=values["grade"],
        source=source,
        annotator=get("annotator", ""),
        date=get("date", ""),
    )


def _read_any_judgment(row: Row) -> Judgment:
    """Return the judgment of a row, each field checked."""
    source = row.text("source", default="manual")
    if source not in SOURCES:
        raise row.error(f"source {shorten(source)}{did_you_mean(source, SOURCES) or '; known: ' + ', '.join(SOURCES)}")
    confidence = row.number("confidence", default=None)
    if confidence is not None and not 0 <= confidence <= 1:
        raise row.error(f"'confidence' is {confidence:g}, not between 0 and 1")
    return Judgment(
        query=row.id("query"),
        target=_read_target(row),
        grade=row.integer("grade"),
        source=_SOURCES[source],
        annotator=row.text("annotator", default=""),
        confidence=confidence,
        date=row.text("date", default=""),
        channels=row.texts("channels"),
        quote=row.text("quote", default=""),
    )


def _write(golden: GoldenSet, path: Path) -> None:
    path.mkdir()
    (path / "golden.toml").write_text(_encode_head(golden), encoding="utf-8")
    for document in golden.documents:
        if document.path:
            _write_text(path, document)
    rows: list[tuple[str, Iterable[dict[str, Any]]]] = [
        ("documents.jsonl", map(_encode_document, golden.documents)),
        ("queries.jsonl", map(encode_query, golden.queries)),
        ("judgments.jsonl", map(encode_judgment, golden.judgments)),
    ]
    for name, records in rows:
        with (path / name).open("w", encoding="utf-8", newline="") as file:
            file.writelines(encode_line(record) for record in records)


def encode_line(record: Mapping[str, Any]) -> str:
    """Return a record as a line of JSON, or raise an InputError that names what JSON cannot hold."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        name = shorten(record.get("id", record.get("query")))
        raise InputError(f"{name} cannot be written as JSON: {error}") from None


def _write_text(folder: Path, document: Document) -> None:
    where = f"document {shorten(document.id)}: path {shorten(document.path)}"
    file = folder / document.path
    if not _is_inside(file, folder.resolve()):
        raise InputError(f"{where} leads out of the folder")
    if file.exists() or file.name in ("golden.toml", *_FILES):
        raise InputError(f"{where} is used by another file of the set")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as out:
        # Reading removes one byte-order mark, so a text that begins with one is written with two.
        out.write("\ufeff" + document.text if document.text.startswith("\ufeff") else document.text)


def _encode_document(document: Document) -> dict[str, Any]:
    """Return a document as a record without defaults."""
    record = {name: getattr(document, name) for name in document.__slots__}
    return _without_empty({**record, "text": None if document.path else document.text, "tags": list(document.tags)})


def encode_query(query: Query) -> dict[str, Any]:
    """Return a query as a record without defaults."""
    record = {name: getattr(query, name) for name in query.__slots__}
    session = query.session
    record["negatives"] = [_encode_target(target) for target in query.negatives]
    record["anchors"] = [_encode_target(target) for target in query.anchors]
    record["answerable"] = None if query.answerable else False
    record["session"] = session and _without_empty(
        {
            "id": session.id,
            "documents": list(session.documents),
            "turn": session.turn,
            "remember": list(session.remember),
        }
    )
    return {"id": query.id, "text": query.text, **_without_empty(record)}


def _encode_target(target: Target) -> str | dict[str, Any]:
    """Return a target: the id of a whole document, else a record."""
    return target.document if target.whole else _without_empty(_parts(target))


def _parts(target: Target) -> dict[str, Any]:
    span = None if target.span is None else [target.span.start, target.span.end]
    return {"document": target.document, "section": target.section, "block": target.block, "span": span}


def encode_judgment(judgment: Judgment) -> dict[str, Any]:
    """Return a judgment as a record without defaults."""
    record = {
        "query": judgment.query,
        **_parts(judgment.target),
        "grade": judgment.grade,
        "source": "" if judgment.source == "manual" else judgment.source,
        "annotator": judgment.annotator,
        "confidence": judgment.confidence,
        "date": judgment.date,
        "channels": judgment.channels,
        "quote": judgment.quote,
    }
    return _without_empty(record)


def _without_empty(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without empty fields. 0 is not empty."""
    return {key: value for key, value in record.items() if value not in ("", None, (), [], {})}


def _encode_head(golden: GoldenSet) -> str:
    """Return the head of a set as TOML."""
    lines = [f"name = {_quote(golden.name)}"]
    described = {"version": golden.version, "description": golden.description, "created": golden.created}
    lines += [f"{key} = {_quote(value)}" for key, value in described.items() if value]
    lines += [f"normaliser = {_quote(golden.normaliser)}", f"relevant = {golden.relevant}"]
    lines.append(f"grades = [{', '.join(map(_quote, golden.grades))}]")
    if golden.gate:
        lines += ["", "[gate]", *(f"{_quote(measure)} = {floor!r}" for measure, floor in golden.gate.items())]
    if golden.classes:
        lines += ["", "[classes]"]
        lines += [f"{_quote(name)} = [{', '.join(map(_quote, ids))}]" for name, ids in golden.classes.items()]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """Return a TOML string. It is JSON's, except that JSON does not escape DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _recognise(path: Path) -> bool:
    return (path / "golden.toml").is_file() or path.name == "golden.toml"


FORMATS.add(
    "karat",
    Format(
        name="karat",
        summary="a folder: golden.toml, documents.jsonl, queries.jsonl, judgments.jsonl",
        read=_read,
        recognise=_recognise,
        write=_write,
        folder=True,
        keeps=EVERYTHING,
    ),
)
