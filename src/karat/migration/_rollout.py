"""Whether an index that was made anew may get its first traffic: it cites what the old one cites.

An old citation is redirected by the table. The citations of a query are identical if each side has, for every citation
of the other, one that names the same text: for a block that was split any of its parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from karat.core import InputError, Run, Trace, UsageError
from karat.files import Reading, Row, open_file
from karat.migration._redirects import Redirects
from karat.migration._targets import Targets, judge_share
from karat.schema.migration import CitationMismatch, MigrationCheck, MigrationTable, RolloutReport
from karat.stats.clicks import exact_interval

if TYPE_CHECKING:
    from karat.online.shadow import LoggedShadow

CANARY_PERCENT = 5.0
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A block that is cited, and the ids that it had before, if the index knows them."""

    id: str
    document: str = ""
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowedQuery:
    """What both indexes cite for a query, or why that is unknown."""

    query: str
    control: tuple[Cited, ...] = ()
    treatment: tuple[Cited, ...] = ()
    error: str = ""


def read_shadowed(
    control: str | os.PathLike[str],
    treatment: str | os.PathLike[str] = "",
    *,
    hits: int | None = None,
    feature: str = "",
) -> tuple[ShadowedQuery, ...]:
    """Return what two indexes cite: two run files of the same queries, or one file with records of both.

    A record has ``query``, and ``control`` and ``treatment``, each a list of ids or of objects with ``id`` and perhaps
    ``document`` and ``id_prev``. Of run files, the citations of answers are compared, or with ``hits`` that many hits.
    The one file may also be a store with shadow runs, of which ``feature`` names those to compare.
    """
    if not os.fspath(treatment) and _is_store(Path(control)):
        return _read_store(control, feature, hits)
    if not os.fspath(treatment):
        return _read_records(Path(control))
    from karat.runs import read_run_file

    sides = [read_run_file(Path(side)) for side in (control, treatment)]
    old, new = (_list_by_question(run, hits) for run in sides)
    if not old.keys() & new.keys():
        raise InputError(f"answers none of the queries of {os.fspath(control)}", source=os.fspath(treatment))
    return tuple(_pair(question, old.get(question), new.get(question)) for question in old | new)


Question = tuple[str, int, int]
Side = tuple[tuple[Cited, ...], str]


def _list_by_question(run: Run, hits: int | None) -> dict[Question, Side]:
    return {(trace.query, trace.paraphrase, trace.repeat): _list_cited(trace, hits) for trace in run.traces}


def _list_cited(trace: Trace, hits: int | None) -> Side:
    """Return what a trace cites, or why that is not known."""
    if trace.error:
        return (), f"failed: {trace.error}"
    if hits is not None:
        return tuple(Cited(id=hit.block or hit.id, document=hit.document) for hit in trace.hits[:hits]), ""
    if not (trace.answer or trace.citations or trace.refused):
        return (), "has no answer, so that it cites nothing; --hits compares hits instead"
    return tuple(Cited(id=cited.block or cited.id, document=cited.document) for cited in trace.citations), ""


def _pair(question: Question, old: Side | None, new: Side | None) -> ShadowedQuery:
    query, paraphrase, repeat = question
    name = query + (f" (paraphrase {paraphrase})" if paraphrase else "") + (f" (repeat {repeat})" if repeat else "")
    problems = [
        f"{side} {'was not asked' if cited is None else cited[1]}"
        for side, cited in (("the control", old), ("the treatment", new))
        if cited is None or cited[1]
    ]
    return ShadowedQuery(
        query=name,
        control=old[0] if old else (),
        treatment=new[0] if new else (),
        error="; ".join(problems),
    )


def _is_store(path: Path) -> bool:
    if not path.is_file():  # whoever reads it says what is wrong with it
        return False
    with open_file(path) as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _read_store(store: str | os.PathLike[str], feature: str, hits: int | None) -> tuple[ShadowedQuery, ...]:
    from karat.online import read_log
    from karat.online.shadow import choose_feature

    with read_log(store) as log:
        name = choose_feature(feature, log.shadow_features(), os.fspath(store))
        return tuple(_read_shadow(run, hits) for run in log.shadow_runs(name, None, None))


def _read_shadow(run: LoggedShadow, hits: int | None) -> ShadowedQuery:
    problem = "" if run.status == "answered" else run.error or run.status
    if not problem and None in run.answers:
        problem = "the record has no answers of both systems, only lists of documents"
    sides: list[tuple[Cited, ...]] = []
    for answer in run.answers:
        parts = () if answer is None else answer.citations if hits is None else answer.hits[:hits]
        sides.append(tuple(Cited(id=part.block or part.id, document=part.document) for part in parts))
    return ShadowedQuery(query=run.query or run.text, control=sides[0], treatment=sides[1], error=problem)


