"""Segments of the queries, by their own fields or by the documents that answer them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice

import numpy as np

from karat.core import Document, GoldenSet, InputError, Target, did_you_mean, shorten
from karat.text import Outline, canonical, outline, resolve, section_of_block

FIELDS = ("category", "type", "intent", "tier", "block")
_OWN = FIELDS[:3]
_SHOWN = 10
"""Fields that a message lists."""
_BLOCK_TYPES = {"p": "prose", "c": "code", "t": "table", "f": "figure"}


def segment_queries(golden: GoldenSet, fields: Iterable[str] = FIELDS) -> dict[tuple[str, str], list[str]]:
    """Return the queries of each segment; the values of a field are in alphabetical order.

    >>> from karat.core import Query
    >>> golden = GoldenSet(queries=(Query(id="q1", text="?", category="spa"), Query(id="q2", text="?", category="bar")))
    >>> segment_queries(golden)
    {('category', 'bar'): ['q2'], ('category', 'spa'): ['q1']}
    """
    segments: dict[tuple[str, str], list[str]] = {}
    for field in fields:
        queries = _queries_by_value(golden, field)
        segments |= {(field, value): queries[value] for value in sorted(queries)}
    return segments


def find_segments(golden: GoldenSet, field: str) -> dict[tuple[str, str], list[str]]:
    """Return the queries of each value of a field, also one of their metadata. A field that none has is an error."""
    segments = segment_queries(golden, [field])
    if not segments:
        names = dict.fromkeys(name for query in golden.queries for name in query.metadata)
        known = ", ".join(map(shorten, islice(names, _SHOWN)))
        hint = did_you_mean(field, [name for name in (*FIELDS, *names) if name != field]).removeprefix(", ") or (
            f"their metadata has {known}" if known else "a field of your own belongs under metadata of the queries"
        )
        raise InputError(f"no query has a {field}", source=golden.name or "the golden set", hint=hint)
    return segments


class QuerySegments(Mapping[tuple[str, str], list[str]]):
    """What :func:`segment_queries` returns, found when one is needed: most decisions look at no segment."""

    def __init__(self, golden: GoldenSet) -> None:
        self._golden = golden

    @cached_property
    def _queries(self) -> dict[tuple[str, str], list[str]]:
        return segment_queries(self._golden)

    def __getitem__(self, segment: tuple[str, str]) -> list[str]:
        return self._queries[segment]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return repr(self._queries)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the segments themselves: a copy of an evaluation needs no golden set."""
        return dict, (self._queries,)


def segments_by_query(segments: Mapping[tuple[str, str], Sequence[str]]) -> dict[str, dict[str, list[str]]]:
    """Return the values of each field by query.

    >>> segments_by_query({("category", "spa"): ["q1"], ("tier", "a"): ["q1", "q2"]})
    {'q1': {'category': ['spa'], 'tier': ['a']}, 'q2': {'tier': ['a']}}
    """
    fields: dict[str, dict[str, list[str]]] = {}
    for (field, value), queries in segments.items():
        for query in queries:
            fields.setdefault(query, {}).setdefault(field, []).append(value)
    return fields


def queries_by_segment(fields: Mapping[str, Mapping[str, Iterable[str]]]) -> dict[tuple[str, str], list[str]]:
    """Return the queries of each segment, as the opposite of :func:`segments_by_query`."""
    segments: dict[tuple[str, str], list[str]] = {}
    for query, table in fields.items():
        for field, values in table.items():
            for value in values:
                segments.setdefault((field, value), []).append(query)
    return segments


