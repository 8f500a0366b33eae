"""Why queries fail: the causes of each, queries grouped by cause, and what would help."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from karat.causes import _data_causes, _ranking_causes
from karat.causes._case import Case, make_cases
from karat.causes._cause import CAUSES
from karat.causes._lab import Lab
from karat.causes._standing import stand
from karat.core import GoldenSet, Run, Unit, is_missing, shorten
from karat.schema import CauseFinding, CauseGroup, ExplainedQuery, WhatIf
from karat.systems import System

GROUPS = (_data_causes, _ranking_causes)
"""The modules of the causes, in the order of the reference."""
ORDER = (
    "ids",
    "stale",
    "outside",
    "offsets",
    "flips",
    "tables",
    "copies",
    "gold",
    "cut",
    "mixed",
    "embedding",
    "wording",
)
"""Of two causes with the same strength the first one is named: as long as the data are wrong, nothing else can be
believed."""
UNKNOWN = "unknown"
ERROR = "error"
UNANSWERABLE = "unanswerable"
LOWER = "lower"
"""Of a query that is worse than in an earlier run although it lost nothing that had been found."""
_TITLES = {
    UNKNOWN: "no known cause",
    ERROR: "the system failed",
    UNANSWERABLE: "hits where none is right",
    LOWER: "found, but lower than before",
}
_FIXES = {
    UNKNOWN: "look at single queries: karat explain RUN --query ID",
    ERROR: "fix this first: a query that failed counts as 0 in every mean",
    UNANSWERABLE: "let the system return nothing below a score, or refuse; [eval] min_score draws such a line",
    LOWER: "look at what changed since",
}
_WEAK = 0.05
"""A cause that explains less than a twentieth of the loss is none."""
LIKELY = 0.3
"""The least strength of a cause that is named for a query; weaker ones are hints, and the cause is not known."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A run with the causes of what its queries lost."""

    cases: Sequence[Case]
    lab: Lab = field(repr=False)
    causes: dict[str, tuple[CauseFinding, ...]]
    """By query, the most likely cause first; () where none is known. Queries that lost nothing are left out."""

    @property
    def groups(self) -> tuple[CauseGroup, ...]:
        """The queries by their first cause, the one that costs most first.

        Those without a known cause come last, unless they have more than half of what was lost.
        """
        members: dict[str, list[Case]] = {}
        for case in self.cases:
            if case.query.id in self.causes:
                members.setdefault(self.first(case), []).append(case)
        groups = [
            CauseGroup(
                cause=name,
                title=CAUSES[name].title if name in CAUSES else _name_group(name, cases),
                fix=CAUSES[name].fix if name in CAUSES else _FIXES[name],
                lost=round(sum(_count_loss(case) for case in cases), 4),
                queries=tuple(case.query.id for case in sorted(cases, key=lambda case: -case.loss)),
            )
            for name, cases in members.items()
        ]
        total = sum(group.lost for group in groups if group.cause != UNANSWERABLE)

        def place(group: CauseGroup) -> tuple[bool, int, float, str]:
            # What cost nothing comes last. What can be mended comes first, unless most of the loss cannot be explained.
            places = {UNANSWERABLE: 1, UNKNOWN: -1 if 2 * group.lost > total else 2}
            return not group.lost, places.get(group.cause, 0), -group.lost, group.cause

        return tuple(sorted(groups, key=place))

    def first(self, case: Case) -> str:
        """Return the name of a query's first cause, if it is likely."""
        if case.trace.error:
            return ERROR
        findings = self.causes[case.query.id]
        return findings[0].cause if findings and findings[0].strength >= LIKELY else UNKNOWN

    @property
    def what_if(self) -> tuple[WhatIf, ...]:
        """What every change would bring back over all queries, the best first."""
        rows = [
            WhatIf(
                change=name,
                found=sum(len(trial.gained) for trial in trials.values()),
                lost=sum(len(trial.missed) for trial in trials.values()),
                queries=len(trials),
                net=round(self.lab.total(name), 4),
            )
            for name, trials in self.lab.trials.items()
            if trials
        ]
        return tuple(sorted(rows, key=lambda row: (-row.net, row.change)))

    def explain(self, case: Case, *, full: bool = False) -> ExplainedQuery:
        """Return a query with its causes; with ``full`` all its relevant documents, and the passages of each."""
        documents = case.expected if full else {**case.lost, **case.fallen}
        ranked = sorted(documents, key=lambda id_: (-case.expected[id_], id_))
        return ExplainedQuery(
            query=case.query.id,
            text=case.query.text,
            lost=round(case.loss, 4),
            error=case.trace.error,
            expected=tuple(stand(case, self.lab, document, full=full) for document in ranked),
            causes=self.causes.get(case.query.id, ()),
        )


