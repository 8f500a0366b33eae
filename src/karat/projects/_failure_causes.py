"""The causes of a run's failures, for its decision document."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, structs

from karat.core import Hit, Run, Trace
from karat.evaluation import Evaluation, deepest_cutoff
from karat.projects._gating import GateResult
from karat.schema import CauseFinding, DecisionDocument

_DIAGNOSED = 200  # failures whose causes are looked for: a report shows fewer at once
_ASKED = 5_000  # questions of a run that are looked at for that
_READ = 2_000  # documents whose words are counted for that: more would make the report wait


def add_causes(document: DecisionDocument, result: GateResult) -> DecisionDocument:
    """Return the document with the cause of each failure, so far as the run alone shows it, as karat explain does."""
    failed = {failure.query for failure in document.failures[:_DIAGNOSED]}
    candidate, project = result.evaluation, result.project
    if not failed or len(project.golden.documents) > _READ or not 0 < len(candidate.traces) <= _ASKED:
        return document
    from karat.causes import diagnose  # most decisions need none of it

    measures = project.config.eval.measures
    run = Run(provenance=candidate.provenance, traces=candidate.traces)
    cut = deepest_cutoff(measures) if measures else None
    before = result.baseline.evaluation if result.baseline else None
    against = None if before is None else make_listed_run(before, failed)
    unit = project.scoring["unit"]
    diagnosis = diagnose(project.golden, run, cut=cut, unit=unit, queries=failed, against=against)
    failures = tuple(
        structs.replace(failure, cause=_name_cause(diagnosis.causes.get(failure.query, ())) or UNSET)
        for failure in document.failures
    )
    return structs.replace(document, failures=failures)


def make_listed_run(evaluation: Evaluation, queries: Iterable[str] | None = None) -> Run:
    """Return the lists of an evaluation, or of some of its queries, as a run: a baseline has no other traces."""
    lists = evaluation.lists
    traces = tuple(
        Trace(
            query=query, text="", hits=tuple(Hit(document, -float(rank)) for rank, document in enumerate(lists[query]))
        )
        for query in sorted(lists if queries is None else queries)
        if query in lists
    )
    return Run(provenance=evaluation.provenance, traces=traces)


def _name_cause(causes: Iterable[CauseFinding]) -> str:
    """Return the first cause, if it is likely; "" otherwise."""
    from karat.causes import LIKELY

    named = [cause for cause in causes if cause.strength >= LIKELY]
    return f"{named[0].title}: {named[0].evidence}" if named else ""
