"""Rules that avoid comparing everything with everything find what comparing everything finds."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core import Document, GoldenSet, InputError, Judgment, Query, Span, Target
from karat.golden.lint import _paraphrases
from karat.golden.lint._check import RULES
from karat.golden.lint._negatives import Relevants
from karat.golden.lint._paraphrases import _share, _Siblings
from karat.golden.lint._rule import Subject
from karat.text import outline
from strategies import quick

PARTS = ("", "S", "S.1", "S.1.2", "S.10", "S.1.p.Bk1")
SPANS = st.none() | st.builds(Span, st.integers(0, 4), st.integers(0, 6))
TARGETS = st.builds(
    Target, document=st.sampled_from("abc"), section=st.sampled_from(PARTS), block=st.sampled_from(PARTS), span=SPANS
)


def contradict(classes: dict[str, str], negative: Target, good: Target) -> bool:
    """Return whether a target cannot be bad while another is good, as the rule's page says."""
    if negative.document != good.document:
        mate = classes.get(negative.document)
        return negative.whole and mate is not None and mate == classes.get(good.document)
    if negative.whole or negative == good:
        return True
    if negative.span and good.span:
        return negative.span.overlap(good.span) > 0
    if negative.span:
        return False
    if negative.block:
        return negative.block == good.block
    part = good.block or good.section
    return part == negative.section or part.startswith(f"{negative.section}.")


@quick
@given(st.lists(TARGETS, max_size=6), TARGETS, st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")))
def test_a_negative_is_relevant_if_one_target_contradicts_it(
    targets: list[Target], negative: Target, classes: dict[str, str]
) -> None:
    """Whatever the parts and classes are."""
    expected = any(contradict(classes, negative, good) for good in targets)
    assert Relevants(targets, classes).hold(negative) == expected


def successors(document: str, follows: dict[str, str]) -> list[str]:
    """Return all that replaced a document, by walking there; in a circle the document itself is among them."""
    walked: list[str] = []
    while document in follows and follows[document] not in walked:
        document = follows[document]
        walked.append(document)
    return walked


NAMES = "abcdefg"


@quick
@given(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.dictionaries(st.tuples(st.sampled_from("pq"), st.sampled_from(NAMES)), st.integers(0, 3)),
)
def test_a_stale_document_is_better_than_all_that_replaced_it(
    follows: dict[str, str], grades: dict[tuple[str, str], int]
) -> None:
    """In chains, trees and circles, whichever of them were judged."""
    golden = GoldenSet(
        documents=tuple(Document(id=name, superseded_by=follows.get(name, "")) for name in NAMES),
        queries=tuple(Query(id=name, text="?") for name in "pq"),
        judgments=tuple(
            Judgment(query=query, target=Target(document=name), grade=grade) for (query, name), grade in grades.items()
        ),
    )
    expected = {
        f"{query}: {name}"
        for (query, name), grade in grades.items()
        if name in follows and max(grades.get((query, other), 0) for other in successors(name, follows)) < grade >= 2
    }
    findings = list(RULES["superseded-judged-higher"].check(Subject(golden=golden)))
    assert sum(finding.count for finding in findings) == len(expected)
    assert {name for finding in findings for name in finding.where} <= expected


WORDS = st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=4)


@quick
@given(st.lists(WORDS, min_size=1, max_size=30), st.data())
def test_the_most_similar_wording_is_found_by_its_words(contents: list[frozenset[str]], data: st.DataObject) -> None:
    """Of more wordings than are compared: the best one that is found is as good as the best of all."""
    words = data.draw(st.sampled_from(contents))
    best = max((_share(words, other) for other in contents if other != words), default=0.0)
    with patch.object(_paraphrases, "_SIBLINGS", 8):
        found = max((_share(words, other) for other in _Siblings(contents).find(words)), default=0.0)
    assert found <= best
    assert found >= best / 2


def test_near_misses_of_an_id_that_is_not_there() -> None:
    """Those that share the last part come first, then those that begin alike."""
    text = "\n\n".join(f"# Title\n\nText {i}.\n\n## More\n\nText." for i in range(5))
    shape = outline(text)
    messages = []
    for name in ("S.9.1", "S.1.9", "X.9.9"):
        with pytest.raises(InputError) as error:
            shape.section(name)
        messages.append(str(error.value))
    assert "did you mean 'S." in messages[0]
    assert "'S.1.1'" in messages[1]
    assert messages[2] == "there is no section 'X.9.9'; karat golden outline shows all ids"