def diagnose(
    golden: GoldenSet,
    run: Run,
    *,
    cut: int | None = None,
    unit: Unit = "document",
    system: System | None = None,
    queries: Collection[str] | None = None,
    against: Run | None = None,
) -> Diagnosis:
    """Return why the queries of a run lost relevant documents, or why some of them did.

    What stands below rank ``cut`` is lost, by default below the k of the run. With ``system``, the one that made the
    run, it is asked again with one thing changed; it has to have its documents already. Without it, the run is read.
    ``against`` is an earlier run: of what that one found neither the question nor its judgments are to blame.
    """
    setting = run.provenance.settings.get("k")
    longest = max((len(trace.hits) for trace in run.traces), default=1)
    k = setting if isinstance(setting, int) and setting > 0 else max(1, longest)
    cases = make_cases(golden, run, cut=min(cut or k, k), unit=unit, before=against)
    lab = Lab(golden, cases, k=k, system=system)
    lab.run(queries)
    asked_for = [case for case in cases if queries is None or case.query.id in queries]
    failed = [case for case in asked_for if case.trace.error or case.loss > 0 or (case.is_unjudged and case.hits)]
    return Diagnosis(cases=cases, lab=lab, causes={case.query.id: find_causes(case, lab) for case in failed})


def _name_group(name: str, cases: Sequence[Case]) -> str:
    """Return the title of a group without a cause; what a file of another program lacks did not fail."""
    return "not in the run" if name == ERROR and all(is_missing(case.trace.error) for case in cases) else _TITLES[name]


def _count_loss(case: Case) -> float:
    """Return what a query adds to the loss of its group; a failure is a whole one, also where nothing was expected."""
    return case.loss if case.expected or (case.is_unjudged and not case.trace.error) else 1.0


def find_causes(case: Case, lab: Lab) -> tuple[CauseFinding, ...]:
    """Return the causes of what a query lost, the most likely first."""
    if case.trace.error:
        return ()
    if not case.query.answerable:
        return (_find_needless_hits(case),)
    findings = []
    for name in ORDER:
        evidence = CAUSES[name].check(case, lab)
        if evidence is not None and evidence.strength >= _WEAK:
            findings.append(
                CauseFinding(
                    cause=name,
                    title=CAUSES[name].title,
                    strength=round(min(1.0, evidence.strength), 4),
                    evidence=evidence.text,
                    fix=CAUSES[name].fix,
                )
            )
    return tuple(sorted(findings, key=lambda finding: -finding.strength))  # stable: equal ones stay in order


def find_fall(case: Case) -> CauseFinding:
    """Return what is wrong with a query that is worse than in an earlier run, and lost nothing that had been found."""
    fallen = [f"{shorten(id_)} fell from rank {case.before[id_]} to {case.rank_of(id_)}" for id_ in case.fallen]
    return CauseFinding(
        cause=LOWER,
        title=_TITLES[LOWER],
        strength=1.0,
        evidence="; ".join(fallen) or "no relevant document fell",
        fix=_FIXES[LOWER],
    )


def _find_needless_hits(case: Case) -> CauseFinding:
    """Return what is wrong with a query that has no answer and got hits: nothing relevant is lost."""
    hits = f"{len(case.trace.hits):,} {'hit was' if len(case.trace.hits) == 1 else 'hits were'}"
    return CauseFinding(
        cause=UNANSWERABLE,
        title=_TITLES[UNANSWERABLE],
        strength=1.0,
        evidence=f"the question has no answer, and {hits} returned",
        fix=_FIXES[UNANSWERABLE],
    )
