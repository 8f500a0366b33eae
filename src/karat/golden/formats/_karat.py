"""karat's own format: a folder that diffs well in git.

``golden.toml`` says what the set is and what its grades mean; ``documents.jsonl``, ``queries.jsonl`` and
``judgments.jsonl`` hold one record a line, and no field that has its default. A document has its text in its row, or in
a file of its own whose ``path`` the row gives, relative to the folder and inside it.
"""

from __future__ import annotations

import json
import tomllib
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
    Target,
    did_you_mean,
    shorten,
)
from karat.files import Reading, Row, decode, read_bytes
from karat.golden._format import EVERYTHING, FORMATS, Format

_FILES = ("documents.jsonl", "queries.jsonl", "judgments.jsonl")


def _read(path: Path, reading: Reading) -> GoldenSet:
    folder = path if path.is_dir() else path.parent
    head = _head(folder / "golden.toml", reading)
    documents, queries, judgments = (folder / name for name in _FILES)
    return GoldenSet(
        **head,
        documents=_documents(documents, folder, reading) if documents.exists() else (),
        queries=tuple(_collect(queries, reading, query_of)),
        judgments=tuple(_collect(judgments, reading, judgment_of)) if judgments.exists() else (),
    )


def _collect(path: Path, reading: Reading, build: Any) -> Iterable[Any]:
    for row in reading.jsonl(path):
        with row:
            yield build(row)


