"""Knowledge gain: what new documents would add, each by itself and all together, before they are ingested."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from karat.config import FrontMatter
from karat.core import Document, GoldenSet, Hit, InputError, Measure, Provenance, Run, Trace, UsageError, shorten
from karat.diagnosis._novelty import Novelty, measure_novelty
from karat.evaluation import score_run
from karat.files import Reading, shorten_path
from karat.golden import read_documents
from karat.judges import Source
from karat.projects import Project, open_project, require_scorable
from karat.runs import describe_run
from karat.schema import Gain, GainDocument, GainedMeasure, GainedQuery, NoveltyForm
from karat.systems import RESULT, Inspector, Pipeline

CONTEXT = "ContextRecall"
"""How far the texts of the hits hold the reference answer, by words; the judge of that name asks a model."""
_DEFAULT: Mapping[str, float] = {"R@5": 1.0, CONTEXT: 1.0}
_TINY = 1e-12
_DIGITS = 12  # of numbers that are put in order: sums of floats differ in the last ones
_NO_VECTORS = "novelty needs vectors, and the dense channel is off"

Values = Mapping[str, Mapping[str, float]]
"""The value of each query, by measure."""


def measure_gain(
    folder: str | Path,
    documents: str | Path,
    *,
    weights: Mapping[str, float] | None = None,
    novelty_weight: float = 0.0,
    novelty_form: NoveltyForm = "mean",
    cache: bool = True,
    say: Callable[[str], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> GainDocument:
    """Return what new documents would add to the pipeline of a project, each alone and all together.

    The gain is the mean of the changes of measures, each by its weight, plus the novelty by its own. All is as if the
    project was evaluated without and with them: they are cut, embedded and indexed beside what is there, which is not
    embedded again. ``weights`` are by default 1 for R@5, and for ContextRecall, which is here how far the words of the
    reference answer are in the texts of the hits.
    """
    bench = _make_bench(folder, documents, weights, cache=cache, say=say, progress=progress)
    if not 0 <= novelty_weight < math.inf:
        raise UsageError(f"novelty weight {novelty_weight:g}; choose 0 or more")
    before = bench.score(bench.ask(bench.inspector))
    rating = _Rating(bench=bench, before=before, weight=novelty_weight, form=novelty_form)
    gains = []
    for number, document in enumerate(bench.new, 1):
        gains.append(rating.rate((document,)))
        if progress is not None:
            progress("rating", number, len(bench.new))
    together = gains[0] if len(gains) == 1 else rating.rate(bench.new)
    bench.inspector.pipeline.close()
    return GainDocument(
        project=str(shorten_path(bench.project.config.folder)),
        system=bench.provenance.title,
        queries=len(bench.golden.queries),
        k=bench.k,
        weights=dict(bench.weights),
        novelty_weight=novelty_weight,
        novelty_form=novelty_form,
        documents=tuple(sorted(gains, key=lambda gain: (-round(gain.gain, _DIGITS), gain.documents))),
        together=together,
        notes=tuple(bench.notes),
    )


@dataclass(frozen=True, kw_only=True)
class _Bench:
    """A pipeline with the documents of its project, and the new ones."""

    project: Project
    golden: GoldenSet
    """With the new documents, whose judgments count without them, too: what is not there cannot be found."""
    new: tuple[Document, ...]
    inspector: Inspector
    provenance: Provenance
    weights: Mapping[str, float]
    k: int
    notes: tuple[str, ...]
    contexts: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Values of ContextRecall by query and hits."""

    def ask(self, inspector: Inspector) -> list[Trace]:
        """Ask every question, and return the hits with their texts."""
        traces = []
        for query in self.golden.queries:
            inspection = inspector.inspect(query.text, self.k)
            listed = ((inspection.chunks[number], score) for number, score in inspection.lists[RESULT])
            hits = tuple(
                Hit(chunk.id, score, chunk.document, chunk.span, section=chunk.section, content=chunk.text)
                for chunk, score in listed
            )
            traces.append(Trace(query=query.id, text=query.text, hits=hits))
        return traces

    def score(self, traces: Sequence[Trace]) -> Values:
        """Return the values of all measures."""
        names = [name for name in self.weights if name != CONTEXT]
        values: dict[str, dict[str, float]] = {}
        if names:
            run = Run(provenance=self.provenance, traces=tuple(traces))
            scores = score_run(self.golden, run, names, **self.project.scoring).scores
            values = {name: scores.column(name) for name in names}
        if CONTEXT in self.weights:
            values[CONTEXT] = {trace.query: self._recall_context(trace) for trace in traces if self._refers(trace)}
        return values

    def _refers(self, trace: Trace) -> bool:
        return bool(self.golden.query_by_id[trace.query].answer)

    def _recall_context(self, trace: Trace) -> float:
        """Return how far the hits hold the reference answer, once for the same hits: most documents change few."""
        key = (trace.query, *(hit.id for hit in trace.hits))
        if key not in self.contexts:
            text = "\n".join(hit.content for hit in trace.hits)
            self.contexts[key] = Source(text).support(self.golden.query_by_id[trace.query].answer).value
        return self.contexts[key]

    def compare(self, before: Values, after: Values) -> tuple[GainedMeasure, ...]:
        """Return the means of each measure without and with documents, over the queries that have both."""
        rows = []
        for name in self.weights:
            both = [query for query in before[name] if query in after[name]]
            means = [math.fsum(values[name][query] for query in both) / max(1, len(both)) for values in (before, after)]
            rows.append(
                GainedMeasure(
                    measure=name,
                    before=means[0] if both else None,
                    after=means[1] if both else None,
                    change=means[1] - means[0] if both else None,
                    queries=len(both),
                )
            )
        return tuple(rows)

    def weigh(self, changes: Mapping[str, float | None]) -> float:
        """Return the mean of changes by their weights; a measure without a value has none."""
        known = {name: change for name, change in changes.items() if change is not None}
        total = math.fsum(self.weights[name] for name in known)
        return math.fsum(self.weights[name] * change for name, change in known.items()) / total if total else 0.0


