"""Measures of answers by what they cite, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from each import each
from karat import score_hits
from karat.core import Citation, Document, GoldenSet, Hit, Judgment, Measure, Query, Span, Target, Trace
from karat.judges import JUDGES

TEXT = (
    "# Wi-Fi\n\nThe network is free.\n\n## Reset\n\nHold the button for ten seconds.\n\n# Pool\n\nIt opens at noon.\n"
)
"""Its sections are S.1, S.1.1 and S.2."""
HOLD, NOON = TEXT.index("Hold"), TEXT.index("It opens")
GOLDEN = GoldenSet(
    documents=(Document(id="guide", text=TEXT, format="markdown"), Document(id="spa", text="The spa is closed.")),
    queries=(
        Query(
            id="q",
            text="How do I reset the network?",
            anchors=(Target(document="guide", section="S.1.1"),),
            negatives=(Target(document="spa"), Target(document="guide", section="S.2")),
            top_chunk="guide:1",
        ),
        Query(id="no", text="May I bring a horse?", answerable=False),
    ),
    judgments=(
        Judgment(query="q", target=Target(document="guide", span=Span(HOLD, HOLD + 32)), grade=3),
        Judgment(query="q", target=Target(document="spa"), grade=0),
    ),
)
ANSWER = Trace(query="q", text="?", answer="Hold the button.")
CHUNK = Hit("c7", 1.0, document="guide", span=Span(HOLD, HOLD + 15))
SILENT = Trace(query="q", text="?", hits=(Hit("guide", 1.0),))


def cite(*citations: Citation, **fields: object) -> Trace:
    """Return an answer with these citations."""
    return replace(ANSWER, citations=citations, **fields)  # type: ignore[arg-type]


def part(start: int, end: int) -> Citation:
    return Citation("guide", span=Span(start, end))


def value(trace: Trace, measure: str, query: str = "q") -> float | str | None:
    """Return the value of a measure, or the reason why there is none."""
    scores = score_hits(GOLDEN, {query: trace.hits}, [measure], traces={query: replace(trace, query=query)})
    number = scores.value(query, measure)
    return scores.reason(query, measure) if number is None else number


@each(
    ("trace", "measure", "expected"),
    [
        (cite(part(HOLD, HOLD + 4)), "CiteCoverage", 1.0),
        (cite(part(HOLD - 10, HOLD)), "CiteCoverage", 1.0),  # no relevant byte, but the heading of the anchor
        (cite(part(0, 20)), "CiteCoverage", 0.0),
        (cite(part(NOON, NOON + 5), part(HOLD, HOLD + 4)), "CiteCoverage", 1.0),
        (cite(part(NOON, NOON + 5), part(HOLD, HOLD + 4)), "CiteCoverage(first=True)", 0.0),
        (cite(Citation("guide", section="S.1.1")), "CiteCoverage", 1.0),
        (cite(Citation("guide", block="S.1.1.p.Bk002")), "CiteCoverage", 1.0),
        (cite(Citation("guide", section="S.9")), "CiteCoverage", 0.0),  # a section that the document does not have
        (cite(Citation("guide")), "CiteCoverage", 0.0),  # of the whole document: nobody could check it
        (cite(Citation("c7"), hits=(CHUNK,)), "CiteCoverage", 1.0),
        (ANSWER, "CiteCoverage", 0.0),
        (Trace(query="q", text="?", refused=True), "CiteCoverage", 0.0),
        (Trace(query="q", text="?", error="timed out"), "CiteCoverage", 0.0),
        (SILENT, "CiteCoverage", "no answer recorded"),
        (cite(part(NOON, NOON + 5)), "CiteAccuracy", 0.0),  # ten bytes after it, but in the next section
        (cite(part(len(TEXT), len(TEXT) + 5)), "CiteAccuracy", 0.0),  # after the end of the document
        (cite(part(10**6, 10**7)), "CiteAccuracy", 0.0),
        (cite(part(10**6, 10**7), part(HOLD, HOLD + 4)), "CiteAccuracy", 1.0),
        (cite(part(10**6, 10**7)), "AnchorDistance", "cites no document that has an anchor"),
        (cite(Citation("spa", span=Span(10**6, 10**7))), "CiteConfusion", 1.0),  # a wrong place is no excuse
        (cite(part(HOLD - 30, HOLD - 28)), "CiteAccuracy", 0.0),  # in the section above
        (cite(part(HOLD - 8, HOLD - 6)), "CiteAccuracy", 1.0),  # the heading of the section is in the window
        (cite(part(HOLD - 8, HOLD - 6)), "CiteAccuracy(window=5)", 0.0),
        (cite(part(NOON, NOON + 5), part(HOLD, HOLD + 4)), "CiteAccuracy(first=True)", 0.0),
        (ANSWER, "CiteAccuracy", 0.0),
        (Trace(query="q", text="?", refused=True), "CiteAccuracy", "the answer was refused"),
        (Trace(query="q", text="?", error="timed out"), "CiteAccuracy", "nothing retrieved"),
        (SILENT, "CiteAccuracy", "no answer recorded"),
        (cite(part(0, 9)), "CiteFirst", 1.0),
        (ANSWER, "CiteFirst", 0.0),
        (cite(part(HOLD, HOLD + 2)), "AnchorDistance", 0.0),
        (cite(part(0, 9)), "AnchorDistance", 1.0),
        (cite(part(NOON, NOON + 2), part(HOLD, HOLD + 2)), "AnchorDistance", 1.5),  # S.2 is three steps from S.1.1
        (cite(Citation("spa")), "AnchorDistance", "cites no document that has an anchor"),
        (replace(ANSWER, hits=(Hit("a", 1.0, document="guide", span=Span(HOLD, HOLD + 2)),)), "AnchorHit@5", 1.0),
        (SILENT, "AnchorHit@5", 0.0),
        (replace(ANSWER, hits=(CHUNK,)), "SectionTokens@5", 0.5),
        (replace(ANSWER, hits=(Hit("guide", 1.0),)), "SectionTokens@5", 1.0),
        (replace(ANSWER, hits=(Hit("guide:1", 2.0), Hit("guide:2", 1.0))), "TopChunk", 1.0),
        (SILENT, "TopChunk", 0.0),
        (SILENT, "Confusion@5", 0.0),
        (replace(ANSWER, hits=(Hit("spa", 2.0), Hit("guide:chunk:1", 1.0, span=Span(HOLD, 60)))), "Confusion@5", 1.0),
        (replace(ANSWER, hits=(Hit("guide:chunk:1", 2.0, span=Span(HOLD, 60)), Hit("spa", 1.0))), "Confusion@5", 0.0),
        (Trace(query="q", text="?"), "Confusion@5", "nothing retrieved"),
        (cite(Citation("spa"), part(NOON, 99), part(HOLD, 60), part(0, 9)), "CiteConfusion", 0.5),
        (ANSWER, "CiteConfusion", "the answer cites nothing"),
        (ANSWER, "WrongRefusal", 0.0),
        (Trace(query="q", text="?", refused=True), "WrongRefusal", 1.0),
        (Trace(query="q", text="?", error="timed out"), "WrongRefusal", 1.0),
        (SILENT, "WrongRefusal", "no answer recorded"),
    ],
)  # fmt: skip
def test_an_answer_by_hand(trace: Trace, measure: str, expected: float | str) -> None:
    """What is missing has a reason; what failed counts as not answered."""
    assert value(trace, measure) == expected


@each(
    ("trace", "expected"),
    [
        (Trace(query="no", text="?", refused=True), 1.0),
        (Trace(query="no", text="?", answer="Yes.", citations=(Citation("spa"),)), 0.0),
        (Trace(query="no", text="?", error="timed out"), 0.0),
        (Trace(query="no", text="?"), "no answer recorded"),
    ],
)
def test_only_a_refusal_is_right_where_there_is_no_answer(trace: Trace, expected: float | str) -> None:
    """A failure is none."""
    assert value(trace, "RightRefusal", "no") == expected
    assert value(trace, "CiteCoverage", "no") == "unanswerable: the right answer is no answer"
    assert value(replace(trace, query="q"), "RightRefusal", "q") == "the query has an answer"


@each(
    ("measure", "judge"),
    [
        ("Faithfulness", "faithfulness"), ("ContextPrecision", "context_precision"),
        ("ContextRecall", "context_recall"),
        ("ContextPrecisionOwn", "context_precision_without_reference"), ("AnswerRelevance", "answer_relevance"),
        ("AnswerPrecision", "answer_precision"), ("AnswerRecall", "answer_recall"), ("RefusalRightness", "refusal"),
        ("AnswerCorrectness", "answer_correctness"), ("NoiseSensitivity", "noise_sensitivity"),
        ("LexicalSupport", "lexical_support"), ("AnswerSimilarity", "answer_similarity"),
    ],
)  # fmt: skip
def test_what_a_judge_says_is_the_value(measure: str, judge: str) -> None:
    """A reason stays a reason; a question that failed is lost, whatever a judge would say."""
    assert value(replace(ANSWER, opinions={judge: 0.25}), measure) == 0.25
    excused = "the answer was refused"
    assert value(replace(ANSWER, opinions={judge: excused}), measure) == excused
    assert value(replace(ANSWER, opinions={judge: "cut off"}), measure) == "the judge failed: cut off"
    assert value(ANSWER, measure) == "not judged"
    assert value(Trace(query="q", text="?", error="timed out", opinions={judge: 1.0}), measure) == "nothing retrieved"


def test_judges_and_measures_have_the_same_names() -> None:
    """And the same direction."""
    for name, judge in JUDGES.items():
        assert name in Measure.parse(judge.measure).definition.aliases
        assert Measure.parse(judge.measure).definition.higher_is_better is not judge.lower_is_better


def test_silence_is_no_answer_where_others_are_answered() -> None:
    """A system that answers one question, and says nothing to another, has not answered that one."""
    golden = replace(GOLDEN, queries=(*GOLDEN.queries, replace(GOLDEN.queries[0], id="r")))
    traces = {"q": cite(part(HOLD, HOLD + 4)), "r": replace(SILENT, query="r")}
    scores = score_hits(golden, {"q": (), "r": SILENT.hits}, ["CiteCoverage", "WrongRefusal"], traces=traces)
    assert (scores.value("r", "CiteCoverage"), scores.value("r", "WrongRefusal")) == (0.0, 1.0)


def test_bytes_that_a_document_does_not_have_support_nothing() -> None:
    """Not even where the gold is the whole document, in which any other bytes do."""
    gold = Judgment(query="q", target=Target(document="guide"), grade=3)
    for cited, expected in ((part(10**6, 10**7), 0.0), (part(0, 5), 1.0)):
        scores = score_hits(
            replace(GOLDEN, judgments=(gold,)), {"q": ()}, ["CiteCoverage", "CiteAccuracy"], traces={"q": cite(cited)}
        )
        assert set(scores.mean().values()) == {expected}


EVERYTHING = tuple(part(start, start + 10) for start in range(0, 90, 10))
SLICES = tuple(part(HOLD + i, HOLD + i + 1) for i in range(32))
BYTES = "CitePrecision(unit='bytes',window=0)"


@each(
    ("trace", "measure", "expected"),
    [
        (cite(part(HOLD, HOLD + 32)), "CitePrecision", 1.0),
        (cite(part(HOLD, HOLD + 32)), BYTES, 1.0),
        (cite(part(HOLD, HOLD + 4), part(0, 4)), "CitePrecision", 0.5),
        (cite(part(HOLD, HOLD + 4), part(0, 12)), BYTES, 0.25),
        (cite(part(HOLD, HOLD + 4), part(HOLD, HOLD + 4), part(0, 4)), "CitePrecision", 0.5),  # the same twice
        (cite(part(HOLD, HOLD + 16), part(HOLD + 8, HOLD + 24), part(0, 8)), BYTES, 0.75),  # bytes that two cite
        (cite(part(0, len(TEXT))), "CitePrecision(window=0)", 0.0),  # it begins in the section above
        (cite(part(0, len(TEXT))), BYTES, 32 / len(TEXT)),
        (cite(Citation("guide")), "CitePrecision", 0.0),
        (cite(Citation("guide")), BYTES, 32 / len(TEXT)),
        (cite(part(HOLD, HOLD + 4), Citation("ghost")), "CitePrecision", 0.5),  # neither a hit nor a document
        (cite(part(HOLD, HOLD + 4), Citation("ghost")), BYTES, 0.5),
        (cite(*SLICES, Citation("spa")), "CitePrecision", 0.5),  # a document counts once, in however many slices
        (cite(part(HOLD, HOLD + 4), Citation("guide", section="S.9")), "CitePrecision", 0.5),
        (cite(part(HOLD, HOLD + 4), part(10**6, 10**7)), "CitePrecision", 0.5),
        (cite(part(HOLD, HOLD + 4), part(10**6, 10**7)), BYTES, 0.5),
        (cite(part(HOLD, HOLD + 4), Citation("guide", section="S.9")), BYTES, 0.5),
        (cite(Citation("ghost"), Citation("phantom")), "CitePrecision", 0.0),
        (cite(Citation("ghost")), BYTES, 0.0),
        (cite(Citation("c7"), hits=(CHUNK,)), BYTES, 1.0),
        (cite(Citation("c7"), Citation("far"), hits=(CHUNK, Hit("far", 1.0))), BYTES, "the text is not known"),
        (ANSWER, "CitePrecision", 0.0),
        (ANSWER, BYTES, 0.0),
        (Trace(query="q", text="?", refused=True), "CitePrecision", "the answer was refused"),
        (replace(SILENT, query="q"), "CitePrecision", "no answer recorded"),
    ],
)  # fmt: skip
def test_citation_precision_by_hand(trace: Trace, measure: str, expected: float | str) -> None:
    """What is cited and not relevant, or does not exist, counts against the answer."""
    assert value(trace, measure) == pytest.approx(expected)


def test_citing_everything_is_accurate_and_not_precise() -> None:
    """Nine slices of the guide: the relevant sentence, of 32 bytes from byte 41 on, lies in four of them."""
    trace = cite(*EVERYTHING)
    assert value(trace, "CiteAccuracy") == value(trace, "CiteCoverage") == 1.0
    assert value(trace, "CitePrecision(window=0)") == pytest.approx(4 / 9)
    assert value(trace, BYTES) == pytest.approx(32 / 90)
    assert value(cite(*EVERYTHING, *SLICES), BYTES) == value(trace, BYTES)
