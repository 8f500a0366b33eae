"""Hits of any chunker against judgments of any unit: by hand, against plain runs, and whatever the chunks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import log2
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from each import each
from karat import Document, GoldenSet, Hit, InputError, Judgment, Overlap, Query, Span, Target, UsageError, score_hits
from karat.core import SCHEMES, Measure, document_of
from strategies import every_measure, quick

WIFI, SPA, POOL = (Target(document=name) for name in ("wifi", "spa", "pool"))


def golden(*judged: tuple[Target, int], **fields: Any) -> GoldenSet:
    """Return a golden set with one query, q, and its judgments."""
    judgments = tuple(Judgment(query="q", target=target, grade=grade) for target, grade in judged)
    return GoldenSet(queries=(Query(id="q", text="?"),), judgments=judgments, **fields)


def part(document: str, start: int, end: int) -> Target:
    return Target(document=document, span=Span(start, end))


def chunks(*spans: tuple[str, int, int]) -> dict[str, list[Hit]]:
    """Return hits for q, best first, named by their document and their place in the list."""
    return {
        "q": [
            Hit(f"{document}:chunk:{i}", -float(i), span=Span(start, end))
            for i, (document, start, end) in enumerate(spans)
        ]
    }


def means(golden: GoldenSet, hits: Any, measures: Sequence[str], **options: Any) -> list[float]:
    return list(score_hits(golden, hits, measures, **options).mean().values())


# --- a hit and its document -------------------------------------------------------------------------------------------


@each(
    ("id", "scheme", "document"),
    [
        ("wifi:chunk:0", "chunk", "wifi"),
        ("wifi:chunk:12", "chunk", "wifi"),
        ("a:chunk:1:chunk:2", "chunk", "a:chunk:1"),  # the last one is the chunk's
        ("wifi:chunk:", "chunk", "wifi:chunk:"),
        ("wifi:chunk:x", "chunk", "wifi:chunk:x"),
        (":chunk:3", "chunk", ":chunk:3"),
        ("chunk-refund-policy:0", "chunk", "chunk-refund-policy:0"),
        ("chunk-refund-policy:0", "prefix", "refund-policy"),
        ("refund-policy", "prefix", "refund-policy"),
        ("docA#s03#p002", "path", "docA"),
        ("docA", "path", "docA"),
        ("docA|r=1a2b3c4d|s=4.2|p=000|b=011", "canonical", "docA"),
        ("wifi:chunk:0", "opaque", "wifi:chunk:0"),
    ],
)
def test_the_document_of_a_chunk_id(id: str, scheme: str, document: str) -> None:
    """Each scheme finds the document in its own ids; any other id is a document of its own."""
    assert document_of(id, scheme) == document
    if scheme == "chunk":
        assert Hit(id, 1.0).document == document


def test_an_unknown_scheme_names_near_misses() -> None:
    """A misspelt scheme is answered with the one that was meant, or with all."""
    with pytest.raises(UsageError, match=r"unknown scheme of chunk ids 'chunks', did you mean 'chunk'\?"):
        document_of("a", "chunks")
    with pytest.raises(UsageError, match=f"'zz'; known: {', '.join(SCHEMES)}"):
        document_of("a", "zz")


def test_what_is_given_wins_over_the_id() -> None:
    """A document that is named is not looked for in the id; a hit is the whole only if nothing says otherwise."""
    assert Hit("wifi:chunk:0", 1.0, document="other").document == "other"
    assert Hit("wifi", 1.0).whole
    empty_span = Hit("wifi", 1.0, span=Span(4, 4))
    for hit in (Hit("wifi:chunk:0", 1.0), empty_span, Hit("wifi", 1.0, section="S.1"), Hit("wifi", 1.0, block="B")):
        assert not hit.whole


# --- rules of overlap -------------------------------------------------------------------------------------------------


@each(
    ("hit", "gold", "shares"),
    [
        # bytes in common, by the shorter, the judged span, the hit, and either
        ((0, 100), (90, 110), {"min": 10 / 20, "gold": 10 / 20, "hit": 10 / 100, "iou": 10 / 110}),
        ((90, 110), (0, 100), {"min": 10 / 20, "gold": 10 / 100, "hit": 10 / 20, "iou": 10 / 110}),
        ((20, 30), (0, 40), {"min": 10 / 10, "gold": 10 / 40, "hit": 10 / 10, "iou": 10 / 40}),
        ((0, 40), (20, 30), {"min": 10 / 10, "gold": 10 / 10, "hit": 10 / 40, "iou": 10 / 40}),
        ((5, 15), (5, 15), {"min": 1.0, "gold": 1.0, "hit": 1.0, "iou": 1.0}),
        ((0, 3), (2, 12), {"min": 1 / 3, "gold": 1 / 10, "hit": 1 / 3, "iou": 1 / 12}),
    ],
)
def test_rules_by_hand(hit: tuple[int, int], gold: tuple[int, int], shares: dict[Any, float]) -> None:
    """A hit holds a span up to exactly the share that both have in common, and not a hair beyond."""
    first, other = Span(*hit), Span(*gold)
    assert Overlap("any").holds(first, other)
    for rule, share in shares.items():
        assert Overlap(rule, share).holds(first, other), rule
        if share < 1:
            assert not Overlap(rule, share + 1e-9).holds(first, other), rule


@each("rule", ["any", "min", "gold", "hit", "iou"])
def test_neighbours_and_empty_spans_hold_nothing(rule: Any) -> None:
    """Spans that only touch have no byte in common, and an empty span has none at all."""
    for first, other in [
        ((0, 10), (10, 20)),
        ((10, 20), (0, 10)),
        ((0, 10), (5, 5)),
        ((5, 5), (0, 10)),
        ((5, 5), (5, 5)),
    ]:
        assert not Overlap(rule, 1e-9).holds(Span(*first), Span(*other))


def test_overlap_says_what_it_is_and_refuses_what_makes_no_sense() -> None:
    """The rule can be printed beside a score; a threshold of 0 would let every chunk hold everything."""
    assert [str(Overlap()), str(Overlap("any"))] == ["min >= 0.5", "any"]
    with pytest.raises(UsageError, match="overlap rule 'most'; choose from any, min, gold, hit, iou"):
        Overlap("most")  # type: ignore[arg-type]
    for threshold in (0.0, -0.5, 1.5, float("nan")):
        with pytest.raises(UsageError, match="overlap threshold"):
            Overlap("min", threshold)


@st.composite
def covers(draw: st.DrawFn, length: int = 60) -> list[Span]:
    """Chunks of a text that leave no byte out: they tile it, and may reach into their neighbours."""
    cuts = draw(st.sets(st.integers(1, length - 1), max_size=20))
    bounds = [0, *sorted(cuts), length]
    reach = draw(st.integers(0, 8))
    return [Span(max(0, a - reach), min(length, b + reach)) for a, b in pairwise(bounds)]


@st.composite
def spans(draw: st.DrawFn, length: int = 60) -> Span:
    start = draw(st.integers(0, length - 1))
    return Span(start, draw(st.integers(start + 1, length)))


@quick
@given(cover=covers(), gold=spans())
def test_by_default_no_chunker_loses_a_span(cover: list[Span], gold: Span) -> None:
    """Where chunks leave no byte out, at least one of them holds the judged span, so that the rule survives them."""
    assert any(Overlap().holds(chunk, gold) for chunk in cover)


def test_half_is_the_highest_threshold_that_loses_no_span() -> None:
    """A span cut in the middle by two longer chunks gives each exactly half of it."""
    halves, gold = [Span(0, 100), Span(100, 200)], Span(90, 110)
    assert all(Overlap("min", 0.5).holds(half, gold) for half in halves)
    assert not any(Overlap("min", 0.5 + 1e-9).holds(half, gold) for half in halves)


@each(
    ("rule", "size"),
    [("gold", 4), ("iou", 4), ("hit", 50), ("iou", 50)],
)
def test_the_other_rules_lose_spans(rule: Any, size: int) -> None:
    """Half of the judged span is in no chunk of 4 bytes, and a span of 10 bytes is half of no chunk of 50."""
    tiles = [Span(start, start + size) for start in range(0, 100, size)]
    gold = Span(41, 51)
    assert not any(Overlap(rule, 0.5).holds(tile, gold) for tile in tiles)
    assert any(Overlap().holds(tile, gold) for tile in tiles)


# --- unit: document ---------------------------------------------------------------------------------------------------


def test_chunks_collapse_to_their_documents() -> None:
    """Documents stand where their best chunk stands: wifi 1, gym 2, spa 3, and the others leave no gap."""
    hits = chunks(("wifi", 0, 10), ("wifi", 10, 20), ("gym", 0, 10), ("wifi", 20, 30), ("spa", 0, 10))
    ours = golden((WIFI, 3), (SPA, 2), (POOL, 2))
    assert means(ours, hits, ["P@3", "R@3", "AP", "DupRate", "DupRate@3"]) == pytest.approx(
        [2 / 3, 2 / 3, (1 / 1 + 2 / 3) / 3, 2 / 5, 1 / 3]
    )
    assert means(ours, hits, ["nDCG"]) == pytest.approx([(3 + 2 / log2(4)) / (3 + 2 / log2(3) + 2 / log2(4))])


def test_a_document_has_the_best_grade_of_its_parts() -> None:
    """Parts graded 1 and 3, and the document itself graded 2, make a document of grade 3, whatever chunk was found."""
    ours = golden((part("wifi", 0, 10), 1), (part("wifi", 50, 60), 3), (WIFI, 2), (part("spa", 0, 9), 1))
    assert means(ours, chunks(("wifi", 20, 30), ("spa", 0, 9)), ["DCG", "NumRel"]) == pytest.approx(
        [3 + 1 / log2(3), 1]
    )


def test_classes_count_once() -> None:
    """Either member brings the class in, with the best grade of both; the second is a duplicate."""
    ours = golden((WIFI, 1), (Target(document="wifi-2025"), 3), (SPA, 2), classes={"net": ("wifi", "wifi-2025")})
    hits = chunks(("wifi", 0, 9), ("wifi-2025", 0, 9), ("spa", 0, 9))
    for unit in ("document", "target"):
        assert means(ours, hits, ["NumRel", "NumRet", "DCG", "DupRate"], unit=unit) == pytest.approx(
            [2, 2, 3 + 2 / log2(3), 1 / 3]
        )


def test_a_class_may_have_the_name_of_another_document() -> None:
    """The class spa, of wifi and pool, is not the document spa."""
    ours = golden((WIFI, 3), (SPA, 2), classes={"spa": ("wifi", "pool")})
    assert means(ours, chunks(("spa", 0, 9)), ["R@5", "NumRel"]) == [1 / 2, 2]


def test_order_is_score_then_as_given() -> None:
    """The highest score comes first wherever it stands; equal scores keep their order, whatever the ids."""
    ours = golden((WIFI, 3))
    ranked = [Hit("z", 1.0), Hit("wifi", 1.0), Hit("a", 1.0), Hit("top", 2.0)]
    assert means(ours, {"q": ranked}, ["RR"]) == [1 / 3]


@pytest.mark.slow
@quick
@given(
    grades=st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3), min_size=1),
    ranked=st.lists(st.tuples(st.sampled_from("abcdexy"), st.integers(0, 9)), max_size=30),
    classes=st.sampled_from([{}, {"ab": ("a", "b")}, {"one": ("a", "c", "x"), "two": ("d",)}]),
)
def test_documents_are_scored_like_a_run_of_their_best_scores(
    grades: dict[str, int], ranked: list[tuple[str, int]], classes: dict[str, tuple[str, ...]]
) -> None:
    """What ``karat.score`` gives for the documents in the order of their first chunk is what hits give."""
    ours = golden(
        *((Target(document=document), grade) for document, grade in grades.items()), classes=classes, relevant=1
    )
    hits = [Hit(f"{document}:chunk:{n}", -float(i)) for i, (document, n) in enumerate(ranked)]
    run = {"q": list(dict.fromkeys(document for document, _ in ranked))}
    measures = [measure for measure in every_measure() if measure.name not in {"SpanR", "SpanP", "SpanIoU", "DupRate"}]
    plain = karat.score({"q": grades}, run, measures, classes=ours.class_of)
    assert score_hits(ours, {"q": hits}, measures).to_dicts() == plain.to_dicts()


# --- unit: target -----------------------------------------------------------------------------------------------------


def test_spans_are_found_by_overlap() -> None:
    """Of two spans the first chunk holds one, the second neither, the third the other half of nothing new."""
    ours = golden((part("wifi", 0, 20), 3), (part("wifi", 100, 120), 2))
    hits = chunks(("wifi", 0, 40), ("wifi", 40, 80), ("wifi", 80, 112), ("wifi", 112, 140), ("spa", 0, 20))
    # ranks: 0-20 | chunk 1 | 100-120 (12 of 20 bytes) | 112-140 has 8 of 20: not enough | spa
    measures = ["R@3", "P@3", "RR", "AP", "NumRet", "DupRate"]
    assert means(ours, hits, measures, unit="target") == pytest.approx([1, 2 / 3, 1, (1 + 2 / 3) / 2, 5, 0])
    strict = means(ours, hits, measures, unit="target", overlap=Overlap("gold", 0.7))
    assert strict == pytest.approx([1 / 2, 1 / 3, 1, 1 / 2, 5, 0])
    every = means(ours, hits, measures, unit="target", overlap=Overlap("any"))
    assert every == pytest.approx([1, 2 / 3, 1, (1 + 2 / 3) / 2, 4, 1 / 5])  # 112-140 now holds what is found already


def test_one_hit_can_hold_several_targets() -> None:
    """They stand at successive ranks, the best grade first; the hit after them begins below."""
    ours = golden((part("wifi", 0, 10), 1), (part("wifi", 20, 30), 3), (WIFI, 2), (SPA, 3))
    hits = chunks(("wifi", 0, 40), ("spa", 0, 10))
    # ranks: 20-30 (3), wifi (2), 0-10 (1), spa (3)
    scores = score_hits(ours, hits, ["DCG", "NumRet", "P@2", "DupRate"], unit="target").mean()
    assert list(scores.values()) == pytest.approx([3 + 2 / log2(3) + 1 / log2(4) + 3 / log2(5), 4, 1, 0])


def test_whole_documents_are_found_by_any_of_their_chunks() -> None:
    """A judged document is credited by the first chunk of it, with or without a span; later ones are duplicates."""
    hits = {"q": [Hit("spa:chunk:0", 3.0), Hit("wifi:chunk:4", 2.0), Hit("wifi:chunk:1", 1.0, span=Span(0, 9))]}
    assert means(golden((WIFI, 2)), hits, ["RR", "NumRet", "DupRate"], unit="target") == [1 / 2, 2, 1 / 3]


def test_a_chunk_that_holds_nothing_counts_under_its_own_id() -> None:
    """Two chunks beside the gold are two results that are not relevant; the same id again is a duplicate."""
    ours = golden((part("wifi", 0, 10), 2))
    hits = chunks(("wifi", 50, 60), ("wifi", 60, 70), ("wifi", 0, 10))["q"]
    assert means(ours, {"q": hits}, ["RR", "NumRet"], unit="target") == [1 / 3, 3]
    assert means(ours, {"q": [hits[0], *hits]}, ["RR", "NumRet", "DupRate"], unit="target") == [1 / 3, 3, 1 / 4]


def test_an_id_that_reads_like_a_target_is_none() -> None:
    """A chunk of spa called wifi, or wifi@0-10, is not credited with the target that is written so."""
    ours = golden((WIFI, 3), (part("wifi", 0, 10), 3))
    names = ("wifi", "wifi@0-10", "('document', 'wifi')")
    hits = [Hit(name, 1.0, document="spa", span=Span(0, 10)) for name in names]
    assert means(ours, {"q": hits}, ["R@9", "NumRet"], unit="target") == [0, 3]


SECTION = Target(document="wifi", section="S.2")
BLOCK = Target(document="wifi", block="S.2.p.Bk003")
OUTLINE = {SECTION: Span(100, 200), BLOCK: Span(150, 170)}


def test_sections_and_blocks_are_found_by_name() -> None:
    """Without spans of sections and blocks a hit finds those that it names."""
    ours = golden((SECTION, 2), (BLOCK, 3))
    right = Hit("1", 3.0, document="wifi", section="S.2", block="S.2.p.Bk003")
    beside = Hit("2", 4.0, document="wifi", section="S.3", block="S.3.p.Bk001")
    assert means(ours, {"q": [right, beside]}, ["DCG"], unit="target") == pytest.approx([3 / log2(3) + 2 / log2(4)])


def test_sections_and_blocks_are_found_by_their_resolved_spans() -> None:
    """With spans the same rule holds for all parts, whatever the hits name; names help where a hit has no span."""
    ours = golden((SECTION, 2), (BLOCK, 3))
    hits = chunks(("wifi", 180, 240), ("wifi", 140, 180), ("wifi", 90, 140))
    # 180-240 has 20 of 60 bytes in the section; 140-180 is all in it, and holds the block; 90-140 has 40 of its 50.
    options = {"unit": "target", "resolve": OUTLINE.get}
    assert means(ours, hits, ["DCG", "DupRate"], **options) == pytest.approx([3 / log2(3) + 2 / log2(4), 1 / 3])
    named = {"q": [Hit("1", 1.0, document="wifi", section="S.2", block="S.2.p.Bk003")]}
    assert means(ours, named, ["R@5"], **options) == [1]


def test_a_document_holds_all_of_its_parts() -> None:
    """A hit that is the whole document is credited with its spans and sections; other documents' are not its own."""
    ours = golden((part("wifi", 0, 20), 3), (SECTION, 2), (part("spa", 0, 20), 2))
    hits = {"q": [Hit("wifi", 1.0)]}
    assert means(ours, hits, ["R@5"], unit="target") == [2 / 3]
    whole = {Target(document="wifi"): Span(0, 1000), **OUTLINE}
    assert means(ours, hits, ["R@5"], unit="target", resolve=whole.get) == [2 / 3]
    # By its own length a document of 1,000 bytes holds neither 20 nor 100 of them.
    assert means(ours, hits, ["R@5"], unit="target", resolve=whole.get, overlap=Overlap("hit", 0.2)) == [0]


