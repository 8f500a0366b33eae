"""Grades, rubrics, preferences and models of the user: values by hand, against a real server."""

from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from judges.model_server import Request, obey, serve
from judges.test_judging import ITEM, judge, make_bench, opinion_of
from karat import golden
from karat.core import InputError, SystemFailed, UsageError
from karat.judges import (
    JUDGES,
    Bench,
    Duel,
    Item,
    NotMeasurable,
    Opinion,
    grade_by_overlap,
    judge_items,
    lexical_support,
    load_prompt,
    make_rubric_judge,
    prefer,
    score_pairs,
)
from karat.measures import OVERLAP_AGREEMENT
from karat.stats.trust import measure_agreement
from karat.text import content, words


@each(
    ("passage", "grade"),
    [
        ("alpha beta gamma delta epsilon of nine others", 3),  # 5 of 10
        ("alpha beta gamma delta and others", 2),  # 4 of 10
        ("alpha beta", 1),  # 2 of 10
        ("alpha", 1),  # exactly 10 %
        ("nothing of it", 0),
        ("", 0),
    ],
)
def test_the_steps_of_overlap(passage: str, grade: int) -> None:
    """45 %, 25 % and 10 % of ten words that carry the subject."""
    question = "What is alpha beta gamma delta epsilon zeta eta theta iota kappa?"
    assert grade_by_overlap(question, passage) == grade


def test_a_passage_with_the_whole_question_has_the_highest_grade() -> None:
    """Even if its words say nothing; part of a word is no word."""
    assert grade_by_overlap("to be or not to be", "He said: to be, or not to be.") == 3
    assert grade_by_overlap("art", "a cartel") == 0


@given(st.text(max_size=40), st.text(max_size=40))
def test_overlap_gives_a_grade_to_any_text(question: str, passage: str) -> None:
    """From 0 to 3, and never more for less of the passage's words."""
    assert 0 <= grade_by_overlap(question, "") <= grade_by_overlap(question, passage) <= 3


def test_relevance_is_the_mean_grade_by_hand() -> None:
    """The model grades 3, 0 and 0 by words; a run without hits has 0, one that failed no value."""
    item = Item(query="q", question="wifi free", texts=("wifi free", "pool", "bar"))
    opinion = opinion_of(obey, "passage_relevance", item)
    assert opinion.value == pytest.approx(3 / 9)
    assert [finding.verdict for finding in opinion.findings] == [3.0, 0.0, 0.0]
    assert opinion_of(obey, "passage_relevance", Item(query="q", question="?")).value == 0.0
    assert opinion_of(obey, "overlap_grade", Item(query="q", question="?", error="lost")).value is None
    wrong = opinion_of(lambda _: {"grade": 4, "reason": ""}, "passage_relevance", item)
    assert (wrong.value, "cannot be used" in wrong.reason) == (None, True)


def write_rubric(folder: Path, text: str) -> Path:
    path = folder / "tone.md"
    path.write_text(text)
    return path


def test_a_rubric_is_a_judge_on_its_own_scale(tmp_path: Path) -> None:
    """4 of 1 to 5 is 0.75; what is off the scale is sent back once."""
    path = write_rubric(tmp_path, "version: 3\nscale: 1 to 5\n---\nIs it polite?\n")
    rubric = make_rubric_judge("tone", path, load_prompt("rubric"))
    assert (rubric.measure, rubric.own["tone"].version) == ("Rubric(name='tone')", "3")

    def reply(request: Request) -> Any:
        return {"score": 6, "reason": "high"} if request.number == 1 else obey(request)

    with serve(reply) as server:
        bench = make_bench(server)
        own = Bench(asker=bench.asker, prompts={**bench.prompts, **rubric.own})
        (opinion,) = judge_items(own, [ITEM], [rubric])
        assert len(server.requests) == 2
        system = server.requests[0].body["messages"][0]["content"]
    assert opinion.value == 0.75
    assert "Is it polite?" in system
    assert system.endswith("whole numbers from 1 to 5.")
    assert "Is it polite?" not in load_prompt("rubric").text


@each(
    ("text", "problem"),
    [
        ("version: 1\nIs it polite?", "has no scale"),
        ("version: 1\nscale: 5 to 5\nx", "from 5 to 5"),
        ("scale: 1 to 5\nx", "does not begin with a version"),
        ("version: 1\nscale: 1 to 5\n", "has no text"),
    ],
)
def test_a_rubric_that_is_none(tmp_path: Path, text: str, problem: str) -> None:
    """One message each."""
    with pytest.raises(InputError, match=problem):
        make_rubric_judge("tone", write_rubric(tmp_path, text), load_prompt("rubric"))
    with pytest.raises(UsageError, match="a judge is called so"):
        make_rubric_judge("refusal", tmp_path, load_prompt("rubric"))


