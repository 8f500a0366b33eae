"""The output of NIST's trec_eval 9.0.8, byte for byte: its names, parameters, averages and format.

The values are karat's own measures under trec_eval's conventions. Where a quirk of trec_eval shows in its output, the
quirk is repeated here and a comment says so. Nothing in this module is meant for new work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike, fspath
from typing import Any, TypeAlias

import numpy as np

from karat.core import Floats, Measure, UsageError, did_you_mean
from karat.measures._alignment import Alignment, Ints, Judgments
from karat.measures._files import Source
from karat.measures._input import Rankings, find_run, load_run, run_of
from karat.measures._measure import compute
from karat.measures._score import Qrels, RunInput, align_run, name_of, read_judgments
from karat.measures._text import read_like_trec_eval
from karat.measures._trec_gains import gain, ndcg, ndcg_rel, rankings, rndcg, sum_in_order
from karat.measures._trec_parameters import LARGEST, distinct, named, read_gains, read_numbers, read_ranks

_RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
_FLOOR = 0.00001  # below it a value counts as this much in a geometric mean


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The keyword arguments of :func:`trec_eval`, checked."""

    per_query: bool = False
    complete: bool = False
    summary: bool = True
    level: int = 1
    max_docs: int | None = None
    judged_only: bool = False
    docs: int = 0

    def __post_init__(self) -> None:
        for name in ("level", "max_docs", "docs"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 10**15:
                raise UsageError(f"{name}={value} should be a whole number from 0 to 10^15")


def trec_eval(qrels: Qrels, run: RunInput, measures: Iterable[str] | str = (), **options: Any) -> str:
    r"""Return the text that ``trec_eval`` 9.0.8 prints for a TREC run and its judgments.

    ``measures`` are written as after its ``-m``: ``map``, ``P.5,10``, ``ndcg.1=3.5,2=9``, ``all_trec``; without any,
    ``official``. Options:

    - ``per_query``: print every query's values too (``-q``);
    - ``complete``: average over all judged queries, including those that the run lacks (``-c``);
    - ``summary``: print the averages (off with ``-n``);
    - ``level``: the lowest grade that counts as relevant (``-l``);
    - ``max_docs``: how many documents of each query to look at (``-M``);
    - ``judged_only``: remove unjudged documents from the ranking first (``-J``);
    - ``docs``: the number of documents in the collection, for ``utility`` (``-N``).

    >>> trec_eval({"q1": {"a": 1, "b": 1}}, {"q1": {"a": 2.0, "x": 1.0}}, ["map", "P.5"])
    'map                   \tall\t0.5000\nP_5                   \tall\t0.2000\n'
    """
    chosen = _Options(**options)
    wanted = _requests((measures,) if isinstance(measures, str) else measures)
    judgments = read_judgments(qrels, format="trec")
    rankings, read_tag = _load(run, judgments)
    alignment = align_run(judgments, rankings)
    if chosen.max_docs is not None:
        alignment = alignment.top(chosen.max_docs)
    job = _Job(alignment=alignment.judged_only if chosen.judged_only else alignment, options=chosen, tag=read_tag())
    return _text([column for name, text in wanted.items() for column in _TABLE[name](job, name, text)], job)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """The lines of one measure."""

    name: str
    values: Sequence[Any] = ()
    """One for each query; empty where trec_eval prints only the summary."""
    total: Any = None
    """The value for all queries; None where trec_eval prints none."""
    show: Callable[[Any], str]


def _text(columns: list[_Column], job: _Job) -> str:
    lines = []
    if job.options.per_query:
        shown = [(f"{column.name:<22}\t", column) for column in columns if column.values]
        for row, query in enumerate(job.queries):
            lines += [f"{start}{query}\t{column.show(column.values[row])}\n" for start, column in shown]
    if job.options.summary:
        lines += [f"{c.name:<22}\tall\t{c.show(c.total)}\n" for c in columns if c.total is not None]
    return "".join(lines)


def _decimal(value: float) -> str:
    # C prints the sign of a NaN, and x86 sets it.
    return "  -nan" if math.isnan(value) else f"{value:6.4f}"


def _count(value: float) -> str:
    return str(int(value))


@dataclass(frozen=True, kw_only=True)
class _Job:
    """One evaluation: the values of the queries, and how they are averaged."""

    alignment: Alignment
    options: _Options
    tag: str

    @cached_property
    def rows(self) -> Ints:
        """The judged queries that the run has; trec_eval ignores the others."""
        return np.flatnonzero(self.alignment.in_run)

    @property
    def queries(self) -> list[str]:
        return [self.alignment.queries[row] for row in self.rows.tolist()]

    @property
    def averaged_over(self) -> int:
        return len(self.alignment.queries) if self.options.complete else len(self.rows)

    @cached_property
    def relevant(self) -> Ints:
        return self.alignment.relevant(self.options.level)[self.rows]

    @cached_property
    def relevant_retrieved(self) -> Ints:
        return self.alignment.hits.relevant(self.options.level).count()[self.rows]

    @cached_property
    def retrieved(self) -> Ints:
        return self.alignment.retrieved[self.rows]

    def compute(
        self, name: str, cutoff: float | None = None, *, graded: bool = False, undefined: float = 0.0, **params: Any
    ) -> Floats:
        """Return the values of one of karat's measures; a ``graded`` one has no relevance level."""
        if not graded:
            params["rel"] = self.options.level
        # Unlike karat's own measures, trec_eval accepts any level of recall and any multiple.
        values = compute(Measure(name, cutoff, tuple(params.items())), self.alignment)[self.rows]
        return np.nan_to_num(values, nan=undefined)

    def mean(self, name: str, values: Floats) -> _Column:
        total = sum_in_order(values) / self.averaged_over
        return _Column(name=name, values=values.tolist(), total=total, show=_decimal)


# Makes the columns of a measure from its name and the text of its parameters, None where it has none.
_Maker: TypeAlias = Callable[[_Job, str, str | None], list[_Column]]


def _mean(measure: str, **params: Any) -> _Maker:
    def make(job: _Job, name: str, text: str | None) -> list[_Column]:
        return [job.mean(name, job.compute(measure, **params))]

    return make


def _total(measure: str, *, graded: bool = False) -> _Maker:
    def make(job: _Job, name: str, text: str | None) -> list[_Column]:
        values = job.compute(measure, graded=graded)
        return [_Column(name=name, values=values.tolist(), total=sum_in_order(values), show=_count)]

    return make


def _geometric_mean(measure: str) -> _Maker:
    def make(job: _Job, name: str, text: str | None) -> list[_Column]:
        logs = [math.log(max(value, _FLOOR)) for value in job.compute(measure).tolist()]
        total = sum_in_order(np.array(logs)) + (job.averaged_over - len(logs)) * math.log(_FLOOR)
        return [_Column(name=name, total=math.exp(total / job.averaged_over), show=_decimal)]

    return make


def _at_ranks(measure: str, default: tuple[int, ...] = _RANKS, **params: Any) -> _Maker:
    def make(job: _Job, name: str, text: str | None) -> list[_Column]:
        ranks = default if text is None else read_ranks(name, text)
        return [job.mean(f"{name}_{rank}", job.compute(measure, rank, **params)) for rank in ranks]

    return make


def _at_shares(values: Callable[[_Job, float], Floats], default: tuple[float, ...]) -> _Maker:
    def make(job: _Job, name: str, text: str | None) -> list[_Column]:
        shares = default if text is None else distinct(name, text, sorted(read_numbers(name, text)))
        # trec_eval keeps eight characters of the number.
        return [job.mean(f"{name}_{f'{share:.2f}'[:8]}", values(job, share)) for share in shares]

    return make


def _runid(job: _Job, name: str, text: str | None) -> list[_Column]:
    return [_Column(name=name, total=job.tag, show=str)]


def _num_q(job: _Job, name: str, text: str | None) -> list[_Column]:
    return [_Column(name=name, total=job.averaged_over, show=_count)]


def _num_rel(job: _Job, name: str, text: str | None) -> list[_Column]:
    # With -c trec_eval counts every positive grade, whatever the level.
    positive = int((job.alignment.grades > 0).sum())
    total = positive if job.options.complete else job.relevant.sum()
    return [_Column(name=name, values=job.relevant.tolist(), total=total, show=_count)]


def _relstring(job: _Job, name: str, text: str | None) -> list[_Column]:
    """Show the grades at the top of each ranking: ``-`` is not pooled, ``.`` is pooled but not judged."""
    longest = 10 if text is None else int(read_numbers(name, text)[0])
    a = job.alignment
    strings = [["-"] * size for size in np.minimum(longest, a.retrieved).tolist()]
    for i in np.flatnonzero((a.ranks > 0) & (a.ranks <= longest)).tolist():
        grade = int(a.grades[i])
        strings[a.query[i]][a.ranks[i] - 1] = "." if grade < 0 else ">" if grade > 9 else str(grade)
    return [_Column(name=named(name, text), values=["".join(strings[row]) for row in job.rows], show="'{}'".format)]


def _utility(job: _Job, name: str, text: str | None) -> list[_Column]:
    worth = [1.0, -1.0, 0.0, 0.0] if text is None else read_numbers(name, text, low=-LARGEST)
    if len(worth) != 4:
        raise UsageError(f"measure {name}.{text}: give four numbers, as in utility.1,-1,0,0")
    a, b, c, d = worth
    return [job.mean(named(name, text), job.compute("Utility", a=a, b=b, c=c, d=d, docs=job.options.docs))]


def _set_f(job: _Job, name: str, text: str | None) -> list[_Column]:
    beta = 1.0 if text is None else read_numbers(name, text)[0]
    return [job.mean(named(name, text), job.compute("SetF", beta=beta))]


def _yaap(job: _Job, name: str, text: str | None) -> list[_Column]:
    """Yet another average precision (Robertson, On smoothing average precision, ECIR 2012)."""
    hits = job.alignment.hits.relevant(job.options.level)
    precisions = hits.total((hits.ordinal + 1) / hits.rank)[job.rows]
    return [job.mean(name, np.log((1 + precisions) / (1 + job.relevant - precisions)))]


def _r_precision(job: _Job, multiple: float) -> Floats:
    return job.compute("Rprec", mult=multiple, rounding="trec")


def _interpolated(job: _Job, level: float) -> Floats:
    values = job.compute("IPrec", level, rounding="trec")
    # Where a level needs no relevant document, trec_eval divides 0 by 0 for an empty ranking.
    return np.where((job.retrieved == 0) & (_needed(job, level) == 0), np.nan, values)


def _needed(job: _Job, level: float) -> Ints:
    """Return the number of relevant documents that trec_eval requires at a level of recall."""
    needed: Ints = np.floor(level * job.relevant + 0.9).astype(np.int64)
    return needed


def _eleven_points(job: _Job, name: str, text: str | None) -> list[_Column]:
    levels = _LEVELS if text is None else tuple(read_numbers(name, text))
    total, last, top = np.zeros(len(job.rows)), job.relevant_retrieved, _interpolated(job, 0.0)
    passed, lost = np.ones(len(job.rows), np.bool_), np.zeros(len(job.rows), np.bool_)
    # trec_eval walks up the ranking and expects the levels in ascending order. The last level that is above the one
    # after it is never met: it and all before it get the precision of recall 0.
    for level in reversed(levels):
        needed = _needed(job, level)
        passed &= needed > job.relevant_retrieved
        lost |= ~passed & (needed > last)
        last = np.where(passed, last, needed)
        total += np.where(lost, top, _interpolated(job, level))
    return [job.mean(named(name, text), total / len(levels))]


def _graded(measure: str, formula: Callable[[Floats, Floats], float]) -> _Maker:
    """Make a measure of gains: karat's own, or, with gains as parameters, the formula with trec_eval's ideal list."""
    undefined = formula(np.empty(0), np.empty(0))  # the value where there is nothing to gain

    def make(job: _Job, name: str, text: str | None) -> list[_Column]:
        if text is None:
            values = job.compute(measure, graded=True, undefined=undefined)
        else:
            values = np.array(
                [formula(*ranking) for ranking in rankings(job.alignment, job.rows, read_gains(name, text))]
            )
        if name == "Rndcg":  # the only one that needs a relevant document, so that -l can change it
            values = np.where(job.relevant > 0, values, 0.0)
        return [job.mean(named(name, text), values)]

    return make


# trec_eval's table of measures, in the order in which it prints them.
_TABLE: dict[str, _Maker] = {
    "runid": _runid,
    "num_q": _num_q,
    "num_ret": _total("NumRet", graded=True),
    "num_rel": _num_rel,
    "num_rel_ret": _total("NumRelRet"),
    "map": _mean("AP"),
    "gm_map": _geometric_mean("GMAP"),
    "Rprec": _mean("Rprec"),
    "bpref": _mean("Bpref"),
    "recip_rank": _mean("RR"),
    "iprec_at_recall": _at_shares(_interpolated, _LEVELS),
    "P": _at_ranks("P"),
    "relstring": _relstring,
    "recall": _at_ranks("R"),
    "infAP": _mean("infAP"),
    "gm_bpref": _geometric_mean("GBpref"),
    "Rprec_mult": _at_shares(_r_precision, _MULTIPLES),
    "utility": _utility,
    "11pt_avg": _eleven_points,
    "binG": _mean("binG"),
    "G": _graded("G", gain),
    "ndcg": _graded("nDCG", ndcg),
    "ndcg_rel": _graded("nDCG_rel", ndcg_rel),
    "Rndcg": _graded("RnDCG", rndcg),
    "ndcg_cut": _at_ranks("nDCG", graded=True),
    "map_cut": _at_ranks("AP"),
    "relative_P": _at_ranks("R_cap"),
    "success": _at_ranks("Success", (1, 5, 10)),
    "set_P": _mean("SetP"),
    "set_relative_P": _mean("SetP", relative=True),
    "set_recall": _mean("SetR"),
    "set_map": _mean("SetAP"),
    "set_F": _set_f,
    "num_nonrel_judged_ret": _total("NumNonRelRet"),
    "yaap": _yaap,
}
_COUNTS = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": (*_COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    "set": (*_COUNTS, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(name for name in _TABLE if name != "yaap"),
}
_OTHER_FORMATS = re.compile(r"prefs|all_prefs|prefs_\w+|qrels_jg|\w+_avgjg")


