"""From a golden set and a system to a run and its scores."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

import karat
from each import each
from karat import golden
from karat.core import (
    Document,
    GoldenSet,
    Hit,
    InputError,
    Judgment,
    Query,
    Scores,
    Span,
    SystemFailed,
    Target,
    Trace,
    UsageError,
)
from karat.evaluation import average_variants, evaluation_report, score_run, summarise_latency
from karat.evaluation._latency import falls_among_failed
from karat.runs import Settings, make_run, read_run_file
from karat.schema import to_json, to_plain

SET = GoldenSet(
    name="tiny",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=d, text=f"about {d}") for d in "abc"),
    queries=tuple(Query(id=f"q{d}", text=f"{d}?", paraphrases=(f"{d}!",), category=d) for d in "abc"),
    judgments=tuple(Judgment(query=f"q{d}", target=Target(document=d), grade=1) for d in "abc"),
)


def find(query, k):
    """Find everything but c."""
    return ["a" if query[0] == "c" else query[0]]


def test_scores_and_latency():
    """Two of three queries are answered; latency counts each question once."""
    evaluation = score_run(SET, make_run(SET, find), ["P@1", "RR@10"])
    assert evaluation.scores.mean() == {"P@1": pytest.approx(2 / 3), "RR@10": pytest.approx(2 / 3)}
    assert evaluation.latency["total"]["n"] == 3
    assert evaluation.segments["category", "c"] == ["qc"]


def test_percentiles_are_linear():
    """The 95th percentile of 1 to 20 lies between the last two."""
    summary = summarise_latency(list(range(1, 21)))
    assert summary == {"n": 20, "mean": 10.5, "p50": 10.5, "p95": pytest.approx(19.05), "p99": pytest.approx(19.81)}
    assert summarise_latency([]) == {}


def test_failed_questions_rank_behind_all_times():
    """By hand: 10 to 40 and two failures have the ranks 10, 20, 30, 40, 40, 40, of which p50 is not touched by them."""
    times = summarise_latency([30.0, 10.0, 40.0, 20.0], failed=2)
    assert times == {"n": 6, "mean": 30.0, "p50": 35.0, "p95": 40.0, "p99": 40.0, "failed": 2}
    assert [falls_among_failed(times, name) for name in ("p50", "p95", "p99", "mean")] == [False, True, True, True]
    assert not falls_among_failed(summarise_latency([1.0]), "mean")


@each(("n", "touched"), [(20, True), (21, False), (40, False), (41, False)])
def test_p95_needs_more_than_twenty_questions_to_be_known_if_one_failed(n, touched):
    """Its rank is 0.95 (n - 1), and that of the failed one n - 1: they are apart from 21 on."""
    assert falls_among_failed(summarise_latency([5.0] * (n - 1), failed=1), "p95") is touched


def test_scores_tell_which_queries_failed():
    """Of three queries two failed: the line, the notebook and an attribute say so, also of a selection."""

    def flaky(query, k):
        if query != "a?":
            raise RuntimeError("shard down")
        return ["a"]

    scores = karat.evaluate(SET, flaky, ["P@1"])
    assert repr(scores) == "<Scores of 'flaky', 3 queries, 2 failed: P@1 0.3333>"
    assert scores.failures == {"qb": "RuntimeError: shard down", "qc": "RuntimeError: shard down"}
    assert "2 of 3 queries failed, such as qb: RuntimeError: shard down" in scores._repr_html_()
    assert list(scores.select(["qa", "qc"]).failures) == ["qc"]
    assert karat.evaluate(SET, find, ["P@1"]).failures == {}


def test_a_failed_query_counts_as_zero_and_is_told():
    """An unstable system does not look better for failing."""

    def flaky(query, k):
        if query == "b?":
            raise RuntimeError("shard down")
        return [query[0]]

    evaluation = score_run(SET, make_run(SET, flaky), ["P@1"])
    assert evaluation.scores.mean() == {"P@1": pytest.approx(2 / 3)}
    assert evaluation.scores.count("P@1") == 3
    assert evaluation.failures == {"qb": "RuntimeError: shard down"}
    assert to_plain(evaluation_report(evaluation))["runs"][0]["failed"] == [
        {"query": "qb", "error": "RuntimeError: shard down"}
    ]
    with pytest.raises(SystemFailed, match="query 'qb': RuntimeError: shard down"):
        make_run(SET, flaky, Settings(fail_fast=True))


def test_when_all_fail_the_systems_words_are_told(tmp_path):
    """Exit code 3, the backend's own error, and no run that would be taken up again."""

    def broken(query, k):
        raise ConnectionError("refused by 10.0.0.1")

    with pytest.raises(SystemFailed, match="every one of 3 queries failed: ConnectionError: refused") as raised:
        make_run(SET, broken, output=tmp_path / "run.jsonl")
    assert raised.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_paraphrases_and_repeats_are_averaged_by_query():
    """Each wording of each repeat is scored on its own; a query has the mean of its scores."""

    def picky(query, k):
        return [query[0]] if query.endswith("?") else ["z"]

    run = make_run(SET, picky, Settings(paraphrases=True, repeat=2))
    assert len(run.traces) == 12
    evaluation = score_run(SET, run, ["P@1"])
    assert evaluation.scores.mean() == {"P@1": 0.5}
    assert (len(evaluation.repeats), len(evaluation.wordings)) == (2, 2)
    assert evaluation.noise == {"P@1": 0.0}  # from repeat to repeat nothing changes, from wording to wording it does
    assert sorted(scores.mean()["P@1"] for scores in evaluation.wordings) == [0.0, 1.0]


