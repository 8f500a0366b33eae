"""Scoring of hits that may be parts of documents: they are collapsed to judged units first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypedDict, Unpack, get_args

from karat.core import GoldenSet, Measure, Scores, Trace, Undefined, Unit, UsageError, shorten
from karat.measures._bounds import Bounding
from karat.measures._collapse import Collapse, Resolve
from karat.measures._conventions import Conventions, Missing, conventions
from karat.measures._evidence import Embed, Evidence
from karat.measures._overlap import DEFAULT_OVERLAP, Overlap
from karat.measures._score import Options, score_alignment, wanted_measures

_SPAN_MEASURES = ("SpanR", "SpanP", "SpanIoU")


class HitOptions(TypedDict, total=False):
    """The options of :func:`score` that apply to hits, for type checkers."""

    conventions: str | Conventions
    undefined: Undefined | None
    missing: Missing | None
    bounds: bool


def score_hits(
    golden: GoldenSet,
    hits: Mapping[str, Sequence[Any]],
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    unit: Unit = "document",
    overlap: Overlap = DEFAULT_OVERLAP,
    resolve: Resolve | None = None,
    name: str = "hits",
    failed: Collection[str] = (),
    others: Mapping[str, Sequence[str]] | None = None,
    traces: Mapping[str, Trace] | None = None,
    variants: Mapping[str, Sequence[Trace]] | None = None,
    embed: Embed | None = None,
    **options: Unpack[HitOptions],
) -> Scores:
    """Score the hits of a system, chunks or documents, against a golden set.

    ``hits`` maps each query to its hits: ``karat.Hit``, or any object with ``id`` or ``document`` and ``score``, and
    perhaps ``span``, ``section``, ``block`` and ``content``. Hits are ranked by score, highest first, and in the given
    order where scores are equal. Then they are collapsed to judged units, each at the place of its best hit, so that
    nothing counts twice. With ``unit``

    - ``document``, a hit counts as its document, or as the class of it, which has the best grade of its parts;
    - ``target``, a hit counts for every judged target of its document that it holds: always for the document itself
      (or its class), for a span by ``overlap``, for a section or block by its span, which ``resolve`` returns, or else
      if the hit names the same one. Several targets take successive ranks, the best grade first. A hit that holds
      only targets of hits above it is dropped; ``DupRate`` counts these. A hit that holds no target is one unit that
      is not relevant.

    A measure with a parameter ``rel`` counts as relevant what the golden set does (``golden.relevant``), unless it is
    written with another value or the conventions have one; ``definitions`` of the scores shows it. Span measures
    (``SpanR``, ``SpanP``, ``SpanIoU``) look at the hits themselves; ``resolve`` may return the span of a whole
    document. ``failed`` names the queries that the system failed to answer: their empty lists are not answers, which
    matters for queries whose right answer is an empty list. ``traces`` has the trace of each query, for measures that
    look at channels, stages, sessions or times; ``variants`` has all traces of each query, in all of its wordings and
    repeats, for measures of stability, and ``embed`` turns texts into vectors, for distances of meanings.

    Options are ``conventions``, ``undefined``, ``missing`` and ``bounds``, as for ``karat.score``; unjudged documents
    could have any grade of the golden set. ``others`` has the documents of another ranking of each query, the best
    first, that these hits are compared with: bounds then count its unjudged documents as possibly relevant, too. It
    needs documents as units.

    >>> from karat import Hit, Judgment, Span, Target
    >>> gold = [Target(document="wifi", span=Span(0, 50)), Target(document="wifi", span=Span(200, 260))]
    >>> golden = GoldenSet(judgments=tuple(Judgment(query="q", target=target, grade=3) for target in gold))
    >>> chunks = {"q": [Hit("wifi:chunk:0", 0.9, span=Span(0, 100)), Hit("wifi:chunk:1", 0.8, span=Span(100, 200))]}
    >>> score_hits(golden, chunks, ["R@5", "P@1"]).mean()
    {'R@5': 1.0, 'P@1': 1.0}
    >>> score_hits(golden, chunks, ["R@5", "SpanR@5"], unit="target").mean()
    {'R@5': 0.5, 'SpanR@5': 0.45454545454545453}
    >>> score_hits(golden, chunks, ["R@5"]).definitions
    {'R@5': 'R(rel=2)@5'}
    """
    chosen = Options(**options)
    _check_arguments(golden, hits, unit, others, chosen)
    names = (measures,) if isinstance(measures, str | Measure) else measures if measures is None else tuple(measures)
    using = fill_in(golden, names, conventions(chosen.conventions))
    wanted = wanted_measures(names, using)
    places = any(map(_needs_places, wanted))
    collapse = Collapse(golden=golden, unit=unit, overlap=overlap, resolve=resolve, places=places)
    alignment = collapse.align(hits, name, failed)
    if traces is not None:
        evidence = Evidence(golden=golden, traces=traces, variants=variants or {}, embed=embed)
        alignment = replace(alignment, evidence=evidence)
    count = None if others is None else cache(partial(collapse.count_others, hits, others))
    bounding = Bounding(highest=len(golden.grades) - 1, others=count) if chosen.bounds else None
    using_options = replace(chosen, conventions=using)
    return score_alignment(alignment, wanted, name=name, options=using_options, bounding=bounding)


def _check_arguments(golden: object, hits: object, unit: str, others: object, chosen: Options) -> None:
    """Raise UsageError for arguments of score_hits that nothing can be made of."""
    for value, kind in ((golden, GoldenSet), (hits, Mapping)):
        if not isinstance(value, kind):
            raise UsageError(f"score_hits takes a GoldenSet and {{query: [Hit, ...]}}, not {shorten(value)}")
    if chosen.classes is not None or chosen.format is not None:
        raise UsageError("score_hits takes no classes and no format; the golden set has the classes")
    if unit not in get_args(Unit):
        raise UsageError(f"unit={unit!r}; choose from {', '.join(get_args(Unit))}")
    if others is not None and unit != "document":
        raise UsageError("others are documents; score with unit='document'")


def _needs_places(measure: Measure) -> bool:
    """Return whether a measure may look at the places of hits and gold: karat's own are known, others are not."""
    is_own = measure.definition.kernel.__module__.startswith("karat.measures")
    return not is_own or measure.name in _SPAN_MEASURES


def fill_in(golden: GoldenSet, names: Sequence[str | Measure] | None, using: Conventions) -> Conventions:
    """Return conventions under which ``rel`` is that of the golden set, where they leave it open."""
    measures = [(text, Measure.parse(text)) for text in (using.measures if names is None else names)]
    open_ = {
        measure.name
        for _, measure in measures
        if any(p.name == "rel" and p.default is not None for p in measure.definition.parameters)
    }
    filled = {name: {"rel": golden.relevant, **using.parameters.get(name, {})} for name in sorted(open_)}
    ours = replace(using, parameters={**using.parameters, **filled})
    for text, measure in measures:
        written = dict(measure.written(text)).get("rel")
        # With its default value the measure equals the one without the parameter, and cannot mean another.
        if written is not None and _rel(using, measure) == written != _rel(ours, measure):
            raise UsageError(
                f"measure {text}: in this golden set relevant means grade {golden.relevant} and above; "
                f"for grade {written}, score dataclasses.replace(golden, relevant={written})"
            )
    return ours


def _rel(using: Conventions, measure: Measure) -> object:
    return using.resolve(measure).arguments().get("rel")
