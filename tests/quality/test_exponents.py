"""Nothing grows faster than its input: operations are counted at three sizes, so that no clock and no load matters.

Of sizes n, 4n and 16n the differences tell how the count grows, whatever the constant part is: the exponent of linear
growth is 1, of n log n a little more, of quadratic growth 2. ``./scripts/bench growth`` measures time and memory.
"""

from __future__ import annotations

import cProfile
import math
import sqlite3
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli.test_outputs import commands
from karat.cli._main import _run, cli
from karat.config import Config
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Span, Target, Trace
from karat.diagnosis import diagnose, make_document
from karat.evaluation import score_run
from karat.gate import Baseline, Must, Policy, Rule, compare_document, decide
from karat.golden.lint import check
from karat.projects import GateResult, Project, report_document
from karat.reports import render_html, render_junit, render_markdown, render_text

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "growth"))

import verbs
import workload

STEEPEST = 1.2
BASE = workload.Size(
    queries=18, documents=40, judgments=3, hits=3, text=8, segments=2, measures=2, every=1, sessions=12
)
"""Small, but with more changed queries than those for which tests try all flips, which would be another way."""
BASES = {
    "segments": replace(BASE, queries=64),
    "hits": replace(BASE, documents=100),
    "judgments": replace(BASE, documents=200),
    "queries, with people": replace(BASE, queries=8),
}
AXES: dict[str, tuple[str, ...]] = {
    "queries": (
        *("gate", "compare", "report html", "show", "trend", "score", "fuse", "golden check", "golden diff"),
        *("golden sample", "golden pool", "golden merge", "gate, set changed", "baseline rebase"),
    ),
    "queries, with people": (
        *("golden pool", "golden judge", "runs convert", "index", "mcp gate", "mcp compare_runs"),
        *("label queue", "label queue, decide", "label next", "mcp next_pair", "label status", "label agreement"),
        *("label propose", "label show", "label accept"),
    ),
    "documents": ("golden check", "golden diff", "golden synth", "migrate blocks", "migrate judgments"),
    "judgments": ("gate", "golden check"),
    "hits": ("gate", "compare", "report html", "show", "fuse", "golden pool"),
    "question": ("golden check",),
    "text": ("golden check", "golden outline", "migrate blocks"),
    "paraphrases": ("golden check",),
    "segments": ("gate", "compare"),
    "measures": ("gate", "score"),
    "sessions": tuple(verb for verb in verbs.LIVE if verb not in ("online health", "trial list", "trial status")),
}
"""The verbs of the benchmark whose work depends on each axis, without those that only render the same otherwise."""
STEPS = 50
"""Instructions of SQLite that count as one call."""


def exponent(counts: list[int]) -> float:
    """Return the exponent of growth from the counts at n, 4n and 16n."""
    first, second = counts[1] - counts[0], counts[2] - counts[1]
    return math.log(second / first, 4) if first > 0 and second > 0 else 0.0


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions are called, those of Python and those that are built in."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def run_quietly(arguments: verbs.Work, capsys: pytest.CaptureFixture[str]) -> None:
    if callable(arguments):
        arguments()
        return
    code = _run(arguments)
    assert code in (0, 1, 4), capsys.readouterr().err
    capsys.readouterr()


@pytest.fixture
def sqlite_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite call a function now and then, so that its work is counted, too."""
    connect = sqlite3.connect

    def connect_counting(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(lambda: None, STEPS)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_counting)


@pytest.mark.slow
@pytest.mark.usefixtures("sqlite_counts")
@pytest.mark.parametrize("axis", AXES)
def test_no_verb_calls_more_functions_than_its_input_asks_for(
    axis: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of four times the queries, hits, words or others, each verb makes about four times the calls, and not sixteen."""
    calls: dict[str, list[int]] = {}
    for place, factor in enumerate((1, 1, 4, 16)):
        grown = axis.partition(",")[0]
        at = verbs.prepare(tmp_path / str(place), BASES.get(axis, BASE).times(grown, factor))
        for name, arguments in verbs.EVERY.items():
            if name in AXES[axis] or (name in verbs.ASKING and grown != "sessions"):
                words = arguments(at)
                calls.setdefault(name, []).append(count_calls(lambda words=words: run_quietly(words, capsys)))
    # The first time, a verb imports what it needs.
    exponents = {name: round(exponent(counts[1:]), 2) for name, counts in calls.items()}
    steep = {name: value for name, value in exponents.items() if value > STEEPEST}
    assert steep == {}