def test_a_sample_is_asked_and_scored_alone():
    """What was not asked does not count as missed."""
    run = make_run(SET, find, Settings(sample=2, seed=3))
    assert len(run.traces) == 2
    assert score_run(SET, run, ["P@1"]).scores.total == 2


def test_gold_that_the_index_lacks_is_found_before_asking():
    """Both kinds of ids are shown."""

    class Index:
        def retrieve(self, query, k):
            raise AssertionError("was asked")

        def document_ids(self):
            return ["a", "doc-b"]

    with pytest.raises(InputError, match=r"lacks 2 of 3 relevant documents, such as 'b', 'c'; it has 'a', 'doc-b'"):
        make_run(SET, Index())


def test_ids_that_never_meet_are_refused():
    """Where no judged document comes back, the names differ, and a score of 0 would be a lie."""
    with pytest.raises(InputError, match="the gold has 'a', 'b', 'c'; the system returned 'doc-a'"):
        score_run(SET, make_run(SET, lambda query, k: ["doc-a"]), ["P@1"])


@each(
    ("form", "advice"),
    [
        ("{}#s03", """with ids = "path" in [eval], 'a#s03' is 'a'"""),
        ("chunk-{}:3", """with ids = "prefix" in [eval], 'chunk-a:3' is 'a'"""),
        ("kb/{}.md", "which all begin with 'kb/' and end with '.md'; let the system return its ids without that"),
        ("kb/{}", "which all begin with 'kb/'; let the system return its ids without that"),
        ("{}.md", "which all end with '.md'; let the system return its ids without that"),
        ("nothing alike", "the system returned 'nothing alike'; correct the ids"),
    ],
)
def test_ids_that_differ_are_explained(form: str, advice: str):
    """The scheme that would read them, or what all of them have around an id of the gold."""
    with pytest.raises(InputError) as caught:
        score_run(SET, make_run(SET, lambda query, k: [form.format(query[0])]), ["P@1"])
    assert advice in str(caught.value)


def test_no_scheme_is_advised_for_an_id_that_the_gold_has():
    """It is read well, and judged for another query only: ``ids`` would change nothing."""
    bare = replace(SET, documents=(), judgments=SET.judgments[:2])
    with pytest.raises(InputError) as caught:
        score_run(bare, make_run(bare, lambda query, k: ["b"] if query == "a?" else []), ["P@1"])
    assert "the system returned 'b'; 'b' is in the gold, but not judged for the query that got it" in str(caught.value)
    assert "with ids" not in str(caught.value)


def test_a_scheme_is_not_advised_where_the_system_names_its_documents():
    """Then the ids of its chunks are not read."""
    hits = [{"id": "a#s03", "document": "manual"}]
    with pytest.raises(InputError, match="the system returned 'manual'; correct the ids"):
        score_run(SET, make_run(SET, lambda query, k: hits), ["P@1"])