@each(
    ("target", "hit", "overlap"),
    [
        (part("wifi", 0, 20), Hit("wifi:chunk:0", 1.0), Overlap()),
        (part("wifi", 0, 20), Hit("wifi:chunk:0", 1.0, section="S.2"), Overlap()),
        (replace(SECTION, span=Span(100, 110)), Hit("wifi:chunk:0", 1.0, section="S.2"), Overlap()),
        (part("wifi", 0, 20), Hit("wifi", 1.0), Overlap("iou")),
        (SECTION, Hit("wifi", 1.0), Overlap("hit")),
        (SECTION, Hit("wifi:chunk:0", 1.0, span=Span(0, 9)), Overlap()),
        (SECTION, Hit("wifi:chunk:0", 1.0, block="S.2.p.Bk003"), Overlap()),
        (BLOCK, Hit("wifi:chunk:0", 1.0, section="S.2"), Overlap()),
    ],
)
def test_what_cannot_be_told_is_an_error(target: Target, hit: Hit, overlap: Overlap) -> None:
    """A hit that may or may not hold a target is not scored as if it did not; as a document it counts."""
    ours = golden((target, 3))
    with pytest.raises(
        InputError, match=r"query 'q': cannot tell whether hit 'wifi\S*' holds 'wifi\S+'; give it a span"
    ):
        score_hits(ours, {"q": [hit]}, ["R@5"], unit="target", overlap=overlap)
    assert means(ours, {"q": [hit]}, ["R@5"], overlap=overlap) == [1]
    assert means(golden((SPA, 2), (target, 3)), {"q": [Hit("spa:chunk:0", 1.0)]}, ["R@5"], unit="target") == [1 / 2]


