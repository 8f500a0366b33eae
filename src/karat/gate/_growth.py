"""What a change of the golden set means for a comparison, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from karat.core import shorten
from karat.evaluation import Evaluation, Revision

_NAMED = 10
_LOSS = 0.02
"""A larger share of removed questions is a warning; so is more than one."""
_MANY = 0.2
"""A larger share of questions with other judgments is a warning: what the scores mean is another thing now."""

Side = Literal["baseline", "run"]


def describe_growth(evaluation: Evaluation | None, side: Side) -> list[str]:
    """Return how the golden set changed since a baseline or a run; the warning about removed questions is first."""
    if evaluation is None or evaluation.revision is None:
        return []
    revision = evaluation.revision
    return [*_warn(revision, side), *_count(revision, side), *_judgments(revision), *_documents(revision, side)]


def _warn(revision: Revision, side: Side) -> Iterator[str]:
    """Warn if more questions vanished than an edit explains: a question that fails must not be deleted silently."""
    total = revision.common + len(revision.new)
    if side == "run" and len(revision.new) > max(1, _LOSS * total):
        yield (
            f"WARNING: {len(revision.new):,} of the {total:,} questions of the golden set were not asked in this run: "
            f"{list_queries(revision.new)}; nothing is known of them until 'karat eval' asks all"
        )
    if side == "baseline" and len(revision.removed) > max(1, _LOSS * revision.asked):
        yield (
            f"WARNING: {len(revision.removed):,} of the {revision.asked:,} questions that the baseline scored are no "
            f"longer in the golden set: {list_queries(revision.removed)}; restore those that were removed by accident"
        )
    if side == "baseline" and len(revision.unscored) > max(1, _LOSS * revision.asked):
        yield (
            f"WARNING: {len(revision.unscored):,} of the {revision.asked:,} questions that the baseline scored have no "
            f"relevant document any more, and are not compared: {list_queries(revision.unscored)}; "
            f"{_advise(revision)}"
        )
    if revision.unmatched:
        names = list(dict.fromkeys(document for documents in revision.unmatched.values() for document in documents))
        returned = "returned" if side == "run" else "has in its lists of them"
        advice = (
            "'karat eval' asks them again"
            if side == "run"
            else "'karat baseline rebase --from RUN' takes them from a new run of the same system"
        )
        yield (
            f"WARNING: {_questions(revision.unmatched)} of the {side} {_are(len(revision.unmatched))} not compared: "
            f"{_count_documents(names)} that the {side} {returned} {_are(len(names))} no longer in the golden set "
            f"({list_queries(names)}), and with the judgments of today would count as not found: "
            f"{list_queries(revision.unmatched)}; {advice}"
        )


def _advise(revision: Revision) -> str:
    """Return what gives questions their relevant documents back."""
    if revision.relevant and revision.relevant[0] < revision.relevant[1]:
        was = revision.relevant[0]
        advice = f"relevant = {was} in golden.toml, or in [golden] of karat.toml, gives them back"
        return f"{describe_relevant(revision)}; {advice}"
    return "restore judgments that were removed by accident"


def describe_relevant(revision: Revision) -> str:
    """Return from which grade on documents are relevant, if that changed; empty if it did not."""
    if revision.relevant is None:
        return ""
    was, now = revision.relevant
    return f"the lowest grade that counts as relevant is {now}, and was {was}"


def _count(revision: Revision, side: Side) -> Iterator[str]:
    counts = []
    if revision.new:
        has = "has" if len(revision.new) == 1 else "have"
        lack = f"{has} no baseline" if side == "baseline" else f"{_were(revision.new)} not asked"
        counts.append(
            f"{_questions(revision.new)} {_are(len(revision.new))} new and {lack} ({list_queries(revision.new)})"
        )
    if revision.removed:
        counts.append(f"{len(revision.removed):,} {_were(revision.removed)} removed ({list_queries(revision.removed)})")
    if revision.reworded:
        counts.append(f"a question with another text is another question ({list_queries(revision.reworded)})")
    if revision.unmatched:
        lost = "whose documents are gone, was" if len(revision.unmatched) == 1 else "whose documents are gone, were"
        counts.append(f"{len(revision.unmatched):,}, {lost} left out ({list_queries(revision.unmatched)})")
    if counts:
        since = f"the golden set changed since the {side}"
        yield f"{since}: {'; '.join(counts)}; {revision.common:,} {_are(revision.common)} compared"
    elif side == "run":
        yield "the golden set changed since the run, which is scored with the judgments of today"


def _judgments(revision: Revision) -> Iterator[str]:
    if revision.rejudged and revision.relevant:
        yield (
            f"WARNING: {describe_relevant(revision)}, so that the judgments of {_questions(revision.rejudged)} mean "
            f"something else; both sides are scored with those of today: {list_queries(revision.rejudged)}"
        )
    elif revision.rejudged:
        mark = "WARNING: " if len(revision.rejudged) > _MANY * revision.common else ""
        yield (
            f"{mark}the judgments of {_questions(revision.rejudged)} changed, and both sides are scored with those of "
            f"today: {list_queries(revision.rejudged)}"
        )
    queries: dict[str, list[str]] = {}
    for measure, stale in revision.stale.items():
        for query in stale:
            queries.setdefault(query, []).append(measure)
    if queries:
        measures = ", ".join(dict.fromkeys(name for names in queries.values() for name in names))
        verb = "keeps its old score" if len(queries) == 1 else "keep their old scores"
        yield (
            f"{_questions(queries)} {verb} of {measures} in the baseline: the judgments changed, and the baseline does "
            f"not have what is needed to compute them again: {list_queries(queries)}"
        )


def _documents(revision: Revision, side: Side) -> Iterator[str]:
    if renamed := [f"{old} is now {new}" for old, new in revision.renamed.items()]:
        have = "has another id" if len(renamed) == 1 else "have other ids"
        yield (
            f"{_count_documents(renamed)} {have} than in the {side}, and the same text, by which karat found "
            f"{'it' if len(renamed) == 1 else 'them'} again: {list_queries(renamed)}"
        )
    if not revision.documents_changed and not revision.touched:
        return
    text = f"the documents changed since the {side}: a difference may come from them, and judgments be out of date"
    if revision.touched:
        verb = "has" if len(revision.touched) == 1 else "have"
        text += f"; {_questions(revision.touched)} {verb} judgments on them: {list_queries(revision.touched)}"
    yield text


def list_queries(queries: Collection[str]) -> str:
    """Return the ids of some queries, the first ten by name and the others as a number."""
    names = [shorten(query)[1:-1] for query in list(queries)[:_NAMED]]
    return ", ".join(names) + (f" and {len(queries) - _NAMED:,} more" if len(queries) > _NAMED else "")


def _questions(queries: Collection[str]) -> str:
    return f"{len(queries):,} question{'' if len(queries) == 1 else 's'}"


def _count_documents(names: Collection[str]) -> str:
    return f"{len(names):,} document{'' if len(names) == 1 else 's'}"


def _were(queries: Collection[str]) -> str:
    return "was" if len(queries) == 1 else "were"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