def test_every_verb_is_measured() -> None:
    """A new verb is in the benchmark, or in its table of those that are not, with the reason."""
    known = {verb for verb, _ in commands(cli)}
    elsewhere = {verb for reason in verbs.ELSEWHERE.values() for verb in reason}
    names = [name.partition(",")[0].split() for name in verbs.EVERY if name not in ("index", "mcp gate")]
    measured = {" ".join(words[:count]) for words in names for count in (1, 2)} & known
    assert known - measured - {"mcp"} == elsewhere - measured
    assert elsewhere <= known


class CountedId(str):
    """An id that counts how often ids are compared, which looking through a list does and looking up does not."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedId.comparisons += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def count_comparisons(work: Callable[[], object]) -> int:
    """Return how often two ids are compared."""
    CountedId.comparisons = 0
    work()
    return CountedId.comparisons


def make_golden(queries: int, documents: int, judgments: int) -> GoldenSet:
    """Return a set whose ids are counted; every id is another object wherever it stands, as if read from a file."""
    return GoldenSet(
        documents=tuple(Document(id=CountedId(f"d{i}"), text=f"text {i}", tier=f"t{i % 2}") for i in range(documents)),
        queries=tuple(
            Query(id=CountedId(f"q{i}"), text=f"question {i}", category=f"c{i % 3}", must_show=(CountedId(f"d{i}"),))
            for i in range(queries)
        ),
        judgments=tuple(
            Judgment(
                query=CountedId(f"q{i}"), target=Target(document=CountedId(f"d{(i + 2 * j) % documents}")), grade=j % 4
            )
            for i in range(queries)
            for j in range(judgments)
        ),
    )


def make_run(name: str, queries: int, hits: int, documents: int) -> Run:
    """Return a run of which every fifth query failed; that of ``b`` returns other documents than that of ``a``."""
    shift = 3 * (name == "b")
    traces = (
        Trace(
            query=CountedId(f"q{i}"),
            text=f"question {i}",
            hits=tuple(Hit(CountedId(f"d{(i + j + shift) % documents}"), float(-j)) for j in range(hits))
            if i % 5
            else (),
            error="" if i % 5 else "timed out",
            timings={"total": 1.0},
        )
        for i in range(queries)
    )
    return Run(provenance=Provenance(name=name), traces=tuple(traces))


def decide_and_render(queries: int = 24, hits: int = 4, judgments: int = 6) -> None:
    """Score two runs, gate one against the other by a policy with a rule for everything, and render all of it."""
    documents = max(40, 2 * hits, 4 * judgments, queries)
    golden = make_golden(queries, documents, judgments)
    names = ("RR@10", "nDCG@10", "R@5", "P@5")
    before, after = (score_run(golden, make_run(name, queries, hits, documents), names) for name in "ab")
    policy = Policy(
        rules=tuple(
            Rule(metric=name, where=where, max_drop_abs=0.1, non_inferior=True)
            for name in names
            for where in (None, *before.segments)
        ),
        must_pass=tuple(Must(query=CountedId(f"q{i}")) for i in range(queries)),
    )
    decision = decide(after, before, policy)
    result = GateResult(
        project=Project(config=Config(folder=Path(), golden=Path()), golden=golden),
        decision=decision,
        baseline=Baseline(evaluation=before),
    )
    document = report_document(result, created="2026-11-17")
    for render in (render_text, render_markdown, render_html, render_junit):
        render(document)
    compare_document([before, after], golden, segments=before.segments, per_query=True)


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["queries", "hits", "judgments"])
def test_ids_are_looked_up_and_never_looked_for(axis: str) -> None:
    """Of four times the queries, hits or judgments, four times as many ids are compared, from scores to reports."""
    sizes = {"queries": 24, "hits": 4, "judgments": 10}  # with 40 documents, which grow with them
    counts = [
        count_comparisons(lambda factor=factor: decide_and_render(**sizes | {axis: sizes[axis] * factor}))
        for factor in (1, 4, 16)
    ]
    assert exponent(counts) < STEEPEST


def words(number: int) -> str:
    """Return eight words that hardly any other number has."""
    return " ".join(f"w{(number * 31 + i * 7919) % 99_991}" for i in range(8))


def make_set(
    queries: tuple[Query, ...], targets: Iterable[Target], documents: Iterable[Document] = (), **more: Any
) -> GoldenSet:
    """Return a set in which some targets are relevant to the first query."""
    judged = tuple(Judgment(query=queries[0].id, target=target, grade=3) for target in targets)
    return GoldenSet(documents=tuple(documents), queries=queries, judgments=judged, **more)


def make_documents(count: int) -> list[Document]:
    return [Document(id=f"d{i}", text=words(i).replace("w", "t")) for i in range(count)]


def make_paraphrases(n: int) -> GoldenSet:
    """Each paraphrase of one query has the words of another query."""
    others = tuple(Query(id=f"q{i}", text=words(i)) for i in range(n))
    own = Query(id="own", text="alpha beta", paraphrases=tuple(f"{query.text} again" for query in others))
    return make_set((own, *others), ())


def make_paraphrases_and_answers(n: int) -> GoldenSet:
    """One query has many paraphrases and many relevant documents."""
    query = Query(id="q", text="alpha beta", paraphrases=tuple(words(i) for i in range(n)))
    return make_set((query,), (Target(document=f"d{i}") for i in range(n)), make_documents(n))


def make_negatives(n: int) -> GoldenSet:
    """One query has many relevant parts of a document, and as many hard negatives in it."""
    negatives = tuple(Target(document="d0", span=Span(4 * i, 4 * i + 2)) for i in range(n))
    good = (Target(document="d0", span=Span(4 * i + 2, 4 * i + 4)) for i in range(n))
    return make_set((Query(id="q", text="a", negatives=negatives),), good, [Document(id="d0", text="text " * n)])


def make_versions(n: int) -> GoldenSet:
    """Each document supersedes the one before."""
    documents = (Document(id=f"d{i}", superseded_by=f"d{i + 1}") for i in range(n))
    queries = tuple(Query(id=f"q{i}", text=words(i)) for i in range(n))
    judged = tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=3) for i in range(n))
    return GoldenSet(documents=tuple(documents), queries=queries, judgments=judged)


def make_unknown_parts(n: int) -> GoldenSet:
    """Judgments name blocks that the document does not have."""
    text = "\n\n".join(f"# Part {i}\n\nText." for i in range(n))
    targets = (Target(document="d0", block=f"S.0.p.Bk{i:03}") for i in range(n))
    return make_set((Query(id="q", text="a"),), targets, [Document(id="d0", text=text)])


def make_floors(n: int) -> GoldenSet:
    """The gate of the set has very many floors."""
    floors = {f"P@{i + 1}": 0.001 for i in range(n)}
    return make_set((Query(id="q", text="a"),), [Target(document="d0")], make_documents(9), gate=floors)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [make_paraphrases, make_paraphrases_and_answers, make_negatives, make_versions, make_unknown_parts, make_floors],
)
def test_no_rule_compares_everything_with_everything(make: Callable[[int], GoldenSet]) -> None:
    """Of four times the paraphrases, negatives, versions, parts or floors, the linter makes four times the calls."""
    check(make(10))  # the first time, modules are imported
    counts = [count_calls(partial(check, make(n))) for n in (40, 160, 640)]
    assert exponent(counts) < STEEPEST


def explain_run(queries: int) -> None:
    """Explain why a run fails, and what became worse than in another."""
    golden = make_golden(queries, 40, 3)
    before, after = (make_run(name, queries, 1, 40) for name in "ab")
    make_document(diagnose(golden, after), after, against=before)


@pytest.mark.slow
def test_a_run_is_explained_in_proportion_to_its_queries() -> None:
    """Of four times the queries, four times the calls are made: no cause looks at all queries for each of them."""
    explain_run(10)  # the first time, modules are imported
    counts = [count_calls(partial(explain_run, n)) for n in (60, 240, 960)]
    assert exponent(counts) < STEEPEST