# --- what counts as relevant, and other options -----------------------------------------------------------------------


def test_relevant_is_what_the_golden_set_says() -> None:
    """Grade 1 is not relevant where the set says 2; the definitions show it, and measures without rel stay."""
    ours = golden((WIFI, 1), (SPA, 2))
    scores = score_hits(ours, chunks(("wifi", 0, 9), ("spa", 0, 9)), ["RR", "R(rel=3)@5", "nDCG@5", "NumRet"])
    assert scores.definitions == {"RR": "RR(rel=2)", "R(rel=3)@5": "R(rel=3)@5", "nDCG@5": "nDCG@5", "NumRet": "NumRet"}
    assert scores.value("q", "RR") == 1 / 2
    lenient = score_hits(replace(ours, relevant=1), chunks(("wifi", 0, 9)), ["RR", "NumRet", "NumRet(rel=2)"])
    assert lenient.definitions["RR"] == "RR"
    assert list(lenient.mean().values()) == [1, 1, 0]


@each(
    ("conventions", "computed"),
    [
        ("karat", ["P(rel=3)@5", "R(rel=3)@5"]),
        ("fit", ["P(rel=2)@5", "R(rel=3)@5"]),
        ("agent", ["P(rel=2)@5", "R(rel=2)@5"]),
        ("beluga", ["SetP(rel=3)@5", "R(rel=3)@5"]),
    ],
)
def test_conventions_that_say_what_is_relevant_are_heard(conventions: str, computed: list[str]) -> None:
    """The golden set fills in what the conventions leave open."""
    scores = score_hits(golden((WIFI, 3), relevant=3), chunks(("wifi", 0, 9)), ["P@5", "R@5"], conventions=conventions)
    assert list(scores.definitions.values()) == computed


