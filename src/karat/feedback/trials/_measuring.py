"""What sessions say, added up: differences by measure and hour, latencies, and units by variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from karat.core import GoldenSet, UsageError
from karat.feedback.trials._blocks import Blocks, find_ratio
from karat.feedback.trials._evidence import Evidence
from karat.online.flags import CONTROL
from karat.online.shadow import AnsweredQuery, score_lists
from karat.online.trials import Observations, TrialPlan, is_behavioural
from karat.stats.sequential import Tally


class Measuring:
    """The sessions of one reading."""

    def __init__(
        self, plan: TrialPlan, golden: GoldenSet | None, waiting: Mapping[str, Mapping[str, list[float]]]
    ) -> None:
        self._plan, self._golden = plan, golden
        deciding = () if plan.source == "interleaving" else (plan.measure,)
        self.measures = tuple(dict.fromkeys((*deciding, *plan.guardrails, *filter(None, (plan.must_show,)))))
        """The measures of the plan, but for what people chose."""
        if golden is None and plan.source != "interleaving" and not is_behavioural(plan.measure):
            raise UsageError(f"{plan.measure} is measured by judgments: name the golden set that has them")
        self._control, self._treatment = CONTROL, plan.treatments[0]
        self._blocks = {name: self._make_blocks(name, waiting) for name in plan.treatments}
        self._evidence: list[Evidence] = []
        self._differences: dict[int, dict[str, list[float]]] = {}

    def _make_blocks(self, treatment: str, waiting: Mapping[str, Mapping[str, list[float]]]) -> Blocks:
        """Return the sessions that wait to be compared with those of one treatment."""
        plan = self._plan
        own = {name: values for name, values in waiting.items() if treatment in values}
        return Blocks(own, CONTROL, treatment, find_ratio(plan.planned[CONTROL], plan.planned[treatment]))

    @property
    def waiting(self) -> dict[str, dict[str, list[float]]]:
        """What the sessions came to whose block is not full yet, by the name of a difference and variant."""
        return {name: values for blocks in self._blocks.values() for name, values in blocks.waiting.items()}

    def add(self, evidence: Evidence) -> None:
        """Add a session; they come in the order in which they ended."""
        self._evidence.append(evidence)

    def score(self) -> None:
        """Score all lists by judgments, and compare what sessions came to."""
        scores = score_evidence(
            self._evidence, self._golden, [name for name in self.measures if not is_behavioural(name)]
        )
        for evidence in self._evidence:
            judged = {variant: average_scores(scores, lists) for variant, lists in evidence.lists.items()}
            for measure, value in self._compare(evidence, judged):
                hours = self._differences.setdefault(int(evidence.end // 3600), {})
                hours.setdefault(measure, []).append(value)

    def _compare(self, evidence: Evidence, judged: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, float]]:
        """Yield the differences that a session adds: its own, or those of the blocks that it completes."""
        if evidence.variant:
            values = {**judged[evidence.variant], **evidence.values}
            for treatment, blocks in self._blocks.items():
                if evidence.variant in (CONTROL, treatment):
                    for measure, value in values.items():
                        label = self._plan.label(measure, treatment)
                        difference = blocks.add(label, evidence.variant, value)
                        if difference is not None:
                            yield label, difference
            return
        yield from evidence.values.items()
        before, after = judged[self._control], judged[self._treatment]
        for measure in before.keys() & after.keys():
            yield measure, after[measure] - before[measure]

    def counts(self) -> dict[str, int]:
        """Return how many differences there are by measure."""
        total: Counter[str] = Counter()
        for hour in self._differences.values():
            total.update({measure: len(values) for measure, values in hour.items()})
        return dict(sorted(total.items()))

    def observations(self) -> dict[int, Observations]:
        """Return what the sessions say by the hour in which they ended."""
        seen = {
            hour: Observations(differences={name: Tally.of(values) for name, values in own.items()})
            for hour, own in self._differences.items()
        }
        latencies: dict[str, Counter[float]] = {}
        units: Counter[str] = Counter()
        for evidence in self._evidence:
            units.update([evidence.variant] if evidence.variant else evidence.lists.keys())
            for variant, own in evidence.latencies.items():
                latencies.setdefault(variant, Counter()).update(own)
        if units:
            seen[-1] = Observations(latencies=latencies, units=units)  # neither is kept by hour
        return seen


_Key = tuple[Any, ...]


def _key(query: AnsweredQuery) -> _Key:
    return query.text, query.documents, query.failed


def score_evidence(
    evidence: Sequence[Evidence], golden: GoldenSet | None, measures: list[str]
) -> dict[_Key, dict[str, float]]:
    """Return the scores of all lists, each different one scored once."""
    if golden is None or not measures:
        return {}
    distinct = {_key(query): query for own in evidence for lists in own.lists.values() for query in lists}
    names = {str(number): key for number, key in enumerate(distinct)}
    scores = score_lists({name: distinct[key] for name, key in names.items()}, golden, measures)
    return {names[name]: values for name, values in scores.items()}


def average_scores(scores: Mapping[_Key, Mapping[str, float]], lists: Sequence[AnsweredQuery]) -> dict[str, float]:
    """Return the means over the queries of a session that have judgments."""
    values: dict[str, list[float]] = {}
    for query in lists:
        for measure, value in scores.get(_key(query), {}).items():
            values.setdefault(measure, []).append(value)
    return {measure: sum(own) / len(own) for measure, own in values.items()}
