"""Whether the texts of hits are those of their documents: a judge believes what a system says that it retrieved."""

from __future__ import annotations

from collections.abc import Iterable

from karat.core import GoldenSet, Hit, HitList, Trace, shorten
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._returned import describe_invented, describe_order

_NAMED = 5


def find_altered(golden: GoldenSet, traces: Iterable[Trace]) -> dict[str, int]:
    """Return how many hits have a text that does not occur in their document, by query.

    White space does not count, and a text may begin with the title. Nothing is known of a hit without a text, or of a
    document whose text the golden set does not have.

    >>> from karat.core import Document
    >>> golden = GoldenSet(documents=(Document(id="pool", text="The pool opens at 7."),))
    >>> hits = (Hit("pool", 0.9, content="The  pool  opens"), Hit("pool", 0.8, content="The pool is free."))
    >>> find_altered(golden, [Trace(query="q1", text="When?", hits=hits)])
    {'q1': 1}
    """
    texts = _Texts(golden)
    counts: dict[str, int] = {}
    for trace in traces:
        if type(trace.listed) is HitList:  # of which no texts are known
            continue
        if count := sum(not texts.has(hit) for hit in trace.hits if hit.content):
            counts[trace.query] = counts.get(trace.query, 0) + count
    return counts


def describe_returned(golden: GoldenSet, evaluation: Evaluation) -> list[str]:
    """Return notes on what a system returned: lists out of order, citations of nothing, and texts of no document."""
    return [
        *describe_order(evaluation.traces),
        *describe_invented(evaluation.invented),
        *describe_altered(golden, evaluation.traces),
    ]


def describe_altered(golden: GoldenSet, traces: Iterable[Trace]) -> list[str]:
    """Return a note if hits have texts that their documents do not have, with the first of the queries."""
    altered = find_altered(golden, traces)
    if not altered:
        return []
    count = sum(altered.values())
    hits = "1 hit" if count == 1 else f"{count:,} hits"
    queries = "1 query" if len(altered) == 1 else f"{len(altered):,} queries"
    names = ", ".join(map(shorten, list(altered)[:_NAMED])) + (", ..." if len(altered) > _NAMED else "")
    verb = "has" if count == 1 else "have"
    return [f"{hits} of {queries} {verb} a text that is not in the document, and judges believe such texts: {names}"]


class _Texts:
    """The texts of documents without needless white space, and which texts were found in them."""

    def __init__(self, golden: GoldenSet) -> None:
        self._golden = golden
        self._documents: dict[str, str] = {}
        self._known: dict[tuple[str, str], bool] = {}  # many queries find the same chunk

    def has(self, hit: Hit) -> bool:
        """Return whether the text of a hit may be of its document."""
        key = (hit.document, hit.content)
        if key not in self._known:
            whole = self._read(hit.document)
            # A piece of the original text need not be in its canonical form, which may be that of the piece alone.
            self._known[key] = not whole or any(" ".join(text.split()) in whole for text in _list_forms(hit.content))
        return self._known[key]

    def _read(self, name: str) -> str:
        if name not in self._documents:
            document = self._golden.document_by_id.get(name)
            forms = () if document is None or not document.text.strip() else _list_forms(document.text)
            titled = (f"{document.title} {text}" for text in forms) if document is not None else ()
            self._documents[name] = "\0".join(" ".join(text.split()) for text in titled)
        return self._documents[name]


def _list_forms(text: str) -> tuple[str, ...]:
    """Return a text as it is, and its canonical form."""
    from karat.text import canonical

    form = canonical(text)
    return (text,) if form.strip() == text.strip() else (text, form)