def test_a_written_default_is_refused_where_it_means_something_else() -> None:
    """R(rel=1) and R are one name: where the golden set makes it grade 2, asking for grade 1 is an error that helps."""
    ours = golden((WIFI, 1))
    message = (
        r"measure R\(rel=1\)@5: in this golden set relevant means grade 2 and above; .*replace\(golden, relevant=1\)"
    )
    with pytest.raises(UsageError, match=message):
        score_hits(ours, chunks(("wifi", 0, 9)), ["R(rel=1)@5"])
    assert means(replace(ours, relevant=1), chunks(("wifi", 0, 9)), ["R(rel=1)@5"]) == [1]
    assert means(golden((WIFI, 2)), chunks(("wifi", 0, 9)), ["R(rel=2)@5"]) == [1]
    with pytest.raises(UsageError, match="conventions fit decide rel otherwise"):
        score_hits(ours, chunks(("wifi", 0, 9)), ["P(rel=1)@5"], conventions="fit")


def test_measures_may_be_left_out_or_come_one_by_one() -> None:
    """Without measures the conventions' own are computed; an iterator is read once; one name needs no list."""
    ours, hits = golden((WIFI, 2)), chunks(("wifi", 0, 9))
    assert score_hits(ours, hits).measures == karat.score({"q": {"wifi": 1}}, {"q": ["wifi"]}).measures
    assert score_hits(ours, hits, iter(["R@5", "P@1"])).mean() == {"R@5": 1.0, "P@1": 1.0}
    assert score_hits(ours, hits, "R@5", name="mine").name == "mine"
    assert score_hits(ours, hits, Measure.parse("R@5")).mean() == {"R@5": 1.0}


