"""The linter: apply every rule to a set, and work out its ceilings and its resolution."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from karat.config import Config
from karat.core import Document, GoldenSet, InputError, UsageError, check_id, did_you_mean, shorten
from karat.files import Mistakes, decode, parse_json, read_bytes, shorten_path

# Importing a file of rules adds them to the table.
from karat.golden.lint import (
    _capacity_rules,
    _chunk_rules,
    _id_rules,
    _judging_rules,
    _language_rules,
    _part_rules,
    _quota_rules,
    _session_rules,
    _structure_rules,
    _version_rules,
    _wording_rules,
)
from karat.golden.lint._capacity_rules import Capacity
from karat.golden.lint._ceiling import Ceiling
from karat.golden.lint._resolution import Resolution
from karat.golden.lint._rule import RULES, Finding, Profile, Rule, flag

if TYPE_CHECKING:
    from karat.schema import GoldenCeiling, GoldenErrors, GoldenFinding, GoldenReport, GoldenRule

PROFILES: tuple[Profile, ...] = get_args(Profile)

GROUPS = (
    _structure_rules,
    _id_rules,
    _part_rules,
    _version_rules,
    _session_rules,
    _capacity_rules,
    _judging_rules,
    _wording_rules,
    _quota_rules,
    _chunk_rules,
    _language_rules,
)
"""The files of rules, in the order of the findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The linter's findings about a set."""

    name: str = ""
    version: str = ""
    profile: Profile | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many documents, queries and judgments there are."""
    findings: tuple[Finding, ...] = ()
    """Errors first."""
    ignored: Mapping[str, int] = field(default_factory=dict)
    """How many findings of each ignored rule were left out."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """The floors of the gate: those that the set or the caller declares, or else the usual ones."""
    declared: bool = False
    """Whether the floors are declared."""
    ceilings: Mapping[str, Ceiling | str] = field(default_factory=dict)
    """The best mean that any ranking can reach, or why it is not known, by gated measure."""
    resolution: Resolution | None = None
    """The smallest drops that the set can see; None for a set that could not be read."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make the set unusable."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that make it less useful than it could be."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def document(self) -> GoldenReport:
        """Return the report as a JSON document."""
        from karat.schema import GoldenFloors, GoldenReport

        return GoldenReport(
            name=self.name,
            version=self.version,
            profile=self.profile,
            **self.counts,
            ok=self.ok,
            errors=len(self.errors),
            warnings=len(self.warnings),
            findings=tuple(map(_finding_document, self.findings)),
            ignored=dict(self.ignored),
            gate=GoldenFloors(declared=self.declared, floors=dict(self.floors)),
            ceilings={name: _ceiling_document(top) for name, top in self.ceilings.items()},
            resolution=None if self.resolution is None else self.resolution.document(),
        )

    def refusal(self) -> GoldenErrors:
        """Return the document of a check that ended here, because the set has errors."""
        from karat.schema import GoldenErrors

        return GoldenErrors(lint=self.document())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as JSON holds it."""
        import msgspec

        plain: dict[str, Any] = msgspec.to_builtins(self.document())
        return plain


def _finding_document(finding: Finding) -> GoldenFinding:
    from karat.schema import GoldenFinding

    left_out = ("voids", "every")
    return GoldenFinding(**{name: value for name, value in asdict(finding).items() if name not in left_out})


def _ceiling_document(top: Ceiling | str) -> GoldenCeiling:
    from karat.schema import GoldenCeiling

    if isinstance(top, str):
        return GoldenCeiling(best=None, because=top)
    return GoldenCeiling(
        computed=top.computed,
        best=top.best,
        scored=top.scored,
        total=top.total,
        below=dict(top.below),
        because=top.because,
    )


def check(
    golden: GoldenSet,
    *,
    profile: Profile | None = None,
    index: Collection[str] | None = None,
    chunks: Iterable[Document] = (),
    languages: Iterable[str] = (),
    gate: Mapping[str, float] | None = None,
    sd: float | None = None,
    ignore: Iterable[str] = (),
) -> Report:
    """Apply every rule to a golden set.

    ``profile`` checks the size and coverage of ``small``, ``agent`` or ``structured`` sets. ``index`` has the ids that
    the index under test holds, ``chunks`` the chunks that it was built from. ``languages`` are those that
    texts may have. ``gate`` has floors by measure, which are added to those of the set and win over them. ``sd`` is the
    standard deviation of the differences between two systems, query by query, where it is known. ``ignore`` names rules
    whose findings are left out.

    >>> from karat.core import Judgment, Query, Target
    >>> wifi = Target(document="wifi")
    >>> golden = GoldenSet(queries=(Query(id="q1", text="reset?"),), documents=(Document(id="wifi", text="Press."),),
    ...                    judgments=(Judgment(query="q7", target=wifi, grade=3),))
    >>> [(finding.rule, finding.where) for finding in check(golden).errors]
    [('unknown-query', ('q7',))]
    """
    if profile is not None and profile not in PROFILES:
        raise UsageError(f"unknown profile {profile!r}{did_you_mean(profile, PROFILES) or ': ' + ', '.join(PROFILES)}")
    if sd is not None and not 0 < sd <= 1:
        raise UsageError(f"sd={sd}: differences of scores have a standard deviation above 0, and at most 1")
    left_out = {find_rule(name).name for name in ignore}
    capacity = Capacity(
        golden=replace(golden, gate={**golden.gate, **gate}) if gate else golden,
        profile=profile,
        index=None if index is None else frozenset(index),
        chunks=tuple(chunks),
        languages=frozenset(languages),
        sd=sd,
    )
    findings = [finding for rule in rules() for finding in _apply(rule, capacity)]
    tops = capacity.ceilings if golden.judgment_count else {}  # without judgments no ranking is best
    ceilings = {name: top if isinstance(top, Ceiling) else str(top) for name, top in tops.items()}
    return Report(
        name=golden.name,
        version=golden.version,
        profile=profile,
        counts={
            "documents": len(golden.documents),
            "queries": len(golden.queries),
            "judgments": golden.judgment_count,
        },
        findings=_sorted(finding for finding in findings if finding.rule not in left_out),
        ignored=dict(Counter(finding.rule for finding in findings if finding.rule in left_out)),
        floors=dict(capacity.floors),
        declared=bool(capacity.golden.gate),
        ceilings=ceilings,
        resolution=capacity.resolution,
    )


def find_errors(golden: GoldenSet) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the errors that make scores on a set wrong, and the other errors, without looking for warnings."""
    capacity = Capacity(golden=golden)
    errors = [finding for rule in rules() if rule.severity == "error" for finding in _apply(rule, capacity)]
    void, usable = (tuple(finding for finding in errors if finding.voids is voids) for voids in (True, False))
    return void, usable


