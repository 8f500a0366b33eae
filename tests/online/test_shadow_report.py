"""The report on shadow runs: every number again by other means."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import stats as oracle

from in_process import run_karat
from karat.core import GoldenSet, Judgment, Query, Target, UsageError
from karat.online import open as open_log
from karat.online._shadow_records import CLASSES, ShadowDraft, finish_shadow
from karat.online.shadow import MEASURES, LoggedShadow, report_runs, report_shadow
from karat.online.shadow._judged import judge_runs
from karat.reports import render_shadow_html
from karat.schema import to_json
from karat.schema.shadow import ShadowReport

DOCUMENTS = "abcdefgh"
QUERIES = [f"query {number}" for number in range(12)]


def make_runs(count: int = 300, seed: int = 5) -> list[LoggedShadow]:
    """Draw runs of thirty sessions: lists that differ, failures, and calls that were dropped."""
    rng = random.Random(seed)
    runs = []
    for number in range(count):
        control = rng.sample(DOCUMENTS, rng.randint(0, 5))
        treatment = list(control) if rng.random() < 0.3 else rng.sample(DOCUMENTS, rng.randint(0, 5))
        status = rng.choices(["answered", "failed", "timeout", "queue full"], [85, 6, 4, 5])[0]
        draft = ShadowDraft(
            f"{number:05}", 1000.0 + number, "f", rng.choice(QUERIES), f"s{rng.randrange(30)}", control=tuple(control)
        )
        draft.status, draft.treatment = status, tuple(treatment) if status == "answered" else ()
        draft.control_latency = rng.expovariate(0.1)
        draft.treatment_latency = rng.expovariate(0.05) if status == "answered" else None
        draft.weight, draft.systems = 10.0, ("old", "new")
        runs.append(finish_shadow(draft))
    return runs


def make_golden() -> GoldenSet:
    """Return a set with half of the queries, in which some documents are judged, with grades from 0 to 3."""
    rng = random.Random(3)
    judgments = [
        Judgment(query=f"g{number}", target=Target(document=document), grade=rng.randint(0, 3))
        for number in range(0, 12, 2)
        for document in sorted({"a", *rng.sample(DOCUMENTS, 4)})
    ]
    queries = [Query(id=f"g{number}", text=f"Query  {number}") for number in range(0, 12, 2)]
    return GoldenSet(name="half", queries=tuple(queries), judgments=tuple(judgments))


def reciprocal_rank(documents: tuple[str, ...], grades: dict[str, int]) -> float:
    return next((1 / rank for rank, name in enumerate(documents, 1) if grades.get(name, 0) >= 2), 0.0)


def ndcg(documents: tuple[str, ...], grades: dict[str, int]) -> float:
    gains = [grades.get(name, 0) / math.log2(rank + 1) for rank, name in enumerate(documents, 1)]
    ideal = sorted(grades.values(), reverse=True)[:10]
    return sum(gains) / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))


def test_counts_shares_and_means_by_brute_force() -> None:
    """Classes are of all runs, whatever became of them; similarity only of those that were compared."""
    runs = make_runs()
    report = report_runs(runs, store="x.db", feature="f")
    assert (report.runs, report.estimated, report.units) == (300, 3000, len({run.session for run in runs}))
    assert {share.name: share.count for share in report.classes} == {
        name: sum(run.difference == name for run in runs) for name in CLASSES
    }
    assert sum(share.count for share in report.classes) == 300
    assert report.classes[0].share == pytest.approx(report.classes[0].count / 300)
    assert all(share.low <= (share.share or 0) <= share.high for share in report.classes)
    assert dict(report.statuses) == Counter(run.status for run in runs)
    answered = [run for run in runs if run.status == "answered"]
    assert report.similarity.rbo == pytest.approx(np.mean([run.rbo for run in answered]))
    assert report.similarity.overlap == pytest.approx(np.mean([run.overlap for run in answered]))
    assert report.similarity.tau == pytest.approx(np.mean([run.tau for run in answered]))
    changed = [run.control[:1] != run.treatment[:1] for run in answered]
    assert (report.similarity.top_changed.count, report.similarity.top_changed.total) == (sum(changed), len(answered))


def test_latencies_by_brute_force() -> None:
    """Only of runs in which both answered; the interval of the ratio draws whole sessions, and whole texts."""
    runs = [msgspec.structs.replace(run, text=f"{run.text} {number % 7}") for number, run in enumerate(make_runs())]
    latency = report_runs(runs).latency
    both = [(run.control_latency, run.treatment_latency) for run in runs if run.treatment_latency is not None]
    control, treatment = np.array(both, dtype=float).T
    assert latency is not None
    assert latency.n == len(both)
    assert (latency.control_p95, latency.treatment_p95) == (np.percentile(control, 95), np.percentile(treatment, 95))
    assert latency.ratio == np.percentile(treatment, 95) / np.percentile(control, 95)
    assert latency.low is not None
    assert latency.high is not None
    assert latency.low < latency.ratio < latency.high
    for some in (runs[:10], make_runs()):  # ten sessions, or twelve texts
        few = report_runs(some).latency
        assert few is not None
        assert (few.low, few.high) == (None, None)


def test_movers_by_brute_force() -> None:
    """What a document gains is summed over its places in all lists."""
    runs = make_runs()
    gains: Counter[str] = Counter()
    moves = {name: [0, 0, 0, 0] for name in DOCUMENTS}
    for run in runs:
        for name in set(run.control) | set(run.treatment) if run.status == "answered" else ():
            ranks = [names.index(name) + 1 if name in names else 0 for names in (run.control, run.treatment)]
            value = [1 / math.log2(rank + 1) if rank else 0 for rank in ranks]
            gains[name] += value[1] - value[0]
            before, after = ranks
            kinds = (0 < after < before, 0 < before < after, before == 0, after == 0)
            moves[name] = [old + new for old, new in zip(moves[name], kinds, strict=True)]
    report = report_runs(runs, shown=100)
    shown = {mover.document: mover for mover in (*report.rising, *report.falling)}
    assert {name: mover.movement for name, mover in shown.items()} == pytest.approx(dict(gains))
    assert {name: [m.up, m.down, m.entered, m.left] for name, m in shown.items()} == moves
    order = [mover.movement for mover in report.rising]
    assert order == sorted(order, reverse=True)
    assert [mover.document for mover in report_runs(runs, shown=1).falling] == [min(gains, key=gains.__getitem__)]


def add_squares(labels: Sequence[object], rest: Sequence[float]) -> float:
    """Return the squared sums of clusters, added up, with the factor for few of them."""
    sums = Counter[object]()
    for label, value in zip(labels, rest, strict=True):
        sums[label] += value
    return len(sums) / (len(sums) - 1) * sum(value**2 for value in sums.values())


def test_one_text_that_everybody_asks_is_one_text() -> None:
    """A hundred sessions ask the same two questions: the share of changed lists is known as that of two, and told."""
    (first, *_) = make_runs()
    other = next(run for run in make_runs() if run.difference != first.difference)
    runs = [
        msgspec.structs.replace(run, id=f"{number}", session=f"s{number}", text=f"question {number % 2}")
        for number in range(100)
        for run in ((first, other)[number % 2],)
    ]
    report = report_runs(runs)
    share = next(own for own in report.classes if own.name == first.difference)
    assert (share.share, report.units, report.texts) == (0.5, 100, 2)
    assert share.high - share.low > 0.9
    assert "only 2 different texts were asked, however often: look at the intervals" in report.notes
    apart = [msgspec.structs.replace(run, text=run.id) for run in runs]
    wide = next(own for own in report_runs(apart).classes if own.name == first.difference)
    assert wide.high - wide.low < 0.22


def test_judged_runs_by_brute_force() -> None:
    """Means, differences with intervals that know sessions, shares unjudged; a failure has returned nothing."""
    runs, golden = make_runs(), make_golden()
    grades = golden.qrels()
    kept = [
        (run, grades[f"g{run.text.split()[1]}"])
        for run in runs
        if int(run.text.split()[1]) % 2 == 0 and run.status != "queue full"
    ]
    judged = report_runs(runs, golden).judged
    assert judged is not None
    assert (judged.golden, judged.runs) == ("half", len(kept))
    assert judged.failed == sum(run.status != "answered" for run, _ in kept)
    for row, function in zip(judged.measures, (reciprocal_rank, ndcg), strict=True):
        able = [(run, own) for run, own in kept if function is ndcg or max(own.values()) >= 2]
        old = np.array([function(run.control, own) for run, own in able])
        new = np.array([function(run.treatment, own) for run, own in able])
        assert row.runs == len(able)
        assert (row.control, row.treatment) == pytest.approx((old.mean(), new.mean()))
        assert row.delta == pytest.approx((new - old).mean())
        sessions = [run.session for run, _ in able]
        assert row.units == len(set(sessions))
        # The error of a mean with clusters of two kinds; one degree of freedom less than there are texts.
        texts = [run.text for run, _ in able]
        rest = new - old - (new - old).mean()
        one, other = add_squares(sessions, rest), add_squares(texts, rest)
        total = one + other - add_squares(list(zip(sessions, texts, strict=True)), rest)
        error = math.sqrt(max(total, one, other)) / len(able)
        margin = oracle.t.ppf(0.975, len(set(texts)) - 1) * error
        assert (row.low, row.high) == pytest.approx((row.delta - margin, row.delta + margin), rel=1e-6)
        for share, side in ((row.control_unjudged, "control"), (row.treatment_unjudged, "treatment")):
            lists = [(getattr(run, side), own) for run, own in kept]
            unjudged = sum(name not in own for names, own in lists for name in names)
            assert share == pytest.approx(unjudged / sum(len(names) for names, _ in lists))


def test_the_bounds_hold_for_any_grades() -> None:
    """However unjudged documents are graded, the difference lies between the ends; equal lists never differ."""
    runs, golden = make_runs(60), make_golden()
    units = [run.session for run in runs]
    judged = judge_runs(runs, units, golden, MEASURES).measures
    known = {(judgment.query, judgment.target.document) for judgment in golden.judgments}
    rng = random.Random(1)
    for draw in range(12):
        more = [
            Judgment(query=query.id, target=Target(document=name), grade=(0, 3, rng.choice([0, 3]))[min(draw, 2)])
            for query in golden.queries
            for name in DOCUMENTS
            if (query.id, name) not in known
        ]
        full = replace(golden, judgments=(*golden.judgments, *more))
        for row, end in zip(judge_runs(runs, units, full, MEASURES).measures, judged, strict=True):
            assert (row.runs, row.worst, row.best) == (end.runs, row.delta, row.delta), "nothing is unjudged any more"
            assert end.worst - 1e-12 <= row.delta <= end.best + 1e-12  # type: ignore[operator]


def test_notes_say_what_limits_the_report() -> None:
    """Dropped calls, few sessions, several systems, lists that were not kept, nothing judged."""
    runs = make_runs()
    notes = " ".join(report_runs(runs, make_golden()).notes)
    assert "unjudged is not irrelevant" in notes
    assert "the treatment failed, which counts as if it had returned nothing" in notes
    few = [
        msgspec.structs.replace(run, systems=("old", run.text), lists=False, status="queue full") for run in runs[:5]
    ]
    notes = " ".join(report_runs(few, make_golden()).notes)
    for part in ("nothing was compared in 5 of 5", "are few", "several systems", "5 runs have no lists", "no run asks"):
        assert part in notes
    assert report_runs([]).notes == ("there are no shadow runs in this span of time",)


def write(path: Path, runs: list[LoggedShadow], feature: str = "f") -> None:
    """Write runs into a store, as the journal would."""
    from karat.online._stored import shadow_row
    from karat.store import open_store

    open_log(path, keep_ids=True).close()
    with open_store(path, write=True) as store, store.transaction():
        own = [msgspec.structs.replace(run, feature=feature, id=f"{feature}{run.id}") for run in runs]
        assert store.add_shadow_runs([shadow_row(run) for run in own]) == len(runs)


def test_a_store_with_several_features(tmp_path: Path) -> None:
    """The only one is meant; of several one has to be named, and a near miss is named back."""
    path = tmp_path / "karat.db"
    write(path, make_runs(5), "rerank")
    assert report_shadow(path).feature == "rerank"
    write(path, make_runs(7), "index")
    with pytest.raises(UsageError, match="has several features"):
        report_shadow(path)
    with pytest.raises(UsageError, match="did you mean 'rerank'"):
        report_shadow(path, "rerankk")
    assert report_shadow(path, "index", since=1002.0, until=1005.0).runs == 3


def test_the_command_as_text_json_and_page(tmp_path: Path) -> None:
    """The document is what is published; hostile text stays text."""
    path, page = tmp_path / "karat.db", tmp_path / "page.html"
    evil = "<script>alert(1)</script>"
    runs = [*make_runs(40), finish_shadow(ShadowDraft("z", 9.0, "f", evil, control=(evil, "a"), treatment=("a", evil)))]
    write(path, runs, evil)
    done = run_karat("shadow", "report", path, "--html", page)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    for part in ("How lists differ", "partly different", "Documents that rise", "What became of calls", "p95"):
        assert part in text
    assert evil not in page.read_text()
    assert "&lt;script&gt;" in page.read_text()
    printed = json.loads(run_karat("shadow", "report", path, "--json").stdout)
    document = msgspec.convert(printed, ShadowReport)
    assert document == msgspec.json.decode(to_json(report_shadow(path)), type=ShadowReport)
    assert render_shadow_html(document) == page.read_text()
    nothing = run_karat("shadow", "report", tmp_path / "none.db")
    assert (nothing.returncode, b"no such store" in nothing.stderr) == (2, True)
    with open_log(tmp_path / "empty.db") as log:
        log.record("q")
    run_karat("online", "ingest", tmp_path / "empty.db")
    empty = run_karat("shadow", "report", tmp_path / "empty.db")
    assert (empty.returncode, b"has no shadow runs" in empty.stderr) == (2, True)