def test_queries_without_hits_and_without_judgments() -> None:
    """A query that is not answered counts as 0 and is named; one without judgments is undefined; others are counted."""
    queries = tuple(Query(id=name, text="?") for name in ("q", "silent", "unjudged"))
    judgments = tuple(Judgment(query=name, target=WIFI, grade=2) for name in ("q", "silent"))
    ours = GoldenSet(queries=queries, judgments=judgments)
    hits = {"q": [Hit("wifi", 1.0)], "unjudged": [Hit("wifi", 1.0)], "stranger": [Hit("wifi", 1.0)]}
    scores = score_hits(ours, hits, ["R@5"])
    assert [scores.value(query, "R@5") for query in queries_of(scores)] == [1.0, 0.0, None]
    assert scores.not_in_run == ("silent",)
    assert scores.not_judged == 1
    assert score_hits(ours, hits, ["R@5"], missing="exclude", undefined="zero").mean() == {"R@5": 1 / 2}


def queries_of(scores: karat.Scores) -> tuple[str, ...]:
    assert scores.queries == ("q", "silent", "unjudged")
    return scores.queries


def test_hits_are_not_changed() -> None:
    """Ranking sorts a copy."""
    hits = {"q": [Hit("a", 1.0), Hit("wifi", 2.0)]}
    before = {"q": list(hits["q"])}
    score_hits(golden((WIFI, 2)), hits, ["R@5"])
    assert hits == before