def test_documents_are_ingested_and_readiness_is_asked_for():
    """No fixed sleep: the system says when it is ready."""

    class Slow:
        taken = ()
        checks = 0

        def ingest(self, documents):
            self.taken = documents

        def ready(self):
            self.checks += 1
            return self.checks > 2

        def retrieve(self, query, k):
            return [query[0]]

    slow = Slow()
    make_run(SET, slow)
    assert [d.id for d in slow.taken] == ["a", "b", "c"]
    assert slow.checks == 3
    slow.ready = lambda: False
    with pytest.raises(SystemFailed, match=r"is not ready after 0\.3 s"):
        make_run(SET, slow, Settings(ready_timeout=0.3))


def test_a_system_that_ingests_is_not_given_nothing():
    """A set whose documents are elsewhere is refused: every score would be 0. A system that knows its ids goes on."""

    class Store:
        taken = None

        def ingest(self, documents):
            self.taken = documents

        def retrieve(self, query, k):
            return [query[0]]

    class Filled(Store):
        def document_ids(self):
            return ["a", "b", "c"]

    bare, store, filled = replace(SET, documents=()), Store(), Filled()
    with pytest.raises(InputError, match="there is no document for Store to ingest; the golden set holds none; name"):
        karat.evaluate(bare, store, ["P@1"])
    assert store.taken is None
    assert karat.evaluate(bare, filled, ["P@1"]).mean() == karat.evaluate(SET, Store(), ["P@1"]).mean()


def test_an_ingest_that_breaks_is_the_systems_failure():
    """Its own words, and exit code 3."""

    class Broken:
        def ingest(self, documents):
            raise ValueError("record 16: hash collision")

        def retrieve(self, query, k):
            return []

    with pytest.raises(SystemFailed, match="ValueError: record 16: hash collision"):
        make_run(SET, Broken())


def test_the_run_file_holds_all_that_scoring_needs(tmp_path):
    """Hits with spans and channels, timings, errors, fingerprints and versions come back as they were."""

    def rich(query, k):
        if query == "b?":
            raise RuntimeError("x")
        hit = {"id": "a:chunk:0", "score": 0.5, "span": [0, 3], "type": "prose", "channels": {"bm25": [1, 2.5]}}
        return [{**hit, "stages": {"fusion": 0.1}, "section": "S.1"}]

    run = make_run(SET, rich, output=tmp_path / "run.jsonl")
    back = read_run_file(tmp_path / "run.jsonl")
    strip = lambda r: replace(r, traces=tuple(replace(t, timings={}) for t in r.traces))  # noqa: E731
    assert strip(back) == strip(run)
    assert back.provenance.golden["fingerprint"] == golden.fingerprint(SET)
    assert back.provenance.versions["karat"]
    assert back.traces[0].hits[0].span == Span(0, 3)


