"""What changed between two golden sets, and how much that means.

The version goes up by these rules. **Major**: something that scores depend on was changed or removed, so that numbers
from before and after cannot be compared. **Minor**: such things were only added. **Patch**: only descriptions changed
(tags, categories, annotators, the file of a text ...).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from karat.core import Document, GoldenSet, Query, Target, UsageError, shorten

if TYPE_CHECKING:
    from karat.schema import GoldenChange, GoldenDiff

Bump = Literal["major", "minor", "patch", "none"]
Pair = tuple[str, Target]

_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")
_SCORED = {
    Document: ("text", "title"),
    Query: ("text", "paraphrases", "answer", "negatives", "anchors", "must_show", "chain", "answerable", "session"),
}
"""The fields that a score can depend on; all others describe."""
_SETTINGS = ("grades", "relevant", "normaliser", "classes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Which documents, or which queries, changed, by id."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    """The fields that scores depend on and that changed."""
    extended: Mapping[str, tuple[str, ...]]
    """The fields to which something was only added, such as a fourth paraphrase."""
    described: tuple[str, ...]
    """Those of which only the description changed."""

    def document(self) -> GoldenChange:
        """Return the change as a JSON document."""
        from karat.schema import GoldenChange

        return GoldenChange(
            added=self.added,
            removed=self.removed,
            changed=dict(self.changed),
            extended=dict(self.extended),
            described=self.described,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """All that changed from one golden set to another."""

    documents: Change
    queries: Change
    added: Mapping[Pair, int]
    removed: Mapping[Pair, int]
    regraded: Mapping[Pair, tuple[int, int]]
    settings: Mapping[str, tuple[Any, Any]]
    """The settings that scores depend on and that changed: grades, threshold, normaliser, classes."""
    described: bool
    """Whether something changed that no score depends on."""

    @property
    def bump(self) -> Bump:
        """The part of the version that has to go up."""
        both = (self.documents, self.queries)
        if self.removed or self.regraded or self.settings or any(c.removed or c.changed for c in both):
            return "major"
        if self.added or any(c.added or c.extended for c in both):
            return "minor"
        return "patch" if self.described or any(c.described for c in both) else "none"

    def document(self) -> GoldenDiff:
        """Return the difference as a JSON document."""
        from karat.schema import GoldenDiff, GoldenPairs, GoldenSetting, GradedPair, RegradedPair

        return GoldenDiff(
            bump=self.bump,
            documents=self.documents.document(),
            queries=self.queries.document(),
            pairs=GoldenPairs(
                added=tuple(GradedPair(query=q, target=str(t), grade=grade) for (q, t), grade in self.added.items()),
                removed=tuple(
                    GradedPair(query=q, target=str(t), grade=grade) for (q, t), grade in self.removed.items()
                ),
                regraded=tuple(
                    RegradedPair(query=q, target=str(t), before=before, after=after)
                    for (q, t), (before, after) in self.regraded.items()
                ),
            ),
            settings={
                name: GoldenSetting(before=before, after=after) for name, (before, after) in self.settings.items()
            },
            described=self.described,
        )


def diff(before: GoldenSet, after: GoldenSet) -> Diff:
    """Return what changed from one golden set to another.

    >>> first = GoldenSet(queries=(Query(id="q", text="wifi?"),))
    >>> second = GoldenSet(queries=(Query(id="q", text="wifi?", category="support"), Query(id="r", text="pool?")))
    >>> diff(first, second).bump, diff(second, first).bump
    ('minor', 'major')
    """
    for golden in (before, after):
        if len(golden.document_by_id) < len(golden.documents) or len(golden.query_by_id) < len(golden.queries):
            raise UsageError(f"{golden.name} has an id twice; run 'karat golden check' on it first")
    old, new = before.decided, after.decided
    return Diff(
        documents=_change(before.documents, after.documents, Document),
        queries=_change(before.queries, after.queries, Query),
        added={pair: grade for pair, grade in new.items() if pair not in old},
        removed={pair: grade for pair, grade in old.items() if pair not in new},
        regraded={pair: (grade, new[pair]) for pair, grade in old.items() if new.get(pair, grade) != grade},
        settings={
            name: (getattr(before, name), getattr(after, name))
            for name in _SETTINGS
            if getattr(before, name) != getattr(after, name)
        },
        described=_is_described_differently(before, after),
    )


def _change(before: Iterable[Any], after: Iterable[Any], kind: type[Document] | type[Query]) -> Change:
    old, new = {record.id: record for record in before}, {record.id: record for record in after}
    changed, extended, described = {}, {}, []
    for name, record in old.items():
        other = new.get(name)
        if other is None or other == record:
            continue
        fields = [field for field in _SCORED[kind] if _content(record, field) != _content(other, field)]
        grown = [field for field in fields if _only_grew(_content(record, field), _content(other, field))]
        if len(grown) < len(fields):
            changed[name] = tuple(field for field in fields if field not in grown)
        elif grown:
            extended[name] = tuple(grown)
        else:
            described.append(name)
    return Change(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=changed,
        extended=extended,
        described=tuple(described),
    )


def _content(record: Any, field: str) -> Any:
    """Return a field as scores see it: the order of a chain counts, that of other lists does not."""
    value = getattr(record, field)
    return frozenset(value) if isinstance(value, tuple) and field != "chain" else value


def _only_grew(before: Any, after: Any) -> bool:
    """Return whether something was only added: to an empty field, to a list, or to the end of a chain."""
    if isinstance(before, frozenset):
        return before <= after  # type: ignore[no-any-return] # both are sets
    if isinstance(before, tuple):
        return bool(after[: len(before)] == before)
    return before in ("", None)


def _is_described_differently(before: GoldenSet, after: GoldenSet) -> bool:
    """Return whether something changed that no score depends on: name, description, gate, who judged and when."""
    words = any(getattr(before, name) != getattr(after, name) for name in ("name", "description", "gate"))
    return words or set(before.judgments) != set(after.judgments)


def next_version(version: str, bump: Bump) -> str:
    """Return the version after a bump.

    >>> next_version("1.1.3", "minor")
    '1.2.0'
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise UsageError(f"version {shorten(version)} is not like 1.2.0; set it in golden.toml")
    major, minor, patch = map(int, match.groups())
    match bump:
        case "major":
            return f"{major + 1}.0.0"
        case "minor":
            return f"{major}.{minor + 1}.0"
        case "patch":
            return f"{major}.{minor}.{patch + 1}"
        case "none":
            return version
