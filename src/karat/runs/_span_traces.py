"""Requests of tracing tools as answers to the questions of a golden set.

Which question a request is about, is told by the attribute ``karat.query``, or else by the text of the question.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from karat.core import GoldenSet, Hit, InputError, Trace, document_of, shorten
from karat.runs._parts import Parts
from karat.runs._tracefile import ForeignRun, queries_of
from karat.traces import SpanReader

_WORDS = re.compile(r"\w+")


def read_span_file(data: bytes, source: str, golden: GoldenSet) -> ForeignRun:
    """Return the answers in a file of spans to the questions of a golden set."""
    answers = SpanAnswers(io.BytesIO(data), source, golden)
    return answers.describe(tuple(answers))


class SpanAnswers:
    """Yields the answers in a file of spans to the questions of a golden set; without a set, all of them.

    Then a request that does not name its question has its text as the id.
    """

    def __init__(self, lines: Iterable[bytes], source: str, golden: GoldenSet | None) -> None:
        self._reader = SpanReader(lines, source)
        self._source = source
        self._questions = _NoQuestions() if golden is None else _Questions(golden, source)
        self._asked: Counter[tuple[str, int]] = Counter()
        self._free: Counter[tuple[str, int]] = Counter()
        self._answered: set[tuple[str, int, int]] = set()
        self._strangers: dict[str, None] = {}
        self.longest = 0
        """The length of the longest list."""

    def __iter__(self) -> Iterator[Trace]:
        for trace in map(self._questions.find, self._reader):
            if not self._questions.knows(trace.query):
                self._strangers[trace.query] = None
                continue
            self.longest = max(self.longest, len(trace.listed))
            yield replace(trace, repeat=self._number(trace))

    def _number(self, trace: Trace) -> int:
        """Return the number of a repeat: the trace's own, if it has one that is free, or else the next free one."""
        wording, repeat = (trace.query, trace.paraphrase), trace.repeat
        if (*wording, repeat) in self._answered:
            repeat = next(number for number in count(self._free[wording]) if (*wording, number) not in self._answered)
            self._free[wording] = repeat + 1
        self._answered.add((*wording, repeat))
        self._asked[wording] += 1
        return repeat

    def describe(self, traces: tuple[Trace, ...] = ()) -> ForeignRun:
        """Return the file as a run, when all has been read."""
        settings = {
            "paraphrases": any(paraphrase for _, paraphrase in self._asked),
            "repeat": max(self._asked.values(), default=1),
        }
        assumed: tuple[str, ...] = ()
        if self._reader.k >= self.longest > 0:  # a k that the spans themselves exceed is not the one asked for
            settings["k"] = self._reader.k
        elif self.longest:
            reason = "no span says how many documents were asked for"
            assumed = (f"{self._source}: {reason}; k is taken as {self.longest}, the length of the longest list",)
        return ForeignRun(
            traces=traces,
            strangers=tuple(self._strangers),
            settings=settings,
            notes=self._reader.notes(),
            assumed=assumed,
        )


class _NoQuestions:
    """The questions of a file whose golden set is not known."""

    def knows(self, _: str) -> bool:
        return True

    def find(self, trace: Trace) -> Trace:
        return trace if trace.query else replace(trace, query=trace.text)


class _Questions(_NoQuestions):
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