@dataclass(frozen=True, kw_only=True)
class _Rating:
    """Rates new documents by what they change."""

    bench: _Bench
    before: Values
    weight: float
    form: NoveltyForm

    def rate(self, documents: Sequence[Document]) -> Gain:
        """Return what documents would add."""
        bench = self.bench
        inspector = bench.inspector.extend(documents)
        traces = bench.ask(inspector)
        after = bench.score(traces)
        measures = bench.compare(self.before, after)
        queries = self._weigh_queries(after)
        novelty = measure_novelty(bench.inspector, inspector)
        own = {document.id for document in documents}
        return Gain(
            documents=tuple(document.id for document in documents),
            gain=bench.weigh({row.measure: row.change for row in measures}) + self._weigh_novelty(novelty),
            measures=measures,
            novelty_mean=None if novelty is None else novelty.mean,
            novelty_max=None if novelty is None else novelty.max,
            chunks=len(inspector.chunks) - len(bench.inspector.chunks),
            shown=sum(any(hit.document in own for hit in trace.hits) for trace in traces),
            helps=tuple(row for row in queries if row.change > 0),
            hurts=tuple(row for row in queries if row.change < 0),
        )

    def _weigh_queries(self, after: Values) -> list[GainedQuery]:
        """Return the queries whose values change, the greatest change first, and equal ones by their ids."""
        changes: dict[str, dict[str, float]] = {}
        for name, values in after.items():
            for query, value in values.items():
                if query in self.before[name]:
                    changes.setdefault(query, {})[name] = value - self.before[name][query]
        weighed = [GainedQuery(query=query, change=self.bench.weigh(change)) for query, change in changes.items()]
        changed = (row for row in weighed if abs(row.change) > _TINY)
        return sorted(changed, key=lambda row: (-round(abs(row.change), _DIGITS), row.query))

    def _weigh_novelty(self, novelty: Novelty | None) -> float:
        if not self.weight or novelty is None:
            return 0.0
        return self.weight * (novelty.mean if self.form == "mean" else novelty.max)


def _make_bench(
    folder: str | Path,
    documents: str | Path,
    weights: Mapping[str, float] | None,
    *,
    cache: bool,
    say: Callable[[str], None] | None,
    progress: Callable[[str, int, int], None] | None,
) -> _Bench:
    project = open_project(folder)
    require_scorable(project.golden, str(folder))
    new = _read_new(Path(documents), project.golden, project.config.front_matter)
    golden = replace(project.golden, documents=(*project.golden.documents, *new))
    system = project.system(cache=cache, say=say, progress=progress)
    pipeline = system.subject
    if not isinstance(pipeline, Pipeline):
        raise UsageError(
            f"{system.name} is not the built-in pipeline, to which documents can be added; compare runs without and "
            "with them instead (karat compare)"
        )
    chosen, notes = _choose_weights(weights, golden, {document.id for document in new})
    pipeline.ingest(project.golden.documents)
    if pipeline.indexes["dense"] is None:
        notes.append(_NO_VECTORS)
    settings = project.settings([name for name in chosen if name != CONTEXT])
    return _Bench(
        project=project,
        golden=golden,
        new=new,
        inspector=Inspector(pipeline),
        provenance=describe_run(project.golden, system, settings),
        weights=chosen,
        k=settings.k,
        notes=tuple(notes),
    )


def _read_new(path: Path, golden: GoldenSet, front_matter: FrontMatter) -> tuple[Document, ...]:
    """Return the new documents; InputError if one is there already, or there is none."""
    if not path.exists():
        raise InputError("no such file or folder", source=str(path))
    reading = Reading()
    documents = read_documents(path, reading, front_matter=front_matter)
    reading.finish()
    if not documents:
        raise InputError("holds no document", source=str(path))
    seen = set(golden.document_by_id)
    for document in documents:
        if document.id in seen:
            hint = "name it otherwise, or compare runs without and with the change (karat compare)"
            raise InputError(f"document {shorten(document.id)} is there already", source=str(path), hint=hint)
        seen.add(document.id)
    return documents


def _choose_weights(
    weights: Mapping[str, float] | None, golden: GoldenSet, new: set[str]
) -> tuple[dict[str, float], list[str]]:
    """Return the weights of measures that can be computed, and notes on those that can not, or tell little."""
    chosen = dict(weights or _DEFAULT)
    for name, weight in chosen.items():
        if not 0 < weight < math.inf:
            raise UsageError(f"weight {name}={weight:g}; choose a number above 0")
        if name == CONTEXT:
            continue
        definition = Measure.parse(name).definition
        if definition.higher_is_better is not True:
            raise UsageError(f"{name} is not a measure where higher is better, so it cannot measure a gain")
        if definition.traced:
            raise UsageError(f"{name} is a measure of answers or traces; a gain is that of rankings, and of {CONTEXT}")
    notes = []
    if CONTEXT in chosen and not any(query.answer for query in golden.queries):
        del chosen[CONTEXT]
        notes.append(f"no query has a reference answer, so that {CONTEXT} is left out")
        if not chosen:
            raise UsageError(f"{notes[0]}, and there is no other measure")
    judged = {judgment.target.document for judgment in golden.judgments}
    ranked = ", ".join(name for name in chosen if name != CONTEXT)
    if ranked and not new & judged:
        notes.append(f"no new document is judged, so that what it answers itself does not count in {ranked}")
    return chosen, notes