@each(
    ("hits", "message"),
    [
        (
            {"other": [Hit("a", 1.0)]},
            "hits: no query in common with golden set 'golden'; the hits have 'other'; .* 'q'",
        ),
        ({}, "no query in common with golden set 'golden'; the hits have none"),
        ({"q": [Hit("a", float("nan"))]}, "hits: query 'q', hit 'a': score nan is not a finite number"),
        ({"q": [Hit("a", float("inf"))]}, "score inf is not a finite number"),
        (
            {"q": [Hit("a", 1.0, span=Span(9, 3))]},
            "hits: query 'q', hit 'a': 9-3 is not a span; a span is a range of bytes",
        ),
        ({"q": [Hit("a", 1.0, span=Span(-1, 3))]}, "-1-3 is not a span"),
        ({"q": [Hit("a", 1.0, span=Span(0, 10**30))]}, "is not a span"),
    ],
)
def test_bad_hits_are_named(hits: Any, message: str) -> None:
    """A mistake in the hits is told with its query and id."""
    with pytest.raises(InputError, match=message):
        score_hits(golden((WIFI, 2)), hits, ["R@5"])


def test_a_hit_may_be_any_object() -> None:
    """An object or a record with an id or a document, and a score, is a hit; its span and section count too."""

    class Found(NamedTuple):
        score: float
        id: str | None = None
        document: str | None = None
        span: Span | None = None
        content: str = ""

    ours = golden((part("wifi", 0, 10), 3), (SPA, 2))
    expected = score_hits(ours, {"q": [Hit("gym", 3.0), Hit("7", 2.0, "wifi", Span(0, 10)), Hit("spa", 1.0)]})
    objects = [Found(1.0, document="spa"), Found(2.0, "7", "wifi", Span(0, 10), "free"), Found(3.0, "gym:chunk:4")]
    records = [{"id": item.id, "document": item.document, "score": item.score, "span": item.span}
               for item in objects]  # fmt: skip
    for hits in (objects, records):
        assert score_hits(ours, {"q": hits}).to_dicts() == expected.to_dicts()
        assert score_hits(ours, {"q": hits}, ["RR"], unit="target").mean() == {"RR": 0.5}
    for wrong in (Found(1.0), {"id": "spa"}, object()):
        with pytest.raises(UsageError, match=r"query 'q' has .* for a hit; pass karat"):
            score_hits(ours, {"q": [wrong]})