def check_configured(golden: GoldenSet, config: Config, *, profile: Profile | None = None, **options: Any) -> Report:
    """Apply every rule to the golden set of a project, with the profile that its configuration names.

    ``profile`` wins over that of the configuration. The other options are those of :func:`check`.
    """
    chosen = profile or config.profile
    if chosen is not None and chosen not in PROFILES:
        raise InputError(
            f"[golden] profile is {shorten(chosen)}{did_you_mean(chosen, PROFILES)}",
            source=str(shorten_path(config.folder)),
            hint=f"choose from {', '.join(PROFILES)}",
        )
    return check(golden, profile=chosen, **options)


def unread(error: InputError, name: str = "") -> Report:
    """Return the report of a set that cannot be read: each mistake is a finding."""
    mistakes = error.errors if isinstance(error, Mistakes) else [error]
    findings = [(mistake, flag("unparsable", str(mistake))) for mistake in mistakes]
    # Without a line there is none to correct, and the message says what to do.
    return Report(name=name, findings=tuple(_with_fix(own) if error.line else own for error, own in findings))


def rules() -> list[Rule]:
    """Return every rule, in the order of the findings; those of other packages come last."""
    order = {group.__name__: i for i, group in enumerate(GROUPS)}
    return sorted(RULES.values(), key=lambda rule: order.get(rule.check.__module__, len(order)))


def find_rule(name: str) -> Rule:
    """Return the rule of that name, or raise an error that names near misses."""
    if name not in RULES:
        raise UsageError(f"no rule {name!r}{did_you_mean(name, RULES) or '; docs/golden-linter.md lists all'}")
    return RULES[name]


def sections(rule: Rule) -> dict[str, str]:
    """Return the parts of a rule's docstring: ``Summary``, ``More`` if there is more, ``Why``, ``Example``, ``Fix``.

    >>> sections(RULES["empty-set"])["Why"]
    'nothing can be asked, and a mean over nothing is not a number.'
    """
    head, *parts = re.split(r"^(Why|Example|Fix):\s", rule.text, flags=re.MULTILINE)
    summary, _, more = head.strip().partition("\n\n")
    texts = {"Summary": summary, "More": more, **dict(zip(parts[::2], parts[1::2], strict=True))}
    return {name: " ".join(text.split()) for name, text in texts.items() if text.strip()}


def explain(name: str) -> GoldenRule:
    """Return the explanation of a rule as a JSON document."""
    from karat.schema import GoldenRule

    rule = find_rule(name)
    parts = {part.lower(): text for part, text in sections(rule).items()}
    return GoldenRule(rule=rule.name, severity=rule.severity, **parts)


def read_index(path: str | Path) -> frozenset[str]:
    """Read the ids that an index holds: one per line, or JSONL with a field ``id``."""
    name = str(path)
    ids = set()
    for number, line in enumerate(decode(read_bytes(path), name).split("\n"), 1):
        text = line.strip()
        if text.startswith("{"):
            value = parse_json(text, name, number)
            assert isinstance(value, dict)
            keys = [key for key in ("id", "_id", "doc_id", "docid", "chunk_id") if key in value]
            if not keys:
                raise InputError("has no field 'id'", source=name, line=number)
            ids.add(check_id(value[keys[0]], name, number))
        elif text:
            ids.add(text)
    if not ids:
        raise InputError("holds no id", source=name, hint="write one id per line, or JSONL with a field 'id'")
    return frozenset(ids)


def read_gate(texts: Iterable[str]) -> dict[str, float]:
    """Return floors by measure from texts such as ``P@5>=0.60``.

    >>> read_gate(["P@5>=0.60", "R@5 >= .8"])
    {'P@5': 0.6, 'R@5': 0.8}
    """
    floors = {}
    for text in texts:
        measure, sign, floor = text.rpartition(">=")
        try:
            floors[measure.strip()] = number = float(floor)
        except ValueError:
            number = math.nan
        if not (sign and measure.strip() and math.isfinite(number)):
            raise UsageError(f"gate {shorten(text)} should be a measure and its floor, such as 'P@5>=0.60'")
    return floors


def _apply(rule: Rule, capacity: Capacity) -> Iterator[Finding]:
    return map(_with_fix, rule.check(capacity))


def _with_fix(finding: Finding) -> Finding:
    """Return a finding with the fix of its rule, unless it has one of its own."""
    fix = sections(RULES[finding.rule]).get("Fix", "")
    return finding if finding.fix else replace(finding, fix=fix.removesuffix("."))


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity != "error"))
