"""Requests of tracing tools as answers to the questions of a golden set.

Which question a request is about, is told by the attribute ``karat.query``, or else by the text of the question.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from karat.core import GoldenSet, Hit, InputError, Trace, document_of, shorten
from karat.runs._parts import Parts
from karat.runs._tracefile import ForeignRun, queries_of
from karat.traces import read_span_traces

_WORDS = re.compile(r"\w+")


def read_span_file(data: bytes, source: str, golden: GoldenSet | None) -> ForeignRun:
    """Return the answers in a file of spans to the questions of a golden set; without a set, all of them.

    Then a request that does not name its question has its text as the id.
    """
    file = read_span_traces(io.BytesIO(data), source)
    questions: _Questions | _NoQuestions = _NoQuestions() if golden is None else _Questions(golden, source)
    asked: Counter[tuple[str, int]] = Counter()
    traces: list[Trace] = []
    strangers: dict[str, None] = {}
    for trace in map(questions.find, file.traces):
        if not questions.knows(trace.query):
            strangers[trace.query] = None
            continue
        wording = (trace.query, trace.paraphrase)
        traces.append(replace(trace, repeat=asked[wording]))
        asked[wording] += 1
    settings = {
        "paraphrases": any(trace.paraphrase for trace in traces),
        "repeat": max(asked.values(), default=1),
    }
    longest = max((len(trace.listed) for trace in traces), default=0)
    assumed: tuple[str, ...] = ()
    if file.k >= longest > 0:  # a k that the spans themselves exceed is not the one that was asked for
        settings["k"] = file.k
    elif longest:
        reason = "no span says how many documents were asked for"
        assumed = (f"{source}: {reason}; k is taken as {longest}, the length of the longest list",)
    return ForeignRun(
        traces=tuple(traces), strangers=tuple(strangers), settings=settings, notes=file.notes, assumed=assumed
    )


class _NoQuestions:
    """The questions of a file whose golden set is not known."""

    def knows(self, _: str) -> bool:
        return True

    def find(self, trace: Trace) -> Trace:
        return trace if trace.query else replace(trace, query=trace.text)


class _Questions:
    """The questions of a golden set, by their wordings, and the documents that hits name."""

    def __init__(self, golden: GoldenSet, source: str) -> None:
        self._ids = queries_of(golden)
        self._source = source
        self._parts = Parts(golden)
        self._wordings = {
            _fold(text): (query.id, number)
            for query in reversed(golden.queries)
            for number, text in enumerate((query.text, *query.paraphrases))
        }

    def knows(self, query: str) -> bool:
        """Return whether a query is in the set."""
        return query in self._ids

    def find(self, trace: Trace) -> Trace:
        """Return a trace with the id of its question, and with the documents that its hits name in the set."""
        query, paraphrase = self._wordings.get(_fold(trace.text), (trace.query or trace.text, 0))
        if trace.query:
            query, paraphrase = trace.query, trace.paraphrase or (paraphrase if query == trace.query else 0)
        return replace(
            trace,
            query=query,
            paraphrase=paraphrase,
            hits=self._place(trace.hits, query),
            stages=tuple(replace(stage, hits=self._place(stage.hits, query)) for stage in trace.stages),
        )

    def _place(self, hits: Iterable[Hit], query: str) -> tuple[Hit, ...]:
        try:
            return tuple(self._place_hit(hit, query) for hit in hits)
        except InputError as error:
            message = f"query {shorten(query)}: {error.what}"
            raise InputError(message, source=self._source, hint=error.hint) from None

    def _place_hit(self, hit: Hit, query: str) -> Hit:
        if hit.section or hit.block or hit.document != document_of(hit.id):  # the spans say it themselves
            return hit
        part = self._parts.of(hit.id, query)
        if (part.document, part.section, part.block) == (hit.document, "", ""):
            return hit
        return replace(hit, document=part.document, section=part.section, block=part.block)


def _fold(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold())) or text
