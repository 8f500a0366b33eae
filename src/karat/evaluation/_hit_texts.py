"""Whether the texts of hits are those of their documents: a judge believes what a system says that it retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from karat.core import GoldenSet, Hit, HitList, Trace, select_detailed


class HitTexts:
    """Whether the texts of a run's hits are those of their documents; looked up when somebody asks for it."""

    def __init__(self, golden: GoldenSet, traces: Sequence[Trace]) -> None:
        self._golden, self._traces = golden, traces

    @cached_property
    def altered(self) -> Mapping[str, int]:
        """How many hits have a text that does not occur in their document, by query."""
        return find_altered(self._golden, self._traces)


def find_altered(golden: GoldenSet, traces: Sequence[Trace]) -> dict[str, int]:
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
    for trace in select_detailed(traces):
        if type(trace.listed) is HitList:  # of which no texts are known
            continue
        if count := sum(not texts.has(hit) for hit in trace.hits if hit.content):
            counts[trace.query] = counts.get(trace.query, 0) + count
    return counts


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
