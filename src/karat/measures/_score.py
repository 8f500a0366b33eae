"""Score runs against judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, get_args

import numpy as np

from karat.core import Floats, InputError, Measure, Scores, Undefined, UsageError, shorten
from karat.measures._alignment import Alignment, Bools, Judgments
from karat.measures._classes import collapse_judgments
from karat.measures._conventions import Conventions, Missing, conventions
from karat.measures._input import Rankings, load_judgments, load_run
from karat.measures._measure import ANSWERABLE, NO_SPANS, UNANSWERABLE, explain

if TYPE_CHECKING:
    from karat.measures._bounds import Bounding

Qrels: TypeAlias = "str | PathLike[str] | Mapping[str, Mapping[str, int]] | Judgments | Any"
RunInput: TypeAlias = "str | PathLike[str] | Mapping[str, Mapping[str, float]] | Rankings | Any"

NOT_IN_RUN = "not in the run"
NO_RELEVANT = "no relevant documents"
_OUTSIDE = {"answerable": UNANSWERABLE, "unanswerable": ANSWERABLE}
"""Why a query has no value, by the kind of queries that the measure is meant for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keyword arguments of :func:`score`, checked."""

    conventions: str | Conventions = "karat"
    undefined: Undefined | None = None
    missing: Missing | None = None
    classes: Mapping[str, str] | None = None
    format: str | None = None
    bounds: bool = False

    def __post_init__(self) -> None:
        conventions(self.conventions)
        _check_choice("undefined", self.undefined, get_args(Undefined))
        _check_choice("missing", self.missing, get_args(Missing))
        if not isinstance(self.classes, Mapping | None):
            raise UsageError(f"classes of type {type(self.classes).__name__}; give {{document: class}}")


class ScoreOptions(TypedDict, total=False):
    """The keyword arguments of :func:`score`, for type checkers."""

    conventions: str | Conventions
    undefined: Undefined | None
    missing: Missing | None
    classes: Mapping[str, str] | None
    format: str | None
    bounds: bool


def score(
    qrels: Qrels,
    run: RunInput,
    measures: Iterable[str | Measure] | str | None = None,
    *,
    name: str | None = None,
    **options: Unpack[ScoreOptions],
) -> Scores:
    """Score a run against judgments.

    ``qrels`` and ``run`` are paths (TREC, JSON, JSONL, CSV, TSV, Parquet, gzipped or not), dicts of dicts, or Polars,
    pandas or Arrow tables in any order. Extra columns are ignored, and the inputs are not changed. ``run`` may also be
    the run file of ``karat eval`` or a trace file. ``measures`` are names such as ``nDCG@10``; the default depends on
    the conventions. Options:

    - ``conventions``: ``karat`` (default), ``trec``, ``fit``, ``beluga``, ``agent``, ``rig``, ``blocks``;
    - ``undefined``: how to score a query for which a measure is undefined: ``exclude`` (default), ``zero``, ``one``;
    - ``missing``: how to score a judged query that is not in the run: ``zero`` (default) or ``exclude``;
    - ``classes``: document -> class, for documents that can stand for each other;
    - ``format``: the format of both files; by default it is recognised;
    - ``bounds``: whether to compute how far unjudged documents could move each value: ``at_worst()`` and ``at_best()``
      of the result, over all grades up to the highest of the judgments that documents in the top k could have.

    >>> import karat
    >>> scores = karat.score({"q1": {"a": 1, "b": 2}}, {"q1": {"b": 0.9, "x": 0.8, "a": 0.7}}, ["nDCG@10", "P@1"])
    >>> scores.mean()
    {'nDCG@10': 0.9502344167898356, 'P@1': 1.0}
    """
    return score_runs(qrels, {name or name_of(run): run}, measures, **options)[0]


def score_runs(
    qrels: Qrels,
    runs: Mapping[str, RunInput],
    measures: Iterable[str | Measure] | str | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    **options: Unpack[ScoreOptions],
) -> list[Scores]:
    """Score several runs, by name, against judgments that are read once; otherwise like :func:`score`.

    ``progress`` is called with the number of bytes read from large files.

    >>> qrels = {"q1": {"a": 1}}
    >>> both = score_runs(qrels, {"old": {"q1": {"b": 2, "a": 1}}, "new": {"q1": {"a": 2, "b": 1}}}, "RR")
    >>> [(scores.name, scores.mean()) for scores in both]
    [('old', {'RR': 0.5}), ('new', {'RR': 1.0})]
    """
    chosen = Options(**options)
    wanted = wanted_measures(measures, conventions(chosen.conventions))
    # The first run is opened before the judgments are read: when it is large enough for Polars, so are they.
    first = load_run(next(iter(runs.values())), chosen.format, progress) if runs else None
    judgments = read_judgments(qrels, format=chosen.format)
    if chosen.classes is not None:
        judgments = collapse_judgments(judgments, chosen.classes)
    scores = []
    for i, (name, run) in enumerate(runs.items()):
        rankings = load_run(run, chosen.format, progress) if i or first is None else first
        alignment = align_run(judgments, rankings, classes=chosen.classes)
        repeated = {query: n for query in alignment.queries if (n := rankings.repeated.get(query, 0))}
        bounding = _bound_by(judgments) if chosen.bounds else None
        table = score_alignment(alignment, wanted, name=name, options=chosen, bounding=bounding)
        scores.append(replace(table, repeated=repeated) if repeated else table)
    return scores


def _bound_by(judgments: Judgments) -> Bounding:
    from karat.measures._bounds import Bounding

    return Bounding(highest=int(judgments.grades.max(initial=1)))


def wanted_measures(measures: Iterable[str | Measure] | str | None, using: Conventions) -> tuple[Measure, ...]:
    """Parse the measures, without repeats."""
    names = using.measures if measures is None else (measures,) if isinstance(measures, str | Measure) else measures
    wanted = []
    for text in names:
        measure = Measure.parse(text)
        wanted.append(measure)
        for key, value in measure.written(text):
            if using.resolve(measure).arguments().get(key) != value:
                raise UsageError(
                    f"measure {text}: conventions {using.name} decide {key} otherwise; ask for it under 'karat'"
                )
    return tuple(dict.fromkeys(wanted))


def score_alignment(
    alignment: Alignment,
    measures: Sequence[Measure],
    *,
    name: str,
    options: Options,
    bounding: Bounding | None = None,
) -> Scores:
    """Compute measures on an alignment; their bounds over unjudged documents, too, if ``bounding`` is given."""
    using = conventions(options.conventions)
    wanted = {str(measure): measure for measure in measures}
    absent = ~alignment.in_run & ((options.missing or using.missing) == "exclude")
    shape = (len(alignment.queries), len(wanted))
    values, codes, reasons = np.empty(shape), np.zeros(shape, np.uint8), [NOT_IN_RUN]
    skipped = np.repeat(absent[:, None], len(wanted), axis=1)
    resolved = {key: using.resolve(measure) for key, measure in wanted.items()}
    for j, (key, measure) in enumerate(resolved.items()):
        policy = options.undefined or using.undefined_for.get(wanted[key].name, using.undefined)
        column, why = explain(measure, alignment)
        if why is None:
            column = _fill_undefined(column, measure, policy)
            codes[np.isnan(column), j] = _number(measure.definition.undefined, reasons)
        else:  # no convention puts a number where a trace says nothing
            codes[:, j] = [_number(reason, reasons) if reason else 0 for reason in why]
        if (outside := _outside(measure, alignment)) is not None:
            # Stronger than any convention: a list is neither good nor bad by a measure that is not meant for it.
            column = np.where(outside, np.nan, column)
            codes[outside, j] = _number(_OUTSIDE[measure.definition.queries], reasons)
            skipped[:, j] |= outside
        codes[absent, j] = 1
        values[:, j] = np.where(absent, np.nan, column)
    scores = Scores(
        name=name,
        queries=alignment.queries,
        measures=tuple(wanted),
        values=values,
        codes=codes,
        reasons=tuple(reasons),
        definitions={key: str(measure) for key, measure in resolved.items()},
        aggregates={key: m.definition.aggregate for key, m in wanted.items() if m.definition.aggregate != "mean"},
        not_in_run=tuple(
            q for q, present in zip(alignment.queries, alignment.in_run.tolist(), strict=True) if not present
        ),
        not_judged=alignment.not_judged,
        judged_retrieved=int((alignment.ranks > 0).sum()),
        highest_grade=int(alignment.grades.max(initial=0)),
    )
    if bounding is None:
        return scores
    from karat.measures._bounds import bound_scores

    return replace(scores, bounds=bound_scores(scores, resolved, alignment, skipped, bounding))


def _fill_undefined(column: Floats, measure: Measure, policy: Undefined) -> Floats:
    """Return the values of a measure, with what a policy puts where it is undefined."""
    reason = measure.definition.undefined
    # Nothing to find may count as everything found, but nothing retrieved never counts as success.
    lower = measure.definition.higher_is_better is False
    if (policy == "zero" and not lower and reason != NO_SPANS) or (policy == "one" and reason == NO_RELEVANT):
        return np.where(np.isnan(column), float(policy == "one"), column)
    return column


def _number(reason: str, reasons: list[str]) -> int:
    """Return the number of a reason, from 1, after adding it to the reasons if it is new."""
    if reason not in reasons:
        reasons.append(reason)
    return reasons.index(reason) + 1


def _outside(measure: Measure, alignment: Alignment) -> Bools | None:
    """Return the queries that a measure is not meant for; None if it is meant for all."""
    kind = measure.definition.queries
    if kind == "unanswerable":
        everything = np.ones(len(alignment.queries), np.bool_)
        return everything if alignment.unanswerable is None else ~alignment.unanswerable
    return alignment.unanswerable if kind == "answerable" else None


def read_judgments(qrels: Qrels, *, format: str | None = None) -> Judgments:
    """Read judgments once, to score several runs against them."""
    if isinstance(qrels, Judgments):
        return qrels
    return load_judgments(qrels, format).judgments()


def read_run(run: RunInput, *, format: str | None = None) -> Rankings:
    """Read and check a run once, to score it several times: with other judgments or other measures.

    Its ``table()`` is ``{query: {document: score}}``.

    >>> import karat
    >>> run = karat.read_run({"q1": {"a": 2.0, "b": 1.0}})
    >>> karat.score({"q1": {"b": 1}}, run, "RR").mean(), karat.score({"q1": {"a": 1}}, run, "RR").mean()
    ({'RR': 0.5}, {'RR': 1.0})
    """
    return load_run(run, format).prepare()


def align_run(judgments: Judgments, run: RunInput, *, classes: Mapping[str, str] | None = None) -> Alignment:
    """Find the ranks of the judged documents in a run."""
    rankings = load_run(run)
    alignment = rankings.align(judgments, classes)
    if not alignment.in_run.any():
        theirs = ", ".join(map(shorten, rankings.first_queries(3)))
        ours = ", ".join(shorten(query) for query in judgments.queries[:3])
        raise InputError(
            f"no query in common with {judgments.source}",
            source=rankings.name,
            hint=f"the run has {theirs}; the judgments have {ours}",
        )
    return alignment


def name_of(run: RunInput) -> str:
    """Return a name for a run: that of its file, if it has one."""
    if not isinstance(run, str | PathLike):
        return "run"
    return "standard input" if fspath(run) == "-" else Path(fspath(run)).name


def _check_choice(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise UsageError(f"{name}={value!r}; choose from {', '.join(choices)}")
