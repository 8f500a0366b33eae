"""Runs as files, folders of files or projects, and the passages that their hits hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.core import InputError, Span
from karat.files import BOM, Mistakes, access_file, decode, read_bytes, record_folder

_UNFINISHED = ".part"
_ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".run", ".trec", ".tsv", ".txt", _UNFINISHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a system returned for a query: a text, or a range of bytes of a document."""

    query_text: str = ""
    text: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRuns:
    """The runs of several systems, as far as a pool needs them."""

    tables: tuple[Mapping[str, Mapping[str, float]], ...]
    """The score of each hit, by query."""
    files: tuple[str, ...] = ()
    """The file of each table."""
    passages: Mapping[tuple[str, str], Passage] = field(default_factory=dict)
    """What is known of a hit, by query and id of the hit: by the first run that says it."""
    passages_by_run: tuple[Mapping[tuple[str, str], Passage], ...] = ()
    """What each run says of its own hits."""
    notes: tuple[str, ...] = ()
    """Which files of a folder were left out, and why."""


def read_runs(paths: Iterable[str | Path], *, passages: bool = True) -> RankedRuns:
    """Read the runs of several systems, in any format that ``karat score`` reads.

    A path is a file, a folder of such files, or a project, which stands for the files in its folder ``runs``. Files of
    a folder that are not runs, or not finished, are left out with a note. A baseline file stands for the lists that it
    holds. Without ``passages`` only scores are read.
    """
    from karat.measures import read_run

    tables: list[Mapping[str, Mapping[str, float]]] = []
    files: list[str] = []
    texts: dict[tuple[str, str], Passage] = {}
    by_run: list[Mapping[tuple[str, str], Passage]] = []
    notes: list[str] = []
    for path in paths:
        before = len(tables)
        for file in _files(path):
            if file is not path and _ending(Path(file)) == _UNFINISHED:
                notes.append(f"{file}: the run was not finished, left out")
                continue
            try:
                tables.append(_read_baseline(file) or read_run(str(file)).table())
            except InputError as error:
                if file is path:
                    raise
                first = error.errors[0] if isinstance(error, Mistakes) else error  # a note is one line
                notes.append(f"{first}; left out")
                continue
            files.append(str(file))
            own: dict[tuple[str, str], Passage] = {}
            for key, passage in _read_passages(file) if passages else ():
                texts.setdefault(key, own.setdefault(key, passage))
            by_run.append(own)
        if len(tables) == before:
            raise InputError("holds no run that can be read", source=str(path), hint="; ".join(notes[:1]))
    return RankedRuns(
        tables=tuple(tables), files=tuple(files), passages=texts, passages_by_run=tuple(by_run), notes=tuple(notes)
    )


def _read_baseline(path: str | Path) -> dict[str, dict[str, float]]:
    """Return the lists of a baseline file as a run, with places for scores; {} if the file is something else."""
    if _ending(Path(path)) != ".json" or not Path(path).is_file():
        return {}
    document = _record(decode(read_bytes(path).removeprefix(BOM), str(path)))
    queries = document.get("queries") if document.get("karat") == "baseline" else None
    if not isinstance(queries, dict):
        return {}
    lists = {query: row.get("hits") for query, row in queries.items() if isinstance(row, dict)}
    return {
        query: {str(document): float(len(hits) - place) for place, document in enumerate(hits)}
        for query, hits in lists.items()
        if isinstance(hits, list)
    }


def _files(path: str | Path) -> list[str | Path]:
    """Return the files of runs that a path stands for."""
    start = Path(path)
    if not start.is_dir():
        return [path]
    folder = start / "runs" if (start / "runs").is_dir() else start
    is_set = folder == start and any((start / name).is_file() for name in ("karat.toml", "golden.toml"))
    record_folder(folder, (*_ENDINGS, *(f"{ending}.gz" for ending in _ENDINGS)))
    names = access_file(str(folder), lambda: sorted(folder.iterdir())) if not is_set else []
    files = [file for file in names if not file.name.startswith(".") and _ending(file) in _ENDINGS and file.is_file()]
    if not files:
        raise InputError("there are no runs yet", source=str(folder), hint=f"'karat eval {start}' makes them")
    return list(files)


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _read_passages(path: str | Path) -> Iterator[tuple[tuple[str, str], Passage]]:
    """Yield what karat's own runs and trace files say about their hits; other formats hold only ids and scores.

    The file has been read as a run before, so that whatever is not understood here is only passed over.
    """
    file = Path(path)
    if str(path) == "-" or not file.is_file() or _ending(file) not in (".json", ".jsonl", ".ndjson"):
        return
    lines = decode(read_bytes(path).removeprefix(BOM), str(path)).split("\n")
    for line in lines:
        trace = _record(line)
        hits = trace.get("hits", trace.get("topk"))
        for hit in hits if isinstance(hits, list) else ():
            if isinstance(hit, dict):
                yield from _described(trace, hit)


def _described(trace: Mapping[str, Any], hit: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Passage]]:
    """Yield what a trace says about a hit, under the hit's own id and under that of its document."""
    from karat.measures import HIT_FIELDS  # reading a golden set does not need it

    own = "text" in trace  # karat's own runs call the id of the query "query", traces call its text so
    query, text = (trace.get("query"), trace.get("text")) if own else (trace.get("qid"), trace.get("query"))
    span, content = _first(hit, HIT_FIELDS["span"]), _first(hit, HIT_FIELDS["content"])
    passage = Passage(
        query_text=text if isinstance(text, str) else "",
        text=content if isinstance(content, str) else "",
        span=Span(*span) if isinstance(span, list) and [*map(type, span)] == [int, int] else None,
    )
    names = (_first(hit, HIT_FIELDS["id"]), _first(hit, HIT_FIELDS["document"]))
    for name in dict.fromkeys(name for name in names if isinstance(name, str)):
        if isinstance(query, str):
            yield (query, name), passage


def _first(hit: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the value of the first of these fields that a hit has."""
    return next((hit[name] for name in names if hit.get(name) is not None), None)


def _record(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
