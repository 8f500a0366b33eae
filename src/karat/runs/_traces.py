"""Reading a run of any kind: a run file of karat, a trace file, or a ranking such as a TREC run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Run, UsageError
from karat.files import BOM, read_bytes
from karat.runs._opinions import attach_opinions
from karat.runs._runfile import read_run_file

_WHOLE = 100_000_000  # bytes of a file that is one JSON value


def read_any_run(
    path: str | Path,
    golden: GoldenSet,
    *,
    k: int | None = None,
    say: Callable[[str], None] | None = None,
    data: bytes | None = None,
    opinions: bool = True,
) -> Run:
    r"""Return the run of a file on a golden set: a run of karat, a trace file, or a run that ``karat score`` reads.

    A run of karat is returned as it was written. Other files do not name their golden set, so their run gets the
    fingerprint of ``golden``; the caller has to know that it is the right one. They may name parts of the system
    (``index_hash``, ``reranker``, ``normaliser`` ...); if they do not, the hash of the file stands for the system.
    ``k`` says how many hits such a system was asked for; by default it is what the file says, or else the length of the
    longest list.

    A query that such a file does not answer gets a trace with the error ``not in the run``, and counts as 0; answers to
    paraphrases alone do not count as answers to the query. Queries
    that the golden set does not have are left out, and counted in ``settings["not_in_golden"]``; a file without any
    other query is refused. ``say`` is called with each note about the file. ``data`` is the content of a file that
    the caller has read already. What judges say of the run, in a file beside it, is a part of its traces unless
    ``opinions`` is False.

    >>> import tempfile
    >>> from karat.core import Judgment, Query, Target
    >>> golden = GoldenSet(queries=(Query(id="q1", text="When?"), Query(id="q2", text="Where?")),
    ...                    judgments=(Judgment(query="q1", target=Target(document="pool"), grade=3),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.txt")
    ...     _ = file.write_text("q1 Q0 wifi 1 2.5 mine\nq1 Q0 pool 2 1.5 mine\n")
    ...     run = read_any_run(file, golden)
    >>> [(trace.query, [hit.document for hit in trace.hits], trace.error) for trace in run.traces]
    [('q1', ['wifi', 'pool'], ''), ('q2', [], 'not in the run')]
    """
    data = _read_data(path, data)
    run = _read_own_run(path, data, k) or _read_foreign(path, data, golden, k, say)
    return attach_opinions(run, path, data, say) if opinions else run


def read_whole_run(path: str | Path, *, k: int | None = None, say: Callable[[str], None] | None = None) -> Run:
    """Return everything in a run of any kind, whatever golden set it belongs to.

    A request that does not name its question has its text as the id. ``k`` and ``say`` are those of
    :func:`read_any_run`.
    """
    data = _read_data(path)
    return _read_own_run(path, data, k) or _read_foreign(path, data, None, k, say)


def _read_data(path: str | Path, data: bytes | None = None) -> bytes:
    name = str(path)
    if name == "-" or Path(path).is_fifo():
        raise InputError("is a stream, which cannot be read twice", source=name, hint="save the run as a file first")
    data = read_bytes(path) if data is None else data
    if b'"karat": "baseline"' in data[:200]:
        raise InputError(
            "is a baseline, which has scores and the first documents of each query, but no answers",
            source=name,
            hint="name the run that it was recorded from; 'karat compare' and 'karat golden pool' take a baseline, too",
        )
    text = data.removeprefix(BOM)
    if not text or text.isspace():
        raise InputError("the file holds only blanks" if data else "the file is empty", source=name)
    return data


def _read_own_run(path: str | Path, data: bytes, k: int | None) -> Run | None:
    """Return a run that karat wrote; None if another program wrote it."""
    first = _read_first_record(data.removeprefix(BOM).lstrip())
    if first.get("karat") == "report":
        raise InputError("is a decision, not a run", source=str(path), hint="'karat report' renders it")
    if first.get("karat") == "opinions":
        raise InputError("has opinions of judges, not a run", source=str(path), hint="name the run that they are about")
    if first.get("karat") != "run":
        return None
    if k is not None:
        raise UsageError(f"{path}: k is in the file, which karat wrote; leave it out")
    return read_run_file(path, data)


def _read_foreign(
    path: str | Path, data: bytes, golden: GoldenSet | None, k: int | None, say: Callable[[str], None] | None
) -> Run:
    from karat.runs._foreign import read_foreign_run  # most runs are karat's own

    return read_foreign_run(path, data, _read_first_record(data.removeprefix(BOM).lstrip()), golden, k=k, say=say)


def _read_first_record(start: bytes) -> dict[str, Any]:
    """Return the object on the first line, or {} if there is none."""
    end = start.find(b"\n")
    for text in (
        start if end < 0 else start[:end],
        start if start[:1] in (b"{", b"[") and len(start) < _WHOLE else b"",
    ):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):  # over several lines, or the reader of the whole file reports the error
            continue
        if isinstance(record, list) and record and isinstance(record[0], dict):
            from karat.traces import holds_spans

            record = record[0] if holds_spans(record[0]) else record
        return record if isinstance(record, dict) else {}
    return {}
