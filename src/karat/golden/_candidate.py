"""Queries that may come into a golden set: those of a candidate, once a person has looked at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from karat.core import GoldenSet, Judgment, Query, UsageError
from karat.golden._source import open_set

_PEOPLE = ("manual", "validated")
"""The sources of judgments that people made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The queries of candidates that a set does not have, by id, and their judgments."""

    queries: Mapping[str, Query]
    judgments: Mapping[str, Sequence[Judgment]]

    def find_seen(self, judged: Iterable[Judgment]) -> tuple[Query, ...]:
        """Return the queries that a person has judged, in a candidate or among ``judged``.

        One that is marked as unanswerable counts as judged: no machine marks queries so, and there may be no document
        to grade.
        """
        own = (judgment for judgments in self.judgments.values() for judgment in judgments)
        seen = {judgment.query for judgments in (own, judged) for judgment in judgments if judgment.source in _PEOPLE}
        return tuple(query for name, query in self.queries.items() if name in seen or not query.answerable)

    def keep_judged(self, judged: Iterable[Judgment]) -> tuple[Candidates, tuple[Judgment, ...]]:
        """Return the candidates with judgments of those pairs only that a person has judged, and all other judgments.

        A person has judged a pair of query and document in a candidate, or among ``judged``.
        """
        own = [judgment for judgments in self.judgments.values() for judgment in judgments]
        pairs = {_pair(judgment) for judgment in (*own, *judged) if judgment.source in _PEOPLE}
        kept: dict[str, list[Judgment]] = {}
        left = []
        for judgment in own:
            if _pair(judgment) in pairs:
                kept.setdefault(judgment.query, []).append(judgment)
            else:
                left.append(judgment)
        return replace(self, judgments=kept), tuple(left)


def _pair(judgment: Judgment) -> tuple[str, str]:
    return judgment.query, judgment.target.document


def read_candidates(files: Sequence[str | Path], golden: GoldenSet) -> tuple[Candidates, list[str | Path]]:
    """Return what the folders among some files hold for a set, and the files that are no folders.

    Judgments of documents that the set does not have are left out, and so are those of behaviour that call a document
    relevant to a query that a person calls unanswerable.
    """
    queries: dict[str, Query] = {}
    judgments: dict[str, list[Judgment]] = {}
    known = golden.document_by_id
    for file in files:
        if not Path(file).is_dir():
            continue
        candidate = open_set(file)
        if candidate.grades != golden.grades:
            raise UsageError(f"the grades of {file} are not those of the set; harvest it with --golden and that set")
        queries |= {query.id: query for query in candidate.queries if query.id not in golden.query_by_id}
        for judgment in candidate.judgments:
            if judgment.query not in queries or (known and judgment.target.document not in known):
                continue
            relevant = judgment.grade >= golden.relevant
            if queries[judgment.query].answerable or judgment.source in _PEOPLE or not relevant:
                judgments.setdefault(judgment.query, []).append(judgment)
    return Candidates(queries=queries, judgments=judgments), [file for file in files if not Path(file).is_dir()]
