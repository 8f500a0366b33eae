"""Judges that take texts apart into claims and decide each one, with the words that support it.

A claim is supported only if the judge copies words that are in the text it names: a verdict whose words are not there
counts as no support. All claims are decided or the answer is not measurable; none is left out of a denominator.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from karat.chat import Dialogue, NotMeasurable, Part, Prompt, clean
from karat.core import is_blank
from karat.judges._items import Item
from karat.judges._opinions import Finding
from karat.judges._replies import Claims, ClaimVerdicts
from karat.text import words

_MOST_CLAIMS = 100
_AT_ONCE = 12
"""Claims in one message: models lose count of longer lists."""
_LEAST_WORDS = 2
"""Words of a quote, if the text has so many: a mark or a single word is in many texts."""
MISQUOTED = "the quoted words are not in text"
"""How the reason of a verdict begins that does not count, because its quote is not there."""
_BLANKS = re.compile(r"\s+")


class ClaimJudge:
    """Takes texts apart, and decides which texts support which claims."""

    def __init__(self, asker: Dialogue, claims: Prompt, support: Prompt, vote: int = 0) -> None:
        self._asker, self._claims, self._support, self._vote = asker, claims, support, vote

    def extract(self, text: str, question: str = "") -> list[str]:
        """Return the claims of a text, each once."""
        if not clean(text).strip():
            return []
        parts = [*([("question", question)] if question else []), ("text", text)]
        reply = self._asker.ask(self._claims, parts, Claims, vote=self._vote, check=_check_claims)
        return list(dict.fromkeys(claim for claim in (clean(claim).strip() for claim in reply.claims) if claim))

    def decide(self, claims: Sequence[str], texts: Sequence[str]) -> list[Finding]:
        """Return for each claim whether one of the texts supports it."""
        if not texts:
            return [Finding(subject=claim, verdict=False, reason="there is no text") for claim in claims]
        findings: list[Finding] = []
        for start in range(0, len(claims), _AT_ONCE):
            findings += self._decide(claims[start : start + _AT_ONCE], texts)
        return findings

    def _decide(self, claims: Sequence[str], texts: Sequence[str]) -> list[Finding]:
        # Texts first: they are the same for all claims of an answer, which a server can keep.
        parts: list[Part] = [(f"text {number}", text) for number, text in enumerate(texts, 1)]
        parts += [(f"claim {number}", claim) for number, claim in enumerate(claims, 1)]

        def check(reply: ClaimVerdicts) -> str:
            return check_numbers([verdict.claim for verdict in reply.verdicts], len(claims), "claim")

        reply = self._asker.ask(self._support, parts, ClaimVerdicts, vote=self._vote, check=check)
        by_claim = {verdict.claim: verdict for verdict in reply.verdicts}
        findings = []
        for number, claim in enumerate(claims, 1):
            verdict = by_claim[number]
            supported, reason = verdict.supported, verdict.reason
            if supported and not _quotes(verdict.quote, texts, verdict.chunk):
                supported, reason = False, f"{MISQUOTED} {verdict.chunk}; {reason}"
            place = verdict.chunk if supported else 0
            findings.append(
                Finding(subject=claim, verdict=supported, text=place, quote=verdict.quote, reason=clean(reason))
            )
        return findings


def _check_claims(reply: Claims) -> str:
    return f"it has more than {_MOST_CLAIMS} claims" if len(reply.claims) > _MOST_CLAIMS else ""


def check_numbers(numbers: Sequence[int], count: int, thing: str) -> str:
    """Return what is wrong if not each of the numbers 1 to ``count`` is there once."""
    if sorted(numbers) == list(range(1, count + 1)):
        return ""
    if count == 1:
        return f"there should be one verdict, for {thing} 1"
    return f"there should be one verdict for each {thing} from 1 to {count}"


def _quotes(quote: str, texts: Sequence[str], number: int) -> bool:
    """Return whether a text has the quoted words, two or more; spacing, case and forms of characters do not count."""
    if not 1 <= number <= len(texts):
        return False
    text = _fold(texts[number - 1])
    if len(words(quote)) < max(1, min(_LEAST_WORDS, len(words(text)))):
        return False
    return _fold(quote) in text


def _fold(text: str) -> str:
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", clean(text)).casefold()).strip()


def require_answer(item: Item) -> str:
    """Return the answer of an item; NotMeasurable if it has none."""
    if item.error:
        raise NotMeasurable("the question failed")
    if item.refused:
        raise NotMeasurable("the answer was refused")
    if is_blank(item.answer):
        raise NotMeasurable("no answer recorded")
    return item.answer


def require_reference(item: Item) -> str:
    """Return the reference answer of an item; NotMeasurable if it has none."""
    if not item.reference.strip():
        raise NotMeasurable("no reference answer in the golden set")
    return item.reference