def _requests(measures: Iterable[str]) -> dict[str, str | None]:
    """Return the requested measures in trec_eval's order, each with the text of its parameters.

    >>> _requests(["P.10,5", "map", "P.7"])
    {'map': None, 'P': '10,5'}
    """
    requests: dict[str, str | None] = {}
    for measure in tuple(measures) or ("official",):
        name, dot, text = measure.partition(".")
        if name not in _TABLE and name not in _NICKNAMES:
            raise _unknown(name)
        if dot and not text:
            raise UsageError(f"measure {measure!r}: parameters should follow the dot, as in P.5,10")
        for single in _NICKNAMES.get(name, (name,)):
            # The first parameters of a measure count; those of a nickname never do.
            if requests.get(single) is None:
                requests[single] = text if dot and single == name else None
    return {name: requests[name] for name in _TABLE if name in requests}


def _unknown(name: str) -> UsageError:
    if _OTHER_FORMATS.fullmatch(name):
        return UsageError(f"measure {name!r} needs preferences or judgment groups; karat reads the qrels format only")
    known = [*_TABLE, *_NICKNAMES]
    hint = did_you_mean(name, known) or f"; parameters follow a dot, as in P.5,10; known: {', '.join(known)}"
    return UsageError(f"unknown measure {name!r}{hint}")


def _load(run: RunInput, judgments: Judgments) -> tuple[Rankings, Callable[[], str]]:
    """Return a run, and a function that reads its tag, to be called when the run is known to be valid."""
    if not isinstance(run, str | PathLike):
        return load_run(run), partial(name_of, run)
    source = find_run(fspath(run), "trec")
    if source.log is not None:
        return run_of(source), partial(name_of, run)
    exact = partial(read_like_trec_eval, source, frozenset(judgments.queries))
    return run_of(source, exact), partial(_read_tag, source)


def _read_tag(source: Source) -> str:
    """Return the tag of a run: the sixth column of its last line."""
    if source.data is None:
        with source.open() as file:
            file.seek(max(0, file.seek(0, 2) - 65536))
            tail = file.read()
    else:
        tail = source.data[-65536:]
    _, newline, line = tail.rstrip().rpartition(b"\n")
    if not newline:  # the last line is longer, or blank lines follow it
        line = source.read().rstrip().rpartition(b"\n")[2]
    return line.split()[5].decode(errors="replace")