@each(
    ("text", "message"),
    [
        ("", "is not a run of karat"),
        ('{"karat": "run", "format": 99}\n', "is a run of format 99"),
        ("{\n", "line 1: is not valid JSON"),
        ('{"query": "q"}\n', "is not a run of karat"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path, text, message):
    """Another file, another version, a cut-off file."""
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read_run_file(tmp_path / "r.jsonl")


def test_an_unfinished_run_is_refused(tmp_path):
    """A run without its end is not scored as if it were all."""
    make_run(SET, find, output=tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match="the run was not finished"):
        read_run_file(tmp_path / "cut.jsonl")


def test_what_was_answered_is_not_asked_again(tmp_path):
    """A run that stopped goes on where it was, also in the middle of a line."""
    questions = []

    def stops(query, k):
        if query == "c?" and len(questions) == 3:
            raise KeyboardInterrupt
        questions.append(query)
        return [query[0]]

    with pytest.raises(KeyboardInterrupt):
        make_run(SET, stops, Settings(timeout=None), output=tmp_path / "run.jsonl")
    part = tmp_path / "run.jsonl.part"
    part.write_bytes(part.read_bytes() + b'{"query": "qc", "te')
    questions.append("again")
    make_run(SET, stops, Settings(timeout=None, warm_up=0), output=tmp_path / "run.jsonl")
    assert questions == ["a?", "a?", "b?", "again", "c?"]
    assert [t.query for t in read_run_file(tmp_path / "run.jsonl").traces] == ["qa", "qb", "qc"]


PROGRAM = """
import os, signal, sys
from itertools import count
from pathlib import Path
from karat import golden
from karat.runs import Settings, make_run
numbers, last = count(), int(sys.argv[1])
def find(query, k):
    if next(numbers) == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return [query[:3], "x"]
make_run(golden.read("set"), find, Settings(concurrency=3), output=Path("run.jsonl"))
"""


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_is_the_same_run(tmp_path):
    """SIGKILL at random points, resumed until it ends: but for the times it is the uninterrupted run."""
    many = replace(SET, queries=tuple(Query(id=f"q{i:03d}", text=f"{i:03d}?") for i in range(120)), judgments=())
    draw = random.Random(5)
    golden.write(many, tmp_path / "set")
    ends = []
    while not (tmp_path / "run.jsonl").exists():
        last = str(draw.randrange(10, 40)) if len(ends) < 7 else "-1"
        ends.append(subprocess.run([sys.executable, "-c", PROGRAM, last], cwd=tmp_path, timeout=600).returncode)
    assert ends.count(-signal.SIGKILL) == len(ends) - 1 >= 2
    assert ends[-1] == 0
    killed = read_run_file(tmp_path / "run.jsonl")
    plain = make_run(many, lambda query, k: [query[:3], "x"], name="find")
    rid = lambda r: [(t.query, t.text, t.hits, t.error) for t in r.traces]  # noqa: E731
    assert rid(killed) == rid(plain)


def test_settings_are_checked():
    """What makes no sense is refused before anything is asked."""
    for wrong in ({"k": 0}, {"repeat": 0}, {"concurrency": 0}, {"timeout": 0}, {"timeout": -1.0}):
        with pytest.raises(UsageError):
            Settings(**wrong)


def test_a_set_without_queries_has_nothing_to_ask():
    """An empty run would be a score of nothing."""
    with pytest.raises(InputError, match="has no queries"):
        make_run(replace(SET, queries=(), judgments=()), find)


def test_the_order_of_the_system_counts_not_its_scores():
    """A re-ranker may give scores of two kinds; what it put first is first."""
    evaluation = score_run(SET, make_run(SET, lambda q, k: [Hit("z", 0.1), Hit(q[0], 0.9)]), ["RR@10"])
    assert evaluation.scores.mean() == {"RR@10": 0.5}
    assert to_json(evaluation_report(evaluation))
    assert isinstance(evaluation.traces[0], Trace)


def test_a_measure_is_taken_as_it_was_written():
    """R(rel=1)@5 on a set that counts from 2 is not quietly R(rel=2)@5: it is refused, as by score_hits."""
    low = replace(SET, relevant=2, grades=())
    run = make_run(low, lambda query, k: ["a"])
    with pytest.raises(UsageError, match="relevant means grade 2 and above"):
        score_run(low, run, ["R(rel=1)@5"])


def test_the_rates_of_repeats_without_a_value_are_null():
    """A measure that is undefined for every query has no rate, which JSON writes as null."""
    golden = GoldenSet(
        documents=SET.documents,
        queries=SET.queries,
        judgments=tuple(Judgment(query=query.id, target=Target(document="a"), grade=0) for query in SET.queries),
    )
    evaluation = score_run(golden, make_run(golden, lambda q, k: [Hit("a", 1.0)], Settings(repeat=2)), ["R@5"])
    run = to_plain(evaluation_report(evaluation))["runs"][0]
    assert (run["noise"], run["trials"]["measures"]) == ({"R@5": None}, {"R@5": [None, None]})
    assert to_json(evaluation_report(evaluation))


def test_reasons_of_wordings_are_not_mixed_up() -> None:
    """Each table numbers its reasons by itself: what no wording has a value for has the reason of the first."""
    empty: dict[str, dict[str, float]] = {"RR": {}, "AP": {}}
    first = Scores.from_columns("mine", empty, queries=["q"], reasons={("q", "RR"): "refused", ("q", "AP"): "refused"})
    other = Scores.from_columns("mine", empty, queries=["q"], reasons={("q", "RR"): "failed", ("q", "AP"): "refused"})
    for tables in ((first, other), (other, first)):
        scores, _ = average_variants({(number, 0): table for number, table in enumerate(tables)})
        assert scores.missing("RR") == tables[0].missing("RR")
        assert scores.missing("AP") == {"refused": 1}
