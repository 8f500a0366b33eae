"""Rules on capacity: a gate must not ask for more than the set can show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

from karat.core import KaratError, Measure, MeasureError
from karat.golden.lint._ceiling import Ceiling, Unit, ceiling
from karat.golden.lint._id_rules import counted
from karat.golden.lint._resolution import POWER, SPREADS, Resolution, resolution
from karat.golden.lint._rule import Finding, Subject, flag, rule
from karat.stats import sample_size

FLOORS = {"R@5": 0.80, "P@5": 0.60, "RR@10": 0.70, "nDCG@5": 0.75}
"""The usual floors, for a set that declares no gate."""

DROP, CATEGORY_DROP = 0.05, 0.10
"""The drops that a set, and a category, should be able to detect at the smallest usual spread."""
_SLACK = 1e-9


@dataclass(frozen=True, kw_only=True)
class Capacity(Subject):
    """A subject, with the ceilings and the resolution, which several rules use and which are computed once."""

    sd: float | None = None
    """The standard deviation of per-query differences, where it is known."""

    @classmethod
    def of(cls, subject: Subject) -> Capacity:
        """Return a subject as a capacity."""
        if isinstance(subject, Capacity):
            return subject
        return cls(**{field.name: getattr(subject, field.name) for field in fields(Subject)})

    @property
    def floors(self) -> Mapping[str, float]:
        """The floors of the gate: those that the set declares, or else the usual ones."""
        return self.golden.gate or FLOORS

    @cached_property
    def ceilings(self) -> dict[str, Ceiling | KaratError]:
        """The ceiling of each gated measure, or why there is none."""
        unit: Unit = "target" if self.profile == "structured" else "document"
        try:
            return dict(zip(self.floors, ceiling(self.golden, self.floors, unit=unit), strict=True))
        except KaratError:
            return {name: self._ceiling(name, unit) for name in self.floors}

    def _ceiling(self, name: str, unit: Unit) -> Ceiling | KaratError:
        try:
            return ceiling(self.golden, [name], unit=unit)[0]
        except KaratError as error:
            return error

    @cached_property
    def resolution(self) -> Resolution:
        """The smallest drops that can be detected."""
        return resolution(self.golden, sd=self.sd)


@rule("unusable-gate", "error")
def unusable_gate(subject: Subject) -> Iterator[Finding]:
    """A gate names a measure that does not exist, or one for which lower is better.

    Why: a floor that cannot be checked lets everything pass, and a floor under a measure of harm demands harm.
    Example: `"nCDG@5" = 0.75` in the table `[gate]` of `golden.toml`.
    Fix: correct the name; `karat measures` lists all.
    """
    # The usual floors are sound, and their ceilings take long on a large set.
    for name, error in Capacity.of(subject).ceilings.items() if subject.golden.gate else ():
        if isinstance(error, MeasureError):
            yield flag("unusable-gate", str(error), [name])
        elif isinstance(error, KaratError) and Measure.parse(name).definition.higher_is_better is not True:
            lower = Measure.parse(name).definition.higher_is_better is False
            message = (
                f"a floor under {name}, {'for which lower is better' if lower else 'a count, neither good nor bad'}"
            )
            yield flag("unusable-gate", message, [name], fix="choose a measure for which higher is better")


@rule("unreachable-gate", "error")
def unreachable_gate(subject: Subject) -> Iterator[Finding]:
    """A declared gate is above what any ranking can reach on this set.

    Why: the gate always fails, or somebody makes it pass by counting duplicates.
    Example: each query has one relevant document, so that P@5 cannot exceed 0.20, and the gate asks for 0.60.
    Fix: use a measure that can reach its floor, judge more documents, or lower the floor.
    """
    if subject.golden.gate:
        yield from _unreachable(Capacity.of(subject), "unreachable-gate")


@rule("unreachable-floor", "warning")
def unreachable_floor(subject: Subject) -> Iterator[Finding]:
    """The set declares no gate, and one of the usual floors is above what any ranking can reach on it.

    The usual floors are R@5 0.80, P@5 0.60, RR@10 0.70 and nDCG@5 0.75.

    Why: whoever gates with these floors will always fail.
    Example: each query has one relevant document, so that P@5 cannot exceed 0.20.
    Fix: declare a gate that can be reached, in the table `[gate]` of `golden.toml`, or judge more documents.
    """
    if not subject.golden.gate:
        yield from _unreachable(Capacity.of(subject), "unreachable-floor")


def _unreachable(capacity: Capacity, name: str) -> Iterator[Finding]:
    declared = bool(capacity.golden.gate)
    word = "floor" if declared else "usual floor"  # nobody set it, but policy fit has it
    for gate, top in capacity.ceilings.items() if capacity.golden.judgment_count else ():
        floor = capacity.floors[gate]
        if isinstance(top, KaratError):
            continue
        if top.best is None:
            message = f"{gate} has no value on this set because {top.because}; the {word} {floor:g} is unreachable"
            yield flag(name, message, fix="judge what is relevant")
        elif top.best < floor - _SLACK:
            why = f" because {top.because}" if top.because else ""
            limit = f"{gate} cannot exceed {_exact(top.best)} on this set{why}"
            message = f"{limit}; the {word} {floor:.2f} is unreachable"
            yield flag(name, message, fix=_instead(top, floor, "lower the" if declared else "declare a"))


def _exact(value: float) -> str:
    """Return a number with two digits if it has no more, else with four."""
    return f"{value:.2f}" if abs(value - round(value, 2)) < _SLACK else f"{value:.4f}"


def _down(value: float) -> float:
    """Return a number rounded down to two digits, so that the suggested floor can be reached."""
    return math.floor(value * 100 + _SLACK) / 100


def _instead(top: Ceiling, floor: float, verb: str) -> str:
    measure = Measure.parse(top.computed)
    assert top.best is not None
    others = {"P": ("R", "Success"), "R": ("R_cap",), "AP": ("R_cap",), "F1": ("R_cap",)}.get(measure.name, ())
    options = [f"use {' or '.join(f'{other}@{measure.cutoff}' for other in others)}"] if others else []
    if floor <= 1:
        options.append("judge more documents" if measure.name != "R" else f"cut deeper than {measure.cutoff}")
    options.append(f"{verb} floor {'to' if verb == 'lower the' else 'of'} at most {_down(top.best):.2f}")
    return ", ".join(options[:-1]) + (", or " if len(options) > 1 else "") + options[-1]


@rule("low-resolution", "warning")
def low_resolution(subject: Subject) -> Iterator[Finding]:
    """The set is too small to detect a drop of 0.05.

    A drop is detected when a paired two-sided t-test over the queries finds it with 80 % power at the 5 % level. How
    much two systems differ from query to query (the standard deviation of the differences) is assumed to be 0.15, as
    for two similar systems, unless `--sd` is given. The paraphrases of a query do not count as further queries.

    Why: a smaller drop goes unnoticed, and most drops are smaller.
    Example: 20 queries detect a drop of 0.10 and nothing smaller; 73 are needed for 0.05.
    Fix: add queries, or gate on larger drops only.
    """
    whole = Capacity.of(subject).resolution.all
    drop = next(iter(whole.two_sided.values()))
    if not subject.golden.judgment_count or (drop is not None and drop <= DROP):
        return
    spreads = " / ".join(f"{sd:g}" for sd in whole.two_sided)
    drops = " / ".join(">1" if drop > 1 else f"{drop:.3f}" for drop in whole.two_sided.values() if drop is not None)
    message = f"{counted(whole.queries, 'query', 'queries')} with a relevant document: " + (
        f"the smallest drop that is seen with {100 * POWER:.0f} % power is {drops}, "
        f"at a standard deviation of per-query differences of {spreads}"
        if drops
        else "no drop can be told from chance"
    )
    needed = " / ".join(f"{sample_size(DROP, sd):,}" for sd in whole.two_sided)
    at = "these standard deviations" if len(whole.two_sided) > 1 else "that standard deviation"
    fix = f"add queries: to see a drop of {DROP:.2f} takes {needed} of them, at {at}"
    yield flag("low-resolution", message, fix=fix)


@rule("low-resolution-category", "warning")
def low_resolution_category(subject: Subject) -> Iterator[Finding]:
    """A category is too small to detect a drop of 0.10 in it.

    Applied only with a profile or a declared gate; the table of resolutions always has the categories.

    Why: a category can collapse while the mean over all queries hides it. With 15 queries a drop of 0.10 is found in
        67 of 100 cases, and only if two systems differ little from query to query.
    Example: 10 queries of the category `edge-case`.
    Fix: add queries to the category, or look at it without gating on it.
    """
    if subject.profile is None and not subject.golden.gate:
        return
    small = []
    for category in Capacity.of(subject).resolution.categories:
        drop = next(iter(category.two_sided.values()))
        if drop is None or drop > CATEGORY_DROP:
            small.append(f"{category.name or '(none)'} ({category.queries})")
    if small:
        spread = Capacity.of(subject).sd or SPREADS[0]
        message = f"{counted(len(small), 'category', 'categories')} cannot see a drop of {CATEGORY_DROP:.2f}"
        fix = f"{sample_size(CATEGORY_DROP, spread):,} queries are needed at a standard deviation of {spread:g}"
        yield flag("low-resolution-category", message, small, fix=fix)
