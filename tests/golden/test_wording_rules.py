"""Rules on wording, each on sets that break it and on sets that only look as if they did."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import Document, GoldenSet, Judgment, Query, Session, Target
from karat.golden import read
from karat.golden.lint import _wording_rules
from karat.golden.lint._asking import repeats
from karat.golden.lint._copying import Source
from karat.golden.lint._frames import frames
from karat.golden.lint._paraphrases import idle, strays
from karat.golden.lint._rule import RULES, Finding, Subject
from karat.text._words import content, folded, letters, numbers, singular, words
from public_data import find_collection
from strategies import quick

GUIDE = (
    "To reset the router, hold the small button on the back of the access point for ten seconds, then wait a minute."
)


def golden(queries: dict[str, str], relevant: dict[str, list[str]], **documents: str) -> GoldenSet:
    """Return a set from texts by id, with the relevant documents of each query."""
    return GoldenSet(
        documents=tuple(Document(id=name, text=text) for name, text in documents.items()),
        queries=tuple(Query(id=name, text=text) for name, text in queries.items()),
        judgments=tuple(
            Judgment(query=query, target=Target(document=name), grade=3)
            for query, names in relevant.items()
            for name in names
        ),
    )


def look(name: str, golden: GoldenSet) -> list[Finding]:
    """Apply one rule."""
    return list(RULES[name].check(Subject(golden=golden)))


def places_of(name: str, golden: GoldenSet) -> list[tuple[str, ...]]:
    """Apply one rule, and return the ids of each finding."""
    return [finding.where for finding in look(name, golden)]


def set_of(*texts: str) -> GoldenSet:
    """Return a set of queries q0, q1 ... without judgments."""
    return GoldenSet(queries=tuple(Query(id=f"q{i}", text=text) for i, text in enumerate(texts)))


# Words


@each(
    ("text", "expected"),
    [
        ("", []),
        ("Wi-Fi: 5 GHz!", ["wi", "fi", "5", "ghz"]),
        ("STRAẞE Straße", ["strasse", "strasse"]),
        ("\uff37\uff29\uff26\uff29", ["wifi"]),
        ("cafe\u0301", ["café"]),
        ("入住时间 check-in", ["入", "住", "时", "间", "check", "in"]),
    ],
)
def test_words_are_folded(text: str, expected: list[str]) -> None:
    """Case, width, composition and punctuation do not count; where no spaces are written each character is a word."""
    assert words(text) == expected


@each(
    ("text", "expected"),
    [
        ("What is the policy on pets?", ["policy", "pet"]),
        ("Why can't guests cancel?", ["not", "guest", "cancel"]),
        ("Why can guests not cancel?", ["guest", "not", "cancel"]),
        ("Wie storniere ich?", ["wie", "storniere", "ich"]),
    ],
)
def test_content_words(text: str, expected: list[str]) -> None:
    """English grammar goes, plurals too, and every way of saying no stays; other languages keep all their words."""
    assert content(text) == expected


def test_singulars_of_short_words_stay() -> None:
    """An ending is taken only where a word remains."""
    plurals = ["bus", "gas", "is", "ties", "keys", "boss", "policies"]
    assert [singular(word) for word in plurals] == ["bus", "gas", "is", "tie", "key", "boss", "policy"]


@each(
    ("text", "expected"),
    [
        ("between 3 pm and 4:30 p.m.", {"15", "16", "16:30"}),
        ("12 am, 12 pm", {"0", "12"}),
        ("1,200.50 euros for two", {"1,200.50", "2"}),
        ("room 12345678 am", {"12345678"}),
        ("none at all", set()),
    ],
)
def test_numbers(text: str, expected: set[str]) -> None:
    """Digits, words up to twelve and both clocks."""
    assert numbers(text) == expected


@quick
@given(st.text(max_size=30))
def test_folding_twice_changes_nothing(text: str) -> None:
    """What is folded is made of words that fold to themselves."""
    assert folded(folded(text)) == folded(text)
    assert all(len(run) == 3 or run == f" {run.strip()} " for run in letters(text))


# copied-query


@each(
    "query",
    [
        "hold the small button on the back of the access point for ten seconds",
        "Where do I hold the small button on the back of the access point when guests complain about something else?",
        "button on the back of the access point",
        "Reset the router: hold the small button!",
    ],
)
def test_text_of_the_document_is_copied(query: str) -> None:
    """Eight words in a row with five of content, or all of a query of five words."""
    findings = look("copied-query", golden({"q": query}, {"q": ["guide"]}, guide=GUIDE))
    assert [(finding.where, finding.count) for finding in findings] == [(("q",), 1)]
    assert "from guide" in findings[0].message


@each(
    "query",
    [
        "reset router",
        "access point",
        "reset the router",
        "The internet box does not react, which button makes it start again?",
        "how long do I hold the button to reset the router",
        "on the back of the",
    ],
)
def test_keywords_and_own_words_are_not_copied(query: str) -> None:
    """A query of a few words has to match; a long one may share a phrase; mere grammar says nothing."""
    assert look("copied-query", golden({"q": query}, {"q": ["guide"]}, guide=GUIDE)) == []


def test_only_relevant_documents_count() -> None:
    """What stands in a document that nobody found relevant was not copied from the answer."""
    query = "hold the small button on the back of the access point"
    assert look("copied-query", golden({"q": query}, {}, guide=GUIDE)) == []
    assert look("copied-query", golden({"q": query}, {"q": ["gone"], "lost": ["guide"]}, guide=GUIDE)) == []


def test_a_title_can_be_copied() -> None:
    """The title is text of the document too."""
    base = golden({"q": "Resetting the routers of the annexe"}, {"q": ["guide"]}, guide=GUIDE)
    titled = replace(base, documents=(replace(base.documents[0], title="Resetting the routers of the annexe"),))
    assert look("copied-query", base) == []
    assert places_of("copied-query", titled) == [("q",)]


def test_a_run_that_is_not_in_a_row_is_not_copied() -> None:
    """Three-word runs that stand apart in the document make no long one."""
    text = "a1 a2 a3 . a2 a3 a4 . a3 a4 a5 . a4 a5 a6 . a5 a6 a7 . a6 a7 a8"
    query = "b1 b2 b3 b4 b5 a1 a2 a3 a4 a5 a6 a7 a8 c1 c2 c3 c4 c5"
    assert not Source(text).gave(query)
    assert Source(text + " a1 a2 a3 a4 a5 a6 a7 a8").gave(query)


def test_characters_count_half_where_there_are_no_spaces() -> None:
    """Six Chinese characters are a keyword query of three words; a copied sentence is still found."""
    text = "客人可以在到达前一天的晚上六点之前免费取消预订"
    assert not Source(text).gave("免费取消预订")
    assert Source(text).gave("在到达前一天的晚上六点之前免费取消")


# template-query

TOPICS = "pet pool spa gym bar parking smoking towel key minibar noise visitor".split()  # noqa: SIM905


def test_fillings_of_one_frame_are_told_with_their_share() -> None:
    """Twelve of twenty queries are one question with another word."""
    others = [f"{topic}1 {topic}2, {topic}3 ({topic}4)" for topic in TOPICS[:8]]
    findings = look("template-query", set_of(*(f"What is the {topic} policy?" for topic in TOPICS), *others))
    assert findings[0].message == "12 of 20 queries (60 %) fill 1 frame: 'what is the ... policy' (12)"
    assert findings[0].count == 12


def test_several_slots_and_fixed_fillings_are_found() -> None:
    """A frame may have two slots, and a word that often fills one belongs to the frame."""
    texts = [f"How do I {topic}fy my {topic}ing at the {house}?" for topic in TOPICS for house in ("Gate", "Harbour")]
    assert [(frame.text, len(frame.places)) for frame in frames(texts)] == [
        ("how do i ... my ... at the gate", 12),
        ("how do i ... my ... at the harbour", 12),
    ]


def test_how_people_ask_is_no_template() -> None:
    """A frame without a word of content is grammar, and four queries are no pattern."""
    assert look("template-query", set_of(*(f"What is {topic}?" for topic in TOPICS))) == []
    few = [f"What is the {topic} policy?" for topic in TOPICS[:4]]
    assert frames(few + [f"{topic} {topic}ing" for topic in TOPICS]) == []


def test_a_frame_has_half_of_the_words() -> None:
    """Long queries with a common beginning are not the same sentence."""
    texts = [f"complaint about the {' '.join(f'{topic}{i}' for i in range(6))}" for topic in TOPICS]
    assert frames(texts) == []


def test_copies_of_a_query_are_no_frame() -> None:
    """Asked five times in the same words it is one query; another rule tells that."""
    assert frames(["the late swimming policy of the annexe", *["where is the pool of the annexe"] * 9]) == []


def test_a_few_fillings_among_many_queries_are_left_alone() -> None:
    """Below a tenth of the set a frame is not worth a warning."""
    others = [f"w{i} x{i} y{i} z{i}" for i in range(100)]
    assert look("template-query", set_of(*(f"What is the {topic} policy?" for topic in TOPICS[:6]), *others)) == []


# same-first-word


def test_queries_of_one_mould() -> None:
    """Four fifths with one first word are reported; fewer are not, and neither are fewer than ten queries."""
    what = [f"What {i}?" for i in range(8)]
    assert (
        look("same-first-word", set_of(*what, "How?", "Why?"))[0].message == "8 of 10 queries (80 %) begin with 'what'"
    )
    assert look("same-first-word", set_of(*what[:7], "How?", "Why?", "...")) == []
    assert look("same-first-word", set_of(*what)) == []
    assert look("same-first-word", set_of(*["?"] * 12)) == []


# near-duplicate-query


def test_the_same_question_twice_and_the_same_words_with_other_answers() -> None:
    """By hand: q0, q1 and q2 have one answer and the same words; q3 has the words of q0 and another answer."""
    texts = [
        "Reset the wifi password",
        "wifi password: reset?",
        "How do I reset my WiFi passwords?",
        "reset WIFI password",
    ]
    base = set_of(*texts, "Where is the pool?")
    answers = {"q0": ["a"], "q1": ["a"], "q2": ["a"], "q3": ["b"], "q4": ["a"]}
    judged = golden({query.id: query.text for query in base.queries}, answers)
    contradiction, twice = look("near-duplicate-query", judged)
    assert contradiction.where == ("q0 = q3",)
    assert twice.where == ("q0 = q1", "q0 = q2")


@each(
    ("first", "second"),
    [
        ("from Rome to Oslo by train", "from Oslo to Rome by train"),
        ("turn on the heating", "turn off the heating"),
        ("Statins decrease blood cholesterol.", "Statins increase blood cholesterol."),
        ("error 1203 on the key card writer", "error 1204 on the key card writer"),
    ],
)
def test_contrasts_with_other_answers_are_good_queries(first: str, second: str) -> None:
    """Nearly the same text is reported only when the answers are the same too."""
    texts = {"q0": first, "q1": second}
    assert look("near-duplicate-query", golden(texts, {"q0": ["a"], "q1": ["b"]})) == []
    assert places_of("near-duplicate-query", golden(texts, {"q0": ["a"], "q1": ["a"]})) == [("q0 = q1",)]


def test_answers_of_one_class_are_the_same() -> None:
    """Documents that can stand for each other make no contradiction."""
    base = golden({"q0": "pool hours", "q1": "Pool hours?"}, {"q0": ["a"], "q1": ["b"]})
    assert "other relevant documents" in look("near-duplicate-query", base)[0].message
    joined = replace(base, classes={"ab": ("a", "b")})
    assert "the same answers" in look("near-duplicate-query", joined)[0].message


def test_queries_nobody_judged_are_the_same_by_their_words_only() -> None:
    """Without judgments nothing says that two wordings have the same answer."""
    base = set_of("pool hours", "Pool, hours!", "hours pool", "")
    assert places_of("near-duplicate-query", base) == [("q0 = q1",)]


def test_a_session_makes_another_question() -> None:
    """The same words after something else was said ask something else."""
    base = golden({"q0": "and in winter?", "q1": "and in winter?"}, {"q0": ["a"], "q1": ["b"]})
    assert places_of("near-duplicate-query", base) == [("q0 = q1",)]
    said = tuple(replace(query, session=Session(id=query.id)) for query in base.queries)
    assert look("near-duplicate-query", replace(base, queries=said)) == []


def test_pairs_with_the_same_content_need_no_first_one_in_common() -> None:
    """Of three wordings the second and third have one answer, the first another: one pair is reported."""
    queries = [Query(id=f"q{i}", text=text) for i, text in enumerate(["Oslo to Rome", "Rome from Oslo", "Rome Oslo"])]
    answers = {"q0": frozenset("a"), "q1": frozenset("b"), "q2": frozenset("b")}
    assert repeats(queries, answers).counted_twice == (("q1", "q2"),)


# Paraphrases


def paraphrased(**queries: Any) -> GoldenSet:
    """Return a set from query ids, each with its text, its relevant document and paraphrases."""
    base = golden({name: text for name, (text, *_) in queries.items()}, {n: [q[1]] for n, q in queries.items() if q[1]})
    return replace(
        base, queries=tuple(replace(query, paraphrases=tuple(queries[query.id][2:])) for query in base.queries)
    )


def test_a_paraphrase_without_new_words_is_idle() -> None:
    """Equal to the query, or to a paraphrase before it, but for case, punctuation and articles."""
    base = paraphrased(
        q1=("Where is the pool?", "a", "where is THE pool", "Can I swim?", "can I swim"),
        q2=("bar hours", "b", "When does the bar open?", "hours of the bar"),
    )
    assert [idle(query) for query in base.queries] == [["where is THE pool", "can I swim"], []]
    (finding,) = look("repeated-paraphrase", base)
    assert finding.where == ("q1",)
    assert finding.message.startswith("2 paraphrases without new words, of 1 query")


@each(
    ("query", "paraphrase", "reason"),
    [
        ("Can I cancel within 24 hours?", "Cancel within 48 hours?", "asks for 48, not 24"),
        ("Is breakfast included?", "Is breakfast not included?", "differs by a negation only"),
        ("Why can guests pay cash?", "Why can't guests pay cash?", "differs by a negation only"),
        ("Where is the pool?", "When does the bar close?", "is the text of other"),
        ("Where is the pool?", "When does the bar close on sundays?", "has the words of other"),
    ],
)
def test_a_paraphrase_that_asks_something_else(query: str, paraphrase: str, reason: str) -> None:
    """Another number, a bare negation, the text or the words of another query."""
    base = paraphrased(q=(query, "a", paraphrase), other=("When does the bar close?", "b", "closing hours"))
    findings = strays(base.queries, {"q": frozenset("a"), "other": frozenset("b")})
    assert [(stray.query, stray.text, stray.reason) for stray in findings] == [("q", paraphrase, reason)]
    assert reason in look("stray-paraphrase", base)[0].message


@each(
    ("query", "paraphrase"),
    [
        ("wifi password", "How do I get online in my room?"),
        ("check in at 3 pm", "arrival from 15:00"),
        ("two nights minimum?", "must I stay 2 nights"),
        ("is smoking allowed on balconies", "are the balconies non-smoking? I cannot find it"),
        ("late arrival after 22:00", "arriving late at night"),
        ("24 hour gym", "gym that never closes"),
        ("pool", "the bar?"),
    ],
)
def test_other_words_are_what_a_paraphrase_is_for(query: str, paraphrase: str) -> None:
    """No common word, numbers written otherwise or left out, a negation among other changes: all fine."""
    base = paraphrased(q=(query, "a", paraphrase), other=("When does the bar on the roof close?", "b"))
    assert look("stray-paraphrase", base) == []


def test_a_paraphrase_may_be_another_querys_when_the_answer_is_the_same() -> None:
    """Two queries with a common relevant document may share wordings."""
    base = paraphrased(
        q=("Where is the pool?", "a", "When does the bar close?"), other=("When does the bar close?", "a")
    )
    assert look("stray-paraphrase", base) == []


# Ids


def test_ids_that_tell_the_answer() -> None:
    """Queries named after their documents, as a generator names them."""
    relevant = {f"{name}_q{i}": [name] for name in ("wifi-guide", "pet-policy") for i in range(2)}
    assert places_of("telling-id", golden(dict.fromkeys(relevant, "?"), relevant)) == [tuple(relevant)]
    turned = {"mem-1": ["mem-1-answer"], "mem-2": ["x-MEM-2"], "mem-3": ["mem-3"]}
    assert places_of("telling-id", golden(dict.fromkeys(turned, "?"), turned)) == [tuple(turned)]


@each(
    "relevant",
    [
        {"q1": ["d1"], "q2": ["d2"], "q3": ["d3"]},
        {f"{i}": [f"{i}", "77"] for i in range(9)},
        {f"{i}": [f"{(i * 7) % 40}"] for i in range(40)},
        {"wifi-1": ["wifi"], "wifi-2": ["wifi"], "pool": ["bar"]},
        {"pets": ["carpets-cleaning"], "bars": ["minibars-list"], "spas": ["spassky-hall"]},
    ],
)
def test_ids_that_only_look_alike(relevant: dict[str, list[str]]) -> None:
    """Short ids, a few equal numbers, two names, and names inside words are chance."""
    assert look("telling-id", golden(dict.fromkeys(relevant, "?"), relevant)) == []


def test_numbers_tell_when_half_of_them_do() -> None:
    """Ten queries with the numbers of their documents were numbered together."""
    relevant = {f"q{i}": [f"{i}"] for i in range(10, 20)} | {"q90": ["70"]}
    (finding,) = look("telling-id", golden(dict.fromkeys(relevant, "?"), relevant))
    assert (finding.count, finding.message) == (10, "10 of 11 queries share a number with a relevant document")


def test_a_query_with_the_id_of_a_document() -> None:
    """An id with digits, underscores, slashes, colons or two hyphens is none that a query has by chance."""
    documents = dict.fromkeys(["kb-0042", "fees_2024", "a:b", "late-check-out", "wifi", "check-in", "2024"], "text")
    queries = {
        "q0": "What does KB-0042 say?",
        "q1": "(fees_2024)",
        "q2": "see a:b.",
        "q3": "late-check-out",
        "q4": "wifi check-in 2024",
        "q5": "kb-00421 late check out",
    }
    assert places_of("id-in-query", golden(queries, {}, **documents)) == [("q0", "q1", "q2", "q3")]
    assert look("id-in-query", golden(queries, {}, wifi="text")) == []


# All of them


def test_every_rule_has_a_reference() -> None:
    """A sentence, then why, an example and the fix, from which the reference page is made."""
    ours = [rule for rule in RULES.values() if rule.check.__module__ == _wording_rules.__name__]
    assert len(ours) == 8
    for rule in ours:
        assert rule.severity == "warning"
        assert rule.text.split("\n")[0].endswith(".")
        assert [rule.text.count(f"\n{part}: ") for part in ("Why", "Example", "Fix")] == [1, 1, 1]


@pytest.mark.parametrize("base", [GoldenSet(), set_of("", "?"), set_of("one")])
def test_small_and_empty_sets_are_fine(base: GoldenSet) -> None:
    """No rule stumbles over what is not there."""
    for rule in RULES.values():
        if rule.check.__module__ == _wording_rules.__name__:
            assert list(rule.check(Subject(golden=base))) == []


@pytest.mark.slow
def test_the_rules_are_linear_in_the_set() -> None:
    """Eight times the queries take far less than sixty-four times as long, also when all are alike."""

    def seconds(count: int) -> float:
        queries = {f"q{i}": f"What is the {i % 50} policy of house {i}?" for i in range(count)}
        base = golden(queries, {name: ["guide"] for name in queries}, guide=GUIDE * 20)
        same = tuple(replace(query, paraphrases=("help", f"house {query.id}")) for query in base.queries)
        start = time.process_time()
        for rule in RULES.values():
            if rule.check.__module__ == _wording_rules.__name__:
                list(rule.check(Subject(golden=replace(base, queries=same))))
        return time.process_time() - start

    seconds(100)
    assert seconds(4_000) < 24 * max(seconds(500), 0.01)


@pytest.mark.public_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scifact", {"copied-query": 2, "near-duplicate-query": 12}),
        ("cranfield", {"copied-query": 2}),
    ],
)
def test_public_sets_have_few_findings(name: str, expected: dict[str, int]) -> None:
    """On sets that people made and read, the rules tell what is there: counter-claims asked twice, copied titles."""
    base = read(find_collection(name))
    ours = [rule for rule in RULES.values() if rule.check.__module__ == _wording_rules.__name__]
    counts = {finding.rule: finding.count for rule in ours for finding in rule.check(Subject(golden=base))}
    assert counts == expected
