"""Judging a run: every answer by every judge, several at a time, within a budget, with what it cost."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from karat.chat import BudgetSpent, NotMeasurable, Prompt, Subject, asking_about
from karat.core import Measure, UsageError, did_you_mean
from karat.judges._grades import judge_overlap_grade, judge_relevance
from karat.judges._items import Item
from karat.judges._measures import (
    Bench,
    Judged,
    judge_answer_correctness,
    judge_answer_precision,
    judge_answer_recall,
    judge_answer_relevance,
    judge_context_precision,
    judge_context_precision_without_reference,
    judge_context_recall,
    judge_faithfulness,
    judge_noise_sensitivity,
    judge_refusal,
)
from karat.judges._offline import judge_answer_similarity, judge_entailment, judge_lexical_support
from karat.judges._opinions import Opinion
from karat.judges._preference import judge_preference


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge: what it measures, and which prompts it uses."""

    name: str
    measure: str
    """The name of the measure that its opinions are."""
    function: Callable[[Bench, Item], Judged]
    prompts: tuple[str, ...] = ()
    """The prompts that it sends; none for a judge that asks no model."""
    calls: int = 0
    """How many calls an answer takes, if it has few claims or texts and no reply has to be repaired."""
    lower_is_better: bool = False
    embeds: bool = False
    """Whether it needs an embedder."""
    own: Mapping[str, Prompt] = field(default_factory=dict)
    """Prompts of its own, as that of a rubric."""
    passages: bool = False
    """Whether it judges retrieved texts, so that it needs no answer."""

    def counts(self, item: Item) -> bool:
        """Return whether its measure is for the question: most are not for those that have no answer."""
        meant = Measure.parse(self.measure).definition.queries if self.measure else "all"
        return meant == "all" or item.answerable == (meant != "unanswerable")


_CLAIMS = ("claims", "support")
_ALL = (
    Judge(name="faithfulness", measure="Faithfulness", function=judge_faithfulness, prompts=_CLAIMS, calls=2),
    Judge(
        name="context_precision",
        measure="ContextPrecision",
        function=judge_context_precision,
        prompts=("useful",),
        calls=1,
    ),
    Judge(
        name="context_precision_without_reference",
        measure="ContextPrecisionOwn",
        function=judge_context_precision_without_reference,
        prompts=("useful",),
        calls=1,
    ),
    Judge(name="context_recall", measure="ContextRecall", function=judge_context_recall, prompts=_CLAIMS, calls=2),
    Judge(
        name="answer_relevance",
        measure="AnswerRelevance",
        function=judge_answer_relevance,
        prompts=("questions",),
        calls=1,
        embeds=True,
    ),
    Judge(
        name="answer_precision", measure="AnswerPrecision", function=judge_answer_precision, prompts=_CLAIMS, calls=2
    ),
    Judge(name="answer_recall", measure="AnswerRecall", function=judge_answer_recall, prompts=_CLAIMS, calls=2),
    Judge(
        name="answer_correctness",
        measure="AnswerCorrectness",
        function=judge_answer_correctness,
        prompts=_CLAIMS,
        calls=4,
    ),
    Judge(
        name="noise_sensitivity",
        measure="NoiseSensitivity",
        function=judge_noise_sensitivity,
        prompts=(*_CLAIMS, "useful"),
        calls=4,
        lower_is_better=True,
    ),
    Judge(name="refusal", measure="RefusalRightness", function=judge_refusal, prompts=("refusal",), calls=1),
    Judge(
        name="passage_relevance",
        measure="PassageRelevance",
        function=judge_relevance,
        prompts=("grade",),
        calls=5,
        passages=True,
    ),
    Judge(name="overlap_grade", measure="OverlapGrade", function=judge_overlap_grade, passages=True),
    Judge(name="entailment", measure="Entailment", function=judge_entailment),
    Judge(name="lexical_support", measure="LexicalSupport", function=judge_lexical_support),
    Judge(name="answer_similarity", measure="AnswerSimilarity", function=judge_answer_similarity, embeds=True),
)
JUDGES: Mapping[str, Judge] = {judge.name: judge for judge in _ALL}
"""All judges by name; those without prompts ask no model."""


PREFERENCE = Judge(
    name="preference", measure="", function=judge_preference, prompts=("preference",), calls=2
)  # fmt: skip
"""The judge of two answers, which gives an answer no value by itself."""


def find_judge(name: str, others: Iterable[str] = ()) -> Judge:
    """Return a judge by its name; ``others`` are the names of more judges, which an error mentions."""
    if name not in JUDGES:
        known = (*JUDGES, *others)
        hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
        raise UsageError(f"there is no judge {name!r}{hint}")
    return JUDGES[name]


def judge_items(
    bench: Bench,
    items: Iterable[Item],
    judges: Sequence[Judge],
    *,
    votes: int = 1,
    concurrency: int = 8,
    progress: Callable[[Opinion], None] | None = None,
) -> list[Opinion]:
    """Return each judge's opinion of each item in each vote, in that order, with at most ``concurrency`` at a time.

    A judge is not asked about a question that its measure is not for: the verdict would cost money, and not count. When
    the budget is spent, the rest is reported as not asked, and counts as missing. A server that cannot be reached ends
    it all; what was asked by then is in the cache.
    """
    if votes < 1 or concurrency < 1:
        raise UsageError(f"votes={votes}, concurrency={concurrency}; choose 1 or more")
    benches = [replace(bench, vote=vote) for vote in range(votes)]
    stop = threading.Event()
    calls = ((own, judge, item) for item in items for judge in judges if judge.counts(item) for own in benches)
    opinions: list[Opinion] = []
    with _pool(concurrency, stop) as submit:
        window = deque(submit(_judge, *call, stop) for call in islice(calls, 4 * concurrency))
        while window:
            opinion = window.popleft().result()
            window.extend(submit(_judge, *call, stop) for call in islice(calls, 1))
            opinions.append(opinion)
            if progress is not None:
                progress(opinion)
    return opinions


@contextmanager
def _pool(concurrency: int, stop: threading.Event) -> Iterator[Callable[..., Future[Opinion]]]:
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="karat-judge")
    try:
        yield pool.submit
    except BaseException:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _judge(bench: Bench, judge: Judge, item: Item, stop: threading.Event) -> Opinion:
    opinion = Opinion(
        judge=judge.name, query=item.query, value=None, paraphrase=item.paraphrase, repeat=item.repeat, vote=bench.vote
    )
    if stop.is_set():
        return replace(opinion, reason="not asked: the budget is spent")
    subject = Subject(
        query=item.query, judge=judge.name, paraphrase=item.paraphrase, repeat=item.repeat, vote=bench.vote
    )
    try:
        with asking_about(subject):
            value, findings = judge.function(bench, item)
    except NotMeasurable as error:
        return replace(opinion, reason=str(error))
    except BudgetSpent:
        stop.set()
        return replace(opinion, reason="not asked: the budget is spent")
    except BaseException:
        stop.set()  # here, and not where it is caught: by then this thread may have asked about the next item
        raise
    return replace(opinion, value=value, findings=findings)