def _queries_by_value(golden: GoldenSet, field: str) -> dict[str, list[str]]:
    """Return the queries of each value of a field: its own, or a tier or a block type of its relevant targets.

    A field that no query has of its own is looked up in their metadata, where BEIR keeps all further fields.
    """
    queries: dict[str, list[str]] = {}
    if field not in ("tier", "block"):
        named = [(q.id, value) for q in golden.queries if (value := getattr(q, field))] if field in _OWN else []
        for query, value in dict.fromkeys(named or _read_metadata(golden, field)):
            queries.setdefault(value, []).append(query)
        return queries
    values_of = _find_tiers(golden) if field == "tier" else _find_block_types(golden)
    if not values_of:
        return {}
    if golden.grades_by_query.grouped:
        return _group_by_value(golden, field, values_of)
    values: dict[str, set[str]] = {}
    for id_, targets in golden.relevant_targets():
        if own := set[str]().union(*(values_of.get(_key(target, field), ()) for target in targets)):
            values.setdefault(id_, set()).update(own)
    for id_, own in values.items():
        for value in own:
            queries.setdefault(value, []).append(id_)
    return queries


def _read_metadata(golden: GoldenSet, field: str) -> Iterator[tuple[str, str]]:
    """Yield each query with its value of a field of the metadata, or with each value of a list there."""
    for query in golden.queries:
        value = query.metadata.get(field)
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, str | int | float) and item != "":
                yield query.id, str(item)


def _group_by_value(
    golden: GoldenSet, field: str, values_of: Mapping[str | Target, Collection[str]]
) -> dict[str, list[str]]:
    """Return the queries of each value that their relevant targets have, for all queries at once."""
    relevant = golden.grades_by_query.at_least(golden.relevant)
    of_target = [values_of.get(_key(target, field), ()) for target in relevant.targets]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(chain.from_iterable(of_target)))}
    counts = np.array([len(names) for names in of_target], np.int64)
    starts, value = (
        np.cumsum(counts) - counts,
        np.array([numbers[name] for names in of_target for name in names], np.int64),
    )
    # A row for each value that a relevant target has, and then each value and query once.
    repeats = counts[relevant.target]
    first = np.repeat(starts[relevant.target] - (np.cumsum(repeats) - repeats), repeats)
    size = max(len(relevant.queries), 1)
    pairs = np.sort(value[first + np.arange(len(first))] * size + np.repeat(relevant.query, repeats))
    is_first = np.ones(len(pairs), np.bool_)
    is_first[1:] = pairs[1:] != pairs[:-1]
    number, row = np.divmod(pairs[is_first], size)
    names = [relevant.queries[place] for place in row.tolist()]
    ends = np.searchsorted(number, np.arange(len(numbers) + 1)).tolist()
    return {name: names[start:end] for name, start, end in zip(numbers, ends, ends[1:], strict=False) if start < end}


def _key(target: Target, field: str) -> str | Target:
    return target.document if field == "tier" else target


def _find_tiers(golden: GoldenSet) -> dict[str | Target, set[str]]:
    return {id_: {document.tier} for id_, document in golden.document_by_id.items() if document.tier}


def _find_block_types(golden: GoldenSet) -> dict[str | Target, set[str]]:
    """Return the types of blocks of each relevant part, document by document, so that each is outlined once."""
    relevant = golden.grades_by_query.at_least(golden.relevant)
    used = (relevant.targets[number] for number in np.flatnonzero(np.bincount(relevant.target)).tolist())
    parts = {target for target in used if not target.whole}
    return {
        target: _block_types(target, golden.document_by_id.get(target.document)) for target in sorted(parts, key=str)
    }


def _block_types(target: Target, document: Document | None) -> set[str]:
    """Return the types of the blocks of a part, or none for one that is not in the text of its document.

    Without the text of the document, the letter in the id of a block tells its type.
    """
    try:
        if document is None or not document.text:
            section = section_of_block(target.block) if target.block else ""
            return {_BLOCK_TYPES[target.block[len(section) + 1]]} if section else set()
        parts = _outline(document.text)
        if target.block:
            return {parts.block(target.block).type}
        span = resolve(parts, section=target.section) if target.section and target.span is None else target.span
        return set() if span is None else {*parts.types_at(span)}
    except InputError:  # an id that the text does not have, which the linter reports
        return set()


@lru_cache(maxsize=1024)
def _outline(text: str) -> Outline:
    """Return the outline of a text; cached, because many judgments refer to the same document."""
    return outline(canonical(text))
