"""From characters of a text to bytes of its canonical form, and back."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from each import each
from golden.formats.golden_strategies import quick, texts
from karat.core import Span
from karat.golden.formats._offsets import Offsets
from karat.text._canonical import canonical

REFERENCE = (
    "Quiet hours\r\nbegin at 22:00 \u20ac\u65e5.  \r\n\r\n\r\n\r\n\r\n  Late check-\r\nout is cafe\u0301 talk.\r\n"
)


@each(
    ("words", "kept"),
    [
        ("Quiet hours", "Quiet hours"),
        ("hours\r\nbegin", "hours\nbegin"),
        ("\u20ac\u65e5.", "\u20ac\u65e5."),
        ("check-\r\nout", "checkout"),
        ("cafe\u0301", "caf\u00e9"),
        ("cafe\u0301 talk", "caf\u00e9 talk"),
        ("talk.", "talk."),
        (REFERENCE, None),
    ],
)
def test_words_are_found_again(words: str, kept: str | None) -> None:
    """Line ends, hyphens, accents and letters of several bytes move offsets; the words stay."""
    offsets, start = Offsets(REFERENCE), REFERENCE.index(words)
    span = offsets.to_bytes(start, start + len(words))
    assert span is not None
    result = canonical(REFERENCE).encode()[span.start : span.end].decode()
    assert result == offsets.passage(span)
    assert result.strip() == (canonical(REFERENCE).strip() if kept is None else kept)


def test_of_several_passages_alike_the_one_at_the_place_is_meant() -> None:
    """Also where everything before it has moved."""
    text = "\r\n\r\n\r\npets\r\n\r\n\r\n\r\npets\r\npets"
    offsets = Offsets(text)
    assert offsets.canonical == "pets\n\n\npets\npets\n"
    starts = [offsets.to_bytes(at, at + 4) for at in (6, 18, 24)]
    assert starts == [Span(0, 4), Span(7, 11), Span(12, 16)]


def test_a_passage_is_looked_for_where_letters_are_gone() -> None:
    """Running heads are left out of canonical text, and what follows stands nearer to the beginning."""
    pages = [f"Hotel handbook\nPage text {n} is here.\n" for n in range(5)]
    text = "\f".join(pages)
    offsets, start = Offsets(text), text.index("text 4")
    assert "handbook" not in offsets.canonical
    span = offsets.to_bytes(start, start + 6)
    assert span is not None
    assert offsets.passage(span) == "text 4"
    assert offsets.to_bytes(0, 5) is None


def test_a_letter_has_its_accent() -> None:
    """Of two characters before and one in canonical text: neither form is cut between them."""
    offsets = Offsets("cafe\u0301s\r\n")
    assert offsets.canonical == "caf\u00e9s\n"
    assert offsets.to_characters(Span(0, 5)) == (0, 5)
    assert offsets.to_bytes(0, 5) == Span(0, 5)
    assert offsets.to_characters(Span(5, 6)) == (5, 6)


def test_white_space_at_the_ends_stays_where_both_forms_have_it() -> None:
    """And is left out where they differ."""
    offsets = Offsets("one two three\r\nfour")
    assert offsets.passage(offsets.to_bytes(3, 8) or Span(0, 0)) == " two "
    assert offsets.to_characters(Span(3, 8)) == (3, 8)
    assert offsets.passage(offsets.to_bytes(7, 15) or Span(0, 0)) == " three"


@each("span", [Span(1, 2), Span(0, 99), Span(-1, 2), Span(3, 0)])
def test_a_span_that_does_not_fit_has_no_characters(span: Span) -> None:
    """It cuts a character, leaves the text, or ends before it begins."""
    assert Offsets("\u20ac and\r\n").to_characters(span) is None


def test_white_space_alone_is_nowhere() -> None:
    """Canonical text decides about white space, so there is nothing to be found."""
    assert Offsets("a \r\n b").to_bytes(1, 4) is None


@pytest.mark.slow
@quick
@given(text=texts.filter(lambda text: canonical(text).startswith(text)), data=st.data())
def test_offsets_of_canonical_text_are_exact(text: str, data: st.DataObject) -> None:
    """Where both forms agree, every range is the same range in bytes, and comes back."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    offsets = Offsets(text)
    assert offsets.to_bytes(start, end) == Span(len(text[:start].encode()), len(text[:end].encode()))
    span = offsets.to_bytes(start, end)
    assert span is not None
    assert offsets.to_characters(span) == (start, end)


@pytest.mark.slow
@quick
@given(before=texts, words=st.text("abcde\u00e9\u65e5", min_size=6, max_size=12), after=texts)
def test_words_are_found_in_any_text(before: str, words: str, after: str) -> None:
    """Whatever stands around them, words of letters only are the same words in canonical text, and back."""
    assume((before + words + after).count(words) == 1 and canonical(words).strip() == words)
    text = f"{before} {words} {after}"
    assume(words in canonical(text))
    offsets, start = Offsets(text), len(before) + 1
    span = offsets.to_bytes(start, start + len(words))
    assert span is not None
    assert offsets.passage(span) == words
    assert offsets.to_characters(span) == (start, start + len(words))
