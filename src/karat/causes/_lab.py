"""Counterfactuals: the system is asked again with one thing changed, and what comes back is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

from karat.causes._case import Case, Found
from karat.causes._copies import Copies
from karat.causes._corpus import Corpus
from karat.core import GoldenSet, Hit, KaratError, Span, SystemFailed, Target
from karat.evaluation import LEXICAL
from karat.net import describe_error, hide_secrets, resolve
from karat.runs import make_context
from karat.systems import RESULT, Chunk, Inspection, Inspector, Pipeline, System, open_answer, read_hits
from karat.text import resolver

DEEPER = 10
"""How many times as many hits are asked for."""
_TOKENS = 384  # of a chunk, where the chunker's size is not known
_SMALLEST = 64
_OVERLAP = 50
_FULL_TRUST = 0.2  # a change that brings back a fifth of all that the run lost, on balance, is no coincidence
_ASKED_AGAIN = 2
_SAMPLE = 30
_COPIES = "without copies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a change did to one query."""

    gained: frozenset[str]
    missed: frozenset[str]
    balance: float
    """The grades that are gained, less those that are missed; the mean of several lists."""
    net: float
    """The same as a share of what the query lost; 0 for a query that lost nothing."""


class Lab:
    """The system under test, as far as it is at hand, and everything that was tried with it."""

    def __init__(self, golden: GoldenSet, cases: Sequence[Case], *, k: int, system: System | None = None) -> None:
        self.golden, self.cases, self.k, self.system = golden, cases, k, system
        self.corpus = Corpus(golden)
        self.copies = Copies(self.corpus)
        self.inspector = Inspector(system.subject) if system and isinstance(system.subject, Pipeline) else None
        self.trials: dict[str, dict[str, Trial]] = {}
        self.failed = ""
        """Why the system could not be asked, if it failed."""
        self._inspections: dict[str, Inspection] = {}
        self._stages: dict[str, Mapping[str, Mapping[str, float]]] = {}
        self._answers: dict[tuple[str, str, int, int], tuple[Hit, ...] | None] = {}

    # What is known of the index

    @cached_property
    def index(self) -> frozenset[str] | None:
        """The ids of the documents in the index; None if they are not known."""
        if self.chunks:
            return frozenset(self.chunks)
        if self.system is None or self.system.document_ids is None:
            return None
        try:
            return frozenset(self.system.document_ids())
        except KaratError:
            return None

    @cached_property
    def place(self) -> Callable[[Target], Span | None]:
        """Where a judged part stands in its document."""
        return resolver(self.golden)

    @cached_property
    def lengths(self) -> Counter[int]:
        """How many lists of the run have each length."""
        return Counter(len(case.trace.hits) for case in self.cases if not case.trace.error)

    @cached_property
    def lists_relevant_only(self) -> bool:
        """Whether nothing was judged not to be relevant, so that what is not judged was meant not to be."""
        grades = (grade for targets in self.golden.grades_by_query.values() for grade in targets.values())
        return all(grade >= self.golden.relevant for grade in grades)

    @cached_property
    def chunks(self) -> Mapping[str, list[Chunk]]:
        """The chunks of each document in the index; {} if the index is not at hand."""
        chunks: dict[str, list[Chunk]] = {}
        for chunk in self.inspector.chunks if self.inspector else ():
            chunks.setdefault(chunk.document, []).append(chunk)
        return chunks

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The text of each chunk in the index, by its id."""
        return {chunk.id: chunk.text for chunks in self.chunks.values() for chunk in chunks}

    def text_of(self, hit: Hit) -> str:
        """Return the text of a hit: its own, that of its chunk in the index, or that of the golden set at its place."""
        return hit.content or self.texts.get(hit.id, "") or self.corpus.text_at(hit.document, hit.span)

    def own_text(self, hit: Hit) -> str:
        """Return the text of a hit as the system has it; "" if that is not known."""
        return hit.content or self.texts.get(hit.id, "")

    # Asking

    def ask(self, case: Case, k: int, *, text: str = "", number: int = 0) -> tuple[Hit, ...] | None:
        """Return the answer to a query, or to another ``text``; each is asked once for the same ``number``.

        None if it cannot be had: the system failed, which is remembered, or the query is a turn of a session, whose
        answer depends on what was asked and stored before.
        """
        system, query = self.system, case.query
        if system is None or self.depends_on_session(case):
            return None
        key = (query.id, text, k, number)
        if key not in self._answers:
            context = {"context": make_context(query, system.tenant)} if system.takes_context else {}
            try:
                result = resolve(system.retrieve(text or query.text, k, **context))
                answer = open_answer(result)
                self._answers[key] = read_hits(result if answer is None else answer.hits, k, system.tenant)
            except (Exception, SystemExit) as error:
                self.failed = hide_secrets(str(error)) if isinstance(error, SystemFailed) else describe_error(error)
                self._answers[key] = None
        return self._answers[key]

    def depends_on_session(self, case: Case) -> bool:
        """Whether the query is a turn of a session, and the system knows its sessions."""
        return case.query.session is not None and self.system is not None and self.system.has_sessions

    def deep(self, case: Case) -> tuple[Hit, ...]:
        """Return ten times as many hits; those of the run if the system cannot be asked."""
        hits = self._ask_deeper(case)
        return case.trace.hits if hits is None else hits

    def _ask_deeper(self, case: Case) -> tuple[Hit, ...] | None:
        """Return ten times as many hits; those of the built-in pipeline do not tell their places in the channels."""
        if self.inspector is None:
            return self.ask(case, self.k * DEEPER)
        key = (case.query.id, "", self.k * DEEPER, 0)
        if key not in self._answers:
            inspection = self.inspector.inspect(case.query.text, self.k * DEEPER)
            ranking = [(inspection.chunks[number], score) for number, score in inspection.lists[RESULT]]
            self._answers[key] = tuple(
                Hit(chunk.id, score, chunk.document, chunk.span, section=chunk.section, type=chunk.type)
                for chunk, score in ranking
            )
        return self._answers[key]

    def repeats(self, case: Case) -> list[tuple[Hit, ...]]:
        """Return the answers to the same question: of the run, of its repeats, and of the system asked again.

        A steady system is not asked everything again: a sample of the queries comes first.
        """
        recorded = [trace.hits for trace in case.others if not trace.paraphrase and not trace.error]
        if self.system is None or recorded:
            return [case.trace.hits, *recorded] if recorded else []
        if not self._is_unsteady:
            return [case.trace.hits]
        again = (self.ask(case, self.k, number=number) for number in range(1, 1 + _ASKED_AGAIN))
        return [case.trace.hits, *(hits for hits in again if hits is not None)]

    @cached_property
    def _is_unsteady(self) -> bool:
        sample = [case for case in self.cases if case.lost and not case.trace.error][:_SAMPLE]
        answers = ((case, self.ask(case, self.k, number=1)) for case in sample)
        return any(
            [hit.id for hit in hits] != [hit.id for hit in case.trace.hits]
            for case, hits in answers
            if hits is not None
        )

    def inspect(self, case: Case) -> Inspection | None:
        """Return the list of every channel and stage of the built-in pipeline; None for another system."""
        if self.inspector is None:
            return None
        if case.query.id not in self._inspections:
            self._inspections[case.query.id] = self.inspector.inspect(case.query.text, self.k)
        return self._inspections[case.query.id]

    def stages(self, case: Case) -> Mapping[str, Mapping[str, float]]:
        """Return each channel and stage with its documents and their scores, as the pipeline or the trace has them."""
        if case.query.id not in self._stages:
            self._stages[case.query.id] = dict(self._list_stages(case))
        return self._stages[case.query.id]

    def _list_stages(self, case: Case) -> Iterator[tuple[str, dict[str, float]]]:
        inspection = self.inspect(case)
        if inspection is not None:
            for name, ranking in inspection.lists.items():
                yield name, _best((inspection.chunks[number].document, score) for number, score in ranking)
            return
        for stage in case.trace.stages:
            yield stage.label, _best((hit.document, hit.score) for hit in stage.hits)
        if not case.trace.stages:
            yield from self._places_of_hits(case)
        yield RESULT, _best((hit.document, hit.score) for hit in case.trace.hits)

    def _places_of_hits(self, case: Case) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield the channels as far as the hits tell their places there."""
        for name in dict.fromkeys(name for hit in case.trace.hits for name in hit.channels):
            having = [(hit.channels[name], hit.document) for hit in case.trace.hits if name in hit.channels]
            yield name, _best((document, place.score) for place, document in sorted(having, key=lambda p: p[0].rank))

    # Changes

    @cached_property
    def changes(self) -> dict[str, Callable[[Case], list[Iterable[Found]]]]:
        """The things that can be changed, each with the lists that a query then has: one, or one for each wording."""
        changes: dict[str, Callable[[Case], list[Iterable[Found]]]] = {"paraphrases": self._paraphrases}
        if self.system is not None:
            changes["k x 10"] = self._deeper
        changes[_COPIES] = lambda case: [self._without_copies(case)]
        if (inspector := self.inspector) is None:
            return changes | self._recorded_changes()
        for part in inspector.parts:
            name = {"lexical": "dense alone", "dense": "lexical alone"}.get(part, f"without {part}")
            changes[name] = lambda case, part=part: [self._look(inspector, case, off=(part,))]  # type: ignore[misc]
        if inspector.is_approximate:
            changes["exact search"] = lambda case: [self._look(inspector, case, exact=True)]
        changes["perfect reranker"] = lambda case: [self._oracle(inspector, case)]
        if inspector.channels == ("dense",):
            changes["lexical alone"] = lambda case: [self._look(self._words, case)]
        for name, attribute in {"chunks by section": "_sections", "larger chunks": "_larger"}.items():
            changes[name] = lambda case, attribute=attribute: [self._look(getattr(self, attribute), case)]  # type: ignore[misc]
        if any(self.corpus.typed_blocks(document.id) for document in self.golden.documents):
            changes["typed chunks"] = lambda case: [self._look(self._typed, case)]
        return changes

    def _recorded_changes(self) -> dict[str, Callable[[Case], list[Iterable[Found]]]]:
        """Return each channel alone, if the run recorded the lists of several."""
        channels = dict.fromkeys(
            stage.channel for case in self.cases for stage in case.trace.stages if stage.channel and stage.hits
        )
        if len(channels) < 2:
            return {}
        return {
            f"{'lexical' if channel.lower() in LEXICAL else channel} alone": partial(_recall, channel)
            for channel in channels
        }

    def run(self, queries: Collection[str] | None = None) -> None:
        """Try every change on every query: one query after another, since the inspector remembers the last one.

        With ``queries``, copies are looked for only among the hits of these: what other queries have does not matter.
        """
        self.trials = {name: {} for name in self.changes}
        for case in self.cases:
            if not case.expected or case.trace.error:
                continue
            for name, change in self.changes.items():
                if name == _COPIES and queries is not None and case.query.id not in queries:
                    continue
                if lists := change(case):
                    self.trials[name][case.query.id] = _compare(case, lists)
            if self.inspector is not None and case.lost:
                self.inspect(case)

    def net(self, name: str, case: Case) -> float:
        """Return what a change brings back of a query's loss; 0 if it costs as much, or was not tried."""
        trial = self.trials.get(name, {}).get(case.query.id)
        return 0.0 if trial is None else max(0.0, trial.net)

    def total(self, name: str) -> float:
        """Return what a change brings back of all that the run lost, less what it costs."""
        lost = self._lost
        return sum(trial.balance for trial in self.trials.get(name, {}).values()) / lost if lost else 0.0

    @cached_property
    def _lost(self) -> int:
        return sum(sum(case.lost.values()) for case in self.cases)

    def trust(self, name: str) -> float:
        """Return how far a change is believed: one that helps a query and harms as many others is a coincidence."""
        return min(1.0, max(0.25, 0.5 + 0.5 * self.total(name) / _FULL_TRUST))

    def weight(self, name: str, case: Case) -> float:
        """Return what a change brings back of a query's loss, as far as it is believed."""
        return self.net(name, case) * self.trust(name) if name in self.trials else 0.0

    # How the lists are made

    def _look(self, inspector: Inspector, case: Case, **how: object) -> Iterable[Found]:
        inspection = inspector.inspect(case.query.text, self.k, **how)  # type: ignore[arg-type]
        return _results(inspection)

    def _oracle(self, inspector: Inspector, case: Case) -> Iterable[Found]:
        """Return the candidates of the last list before the reranker, the relevant ones first."""
        inspection = inspector.inspect(case.query.text, self.k, off=("rerank", "mmr"))
        name = "fusion" if "fusion" in inspection.lists else inspection.channels[0]
        ranking = [Found(c.document, c.span) for c in (inspection.chunks[n] for n, _ in inspection.lists[name])]
        return sorted(ranking, key=lambda hit: not (hit.document in case.expected and case.holds(*hit)))

    def _paraphrases(self, case: Case) -> list[Iterable[Found]]:
        recorded = [trace.hits for trace in case.others if trace.paraphrase and not trace.repeat and not trace.error]
        if recorded:
            return [_founds(hits) for hits in recorded]
        if self.inspector is not None:
            looks = (self.inspector.inspect(text, self.k) for text in case.query.paraphrases)
            return [_results(inspection) for inspection in looks]
        answers = (self.ask(case, self.k, text=text) for text in case.query.paraphrases[:1])
        return [_founds(hits) for hits in answers if hits is not None]

    def _deeper(self, case: Case) -> list[Iterable[Found]]:
        hits = self._ask_deeper(case)
        return [] if hits is None else [_founds(hits, keep=case)]

    def _without_copies(self, case: Case) -> Iterable[Found]:
        hits = self.deep(case)
        marks = self.copies.mark(hits, self.own_text, case.cut)
        return _founds([hit for hit, is_copy in zip(hits, marks, strict=False) if not is_copy])

    @cached_property
    def _size(self) -> int:
        assert self.inspector is not None
        described = self.inspector.pipeline.describe()["chunk"]
        size = described.get("size", _TOKENS)
        return size if isinstance(size, int) else _TOKENS

    @cached_property
    def _sections(self) -> Inspector:
        size = max(_SMALLEST, min(self._size, _TOKENS) // 2)
        return self._rebuild("sections", {"name": "heading", "size": size, "least": size // 4, "context": "title"})

    @cached_property
    def _larger(self) -> Inspector:
        overlap = min(_OVERLAP, self._size)  # a chunker refuses more than half of its size
        return self._rebuild(
            "larger", {"name": "sentence", "size": 2 * self._size, "overlap": overlap, "context": "title"}
        )

    @cached_property
    def _typed(self) -> Inspector:
        return self._rebuild("typed", {"name": "blocks", "size": min(self._size, _TOKENS), "context": "title"})

    def _rebuild(self, name: str, chunk: dict[str, object]) -> Inspector:
        assert self.inspector is not None
        return self.inspector.rebuild(self.golden.documents, f"explain-{name}", chunk=chunk)

    @cached_property
    def _words(self) -> Inspector:
        """The documents in a lexical index, for a pipeline that has none."""
        from karat.systems import Stages

        pipeline = Pipeline(Stages(chunk=self.inspector.pipeline.stages.chunk if self.inspector else {}, dense=False))
        pipeline.ingest(self.golden.documents)
        return Inspector(pipeline)


def _best(ranking: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the documents of a list, each with the score of its first hit."""
    first: dict[str, float] = {}
    for document, score in ranking:
        first.setdefault(document, score)
    return first


def _founds(hits: Sequence[Hit], keep: Case | None = None) -> Iterator[Found]:
    """Yield hits; for ``keep``, as if every one of them were above the cut."""
    if keep is None:
        yield from (Found(hit.document, hit.span) for hit in hits)
        return
    expected = keep.expected
    yield from (Found(hit.document, hit.span) for hit in hits if hit.document in expected)


def _recall(channel: str, case: Case) -> list[Iterable[Found]]:
    """Return the list that a run recorded of a channel."""
    recorded = (stage.hits for stage in case.trace.stages if stage.channel == channel)
    return [_founds(hits) for hits in islice(recorded, 1)]


def _results(inspection: Inspection) -> list[Found]:
    chunks = inspection.chunks
    return [Found(chunks[number].document, chunks[number].span) for number, _ in inspection.lists[RESULT]]


def _compare(case: Case, lists: Sequence[Iterable[Found]]) -> Trial:
    """Return what lists gain and miss, in the mean if there are several; a document counts if any list has it."""
    before, lost = case.found, sum(case.lost.values())
    gained: set[str] = set()
    missed: set[str] = set(before)
    balance = 0.0
    for ranking in lists:
        now = case.find(ranking)
        gained |= now - before
        missed &= before - now
        balance += sum(case.expected[d] for d in now - before) - sum(case.expected[d] for d in before - now)
    balance /= len(lists)
    return Trial(
        gained=frozenset(gained), missed=frozenset(missed), balance=balance, net=balance / lost if lost else 0.0
    )
