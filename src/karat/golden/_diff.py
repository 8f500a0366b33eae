"""What changed between two golden sets, and how much that means.

The bump rule: **major** when something that a score depends on was changed or removed, so that numbers from before and
after cannot be compared; **minor** when such things were only added; **patch** when only descriptions changed (tags,
categories, annotators, where a text lies ...).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from karat.core import Document, GoldenSet, Query, Target, UsageError, shorten

Bump = Literal["major", "minor", "patch", "none"]
Pair = tuple[str, Target]

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_SCORED = {
    Document: ("text", "title"),
    Query: ("text", "paraphrases", "answer", "negatives", "anchors", "must_show", "chain", "session"),
}
"""The fields that a score can depend on; all others describe."""
_SET = ("grades", "relevant", "normaliser", "classes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one kind of thing, by id."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    """The fields that a score depends on and that changed, by id."""
    extended: Mapping[str, tuple[str, ...]]
    """The same, where something was only added, as a fourth paraphrase is."""
    described: tuple[str, ...]
    """Those of which only the description changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """All that changed from one golden set to another."""

    documents: Change
    queries: Change
    added: Mapping[Pair, int]
    removed: Mapping[Pair, int]
    regraded: Mapping[Pair, tuple[int, int]]
    settings: Mapping[str, tuple[Any, Any]]
    """What the set declares of itself that scores depend on: grades, threshold, normaliser, classes."""
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

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        changes = {"documents": self.documents, "queries": self.queries}
        return {
            "bump": self.bump,
            **{name: {f.name: _listed(getattr(c, f.name)) for f in fields(c)} for name, c in changes.items()},
            "pairs": {
                "added": [_pair(pair, grade=grade) for pair, grade in self.added.items()],
                "removed": [_pair(pair, grade=grade) for pair, grade in self.removed.items()],
                "regraded": [_pair(pair, before=old, after=new) for pair, (old, new) in self.regraded.items()],
            },
            "settings": {name: {"before": old, "after": new} for name, (old, new) in self.settings.items()},
            "described": self.described,
        }


def _listed(value: Any) -> Any:
    return {key: list(names) for key, names in value.items()} if isinstance(value, Mapping) else list(value)


def _pair(pair: Pair, **grades: int) -> dict[str, Any]:
    return {"query": pair[0], "target": str(pair[1]), **grades}


def diff(before: GoldenSet, after: GoldenSet) -> Diff:
    """Compare two golden sets.

    >>> one = GoldenSet(queries=(Query(id="q", text="wifi?"),))
    >>> two = GoldenSet(queries=(Query(id="q", text="wifi?", category="support"), Query(id="r", text="pool?")))
    >>> diff(one, two).bump, diff(two, one).bump
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
            for name in _SET
            if getattr(before, name) != getattr(after, name)
        },
        described=_described(before, after),
    )


def _change(before: Iterable[Any], after: Iterable[Any], kind: type[Document] | type[Query]) -> Change:
    old, new = {thing.id: thing for thing in before}, {thing.id: thing for thing in after}
    changed, extended, described = {}, {}, []
    for name, thing in old.items():
        other = new.get(name)
        if other is None or other == thing:
            continue
        parts = [part for part in _SCORED[kind] if _content(thing, part) != _content(other, part)]
        grown = [part for part in parts if _grew(_content(thing, part), _content(other, part))]
        if len(grown) < len(parts):
            changed[name] = tuple(part for part in parts if part not in grown)
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


def _content(thing: Any, part: str) -> Any:
    """Give a field as scores see it: the order of a chain counts, that of other lists does not."""
    value = getattr(thing, part)
    return frozenset(value) if isinstance(value, tuple) and part != "chain" else value


def _grew(before: Any, after: Any) -> bool:
    """Say whether something was only added: to nothing, to a list, or to the end of a chain."""
    if isinstance(before, frozenset):
        return before <= after  # type: ignore[no-any-return] # both are sets
    if isinstance(before, tuple):
        return bool(after[: len(before)] == before)
    return before in ("", None)


def _described(before: GoldenSet, after: GoldenSet) -> bool:
    """Say whether what no score depends on changed: words about the set, its gate, or who judged and when."""
    words = any(getattr(before, name) != getattr(after, name) for name in ("name", "description", "gate"))
    return words or set(before.judgments) != set(after.judgments)


def next_version(version: str, bump: Bump) -> str:
    """Give the version after a bump.

    >>> next_version("1.1.3", "minor")
    '1.2.0'
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        raise UsageError(f"version {shorten(version)} is not like 1.2.0; set it in golden.toml")
    major, minor, patch = map(int, found.groups())
    match bump:
        case "major":
            return f"{major + 1}.0.0"
        case "minor":
            return f"{major}.{minor + 1}.0"
        case "patch":
            return f"{major}.{minor}.{patch + 1}"
        case "none":
            return version