def test_a_preference_is_asked_in_both_orders() -> None:
    """The longer answer wins from either place; a judge that always says first prefers neither."""
    duel = Duel(query="q", question="?", answers=("short", "a longer answer"))
    with serve(obey) as server:
        preferred = prefer(make_bench(server), duel)
        shown = [(request.data["first"], request.data["second"]) for request in server.requests]
    assert (preferred.value, preferred.steady, preferred.places) == (-1.0, True, ("second", "first"))
    assert shown == [duel.answers, duel.answers[::-1]]
    with serve(lambda _: {"better": "first", "reason": ""}) as server:
        preferred = prefer(make_bench(server), duel)
    assert (preferred.value, preferred.steady) == (0.0, False)
    with serve(obey) as server:
        bench = make_bench(server)
        assert prefer(bench, Duel(query="q", question="?", answers=("same", "same"))).value == 0.0
        with pytest.raises(NotMeasurable):
            prefer(bench, Duel(query="q", question="?", answers=("", "same")))
        assert server.requests == []


def entail(scores: dict[tuple[str, str], float]) -> Opinion:
    item = Item(query="q", question="?", answer="One. Two.", texts=("a", "b"))
    (opinion,) = judge_items(Bench(entails=lambda pairs: [scores.get(pair, 0.0) for pair in pairs]), [item], [ENTAILS])
    return opinion


ENTAILS = JUDGES["entailment"]


def test_a_model_of_the_user_scores_each_sentence_in_its_best_text() -> None:
    """One is entailed by b with 0.5, Two by a with 1.0: the mean is 0.75."""
    opinion = entail({("a", "One."): 0.25, ("b", "One."): 0.5, ("a", "Two."): 1.0})
    assert opinion.value == 0.75
    assert [(finding.verdict, finding.text) for finding in opinion.findings] == [(0.5, 2), (1.0, 1)]


def test_a_function_that_does_not_score_is_told() -> None:
    """Too few values, values off the scale, and an error of its own."""
    with pytest.raises(SystemFailed, match="1 values for 2"):
        score_pairs(lambda _: [1.0], [("a", "b"), ("a", "c")], 1.0)
    with pytest.raises(UsageError, match="returned 1\\.5; it should be 0 to 1"):
        score_pairs(lambda pairs: [1.5] * len(pairs), [("a", "b")], 1.0)
    with pytest.raises(SystemFailed, match="no such model"):
        score_pairs(lambda _: (_ for _ in ()).throw(ValueError("no such model")), [("a", "b")], 1.0)
    assert judge(Bench(entails=lambda _: []), "entailment", Item(query="q", question="?", answer="Yes."))[0].value == 0


@pytest.mark.slow
def test_a_long_sentence_takes_no_room_that_grows_with_its_square() -> None:
    """Twenty thousand words in one sentence; a table of them all, a bit for each pair, has 25 million bytes."""
    words = [str(number).translate(str.maketrans("0123456789", "bcfghjkmnp")) for number in range(20_000)]
    tracemalloc.start()
    try:
        low = lexical_support(" ".join(words), " ".join(words[:20]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 18_000_000
    assert 0 < low < 0.001  # twenty of twenty thousand words, of which those that are missing weigh more
    long = " ".join(words[:5000])
    assert lexical_support(long, long) == pytest.approx(1.0)
    turned = lexical_support(" ".join(reversed(words[:5000])), long)
    assert turned == pytest.approx(0.6, abs=0.001)  # all words, no pair, and one to three words in order


@pytest.mark.slow
def test_how_far_overlap_agrees_with_people_on_the_hotel() -> None:
    """The numbers of docs/judge.md: far below the 0.80 that agent asks of such a judge."""
    root = Path(__file__).resolve().parents[2]
    hotel = golden.open_set(root / "examples" / "hotel")
    ordered = sorted(hotel.judgments, key=lambda judgment: judgment.target.document)  # each text is read once
    grades = {(j.query, j.target.document): j.grade for j in ordered}
    texts = {document.id: f"{document.title}\n\n{document.text}" for document in hotel.documents}
    judged = [grade_by_overlap(hotel.query_by_id[query].text, texts[document]) for query, document in grades]
    people = np.array(list(grades.values())) / 3
    rng, levels = np.random.default_rng(0), [0, 1 / 3, 2 / 3, 1]
    result = measure_agreement(np.array(judged) / 3, people, levels=levels, positive=0.5, rng=rng, resamples=20)
    (shown,) = re.findall(r"same grade in (0\.\d+) .* AUROC is (0\.\d+)", (root / "docs" / "judge.md").read_text())
    assert float(shown[0]) == pytest.approx(result["agreement"].value, abs=0.02)
    assert float(shown[1]) == pytest.approx(result["auroc"].value, abs=0.02)
    assert OVERLAP_AGREEMENT.startswith(shown[0])  # what reports say
    low, high = map(float, re.findall(r"\((0\.\d+) to (0\.\d+)\)", OVERLAP_AGREEMENT)[0])
    assert low < result["agreement"].value < high < 0.80
    # Even a judge that knows the best grade of each share of words stays below.
    shares = [share_words(hotel.query_by_id[query].text, texts[document]) for query, document in grades]
    by_share: dict[float, Counter[int]] = {}
    for share, grade in zip(shares, grades.values(), strict=True):
        by_share.setdefault(share, Counter())[grade] += 1
    assert sum(max(counts.values()) for counts in by_share.values()) / len(grades) < 0.71


def share_words(question: str, text: str) -> float:
    """Return the share of the question's words that a text has."""
    terms = set(content(question) or words(question))
    return len(terms & read_content(text)) / len(terms) if terms else 0.0


@lru_cache(maxsize=256)
def read_content(text: str) -> frozenset[str]:
    return frozenset(content(text) or words(text))
