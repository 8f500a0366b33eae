"""Scoring the stored lists of a baseline again, with the judgments of today."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from karat.core import GoldenSet, Scores
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._lists import find_depth, is_complete, score_lists, stored_lists, suffices
from karat.evaluation._renamed import find_renamed, find_unmatched
from karat.evaluation._revision import (
    Revision,
    describe_asked,
    find_changed_documents,
    find_new,
    find_relevant,
    require_common,
    require_matched,
)
from karat.golden import Question, describe_questions, identify

_UNJUDGED = "DupRate"
"""Does not depend on judgments, so that its old value stays right."""


def revise_evaluation(evaluation: Evaluation, golden: GoldenSet) -> Evaluation:
    """Return an evaluation as it would be on the current golden set; ``revision`` says what changed.

    Questions that the set no longer has are left out. Where judgments changed, the stored list is scored again; where
    it is too short for a measure, the old score stays. A document whose id changed is found again by its text; a
    question whose judgments changed and whose list has a document that is gone is left out. An evaluation of means
    alone is returned as it is, and so is one with spans of another normaliser, which :func:`require_comparable`
    refuses. One that has no question of the set is an error.

    >>> from karat.core import Hit, Judgment, Provenance, Query, Run, Target, Trace
    >>> from karat.evaluation import score_run
    >>> queries = Query(id="q1", text="Pool?"), Query(id="q2", text="Wifi?")
    >>> pool = Judgment(query="q1", target=Target(document="pool"), grade=3)
    >>> before = GoldenSet(queries=queries[:1], judgments=(pool,))
    >>> trace = Trace(query="q1", text="Pool?", hits=(Hit("spa", 2.0), Hit("pool", 1.0)))
    >>> run = Run(provenance=Provenance(name="mine", golden=identify(before)), traces=(trace,))
    >>> spa = Judgment(query="q1", target=Target(document="spa"), grade=2)
    >>> after = revise_evaluation(score_run(before, run, ["RR@10"]), GoldenSet(queries=queries, judgments=(pool, spa)))
    >>> after.means, after.revision.new, after.revision.rejudged
    ({'RR@10': 1.0}, ('q2',), ('q1',))
    """
    if not evaluation.has_queries or _has_other_spans(evaluation, golden):
        return evaluation
    then, now = evaluation.provenance.golden, identify(golden)
    if then.get("fingerprint") == now["fingerprint"] == evaluation.questions_of and _has_all(evaluation, golden):
        return evaluation  # without the digests of all questions, which would take a second for a hundred thousand
    questions = describe_questions(golden)
    common = [query for query in evaluation.queries if _is_same(evaluation.questions.get(query), questions.get(query))]
    require_common(common, evaluation.queries, golden, evaluation.name)
    same_judgments = then.get("fingerprint") == now["fingerprint"] or then.get("questions") == now["questions"]
    documents_changed = find_changed_documents(then, now)
    renamed = find_renamed(golden, evaluation.contents or {})
    evaluation = _rename(evaluation, renamed) if renamed else evaluation
    changed = _find_changed(evaluation, questions, common, same_judgments=same_judgments)
    unmatched = find_unmatched(
        golden,
        stored_lists(evaluation, changed),
        contents=evaluation.contents,
        unfound=evaluation.unfound,
        documents_changed=documents_changed,
    )
    present, common = common, list(_subtract(common, unmatched))
    changed = list(_subtract(changed, unmatched))
    require_matched(common, unmatched, evaluation.name)
    rescored = _rescore(evaluation, golden, common, changed)
    scores = _merge(evaluation.scores, common, rescored) if changed else evaluation.scores
    revision = Revision(
        golden=then,
        asked=len(evaluation.queries),
        new=find_new(golden, evaluation.provenance.settings, present),
        removed={query: _text(evaluation, query) for query in _subtract(evaluation.queries, present)},
        relevant=_compare_relevant(evaluation, golden),
        renamed=renamed,
        unmatched=unmatched,
        rejudged=tuple(query for query in changed if _was_rejudged(evaluation, scores, query, rescored)),
        unscored=tuple(query for query in changed if _lost_its_scores(evaluation, scores, query, golden)),
        stale=rescored.stale,
        documents_changed=documents_changed,
        touched=tuple(query for query in common if _is_touched(evaluation, questions[query], query, documents_changed)),
    )
    differs = revision.new or revision.removed or changed or revision.touched or unmatched
    if then.get("fingerprint") == now["fingerprint"] and not differs:
        if evaluation.questions:
            return evaluation
        settings = evaluation.provenance.settings
        return replace(evaluation, questions=describe_asked(golden, common, None, settings))
    if not changed:
        scores = _merge(evaluation.scores, common, rescored)
    return _assemble(evaluation, golden, scores, rescored, revision)


def _compare_relevant(evaluation: Evaluation, golden: GoldenSet) -> tuple[int, int] | None:
    """Return the lowest relevant grade then and now; None if it is the same, or not known."""
    was, now = find_relevant(evaluation.scores.definitions), golden.relevant
    return None if was is None or was == now else (was, now)


def _rename(evaluation: Evaluation, names: Mapping[str, str]) -> Evaluation:
    """Return a baseline whose lists have the new ids of documents."""
    lists = {query: tuple(names.get(name, name) for name in listed) for query, listed in evaluation.lists.items()}
    contents = {names.get(name, name): digest for name, digest in (evaluation.contents or {}).items()}
    return replace(evaluation, lists=lists, contents=contents)


def _has_all(evaluation: Evaluation, golden: GoldenSet) -> bool:
    """Return whether an evaluation has exactly the questions of a golden set, or of the sample that it names."""
    known = evaluation.questions and golden.query_by_id.keys() >= evaluation.query_set
    return bool(known) and not find_new(golden, evaluation.provenance.settings, evaluation.query_set)


def add_measures(evaluation: Evaluation, golden: GoldenSet, measures: Iterable[str]) -> Evaluation:
    """Return an evaluation with the measures that it lacks, computed from its stored lists.

    A measure is left out unless the lists of all questions are long enough for it: a mean over some of them would be
    another number.
    """
    known = set(evaluation.scores.measures)
    lacking = [name for name in dict.fromkeys(measures) if name not in known and find_depth(name) is not None]
    lists = stored_lists(evaluation, evaluation.queries) if lacking else {}
    if not lists or len(lists) < len(evaluation.queries) or _has_other_spans(evaluation, golden):
        return evaluation
    whole = {query for query in lists if is_complete(evaluation, query)}
    names = [name for name in lacking if all(suffices(name, golden, lists[query], query in whole) for query in lists)]
    if not names:
        return evaluation
    scores = _join_columns(evaluation.scores, score_lists(golden, lists, names, evaluation))
    return replace(evaluation, scores=scores, means={**scores.mean(), **evaluation.means})


def _join_columns(scores: Scores, more: Scores) -> Scores:
    """Return the measures of two tables over the queries of the first."""
    columns: dict[str, dict[str, float]] = {}
    reasons: dict[tuple[str, str], str] = {}
    for table in (scores, more):
        rows = [query for query in scores.queries if query in table.rows]
        for name in table.measures:
            columns[name] = {query: _nan(table.value(query, name)) for query in rows}
            reasons |= {(query, name): why for query in rows if (why := table.reason(query, name)) is not None}
    return Scores.from_columns(
        scores.name,
        columns,
        queries=scores.queries,
        reasons=reasons,
        definitions={**scores.definitions, **more.definitions},
        aggregates={**scores.aggregates, **more.aggregates},
        not_judged=scores.not_judged,
    )


def _assemble(
    evaluation: Evaluation, golden: GoldenSet, scores: Scores, rescored: _Rescored, revision: Revision
) -> Evaluation:
    common, provenance = set(scores.queries), evaluation.provenance
    settings = {**provenance.settings}
    if "normaliser" in settings:
        settings["normaliser"] = golden.normaliser
    questions = describe_questions(golden)
    touched = set(revision.touched)
    outdated = {query for queries in rescored.stale.values() for query in queries}
    answerable = frozenset(common - golden.unanswerable)
    return replace(
        evaluation,
        questions_of="",
        provenance=replace(provenance, golden=identify(golden), settings=settings),
        scores=scores,
        repeats=tuple(table.select(common) for table in evaluation.repeats),
        means={**evaluation.means, **scores.mean()},
        queries=tuple(query for query in evaluation.queries if query in common),
        total=len(golden.queries),
        lists={query: hits for query, hits in evaluation.lists.items() if query in common},
        failures={query: error for query, error in evaluation.failures.items() if query in common},
        unfound=((evaluation.unfound - rescored.successes) | rescored.missed | rescored.unjudged) & answerable,
        unanswerable=golden.unanswerable & common,
        unjudged=((evaluation.unjudged - rescored.successes - rescored.missed) | rescored.unjudged) & answerable,
        false_answers=frozenset(query for query in golden.unanswerable & common if evaluation.lists.get(query)),
        questions={
            query: _renew(
                evaluation.questions.get(query),
                questions[query],
                revision,
                stale=query in outdated,
                touched=query in touched,
            )
            for query in evaluation.queries
            if query in common
        },
        revision=revision,
    )


def _renew(stored: Question | None, current: Question, revision: Revision, *, stale: bool, touched: bool) -> Question:
    """Return a question with the judgments of today, unless it keeps an old score, and the documents of its answer."""
    documents = current.documents if stored is None and revision.documents_changed is False else ""
    before = stored or Question(text=current.text, documents=documents)
    return replace(
        before,
        text=current.text,
        judgments=before.judgments if stale else current.judgments,
        documents=before.documents if touched or not before.documents else current.documents,
    )


def _has_other_spans(evaluation: Evaluation, golden: GoldenSet) -> bool:
    """Return whether spans are judged whose bytes were counted by the rules of another normaliser."""
    then = evaluation.provenance.settings.get("normaliser") or golden.normaliser
    return then != golden.normaliser and any(judgment.target.span is not None for judgment in golden.judgments)


def _is_same(stored: Question | None, current: Question | None) -> bool:
    """Return whether it is the same question: its text, and its paraphrases if they were asked, did not change.

    What is not known counts as the same.
    """
    if current is None or stored is None:
        return current is not None
    return stored.text in ("", current.text) and stored.wordings in ("", current.wordings)


def _is_touched(evaluation: Evaluation, current: Question, query: str, documents_changed: bool | None) -> bool:
    """Return whether a judged document of a question changed.

    The digest is also another one if other documents are judged: where no document changed, that is the reason.
    """
    stored = evaluation.questions.get(query)
    if stored is None or not (stored.documents and current.documents):
        return False
    rejudged = documents_changed is False and stored.judgments != current.judgments
    return stored.documents != current.documents and not rejudged


def _find_changed(
    evaluation: Evaluation, questions: Mapping[str, Question], common: Sequence[str], *, same_judgments: bool
) -> list[str]:
    """Return the questions whose judgments changed, or may have changed since the file does not tell.

    A question that failed has the worst score whatever its judgments are.
    """
    changed = []
    for query in common:
        if query in evaluation.failures:
            continue
        stored = evaluation.questions.get(query)
        if stored is not None and stored.judgments:
            if stored.judgments != questions[query].judgments:
                changed.append(query)
        elif not same_judgments:
            changed.append(query)
    return changed


def _was_rejudged(evaluation: Evaluation, scores: Scores, query: str, rescored: _Rescored) -> bool:
    """Return whether the judgments of a question are known to have changed, or its scores show it."""
    stored = evaluation.questions.get(query)
    if stored is not None and stored.judgments:
        return True
    before, after = evaluation.scores, scores
    return any(
        before.value(query, measure) != after.value(query, measure)
        for measure in rescored.columns
        if query in before.rows
    )


def _lost_its_scores(evaluation: Evaluation, scores: Scores, query: str, golden: GoldenSet) -> bool:
    """Return whether a question had scores, and has no relevant document any more.

    If undefined values are replaced by 0 or 1, only a question that found something relevant is known to have had some.
    """
    if query in golden.findable or query not in evaluation.scores.rows:
        return False
    before = evaluation.scores
    undefined = any(
        before.value(query, name) is not None and scores.value(query, name) is None for name in before.measures
    )
    return undefined or not (query in evaluation.unfound or query in golden.unanswerable)


def _text(evaluation: Evaluation, query: str) -> str:
    question = evaluation.questions.get(query)
    return question.text if question else ""


@dataclass(frozen=True, kw_only=True)
class _Rescored:
    """New values of some questions by measure, with what could not be computed again."""

    columns: Mapping[str, Mapping[str, float]]
    """By measure and query; NaN for a missing value."""
    reasons: Mapping[tuple[str, str], str]
    definitions: Mapping[str, str]
    """The definitions of measures that were computed again for all questions."""
    stale: Mapping[str, tuple[str, ...]]
    successes: frozenset[str] = frozenset()
    missed: frozenset[str] = frozenset()
    unjudged: frozenset[str] = frozenset()
    """Questions without a relevant document."""


def _rescore(evaluation: Evaluation, golden: GoldenSet, common: Sequence[str], changed: Sequence[str]) -> _Rescored:
    """Score the stored lists of changed questions again, on each measure for which they are long enough."""
    lists = stored_lists(evaluation, changed)
    judged = [name for name in evaluation.scores.measures if not name.startswith(_UNJUDGED)]
    if not lists:
        stale = {name: tuple(changed) for name in judged} if changed else {}
        return _Rescored(columns={}, reasons={}, definitions={}, stale=stale)
    success = f"Success@{max(1, *(len(documents) for documents in lists.values()))}"
    measures = [name for name in judged if find_depth(name) is not None]
    table = score_lists(golden, lists, [*measures, success], evaluation)
    whole = {query for query in lists if is_complete(evaluation, query)}
    answered = sum(query not in evaluation.failures for query in common)
    enough: dict[str, list[str]] = {}
    for name in measures:
        queries = [query for query in lists if suffices(name, golden, lists[query], query in whole)]
        same = table.definitions.get(name, name) == evaluation.scores.definitions.get(name, name)
        # With another definition, such as another threshold, old and new values do not belong in one column.
        enough[name] = queries if same or len(queries) == answered else []
    relevant = golden.findable
    successes = {query: bool(table.value(query, success)) for query in lists if query in relevant}
    return _Rescored(
        columns={name: {query: _nan(table.value(query, name)) for query in enough[name]} for name in measures},
        reasons={
            (query, name): reason
            for name in measures
            for query in enough[name]
            if (reason := table.reason(query, name)) is not None
        },
        definitions={name: table.definitions.get(name, name) for name in measures if len(enough[name]) == answered},
        stale={name: rest for name in judged if (rest := _subtract(changed, enough.get(name, ())))},
        successes=frozenset(query for query, succeeded in successes.items() if succeeded),
        missed=frozenset(query for query, succeeded in successes.items() if not succeeded and query in whole),
        unjudged=frozenset(lists) - relevant,
    )


def _subtract(queries: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    left_out = set(others)
    return tuple(query for query in queries if query not in left_out)


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _merge(scores: Scores, common: Sequence[str], rescored: _Rescored) -> Scores:
    """Return the table of the common questions, with the new values where there are any."""
    rows = [query for query in common if query in scores.rows]
    columns: dict[str, dict[str, float]] = {}
    reasons: dict[tuple[str, str], str] = {}
    for measure in scores.measures:
        fresh = rescored.columns.get(measure, {})
        columns[measure] = {}
        for query in rows:
            value = scores.value(query, measure)
            columns[measure][query] = fresh.get(query, _nan(value))
            reason = rescored.reasons.get((query, measure)) if query in fresh else scores.reason(query, measure)
            if reason is not None:
                reasons[query, measure] = reason
    return Scores.from_columns(
        scores.name,
        columns,
        queries=rows,
        reasons=reasons,
        definitions={**scores.definitions, **rescored.definitions},
        aggregates=scores.aggregates,
        not_judged=scores.not_judged,
    )
