"""The words of a text, folded so that spelling does not count, and what little of them can be known offline."""

from __future__ import annotations

import re
import unicodedata

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Thai, Lao, Burmese, Khmer, Kana and Han: written without spaces, so that every character is a word of its own."""
_ASCII_WORD = re.compile(r"\w+")
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")

STOP_WORDS = frozenset(
    ["a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "before", "being", "between", "but", "by", "can", "could", "did", "do", "does", "doing", "during", "each", "for", "from", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "may", "me", "might", "more", "most", "must", "my", "of", "off", "on", "onto", "or", "other", "our", "ours", "out", "over", "own", "please", "per", "shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "up", "upon", "us", "very", "was", "we", "were", "what", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours", "d", "ll", "m", "re", "s", "t", "ve", "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "won", "couldn", "shouldn", "wouldn", "can't", "tell", "know", "want", "need"]
)
"""English words that say nothing of the subject. In another language all words count as content."""

NEGATIONS = frozenset(["no", "not", "never", "none", "nor", "neither", "without", "cannot", "nothing", "nobody"])
_NOT = re.compile(r"\bcan['’]t\b|n['’]t\b", re.IGNORECASE)


def words(text: str) -> list[str]:
    """Give the words of a text in their order, without case, punctuation and compatibility forms.

    >>> words("Reset the Wi\u2011Fi \uff30assword!")
    ['reset', 'the', 'wi', 'fi', 'password']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
