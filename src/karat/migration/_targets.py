"""The targets of a migration, and the report that says whether they are met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from karat.core import count_things
from karat.migration._alignment import KINDS, LEAST_COVERAGE, LEAST_SCORE
from karat.migration._drift import measure_drift
from karat.migration._edition import Edition, count_repeated
from karat.migration._table import list_targets, map_document
from karat.schema.migration import (
    BlockMapping,
    MigratedDocument,
    MigrationCheck,
    MigrationReport,
    MigrationTable,
    UnmappedBlock,
)

_NO_PLACE = "have no place; --gone names those that a person has confirmed to be gone"
_WORDS = 12
_VERDICTS = ("fail", "inconclusive", "pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is asked of a migration."""

    redirects: float = 0.995
    """The least share of old blocks that have a place in the new version."""
    drift: float = 0.005
    """The largest drift of a document, as a share of its length."""
    least: int = 200
    """How many blocks, or queries, it takes to say that a share is reached."""
    citations: float = 0.98
    """The least share of shadow queries with the same citations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """A table, and the report on it."""

    table: tuple[MigrationTable, ...]
    report: MigrationReport


@dataclass(slots=True)
class _Tally:
    """What is counted from document to document."""

    moves: Counter[str] = field(default_factory=Counter)
    documents: Counter[str] = field(default_factory=Counter)
    unmapped: list[UnmappedBlock] = field(default_factory=list)
    changed: list[MigratedDocument] = field(default_factory=list)
    confirmed: int = 0
    reused: int = 0
    repeated: int = 0
    ids: int = 0
    probes: int = 0


def migrate(
    old: Sequence[Edition],
    new: Sequence[Edition],
    *,
    gone: Collection[tuple[str, str]] = (),
    targets: Targets | None = None,
    before: str = "",
    after: str = "",
) -> Migration:
    """Return the table from one version of some documents to another, and whether it meets its targets.

    ``gone`` has the blocks, by document and id, that a person has confirmed to be gone: they are not counted against
    the redirects. ``before`` and ``after`` are names for the report.
    """
    wanted = targets or Targets()
    later = {edition.document: edition for edition in new}
    known = {edition.document for edition in old}
    tally = _Tally(documents=Counter(added=len(later.keys() - known)))
    tally.repeated = sum(count_repeated(edition.blocks) for edition in (*old, *new))
    tally.repeated += len(old) - len(known) + len(new) - len(later)
    tally.ids = sum(len(edition.blocks) for edition in (*old, *new))
    table = []
    for edition in old:
        # Copies, so that the words of a document are held only while they are needed.
        now, other = replace(edition), later.get(edition.document)
        then = None if other is None else replace(other)
        table.append(map_document(now, then))
        _count(tally, now, then, table[-1], gone)
    return Migration(table=tuple(table), report=_report(tally, wanted, before, after))


def _count(
    tally: _Tally, old: Edition, new: Edition | None, document: MigrationTable, gone: Collection[tuple[str, str]]
) -> None:
    is_same = new is not None and old.text == new.text and old.blocks == new.blocks
    tally.documents["removed" if new is None else "same" if is_same else "changed"] += 1
    tally.moves.update(mapping.move for mapping in document.mappings)
    lost = [pair for pair in zip(document.mappings, old.blocks, strict=True) if pair[0].move == "unmapped"]
    for mapping, block in lost:
        if (old.document, block.id) in gone:
            tally.confirmed += 1
        else:
            words = old.bytes_of(block).decode(errors="replace").split()
            tally.unmapped.append(_explain(old, new, mapping, " ".join(words[:_WORDS])))
    if new is None:
        return
    drift = measure_drift(old, new, document.mappings)
    tally.probes += drift.probes
    tally.reused += _count_reused(new, document.mappings)
    if not is_same:
        mapped = len(document.mappings) - len(lost)
        shown = drift.mean if drift.probes else None
        tally.changed.append(
            MigratedDocument(doc_id=old.document, blocks=len(old.blocks), mapped=mapped, drift=shown)
        )  # fmt: skip


def _count_reused(new: Edition, mappings: Sequence[BlockMapping]) -> int:
    """Return how many old ids exist in the new version and name another block there."""
    ids = {block.id for block in new.blocks}
    return sum(m.old_block_id in ids and m.old_block_id not in list_targets(m) for m in mappings)


def _explain(old: Edition, new: Edition | None, mapping: BlockMapping, words: str) -> UnmappedBlock:
    if new is None:
        reason = "the document is gone"
    elif mapping.coverage < LEAST_COVERAGE:
        reason = f"the new version holds {mapping.coverage:.0%} of its words together, less than {LEAST_COVERAGE:.0%}"
    else:
        reason = f"its words are there, among others: similarity {mapping.conf:.2f} is below {LEAST_SCORE:.2f}"
    return UnmappedBlock(
        doc_id=old.document,
        block=mapping.old_block_id,
        text=words,
        score=mapping.conf,
        coverage=mapping.coverage,
        reason=reason,
    )


def _report(tally: _Tally, targets: Targets, before: str, after: str) -> MigrationReport:
    checks = (_check_redirects(tally, targets), _check_drift(tally, targets), _check_collisions(tally), NOT_ASKED)
    measured = {check.verdict for check in checks} - {"not measured"}
    order = sorted(tally.changed, key=_worst_first)
    return MigrationReport(
        before=before,
        after=after,
        documents={name: tally.documents[name] for name in ("same", "changed", "removed", "added")},
        blocks=sum(tally.moves.values()),
        moves={kind: tally.moves[kind] for kind in KINDS},
        confirmed=tally.confirmed,
        reused=tally.reused,
        checks=checks,
        changed=tuple(order),
        unmapped=tuple(tally.unmapped),
        verdict=next(verdict for verdict in _VERDICTS if verdict in measured),
        notes=tuple(_list_notes(tally)),
    )


def _worst_first(document: MigratedDocument) -> tuple[float, float, str]:
    return document.mapped / max(1, document.blocks), -_drift(document), document.doc_id


def _check_redirects(tally: _Tally, targets: Targets) -> MigrationCheck:
    n = sum(tally.moves.values()) - tally.confirmed
    value = 1 - len(tally.unmapped) / n if n else None
    return judge_share("redirect coverage", value, targets.redirects, n, targets.least, "blocks", _NO_PLACE)


def judge_share(
    name: str, value: float | None, target: float, n: int, least: int, noun: str, lack: str
) -> MigrationCheck:
    """Return the check of a share. It fails on any number, and passes on enough.

    >>> judge_share("redirect coverage", 1.0, 0.995, 20, 200, "blocks", "have no place").verdict
    'inconclusive'
    """
    reason, verdict = "", "pass"
    if value is None:
        reason, verdict = f"there are no {noun}", "inconclusive"
    elif value < target:
        reason, verdict = f"{round(n - value * n):,} of {n:,} {noun} {lack}", "fail"
    elif n < least:
        reason, verdict = f"{n:,} {noun} are too few to tell, which takes {least:,}", "inconclusive"
    return MigrationCheck(name=name, value=value, target=f">= {target:g}", n=n, verdict=verdict, reason=reason)  # type: ignore[arg-type]


def _check_drift(tally: _Tally, targets: Targets) -> MigrationCheck:
    worst = max((document for document in tally.changed if document.drift is not None), key=_drift, default=None)
    value = 0.0 if worst is None and tally.probes else None if worst is None else worst.drift
    reason, verdict = "", "pass"
    if value is None:
        reason, verdict = "no run of words occurs once in both versions", "inconclusive"
    elif worst is not None and value > targets.drift:
        reason, verdict = f"document {worst.doc_id}", "fail"
    return MigrationCheck(
        name="offset drift",
        value=value,
        target=f"<= {targets.drift:g}",
        n=tally.probes,
        verdict=verdict,  # type: ignore[arg-type] # one of them
        reason=reason,
    )


def _drift(document: MigratedDocument) -> float:
    return document.drift or 0.0


def _check_collisions(tally: _Tally) -> MigrationCheck:
    repeated = tally.repeated
    return MigrationCheck(
        name="id collisions",
        value=float(repeated),
        target="0",
        n=tally.ids,
        verdict="fail" if repeated else "pass",
        reason="ids that occur twice in one version" if repeated else "",
    )


NOT_ASKED = MigrationCheck(
    name="identical citations",
    value=None,
    target=">= 0.98",
    n=0,
    verdict="not measured",
    reason="'karat migrate shadow TABLE CONTROL TREATMENT' compares the citations of both indexes",
)


def _list_notes(tally: _Tally) -> Iterator[str]:
    if tally.reused:
        yield (
            f"{count_things(tally.reused, 'old id names', 'old ids name')} other text in the new version: "
            "a citation has to say of which version it is, or it cannot be told which text is meant"
        )
    if tally.confirmed:
        yield f"{count_things(tally.confirmed, 'block is', 'blocks are')} confirmed to be gone, and not counted"


def verdict_code(verdict: str) -> int:
    """Return the exit code of a verdict.

    >>> [verdict_code(verdict) for verdict in ("pass", "fail", "inconclusive")]
    [0, 1, 4]
    """
    codes: Mapping[str, int] = {"pass": 0, "fail": 1}
    return codes.get(verdict, 4)