def _read_records(path: Path) -> tuple[ShadowedQuery, ...]:
    reading, records = Reading(), []
    for row in reading.jsonl(path):
        with row:
            query = row.id("query", "query_id", "id", "text")
            sides = [_read_side(row, side) for side in ("control", "treatment")]
            error = row.text("error", default="")
            records.append(ShadowedQuery(query=query, control=sides[0], treatment=sides[1], error=error))
    reading.finish()
    return tuple(records)


def _read_side(row: Row, side: str) -> tuple[Cited, ...]:
    if not row.has(side):
        raise row.error(f"{side!r} is missing")
    items = row.list(side)
    rows = [
        row.nested(item if isinstance(item, dict) else {"id": item}, f"{side}[{at}]") for at, item in enumerate(items)
    ]
    cited = []
    for item in rows:
        item.ignore("offsets", "span", "score")
        cited.append(
            Cited(id=item.id("id"), document=item.id("document", "doc_id", default=""), former=item.ids("id_prev"))
        )
        item.close()
    return tuple(cited)


def judge_rollout(
    table: Sequence[MigrationTable],
    queries: Iterable[ShadowedQuery],
    *,
    targets: Targets | None = None,
    control: str = "",
    treatment: str = "",
    compared: str = "citations",
) -> RolloutReport:
    """Return whether the new index may get its first traffic.

    It may if it cites the same on at least 98 % of the queries for which either index cites anything, and everything
    that the old one cites has a place in it. A query that could not be compared counts as one that differs.
    """
    wanted, redirects = targets or Targets(), Redirects(table)
    rows = list(queries)
    if not rows:
        raise UsageError("there are no queries to compare")
    mismatches = [mismatch for query in rows if (mismatch := _compare(query, redirects)) is not None]
    cited = {(item.document, item.id): item for query in rows for item in query.control}
    unmapped = sorted(item.id for item in cited.values() if not _leads(item, redirects))
    n = len(rows) - sum(map(_cites_nothing, rows))
    low, high = exact_interval(len(mismatches), n) if n else (0.0, 1.0)
    share = 1 - len(mismatches) / n if n else None
    identical = judge_share("identical citations", share, wanted.citations, n, wanted.least, "queries", "differ")
    checks = (identical, _check_mapped(unmapped, len(cited)))
    verdicts = {check.verdict for check in checks}
    verdict = next(name for name in ("fail", "inconclusive", "pass") if name in verdicts)
    return RolloutReport(
        control=control,
        treatment=treatment,
        compared=compared,
        queries=len(rows),
        identical=len(rows) - len(mismatches),
        mismatch=len(mismatches) / max(1, n),
        low=low,
        high=high,
        cited=len(cited),
        unmapped=tuple(unmapped),
        checks=checks,
        mismatches=tuple(mismatches),
        stage="canary" if verdict == "pass" else "shadow",
        canary_percent=CANARY_PERCENT,
        verdict=verdict,
        notes=tuple(_list_notes(rows)),
    )


def _cites_nothing(query: ShadowedQuery) -> bool:
    """Return whether both indexes answered a query, and neither cites anything: nothing is compared."""
    return not (query.error or query.control or query.treatment)


def _leads(item: Cited, redirects: Redirects) -> bool:
    return bool(redirects.resolve(item.id, item.document).targets)


def _check_mapped(unmapped: Sequence[str], cited: int) -> MigrationCheck:
    return MigrationCheck(
        name="cited blocks without a place",
        value=float(len(unmapped)),
        target="0",
        n=cited,
        verdict="fail" if unmapped else "pass" if cited else "inconclusive",
        reason="" if cited else "the old index cites nothing",
    )


def _compare(query: ShadowedQuery, redirects: Redirects) -> CitationMismatch | None:
    """Return how the citations of a query differ; None if they are identical."""
    if query.error:
        return CitationMismatch(query=query.query, lost=(), unmapped=(), added=(), reason=query.error)

    def is_same(old: Cited, new: Cited) -> bool:
        if old.document and new.document and old.document != new.document:
            return False  # ids of blocks may be those of their document only
        return old.id in new.former or redirects.accepts(new.id, old.id, old.document)

    lost = [old for old in query.control if not any(is_same(old, new) for new in query.treatment)]
    added = [new for new in query.treatment if not any(is_same(old, new) for old in query.control)]
    if not lost and not added:
        return None
    return CitationMismatch(
        query=query.query,
        lost=tuple(old.id for old in lost),
        unmapped=tuple(old.id for old in lost if not _leads(old, redirects)),
        added=tuple(new.id for new in added),
    )


def _list_notes(queries: Sequence[ShadowedQuery]) -> Iterable[str]:
    failed = sum(bool(query.error) for query in queries)
    if failed:
        yield f"{failed:,} of {len(queries):,} queries could not be compared, and count as different"
    empty = sum(map(_cites_nothing, queries))
    if empty:
        yield f"for {empty:,} of {len(queries):,} queries neither index cites anything: the share is that of the others"