def test_bad_calls_are_named() -> None:
    """Options that make no sense for hits, unknown units and ids in place of hits are refused."""
    ours, hits = golden((WIFI, 2)), chunks(("wifi", 0, 9))
    bad: Any
    for bad in ({"classes": {"a": "b"}}, {"format": "trec"}):
        with pytest.raises(UsageError, match="takes no classes and no format"):
            score_hits(ours, hits, ["R@5"], **bad)
    bad = "chunk"
    with pytest.raises(UsageError, match="unit='chunk'; choose from document, target"):
        score_hits(ours, hits, ["R@5"], unit=bad)
    bad = {"q": ["wifi"]}
    with pytest.raises(UsageError, match=r"query 'q' has 'wifi' for a hit; pass karat.Hit\(id, score\), or an object"):
        score_hits(ours, bad, ["R@5"])
    with pytest.raises(InputError, match=r"golden: target 'wifi\S*': 9-3 is not a span"):
        score_hits(golden((part("wifi", 9, 3), 2)), hits, ["R@5"], unit="target")


# --- whatever the chunks ----------------------------------------------------------------------------------------------

FROM_0_TO_1 = [
    measure
    for measure in every_measure()
    if re.search(r"^ *Range: 0 (to|or) 1\b", measure.definition.doc, re.MULTILINE)
]
targets = st.one_of(
    st.sampled_from([WIFI, SPA, Target(document="wifi", section="S.2"), Target(document="spa", block="B1")]),
    st.builds(lambda document, span: Target(document=document, span=span), st.sampled_from(["wifi", "spa"]), spans()),
)
any_hits = st.builds(
    lambda name, document, span, score: Hit(name, score, document=document, span=span, section="S.2", block="B1"),
    st.sampled_from(["1", "2", "3", "wifi", "spa"]),
    st.sampled_from(["wifi", "spa", "gym"]),
    spans(),
    st.integers(0, 3).map(float),
)


