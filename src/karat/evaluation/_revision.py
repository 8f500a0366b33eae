"""Golden sets grow: runs and baselines of an earlier version are brought to the set as it is now.

A question is its id and its text: one whose text changed is another question. Answers to questions that the set still
has are scored with its judgments of today; the other ones are left out, and a :class:`Revision` counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from karat.core import GoldenSet, InputError, Measure, MeasureError, Run, Trace, shorten
from karat.evaluation._renamed import find_successes, find_unmatched_traces
from karat.golden import Question, describe_questions, identify, sample

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """How a run or a baseline differs from the current golden set."""

    golden: Mapping[str, Any]
    """The golden set that it was made on: name, version and fingerprints."""
    asked: int
    """How many questions it was asked, including those that are left out."""
    new: tuple[str, ...] = ()
    """Questions of the set that it was not asked."""
    removed: Mapping[str, str] = field(default_factory=dict)
    """The texts, if known, of the questions that it was asked and the set no longer has."""
    rejudged: tuple[str, ...] = ()
    """Questions whose judgments changed; a run does not record its judgments, and has none."""
    unscored: tuple[str, ...] = ()
    """Questions that it had scores of and that have no relevant document any more, so that nothing is compared."""
    relevant: tuple[int, int] | None = None
    """The lowest relevant grade then and now, if it is known that it changed."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The id of today of each listed document whose id changed and whose text did not."""
    unmatched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Listed documents that the set no longer has, of questions with other judgments, which are left out: today's
    judgments would count what was found then as not found."""
    stale: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By measure, questions that keep their old score: the judgments changed, and the stored list is too short."""
    documents_changed: bool | None = None
    """Whether the documents changed since; None if that is not known."""
    touched: tuple[str, ...] = ()
    """Questions that are known to have judgments on changed documents."""

    @property
    def reworded(self) -> tuple[str, ...]:
        """Questions whose text changed: each is removed and new."""
        return tuple(query for query in self.new if query in self.removed)

    @property
    def common(self) -> int:
        """How many questions it was asked that the set still has, without those that are left out."""
        return self.asked - len(self.removed) - len(self.unmatched)


def revise_run(run: Run, golden: GoldenSet) -> tuple[Run, Revision | None]:
    """Return the answers of a run to questions that a golden set has, and how the run differs from the set.

    The revision is None if the run was made on this golden set, or does not name one. A run without a common question
    is an error.
    """
    then, now = run.provenance.golden, identify(golden) if run.provenance.golden.get("fingerprint") else {}
    if not now or then["fingerprint"] == now["fingerprint"]:
        return run, None
    wordings = {query.id: (query.text, *query.paraphrases) for query in golden.query_by_id.values()}
    questions: dict[str, str] = {}
    for trace in run.traces:
        questions[trace.query] = trace.text if not trace.paraphrase else questions.get(trace.query, "")
    common = {query for query, text in questions.items() if query in wordings and text in ("", wordings[query][0])}
    require_common(common, questions, golden, run.provenance.name)
    changed = find_changed_documents(then, now)
    touched = () if changed is False else _find_touched(golden, _read_judged(run.traces), common)
    unmatched = _find_unmatched(golden, run.traces, common) if changed is not False else {}
    require_matched(common - unmatched.keys(), unmatched, run.provenance.name)
    revision = Revision(
        golden=then,
        asked=len(questions),
        new=find_new(golden, run.provenance.settings, common),
        removed={query: text for query, text in questions.items() if query not in common},
        unmatched=unmatched,
        documents_changed=changed,
        touched=tuple(query for query in touched if query not in unmatched),
    )
    traces = tuple(
        trace
        for trace in run.traces
        if trace.query in common
        and trace.query not in unmatched
        and (not trace.paraphrase or trace.text in ("", *wordings[trace.query][trace.paraphrase :][:1]))
    )
    return replace(run, provenance=replace(run.provenance, golden=now), traces=traces), revision


class _Asked(Mapping[str, Question]):
    """The questions of a run. Each is described when it is needed, which for most runs is never."""

    def __init__(
        self,
        questions: Mapping[str, Question],
        unknown: Mapping[str, str],
        queries: Sequence[str],
        judged: Mapping[str, str] | None,
    ) -> None:
        self._questions, self._unknown, self._judged = questions, unknown, judged
        self._asked = queries

    @cached_property
    def _queries(self) -> dict[str, None]:
        return dict.fromkeys([query for query in self._asked if query in self._questions])

    def __getitem__(self, query: str) -> Question:
        if query not in self._queries:
            raise KeyError(query)
        documents = self._questions[query].documents if self._judged is None else self._judged.get(query, "")
        return replace(self._questions[query], documents=documents, **self._unknown)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


