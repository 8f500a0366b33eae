"""One splitter of sentences, with two named differences."""

from __future__ import annotations

from each import each
from karat.text import sentence_places, sentences
from karat.text._sentences import sentence_parts


@each(
    ("text", "expected"),
    [
        ("Ask Mr. Kay. He knows.", ["Ask Mr. Kay.", "He knows."]),
        ("Opened by M. Hale at 7.52 h. Closed.", ["Opened by M. Hale at 7.52 h.", "Closed."]),
        ("hi there. need to cancel. thanks!", ["hi there.", "need to cancel.", "thanks!"]),
        ('He said "No!" Then he left.', ['He said "No!"', "Then he left."]),
        ("\u4f60\u597d\u3002\u518d\u89c1\uff01", ["\u4f60\u597d\u3002", "\u518d\u89c1\uff01"]),
        (" \n ", []),
    ],
)
def test_sentences_by_hand(text, expected):
    """Abbreviations and initials end no sentence; one may begin with a lower-case letter."""
    assert sentences(text) == expected


def test_a_chunk_is_not_cut_before_a_lower_case_letter():
    """For chunks a lower-case letter continues the sentence: a chunk that begins in the middle of one is no use."""
    text = "See fig. 3. then go on. Stop."
    assert [text[at:] for at in sentence_places(text, 0, len(text))] == ["Stop."]
    assert sentences(text) == ["See fig. 3.", "then go on.", "Stop."]


def test_ids_of_long_blocks_do_not_move():
    """Parts of long blocks keep the frozen rules: an abbreviation before a capital still ends a part there."""
    text = "Ask Mr. Kay. Ask Mr. Kay."
    assert [text[start:end] for start, end in sentence_parts(text, 20)] == ["Ask Mr. Kay. Ask Mr.", "Kay."]
