"""Golden sets made by machine."""

from __future__ import annotations

import pytest

from karat.core import Document, UsageError
from karat.golden import needles, sentences, synthesise


def test_short_sentences_are_kept_by_the_splitter():
    """The sources' own test: three sentences, of which their splitter lost the first."""
    assert sentences("Wow! That is amazing. Really great!") == ["Wow!", "That is amazing.", "Really great!"]


def test_short_sentences_ask_nothing():
    """A sentence of ten characters or fewer becomes no query."""
    made = synthesise([Document(id="d", text="Wow! That is amazing. Really great!")], 3)
    assert [q.text for q in made.queries] == ["That is amazing.", "Really great!"]


def test_ids_and_judgments():
    """The i-th query of a document is called after it, and only that document is relevant, judged by a machine."""
    made = synthesise([Document(id="a", text="One sentence here."), Document(id="b", text="")], 2)
    assert [q.id for q in made.queries] == ["a_q0"]
    assert [(j.query, j.target.document, j.grade, j.source) for j in made.judgments] == [
        ("a_q0", "a", 1, "bootstrapped")
    ]


def test_another_generator_can_write_the_queries():
    """The hook for an LLM gets the document and how many queries are wanted, and no more than that are taken."""
    made = synthesise([Document(id="a", title="T")], 2, generate=lambda document, n: [document.title] * (n + 5))
    assert [q.text for q in made.queries] == ["T", "T"]


def test_needles_have_their_defaults_and_their_places():
    """Eight logs of 200 lines, twelve facts; each span is the one line that answers."""
    made = needles()
    assert [len(d.text.splitlines()) for d in made.documents] == [200] * 8
    assert len(made.queries) == 12
    for query, judgment in zip(made.queries, made.judgments, strict=True):
        text = made.document_by_id[judgment.target.document].text.encode()
        line = text[judgment.target.span.start : judgment.target.span.end].decode()
        subject = query.text.removeprefix("What is the code of ").removesuffix("?")
        assert line.startswith(f"The code of {subject} is ")
        assert sum(d.text.count(line) for d in made.documents) == 1


def test_needles_are_the_same_for_the_same_seed_only():
    """The same seed gives the same set to the byte, another seed another one."""
    assert needles(seed=7) == needles(seed=7)
    assert needles(seed=7) != needles(seed=8)


@pytest.mark.parametrize("wrong", [{"documents": 0}, {"needles": 0}, {"lines": 1, "documents": 1, "needles": 2}])
def test_impossible_haystacks_are_refused(wrong):
    """Nothing to hide in, nothing to hide, or more facts than lines."""
    with pytest.raises(UsageError):
        needles(**wrong)