def describe_asked(
    golden: GoldenSet,
    queries: Sequence[str],
    revision: Revision | None,
    settings: Mapping[str, Any],
    traces: Iterable[Trace] = (),
) -> Mapping[str, Question]:
    """Return the questions of a run, with the digests of the documents that it was made on, as far as they are known.

    The digest of paraphrases is left out if they were not asked.
    """
    questions = describe_questions(golden)
    judged = None if revision is None or revision.documents_changed is False else _read_judged(traces)
    unknown = {} if settings.get("paraphrases") else {"wordings": ""}
    return _Asked(questions, unknown, queries, judged)


def _read_judged(traces: Iterable[Trace]) -> dict[str, str]:
    """Return the digest of the judged documents of each question that has one."""
    return {trace.query: trace.judged for trace in traces if trace.judged}


def _find_touched(golden: GoldenSet, judged: Mapping[str, str], common: Set[str]) -> tuple[str, ...]:
    """Return the common questions whose judged documents do not have the digest that a run recorded.

    That may also be because other documents are judged now, which the digest cannot tell.
    """
    questions = describe_questions(golden)
    return tuple(
        query for query, digest in judged.items() if query in common and questions[query].documents not in ("", digest)
    )


def _find_unmatched(golden: GoldenSet, traces: Sequence[Trace], common: Set[str]) -> dict[str, tuple[str, ...]]:
    """Return hits of common questions on documents that are gone, where the judgments may have named these.

    They did not where the judged documents have the digest that the run recorded. Where it recorded none, that is a
    question of which nothing relevant is left.
    """
    if not golden.document_by_id:
        return {}
    questions, judged = describe_questions(golden), _read_judged(traces)
    doubtful = {query for query in common if judged.get(query) != questions[query].documents}
    unmatched = find_unmatched_traces(golden, traces, doubtful)
    if unrecorded := unmatched.keys() - judged.keys():
        for query in find_successes(golden, traces, unrecorded):
            del unmatched[query]
    return unmatched


def find_new(golden: GoldenSet, settings: Mapping[str, Any], common: Iterable[str]) -> tuple[str, ...]:
    """Return the questions of a golden set, or of the sample that the settings name, that are not common."""
    size, seed = settings.get("sample"), settings.get("seed", 0)
    known, queries = set(common), golden.queries
    if isinstance(size, int) and isinstance(seed, int) and 0 < size < len(queries):
        queries = sample(golden, size, seed=seed).queries
    return tuple(dict.fromkeys(query.id for query in queries if query.id not in known))


def find_changed_documents(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool | None:
    """Return whether the documents of two golden sets differ; None if their digests do not tell."""
    if then.get("fingerprint") == now.get("fingerprint"):
        return False
    if then.get("documents"):
        return bool(then["documents"] != now.get("documents"))
    return True if then.get("questions") and then["questions"] == now.get("questions") else None


def require_common(common: Iterable[str], questions: Iterable[str], golden: GoldenSet, name: str) -> None:
    """Refuse a run or a baseline that has no question of a golden set."""
    if set(common):
        return
    names = set(questions)
    theirs, ours = _name_few(questions), _name_few(query.id for query in golden.queries)
    hint = f"it was asked {theirs}, and the set has {ours}; name the golden set that it was made on"
    if not names.isdisjoint(golden.query_by_id):
        hint = "every question has other words now, or other paraphrases; ask them again, or record a new baseline"
    raise InputError(f"{shorten(name)} has no question in common with golden set {shorten(golden.name)}", hint=hint)


def require_matched(common: Iterable[str], unmatched: Mapping[str, Sequence[str]], name: str) -> None:
    """Refuse a run or a baseline of which no question is left, since its documents are gone."""
    if unmatched and not set(common):
        documents = _name_few(dict.fromkeys(document for names in unmatched.values() for document in names))
        raise InputError(
            f"{shorten(name)} cannot be scored on the current golden set: every question returned documents "
            f"that are no longer in it, such as {documents}",
            hint="restore their ids, or ask all questions again and record a new baseline",
        )


def find_relevant(definitions: Mapping[str, str]) -> int | None:
    """Return the lowest grade that was relevant, as the definitions of measures have it; None if they do not tell.

    >>> find_relevant({"R@5": "R(rel=2)@5", "nDCG@5": "nDCG@5"}), find_relevant({"RR": "RR"}), find_relevant({})
    (2, 1, None)
    """
    grades = set()
    for name, definition in definitions.items():
        try:
            named, measure = Measure.parse(name), Measure.parse(definition)
        except MeasureError:  # of a package that is not installed here
            continue
        defaults = {parameter.name: parameter.default for parameter in measure.definition.parameters}
        grade = dict(measure.params).get("rel", defaults.get("rel"))
        if isinstance(grade, int) and "rel" not in dict(named.params):
            grades.add(grade)
    return grades.pop() if len(grades) == 1 else None


def _name_few(ids: Iterable[str]) -> str:
    return ", ".join(map(shorten, list(ids)[:_NAMED])) or "nothing"