@pytest.mark.slow
@quick
@given(
    judged=st.dictionaries(targets, st.integers(0, 3), min_size=1, max_size=6),
    ranked=st.lists(any_hits, max_size=25),
    unit=st.sampled_from(["document", "target"]),
    overlap=st.builds(Overlap, st.sampled_from(["any", "min", "gold", "hit", "iou"]), st.sampled_from([0.1, 0.5, 1.0])),
)
def test_nothing_exceeds_one(judged: dict[Target, int], ranked: list[Hit], unit: Any, overlap: Overlap) -> None:
    """Chunks may overlap, repeat each other and hold several targets: no share is ever more than all."""
    assert len(FROM_0_TO_1) > 30
    ours = golden(*judged.items(), classes={"all": ("wifi", "gym")})
    scores = score_hits(ours, {"q": ranked}, FROM_0_TO_1, unit=unit, overlap=overlap, resolve=OUTLINE.get)
    values = [scores.value("q", measure) for measure in FROM_0_TO_1]
    assert all(value is None or 0 <= value <= 1 for value in values)


@pytest.mark.slow
@quick
@given(cover=covers(), gold=st.lists(spans(), min_size=1, max_size=4, unique=True), seed=st.randoms())
def test_a_perfect_retriever_stays_perfect_whatever_the_chunker(cover: list[Span], gold: list[Span], seed: Any) -> None:
    """All chunks of the right document, in any order, are 1.0 for documents; and no target is out of their reach."""
    ours = golden(*((Target(document="wifi", span=span), 3) for span in gold))
    hit_list = [Hit(f"wifi:chunk:{i}", 2.0, span=span) for i, span in enumerate(cover)]
    seed.shuffle(hit_list)
    hits = {"q": [*hit_list, Hit("spa:chunk:0", 1.0, span=Span(0, 60))]}
    measures = ["P@1", "R@5", "RR", "AP", "nDCG@5", "Rprec", "Success@1"]
    assert means(ours, hits, measures) == [1.0] * len(measures)
    assert means(ours, hits, ["R@1000", "SpanR"], unit="target") == [1.0, 1.0]


def test_documents_of_the_golden_set_are_not_needed() -> None:
    """Judgments and hits are enough; texts are read by those who make spans."""
    ours = golden((WIFI, 2), documents=(Document(id="wifi", text="reset the router"),))
    assert means(ours, chunks(("wifi", 0, 9)), ["R@5"]) == means(golden((WIFI, 2)), chunks(("wifi", 0, 9)), ["R@5"])
