"""Measures of answers that judges have given: by a model (``karat judge``), or by words and vectors alone.

A judge's opinion is part of the trace: a value, or the reason why there is none. A question that failed has none
either, and counts in the gate as what was lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from karat.core import MEASURES, Parameter
from karat.measures._cited import NO_CLAIM, NO_WORDS, REFUSED
from karat.measures._evidence import NOTHING, Case, trace_measure

NOT_JUDGED = "not judged"
JUDGE_FAILED = "the judge failed"
NO_OPINION = (JUDGE_FAILED, "not asked")
"""How the reasons begin for which an answer is not judged that should be; the gate counts it as the worst value."""
_EXCUSED = (
    "no reference answer in the golden set",
    "the reference answer makes no claim",
    REFUSED,
    NO_CLAIM,
    NO_WORDS,
)
"""Reasons for which nobody is to blame; refusals have measures of their own."""


def is_excused(reason: str) -> bool:
    """Return whether nobody is to blame that a judge gave no value, so that the answer is left out of a mean.

    >>> is_excused("the answer was refused"), is_excused("the judge's reply cannot be used")
    (True, False)
    """
    return reason in _EXCUSED


OVERLAP_AGREEMENT = "0.195 (0.176 to 0.215)"
"""How often words alone give the grade of people, with its 95 % interval; measured on examples/hotel."""
BLIND: Mapping[str, str] = {
    "LexicalSupport": "LexicalSupport compares words: a contradiction in the same words scores high; its AUROC "
    "against people is .67 to .97 on six sets",
    "OverlapGrade": "OverlapGrade compares words: a text that repeats the question has the highest grade; it gives "
    f"people's grade to {OVERLAP_AGREEMENT} of texts, far from the 0.80 that agent asks for, and its AUROC against "
    "them is .64",
    "AnswerSimilarity": "AnswerSimilarity compares vectors: the opposite in the same words scores high",
}
"""What a judge without a model cannot see, and how far it agrees with people (docs/judge.md, benchmarks/judges)."""
_NAME = Parameter(name="name", kind="str", default="", help="the name of the rubric")


def _read_opinion(case: Case, judge: str) -> float | str:
    if case.trace.error or not case.trace.query:
        return NOTHING
    opinion = case.trace.opinions.get(judge)
    if opinion is None:
        return NOT_JUDGED
    if not isinstance(opinion, str) or is_excused(opinion) or opinion.startswith(NO_OPINION):
        return opinion
    return f"{JUDGE_FAILED}: {opinion}"


@trace_measure("Faithfulness", aliases=("faithfulness",), cutoff="none", undefined=NOT_JUDGED)
def faithfulness(case: Case, k: None) -> float | str:
    """Faithfulness: the share of the answer's claims that the retrieved texts support.

    Formula: |claims of the answer that a text supports, with words that it has| / |claims of the answer|
    Range: 0 to 1
    Convention: a claim whose quoted words are not in the text counts as not supported; undefined for an answer
        without claims, and where nobody judged
    Citation: rig, faithfulness; Es et al., RAGAS: Automated Evaluation of Retrieval Augmented Generation, 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"faithfulness": 0.75})
    >>> score_hits(golden, {"q": ()}, ["Faithfulness"], traces={"q": trace}).mean()
    {'Faithfulness': 0.75}
    """
    return _read_opinion(case, "faithfulness")


@trace_measure("ContextPrecision", aliases=("context_precision",), cutoff="none", undefined=NOT_JUDGED)
def context_precision(case: Case, k: None) -> float | str:
    """Context precision: whether the texts that help to reach the reference answer come first.

    Formula: mean over the texts that help of the share of such texts down to that rank
    Range: 0 to 1
    Convention: 0 if none helps; undefined without a reference answer, and where nobody judged
    Citation: rig, context precision; Es et al., 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"context_precision": 0.75})
    >>> score_hits(golden, {"q": ()}, ["ContextPrecision"], traces={"q": trace}).mean()
    {'ContextPrecision': 0.75}
    """
    return _read_opinion(case, "context_precision")


@trace_measure(
    "ContextPrecisionOwn", aliases=("context_precision_without_reference",), cutoff="none", undefined=NOT_JUDGED
)
def context_precision_own(case: Case, k: None) -> float | str:
    """Context precision without a reference: whether the texts that helped to reach the answer given come first.

    Formula: as for ContextPrecision, with the answer in the place of the reference
    Range: 0 to 1
    Convention: high for a wrong answer, too, if it was made from the first texts; undefined without an answer, and
        where nobody judged
    Citation: Es et al., 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"context_precision_without_reference": 0.75})
    >>> score_hits(golden, {"q": ()}, ["ContextPrecisionOwn"], traces={"q": trace}).mean()
    {'ContextPrecisionOwn': 0.75}
    """
    return _read_opinion(case, "context_precision_without_reference")


@trace_measure("ContextRecall", aliases=("context_recall",), cutoff="none", undefined=NOT_JUDGED)
def context_recall(case: Case, k: None) -> float | str:
    """Context recall: the share of the reference answer's claims that the retrieved texts support.

    Formula: |claims of the reference that a text supports| / |claims of the reference|
    Range: 0 to 1
    Convention: undefined without a reference answer, and where nobody judged
    Citation: rig, context recall; Es et al., 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"context_recall": 0.75})
    >>> score_hits(golden, {"q": ()}, ["ContextRecall"], traces={"q": trace}).mean()
    {'ContextRecall': 0.75}
    """
    return _read_opinion(case, "context_recall")


@trace_measure("AnswerRelevance", aliases=("answer_relevance",), cutoff="none", undefined=NOT_JUDGED)
def answer_relevance(case: Case, k: None) -> float | str:
    """Answer relevance: how like the question those questions are that the answer answers.

    Formula: mean cosine of the question and N questions that a model makes from the answer
    Range: 0 to 1
    Convention: a negative mean is 0; it says nothing about whether the answer is right; undefined without an answer,
        and where nobody judged
    Citation: rig, answer relevance; Es et al., 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"answer_relevance": 0.75})
    >>> score_hits(golden, {"q": ()}, ["AnswerRelevance"], traces={"q": trace}).mean()
    {'AnswerRelevance': 0.75}
    """
    return _read_opinion(case, "answer_relevance")


@trace_measure("AnswerPrecision", aliases=("answer_precision",), cutoff="none", undefined=NOT_JUDGED)
def answer_precision(case: Case, k: None) -> float | str:
    """Answer precision: the share of the answer's claims that the reference answer supports.

    Formula: |claims of the answer that the reference supports| / |claims of the answer|
    Range: 0 to 1
    Convention: undefined without a reference answer or an answer, and where nobody judged
    Citation: a share of claims

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"answer_precision": 0.75})
    >>> score_hits(golden, {"q": ()}, ["AnswerPrecision"], traces={"q": trace}).mean()
    {'AnswerPrecision': 0.75}
    """
    return _read_opinion(case, "answer_precision")


@trace_measure("AnswerRecall", aliases=("answer_recall",), cutoff="none", undefined=NOT_JUDGED)
def answer_recall(case: Case, k: None) -> float | str:
    """Answer recall: the share of the reference answer's claims that the answer supports.

    Formula: |claims of the reference that the answer supports| / |claims of the reference|
    Range: 0 to 1
    Convention: undefined without a reference answer or an answer, and where nobody judged
    Citation: a share of claims

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"answer_recall": 0.75})
    >>> score_hits(golden, {"q": ()}, ["AnswerRecall"], traces={"q": trace}).mean()
    {'AnswerRecall': 0.75}
    """
    return _read_opinion(case, "answer_recall")


@trace_measure("AnswerCorrectness", aliases=("answer_correctness",), cutoff="none", undefined=NOT_JUDGED)
def answer_correctness(case: Case, k: None) -> float | str:
    """Answer correctness: the harmonic mean of answer precision and answer recall.

    Formula: 2 P R / (P + R), where P is a share of the answer's claims, and R of the reference's
    Range: 0 to 1
    Convention: 0 if both are 0; each share has its own denominator, so that no units are mixed; undefined as they are
    Citation: Rajpurkar et al., SQuAD, 2016, with claims in the place of words

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"answer_correctness": 0.75})
    >>> score_hits(golden, {"q": ()}, ["AnswerCorrectness"], traces={"q": trace}).mean()
    {'AnswerCorrectness': 0.75}
    """
    return _read_opinion(case, "answer_correctness")


@trace_measure(
    "NoiseSensitivity", aliases=("noise_sensitivity",), cutoff="none", undefined=NOT_JUDGED, higher_is_better=False
)
def noise_sensitivity(case: Case, k: None) -> float | str:
    """Noise sensitivity: the share of the answer's claims that are wrong, and come from a text that does not help.

    Formula: |claims that the reference does not support, and a text that does not help does| / |claims of the answer|
    Range: 0 to 1, lower is better
    Convention: undefined without a reference answer or an answer, and where nobody judged
    Citation: Ru et al., RAGChecker, 2024

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"noise_sensitivity": 0.75})
    >>> score_hits(golden, {"q": ()}, ["NoiseSensitivity"], traces={"q": trace}).mean()
    {'NoiseSensitivity': 0.75}
    """
    return _read_opinion(case, "noise_sensitivity")


@trace_measure("RefusalRightness", aliases=("refusal",), cutoff="none", undefined=NOT_JUDGED, queries="all")
def refusal_rightness(case: Case, k: None) -> float | str:
    """Refusal rightness: whether a question was refused exactly if the documents cannot answer it.

    Formula: 1 if an unanswerable question was refused, or an answerable one was not, else 0
    Range: 0 or 1
    Convention: a judge decides whether a text is a refusal, where the system does not say so; undefined where nobody
        judged
    Citation: Rajpurkar, Jia and Liang, Know What You Don't Know: Unanswerable Questions for SQuAD, 2018

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"refusal": 0.75})
    >>> score_hits(golden, {"q": ()}, ["RefusalRightness"], traces={"q": trace}).mean()
    {'RefusalRightness': 0.75}
    """
    return _read_opinion(case, "refusal")


@trace_measure("LexicalSupport", aliases=("lexical_support",), cutoff="none", undefined=NOT_JUDGED)
def lexical_support(case: Case, k: None) -> float | str:
    """Lexical support: how far the words of the answer are in the retrieved texts; blind to meaning.

    Formula: mean over the sentences of the answer of the mean of five shares of words, less missing numbers and names
    Range: 0 to 1
    Convention: no probability, and no pass mark transfers between data sets; a contradiction in the same words scores
        high; undefined without an answer, and where nobody judged
    Citation: karat, see docs/judge.md

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"lexical_support": 0.75})
    >>> score_hits(golden, {"q": ()}, ["LexicalSupport"], traces={"q": trace}).mean()
    {'LexicalSupport': 0.75}
    """
    return _read_opinion(case, "lexical_support")


@trace_measure("AnswerSimilarity", aliases=("answer_similarity",), cutoff="none", undefined=NOT_JUDGED)
def answer_similarity(case: Case, k: None) -> float | str:
    """Answer similarity: the cosine of the answer and the reference answer, by an embedder.

    Formula: max(0, cosine(answer, reference))
    Range: 0 to 1
    Convention: high for an answer that says the opposite in the same words; undefined without a reference answer or
        an answer, and where nobody judged
    Citation: Es et al., 2023, answer semantic similarity

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"answer_similarity": 0.75})
    >>> score_hits(golden, {"q": ()}, ["AnswerSimilarity"], traces={"q": trace}).mean()
    {'AnswerSimilarity': 0.75}
    """
    return _read_opinion(case, "answer_similarity")


@trace_measure("PassageRelevance", aliases=("passage_relevance",), cutoff="none", undefined=NOT_JUDGED)
def passage_relevance(case: Case, k: None) -> float | str:
    """Passage relevance: the mean grade of the retrieved texts, by a model, as a share of the highest.

    Formula: mean over the texts of grade / 3
    Range: 0 to 1
    Convention: 0 if nothing was retrieved; undefined where nobody judged
    Citation: Thomas et al., Large language models can accurately predict searcher preferences, 2024

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"passage_relevance": 0.75})
    >>> score_hits(golden, {"q": ()}, ["PassageRelevance"], traces={"q": trace}).mean()
    {'PassageRelevance': 0.75}
    """
    return _read_opinion(case, "passage_relevance")


@trace_measure("OverlapGrade", aliases=("overlap_grade",), cutoff="none", undefined=NOT_JUDGED)
def overlap_grade(case: Case, k: None) -> float | str:
    """Overlap grade: the mean grade of the retrieved texts by the words of the question; blind to meaning.

    Formula: mean over the texts of grade / 3; the grade is 3 from 45 % of the words on, 2 from 25 %, 1 from 10 %
    Range: 0 to 1
    Convention: 3 for a text that has the whole question; 0 if nothing was retrieved; undefined where nobody judged
    Citation: agent, deterministic fallback judge

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"overlap_grade": 0.75})
    >>> score_hits(golden, {"q": ()}, ["OverlapGrade"], traces={"q": trace}).mean()
    {'OverlapGrade': 0.75}
    """
    return _read_opinion(case, "overlap_grade")


@trace_measure("Entailment", aliases=("entailment",), cutoff="none", undefined=NOT_JUDGED)
def entailment(case: Case, k: None) -> float | str:
    """Entailment: how far the retrieved texts entail the answer, by a model of the user.

    Formula: mean over the sentences of the answer of the highest value that any text gives it
    Range: 0 to 1
    Convention: the values are those of the function that `[judges] entails` names; undefined without an
        answer, and where nobody judged
    Citation: Honovich et al., TRUE: Re-evaluating factual consistency evaluation, 2022

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"entailment": 0.75})
    >>> score_hits(golden, {"q": ()}, ["Entailment"], traces={"q": trace}).mean()
    {'Entailment': 0.75}
    """
    return _read_opinion(case, "entailment")


@trace_measure("Rubric", _NAME, aliases=("rubric",), cutoff="none", undefined=NOT_JUDGED)
def rubric(case: Case, k: None, *, name: str) -> float | str:
    """Rubric: the score of the answer by a rubric of the user, from 0 for the lowest to 1 for the highest.

    Formula: (score - lowest) / (highest - lowest)
    Range: 0 to 1
    Convention: the rubric is a file that `[judges.rubrics]` names; undefined without an answer, and where nobody judged
    Citation: Zheng et al., Judging LLM-as-a-judge with MT-Bench and Chatbot Arena, 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"tone": 0.75})
    >>> score_hits(golden, {"q": ()}, ["Rubric(name='tone')"], traces={"q": trace}).mean()
    {"Rubric(name='tone')": 0.75}
    """
    return _read_opinion(case, name)


JUDGED = frozenset(row.name for row in MEASURES.list_added() if row.kernel.__module__ == __name__)
"""The names of the measures whose values are opinions, and depend on who judged."""