def _head(path: Path, reading: Reading) -> dict[str, Any]:
    try:
        values = tomllib.loads(decode(read_bytes(path), str(path)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", source=str(path)) from None
    except RecursionError:
        raise InputError("is nested too deep", source=str(path)) from None
    head: dict[str, Any] = {}
    with Row(reading, values, str(path)) as row:
        grades = row.texts("grades") or GRADES
        head |= {
            "name": row.text("name", default=path.absolute().parent.name),
            "version": row.text("version", default=""),
            "description": row.text("description", default=""),
            "created": str(row.value("created", default="")),
            "grades": grades,
            "relevant": row.integer("relevant", default=relevant_from(len(grades) - 1)),
            "normaliser": row.text("normaliser", default=NORMALISER),
            "gate": _gate(row),
            "classes": _classes(row),
        }
    return head


def relevant_from(top: int) -> int:
    """Give the lowest grade that counts as relevant where a set says nothing: 2 on a scale up to 3, else 1."""
    return 2 if top == 3 else 1


def _gate(row: Row) -> dict[str, float]:
    table = row.row("gate")
    if table is None:
        return {}
    return {measure: table.number(measure, default=0.0) for measure in row.mapping("gate")}


def _classes(row: Row) -> dict[str, tuple[str, ...]]:
    table = row.row("classes")
    return {} if table is None else {name: table.ids(name) for name in row.mapping("classes")}


def _documents(path: Path, folder: Path, reading: Reading) -> tuple[Document, ...]:
    found = []
    for row in reading.jsonl(path):
        with row:
            place = row.text("path", default="")
            found.append(
                Document(
                    id=row.id("id"),
                    text=_text(folder, place, row) if place else row.text("text", default=""),
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
    return tuple(found)


def _text(folder: Path, place: str, row: Row) -> str:
    """Read the file of a document, which has to lie inside the folder."""
    if row.has("text"):
        raise row.error("both 'text' and 'path' are given", "keep one of them")
    if not _inside(folder, place):
        raise row.error(f"path {shorten(place)} leads out of the set's folder", "copy the file into it")
    file = folder / place
    return decode(read_bytes(file), str(file))


def _inside(folder: Path, place: str) -> bool:
    """Say whether a path leads to somewhere inside the folder, and can be followed at all."""
    try:
        return (folder / place).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # too long, a ring of links, or a NUL in it
        return False


def target_of(row: Row) -> Target:
    """Read what a row points at."""
    return Target(
        document=row.id("document"),
        section=row.text("section", default=""),
        block=row.text("block", default=""),
        span=row.span("span"),
    )


def _targets(row: Row, name: str) -> tuple[Target, ...]:
    """Read a list of targets; one that is only text is a document."""
    found = []
    for i, item in enumerate(row.list(name)):
        if isinstance(item, dict):
            nested = row.nested(item, f"{name}[{i}]")
            found.append(target_of(nested))
            nested.close()
        else:
            found.append(Target(document=row.nested({"document": item}, f"{name}[{i}]").id("document")))
    return tuple(found)


def query_of(row: Row) -> Query:
    """Read a query."""
    session = row.row("session")
    return Query(
        id=row.id("id"),
        text=row.text("text"),
        paraphrases=row.texts("paraphrases"),
        category=row.text("category", default=""),
        type=row.text("type", default=""),
        intent=row.text("intent", default=""),
        answer=row.text("answer", default=""),
        negatives=_targets(row, "negatives"),
        anchors=_targets(row, "anchors"),
        must_show=row.ids("must_show"),
        chain=row.ids("chain"),
        top_chunk=row.text("top_chunk", default=""),
        session=None if session is None else _session(session),
        harvested=row.text("harvested", default=""),
        metadata=row.mapping("metadata"),
    )


def _session(row: Row) -> Session:
    session = Session(id=row.id("id"), documents=row.ids("documents"), turn=row.integer("turn", default=1))
    row.close()
    return session


def judgment_of(row: Row) -> Judgment:
    """Read a judgment."""
    source = row.text("source", default="manual")
    if source not in SOURCES:
        raise row.error(f"source {shorten(source)}{did_you_mean(source, SOURCES) or '; known: ' + ', '.join(SOURCES)}")
    confidence = row.number("confidence", default=None)
    if confidence is not None and not 0 <= confidence <= 1:
        raise row.error(f"'confidence' is {confidence:g}, not between 0 and 1")
    return Judgment(
        query=row.id("query"),
        target=target_of(row),
        grade=row.integer("grade"),
        source=next(known for known in SOURCES if known == source),
        annotator=row.text("annotator", default=""),
        confidence=confidence,
        date=row.text("date", default=""),
        channels=row.texts("channels"),
    )


def _write(golden: GoldenSet, path: Path) -> None:
    path.mkdir()
    (path / "golden.toml").write_text(toml(golden), encoding="utf-8")
    for document in golden.documents:
        if document.path:
            _write_text(path, document)
    rows: list[tuple[str, Iterable[dict[str, Any]]]] = [
        ("documents.jsonl", map(document_row, golden.documents)),
        ("queries.jsonl", map(query_row, golden.queries)),
        ("judgments.jsonl", map(judgment_row, golden.judgments)),
    ]
    for name, records in rows:
        with (path / name).open("w", encoding="utf-8", newline="") as file:
            file.writelines(json_line(record) for record in records)


def json_line(record: Mapping[str, Any]) -> str:
    """Write a record on a line of its own, or say what of it JSON cannot hold."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        name = shorten(record.get("id", record.get("query")))
        raise InputError(f"{name} cannot be written as JSON: {error}") from None


def _write_text(folder: Path, document: Document) -> None:
    where = f"document {shorten(document.id)}: path {shorten(document.path)}"
    if not _inside(folder, document.path):
        raise InputError(f"{where} leads out of the folder")
    file = folder / document.path
    if file.exists() or file.name in ("golden.toml", *_FILES):
        raise InputError(f"{where} is taken by another file of the set")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as out:
        # Reading takes one byte-order mark away; a text that begins with one keeps it.
        out.write("\ufeff" + document.text if document.text.startswith("\ufeff") else document.text)


def document_row(document: Document) -> dict[str, Any]:
    """Give a document as a record without defaults."""
    record = {name: getattr(document, name) for name in document.__slots__}
    return _filled({**record, "text": None if document.path else document.text, "tags": list(document.tags)})


def query_row(query: Query) -> dict[str, Any]:
    """Give a query as a record without defaults."""
    record = {name: getattr(query, name) for name in query.__slots__}
    session = query.session
    record["negatives"] = [target_row(target) for target in query.negatives]
    record["anchors"] = [target_row(target) for target in query.anchors]
    record["session"] = session and _filled(
        {"id": session.id, "documents": list(session.documents), "turn": session.turn}
    )
    return {"id": query.id, "text": query.text, **_filled(record)}


def target_row(target: Target) -> str | dict[str, Any]:
    """Give a target: a document by its id, else a record."""
    return target.document if target.whole else _filled(_parts(target))


def _parts(target: Target) -> dict[str, Any]:
    span = None if target.span is None else [target.span.start, target.span.end]
    return {"document": target.document, "section": target.section, "block": target.block, "span": span}


def judgment_row(judgment: Judgment) -> dict[str, Any]:
    """Give a judgment as a record without defaults."""
    record = {
        "query": judgment.query,
        **_parts(judgment.target),
        "grade": judgment.grade,
        "source": "" if judgment.source == "manual" else judgment.source,
        "annotator": judgment.annotator,
        "confidence": judgment.confidence,
        "date": judgment.date,
        "channels": judgment.channels,
    }
    return _filled(record)


def _filled(record: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is empty; 0 is not."""
    return {key: value for key, value in record.items() if value not in ("", None, (), [], {})}


def toml(golden: GoldenSet) -> str:
    """Write the head of a set."""
    lines = [f"name = {_quoted(golden.name)}"]
    described = {"version": golden.version, "description": golden.description, "created": golden.created}
    lines += [f"{key} = {_quoted(value)}" for key, value in described.items() if value]
    lines += [f"normaliser = {_quoted(golden.normaliser)}", f"relevant = {golden.relevant}"]
    lines.append(f"grades = [{', '.join(map(_quoted, golden.grades))}]")
    if golden.gate:
        lines += ["", "[gate]", *(f"{_quoted(measure)} = {floor!r}" for measure, floor in golden.gate.items())]
    if golden.classes:
        lines += ["", "[classes]"]
        lines += [f"{_quoted(name)} = [{', '.join(map(_quoted, ids))}]" for name, ids in golden.classes.items()]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Write a TOML string: JSON's, but for the one control character that JSON leaves alone."""
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
