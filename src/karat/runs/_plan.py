"""The plan of a run: which questions are asked, in which order, and what a session stores before them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from karat.config import Settings
from karat.core import Context, Document, GoldenSet, InputError, Query, Trace, shorten
from karat.golden import LISTED, digest_judged_documents

_NO_CONTEXT = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it is asked: in one wording, and for one of the repeats."""

    query: str
    text: str
    paraphrase: int = 0
    repeat: int = 0
    judged: str = ""
    """A digest of the judged documents, so that a later change of them is noticed; only for the first asking."""
    context: Context = _NO_CONTEXT
    memories: tuple[Document, ...] = ()
    """What the session stores before it."""
    counted: bool = True
    """Whether the answer is part of the run. Others are asked only for what they do to the session."""
    position: int = field(default=0, compare=False)
    """How many questions of its session are asked before it."""


class _QuestionDraft:
    __slots__ = Question.__slots__


def _make_question(query: str, text: str, repeat: int, judged: str) -> Question:
    """Return ``Question(query=query, text=text, ...)``; a frozen value sets each field with a call, and it has many."""
    draft: Any = _QuestionDraft()
    draft.query = query
    draft.text = text
    draft.repeat = repeat
    draft.judged = judged
    draft.paraphrase = draft.position = 0
    draft.context = _NO_CONTEXT
    draft.memories = ()
    draft.counted = True
    draft.__class__ = Question
    question: Question = draft
    return question


def plan_questions(
    golden: GoldenSet, sample: Collection[str], settings: Settings, *, tenant: str = "", sessions: bool = False
) -> list[Question]:
    """Return the questions of a run, in their order; ``sample`` has the ids of the queries that were drawn.

    Without ``sessions`` that is the order of the set, each query before its paraphrases, once for each repeat. With
    them, the questions of a session come in the order of their turns. Each repeat is a session of its own, ``s~2`` for
    the second one of ``s``, and so is each number of a paraphrase, ``s~p1``. A query of the session that was not drawn,
    or has no such paraphrase, is asked all the same in these, without being counted: what follows may depend on it.
    """
    questions = list(_list_questions(golden, sample, settings, tenant, sessions))
    if not sessions:
        return questions
    order = {query.id: i for i, query in enumerate(golden.queries)}
    return sorted(
        _order_turns(questions), key=lambda question: (question.position, question.repeat, order[question.query])
    )


def split_rounds(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Yield the questions in groups without two of the same session; each group is asked after the one before it."""
    for _, group in groupby(questions, key=lambda question: question.position):
        yield list(group)


def resume_plan(questions: Sequence[Question], done: Sequence[Trace]) -> list[Question]:
    """Return what is left to ask, given the answers of an unfinished run; refuse a run that asked other questions.

    A session that goes on is asked again from its beginning, without being counted.
    """
    count, rest = 0, []
    for question in questions:
        if question.counted and count < len(done):
            if _identify(done[count]) != _identify(question):
                raise InputError(
                    "the unfinished run asked other questions", hint="remove its .part file to start again"
                )
            count += 1
            rest.append(replace(question, counted=False))
        else:
            rest.append(question)
    if not done:
        return rest
    goes_on = {question.context.session for question in rest if question.counted}
    return [question for question in rest if question.counted or (question.context.session or None) in goes_on]


def _identify(question: Question | Trace) -> tuple[str, str, int, int]:
    return question.query, question.text, question.paraphrase, question.repeat


def _list_questions(
    golden: GoldenSet, sample: Collection[str], settings: Settings, tenant: str, sessions: bool
) -> Iterator[Question]:
    digests = digest_judged_documents(golden)
    if not (sessions or settings.paraphrases):
        for repeat in range(settings.repeat):
            for query in golden.queries:
                if query.id in sample:
                    yield _make_question(query.id, query.text, repeat, "" if repeat else digests[query.id])
        return
    wordings = _count_wordings(golden, sample, settings) if sessions else {}
    for repeat in range(settings.repeat):
        for query in golden.queries:
            texts = (query.text, *query.paraphrases) if settings.paraphrases else (query.text,)
            own = len(texts) if query.id in sample else 0
            memories = _list_memories(golden, query) if sessions else ()
            for i in range(max(own, wordings.get(query.session.id, 0) if query.session else 0)):
                yield Question(
                    query=query.id,
                    text=texts[i] if i < len(texts) else query.text,
                    paraphrase=i,
                    repeat=repeat,
                    judged="" if i or repeat or not own else digests[query.id],
                    context=make_context(query, tenant, i, repeat) if sessions else _NO_CONTEXT,
                    memories=memories,
                    counted=i < own,
                )


def _count_wordings(golden: GoldenSet, sample: Collection[str], settings: Settings) -> dict[str, int]:
    """Return for each session the largest number of wordings that are asked of one of its queries."""
    wordings: dict[str, int] = {}
    for query in golden.queries:
        if query.session and query.id in sample:
            count = 1 + len(query.paraphrases) if settings.paraphrases else 1
            wordings[query.session.id] = max(count, wordings.get(query.session.id, 0))
    return wordings


def _list_memories(golden: GoldenSet, query: Query) -> tuple[Document, ...]:
    """Return the memories that are stored before a query, without what only later turns tell: their successors."""
    names = query.session.remember if query.session else ()
    missing = [name for name in names if name not in golden.document_by_id]
    if missing:
        raise InputError(
            f"query {shorten(query.id)} stores the memory {shorten(missing[0])}, which is not among the documents",
            source=golden.name,
        )
    return tuple(replace(golden.document_by_id[name], superseded_by="") for name in names)


def make_context(query: Query, tenant: str = "", paraphrase: int = 0, repeat: int = 0) -> Context:
    """Return what a system may know of a query beside its text."""
    session = query.session
    metadata: Mapping[str, object] = query.metadata
    if LISTED in metadata:  # what was judged relevant, which no system may see
        metadata = {name: value for name, value in metadata.items() if name != LISTED}
    suffix = f"{f'~{repeat + 1}' if repeat else ''}{f'~p{paraphrase}' if paraphrase else ''}"
    return Context(
        session=f"{session.id}{suffix}" if session else "",
        turn=session.turn if session else 0,
        time=query.harvested,
        tenant=tenant,
        documents=session.documents if session else (),
        metadata=metadata,
    )


def _order_turns(questions: Sequence[Question]) -> Iterator[Question]:
    """Yield all questions with their position in the session, by turns; those after its last counted one are left out.

    Of two with the same turn, the one that comes first in the set is asked first.
    """
    talks: dict[str, list[Question]] = {}
    for question in questions:
        if question.context.session:
            talks.setdefault(question.context.session, []).append(question)
        else:
            yield question
    for name, talk in talks.items():
        if len({(question.repeat, question.paraphrase) for question in talk}) > 1:
            hint = "rename one of the sessions: karat adds ~2, ~3 for repeats, and ~p1, ~p2 for paraphrases"
            raise InputError(f"two sessions are called {shorten(name)}", hint=hint)
        talk.sort(key=lambda question: question.context.turn)
        last = max((i for i, question in enumerate(talk) if question.counted), default=-1)
        yield from (replace(question, position=i) for i, question in enumerate(talk[: last + 1]))
