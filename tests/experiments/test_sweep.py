"""Sweeps: each variant asked once, gated, decided on with the others, and kept."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from karat import golden
from karat.core import InputError, KaratError
from karat.experiments import SweepResult, SweepSettings, read_log, read_sweep, run_sweep, sweep_document
from karat.projects import evaluate
from karat.runs import read_run_file
from karat.schema import to_json
from sweeping import MODULE, SET, make_project, record_baseline, systems


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a baseline, which is the current folder; what is asked is written down."""
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    record_baseline(tmp_path)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked.txt"))
    return tmp_path


def sweep(text: str, settings: SweepSettings | None = None, said: list[str] | None = None) -> SweepResult:
    """Run a sweep file with this text in the current folder."""
    Path("sweep.toml").write_text(text)
    return run_sweep(read_sweep("sweep.toml"), settings or SweepSettings(), say=None if said is None else said.append)


def count_questions() -> Counter[str]:
    """How often each question was asked of each retriever."""
    path = Path("asked.txt")
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def words(result: SweepResult) -> dict[str, str]:
    """The verdicts by retriever."""
    return {outcome.variant.name.rpartition(":")[2]: outcome.verdict.word for outcome in result.outcomes}


def test_variants_are_gated_and_decided_on_together(folder: Path) -> None:
    """What is as good as before or better is accepted, what is worse or uncertain is not."""
    result = sweep(systems("same", "better", "worse", "mixed"))
    assert words(result) == {"same": "ACCEPTED", "better": "ACCEPTED", "worse": "REJECTED", "mixed": "REJECTED"}
    same, better, worse, mixed = result.outcomes
    assert same.verdict.reason == "not worse by policy default; no query changed"
    assert worse.verdict.reason.startswith("RR@10: dropped by 0.25, more than 0.0375 (one-sided p = ")
    assert mixed.verdict.reason.startswith("inconclusive: RR@10: the mean did not move")
    assert better.evaluation is not None
    assert better.evaluation.means == {"RR@10": 1.0, "P@1": 1.0}
    assert better.claims.change is not None
    assert better.claims.change.difference == 0.25
    assert better.claims.gain == 2**-12
    assert result.tested == 3  # in one of them there is nothing to test
    labels = {read_run_file(path).provenance.title for path in (folder / "runs").glob("*.jsonl")}
    assert labels == {outcome.variant.name for outcome in result.outcomes}  # so that lists of runs tell them apart


def test_with_an_objective_only_a_gain_is_accepted(folder: Path) -> None:
    """One query of 24 is no gain that can be shown, and neither is none."""
    only = 'objective = "RR@10"\n[base]\neval.measures = ["RR@10"]\n'
    result = sweep(only + systems("same", "bit_better", "better"))
    assert words(result) == {"same": "REJECTED", "bit_better": "REJECTED", "better": "ACCEPTED"}
    same, bit_better, better = result.outcomes
    assert same.verdict.reason == "no gain is shown: RR@10 did not move, p = 1 for it alone"
    assert bit_better.verdict.reason == "no gain is shown: RR@10 rose by 0.0208, p = 0.5 for it alone"
    assert better.verdict.reason.endswith("RR@10 rose by 0.25; p < 0.001 for 3 variants")
    assert better.verdict.corrected == 2**-12  # the one query of bit_better is never as far out as twelve


def test_an_objective_that_is_not_among_the_measures_is_measured(folder: Path) -> None:
    """One document is relevant to each query, so that AP is RR: 0.75 before, 1 for ``better``, and p is 1/2 to 12."""
    result = sweep('objective = "AP"\n' + systems("better", "same"))
    better, same = sweep_document(result).variants
    assert result.baseline is not None
    assert result.baseline.evaluation.means["AP"] == 0.75
    assert (better.verdict, better.results["AP"]) == ("ACCEPTED", 1.0)
    assert (better.objective.difference, better.objective.p_gain, better.p) == (0.25, 2**-12, 2**-12)
    assert same.reason == "no gain is shown: AP did not move, p = 1 for it alone"
    assert {check.metric for check in better.checks if check.kind == "non_inferior"} == {"RR@10", "P@1"}


def test_an_objective_gets_as_many_hits_as_it_looks_at(folder: Path) -> None:
    """Where the baseline or karat.toml has too few of them it is refused before anything is asked."""
    text = 'objective = "R@50"\n' + systems("better")
    with pytest.raises(InputError, match="R@50 looks at 50 hits, and the baseline was asked for 10; set k = 50 in"):
        sweep(text)
    with pytest.raises(InputError, match=r"R@50 looks at 50 hits, and \[eval\] k = 20 are asked for; set k = 50"):
        sweep(text.replace("[grid]", "[base]\neval.k = 20\n[grid]"))
    assert not count_questions()
    config = (folder / "karat.toml").read_text()
    (folder / "karat.toml").write_text(config + "k = 50\n")
    record_baseline(folder)
    (folder / "karat.toml").write_text(config)
    (outcome,) = sweep(text).outcomes
    assert outcome.evaluation is not None
    assert outcome.evaluation.provenance.settings["k"] == 50
    assert outcome.verdict.reason == "no gain is shown: R@50 did not move, p = 1 for it alone"


def test_a_list_that_is_cut_is_noted_for_an_objective_that_looks_at_whole_lists(folder: Path) -> None:
    """AP of ten hits is not AP."""
    said: list[str] = []
    sweep('objective = "AP"\n' + systems("better"), said=said)
    assert said[0] == "AP looks at whole lists, and 10 hits are asked for; set [eval] k"


def test_a_p_that_was_not_computed_is_null_with_a_reason(folder: Path) -> None:
    """Where no query changed there is nothing to test; a variant that failed has no scores."""
    same, broken, better = sweep_document(sweep(systems("same", "broken", "better"))).variants
    assert (same.p, same.p_corrected, same.untested) == (None, None, "no query changed")
    assert (broken.p, broken.p_corrected, broken.untested) == (None, None, "the variant failed")
    assert better.p is not None
    assert better.untested is None
    tests = [entry.record.get("tests") for entry in read_log(folder / "experiments.json")]
    assert tests[0] == {
        "p": None, "p_corrected": None, "correction": "westfall-young", "variants": 1, "untested": "no query changed"
    }  # fmt: skip
    assert tests[1] is None
    assert tests[2]["p"] == better.p


def test_the_log_has_the_six_keys_of_fit_and_how_it_came_about(folder: Path) -> None:
    """Results, verdict and the changed keys; then policy, tests, golden set, baseline and run."""
    result = sweep('description = "who is best"\n' + systems("better", "worse"))
    first, second = json.loads((folder / "experiments.json").read_text())["experiments"]
    assert list(first)[:6] == ["id", "date", "description", "config_changes", "results", "verdict"]
    assert [outcome.id for outcome in result.outcomes] == [first["id"], second["id"]] == ["exp-001", "exp-002"]
    assert first["description"] == f"who is best: system={MODULE}:better"
    assert first["config_changes"] == {"eval.system": f"{MODULE}:better"}
    assert set(first["results"]) == {"RR@10", "P@1", "latency.p95"}
    assert first["verdict"].startswith("ACCEPTED (not worse by policy default; p < 0.001 for 2 variants)")
    assert second["verdict"].startswith("REJECTED (RR@10: dropped by 0.25")
    assert first["tests"]["correction"] == "westfall-young"
    assert first["tests"]["variants"] == 2
    assert first["golden"]["fingerprint"] == golden.fingerprint(SET)
    assert first["baseline"]["recorded"] == "2026-11-16"
    assert (folder / first["run"]).is_file()
    to_json(sweep_document(result))


def test_the_pipeline_is_changed_key_by_key(folder: Path) -> None:
    """Each variant scores as the configuration with the change written into it would."""
    record_baseline(folder, "pipeline")
    result = sweep(
        '[base]\npipeline.lexical.stop_words = "none"\n'
        "[grid]\nchunking.max_tokens = [8, 64]\nchunking.overlap_tokens = [0]\n"
    )
    (folder / "karat.toml").write_text(
        (folder / "karat.toml")
        .read_text()
        .replace(
            "dense = false",
            'dense = false\nchunk = { name = "sentence", size = 8, overlap = 0, context = "title" }\n'
            'lexical = { stop_words = "none" }',
        )
    )
    assert result.outcomes[0].evaluation is not None
    assert result.outcomes[0].evaluation.means == evaluate(folder).mean()
    systems_ = [system.evaluation.provenance.system for system in result.outcomes if system.evaluation]
    assert [system["chunk"]["size"] for system in systems_] == [8, 64]
    assert read_log(folder / "experiments.json")[0].changes == {
        "pipeline.lexical.stop_words": "none",
        "pipeline.chunk.size": 8,
        "pipeline.chunk.overlap": 0,
    }


def test_a_sweep_again_asks_nothing_and_adds_nothing(folder: Path) -> None:
    """Runs of the pipeline that are there are used, and what the log has is not written again."""
    record_baseline(folder, "pipeline")
    text, said = '[grid]\n"pipeline.lexical.k1" = [0.9, 1.5]\n', list[str]()
    first = sweep(text)
    runs = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    log = (folder / "experiments.json").read_bytes()
    second = sweep(text, said=said)
    assert sum("answered before" in line for line in said) == 2
    assert [line.answered_before for line in (*first.outcomes, *second.outcomes)] == [False, False, True, True]
    assert [line.id for line in second.outcomes] == [line.id for line in first.outcomes]
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()} == runs
    assert (folder / "experiments.json").read_bytes() == log
    sweep(text, SweepSettings(again=True))
    assert len(read_log(folder / "experiments.json")) == 4


def test_what_another_system_answered_in_an_earlier_sweep_is_not_used(folder: Path) -> None:
    """Nobody knows whether its code is still the same."""
    sweep(systems("better"))
    assert count_questions().total() == 24
    sweep(systems("better"))
    assert count_questions().total() == 48


def test_a_variant_that_fails_is_recorded_and_the_others_go_on(folder: Path) -> None:
    """Its error is in the log; it is no variant to correct for."""
    said: list[str] = []
    result = sweep(systems("broken", "better"), said=said)
    assert words(result) == {"broken": "REJECTED", "better": "ACCEPTED"}
    assert "and the other 19 were not asked: ConnectionError: refused" in result.outcomes[0].error
    assert result.tested == 1
    first, second = read_log(folder / "experiments.json")
    assert (first.verdict, first.results) == ("REJECTED", {})
    assert first.record["error"] == result.outcomes[0].error
    assert second.verdict == "ACCEPTED"
    assert any("failed: the first 5" in line for line in said)


def test_combinations_of_a_grid_that_make_no_sense_are_left_out(folder: Path) -> None:
    """An overlap of more than half the size is told at once, recorded, and not asked."""
    record_baseline(folder, "pipeline")
    said: list[str] = []
    result = sweep('[grid]\n"pipeline.chunk.size" = [32, 128]\n"pipeline.chunk.overlap" = [4, 50]\n', said=said)
    errors = [outcome.error for outcome in result.outcomes]
    assert [bool(error) for error in errors] == [False, True, False, False]
    assert errors[1] == "sentence: overlap = 50; choose at most 16, half of size = 32"
    assert said[0] == f"size=32 overlap=50 cannot be tried: {errors[1]}"
    assert len(list((folder / "runs").iterdir())) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[grid]\n"pipeline.chnk" = ["whole"]\n', "[pipeline] has no key 'chnk', did you mean 'chunk'?"),
        ('[grid]\n"pipeline.lexical.k3" = [1, 2]\n', "[pipeline.lexical] has no key 'k3'; it has k1, b,"),
        ('[grid]\n"pipeline.chunk.sise" = [1]\n', "sentence: unknown option 'sise', did you mean 'size'?"),
        ('[grid]\n"pipeline.lexical.k1" = ["x"]\n', "[pipeline.lexical] k1 = 'x' is of the wrong type"),
        ('[grid]\n"eval.concurrency" = ["x"]\n', "[eval] concurrency is 'x', which is of the wrong type"),
        ('[grid]\n"eval.system" = ["nowhere:x"]\n', "No module named 'nowhere'"),
        ('[[variant]]\n[[variant]]\nname = "b"\npipeline.chunk.size = -1\n', "variant 'b': sentence: size = -1"),
        ('[base]\n"pipelin.x" = 1\n[[variant]]\n', "there is no table 'pipelin', did you mean 'pipeline'?"),
        ('[base]\n"eval.kk" = 1\n[[variant]]\n', "[eval] has no key 'kk'"),
        ('[base]\n"eval.k" = 5\n[[variant]]\n', "cannot be compared: they differ in k (5, was 10)"),
        ('project = "nowhere"\n[[variant]]\n', "no such file or folder"),
        ('policy = "defalt"\n[[variant]]\n', "unknown policy 'defalt', did you mean 'default'?"),
        ('objective = "DupRate@7"\n[[variant]]\n', "the baseline has no scores of DupRate@7 for single queries"),
        ('[base]\n"gate.must_pass" = ["q99"]\n[[variant]]\n', "must_pass names query 'q99'"),
    ],
)
def test_a_mistake_is_found_before_anything_is_asked(folder: Path, text: str, message: str) -> None:
    """Neither runs nor a log are made."""
    with pytest.raises(KaratError) as caught:
        sweep(text)
    assert message in str(caught.value)
    assert not (folder / "runs").exists()
    assert not (folder / "experiments.json").exists()


def test_a_golden_set_without_a_question_of_the_baseline_is_refused(folder: Path) -> None:
    """Nothing is asked when nothing could be compared."""
    queries = tuple(replace(query, text=f"{query.text}!") for query in SET.queries)
    golden.write(replace(SET, queries=queries), folder / "changed")
    (folder / "karat.toml").write_text((folder / "karat.toml").read_text().replace('"set"', '"changed"'))
    with pytest.raises(InputError, match="has no question in common with golden set"):
        sweep(systems("better"))
    assert not count_questions()


def test_another_rule_for_undefined_values_is_refused(folder: Path) -> None:
    """Variants whose undefined values count as 1 are not held against a baseline whose do not."""
    with pytest.raises(InputError, match=r"they differ in undefined \('one', was 'exclude'\)"):
        sweep(systems("better"), SweepSettings(scoring={"undefined": "one"}))
    assert not count_questions()


def test_a_damaged_log_is_told_before_anything_is_asked(folder: Path) -> None:
    """And it is left as it is."""
    (folder / "experiments.json").write_text('{"experiments": [')
    with pytest.raises(InputError, match=r"experiments.json, line 1: is not valid JSON"):
        sweep(systems("better"))
    assert (folder / "experiments.json").read_text() == '{"experiments": ['
    assert not count_questions()


def test_a_log_that_is_damaged_meanwhile_costs_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is mended the sweep goes on where it was, with nothing asked twice."""
    log = folder / "experiments.json"

    def damage(_: str) -> None:
        log.write_text("{")

    Path("sweep.toml").write_text(systems("better"))
    with pytest.raises(InputError, match="is not valid JSON"):
        run_sweep(read_sweep("sweep.toml"), say=damage)
    assert log.read_text() == "{"
    log.unlink()
    assert words(sweep(systems("better"))) == {"better": "ACCEPTED"}
    assert set(count_questions().values()) == {1}


def test_without_a_baseline_the_numbers_are_there_and_nothing_is_accepted(folder: Path) -> None:
    """It is said before the first question; a gain on nothing is refused."""
    (folder / "baseline.json").unlink()
    said: list[str] = []
    result = sweep(systems("better"), said=said)
    assert "there is no baseline yet" in said[0]
    assert result.outcomes[0].verdict.reason.startswith("inconclusive: RR@10: there is no baseline yet")
    assert result.outcomes[0].evaluation is not None
    with pytest.raises(InputError, match="a gain is asked for, and there is no baseline to gain on"):
        sweep("require_gain = true\n" + systems("better"))


@pytest.mark.usefixtures("clock")
def test_the_front_of_quality_and_latency(folder: Path) -> None:
    """The best and the fastest are on it; one that is slower and no better is not."""
    (folder / "slow_ones.py").write_text(
        f"from karat.runs._ask import time\nfrom {MODULE} import better, plain\n"
        "def slow_better(query, k):\n    time.advance(0.004)\n    return better(query, k)\n"
        "def slower(query, k):\n    time.advance(0.02)\n    return plain(query, k)\n"
    )
    result = sweep(f'[grid]\n"eval.system" = ["slow_ones:slow_better", "slow_ones:slower", "{MODULE}:plain"]\n')
    assert [outcome.pareto for outcome in result.outcomes] == [True, False, True]


def test_an_interrupted_sweep_goes_on_where_it_was(folder: Path) -> None:
    """Ctrl-C in the second variant: the first is kept, and no question is asked twice."""
    count = 0

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal count
        count += stage == "asking"
        if count == 30:
            raise KeyboardInterrupt

    text = "[base]\neval.timeout = 0\n" + systems("same", "better")  # without a limit none is under way meanwhile
    Path("sweep.toml").write_text(text)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(read_sweep("sweep.toml"), progress=progress)
    assert not (folder / "experiments.json").exists()
    assert count_questions().total() == 30
    result = sweep(text)
    assert words(result) == {"same": "ACCEPTED", "better": "ACCEPTED"}
    assert not any(outcome.answered_before for outcome in result.outcomes)
    assert count_questions().total() == 48
    assert set(count_questions().values()) == {1}
    assert [path.suffix for path in (folder / "runs").iterdir()] == [".jsonl", ".jsonl"]


def test_a_damaged_run_is_asked_again(folder: Path) -> None:
    """A file that cannot be read is no answer, and it is said."""
    record_baseline(folder, "pipeline")
    said: list[str] = []
    text = '[grid]\n"pipeline.lexical.k1" = [0.9]\n'
    first = sweep(text)
    run = first.outcomes[0].run
    assert run is not None
    run.write_text(run.read_text()[:-30])
    second = sweep(text, said=said)
    assert any("it is asked again" in line for line in said)
    assert second.outcomes[0].evaluation is not None
    assert second.outcomes[0].evaluation.means == {"RR@10": 1.0, "P@1": 1.0}


def test_a_system_that_changes_the_folder_takes_nothing_with_it(folder: Path) -> None:
    """The next variant, the log and the runs are where they belong."""
    (folder / "elsewhere").mkdir()
    (folder / "wanders.py").write_text(
        f"import os\nfrom {MODULE} import better\ndef find(query, k):\n    os.chdir('/')\n    return better(query, k)\n"
    )
    result = sweep(f'[grid]\n"eval.system" = ["wanders:find", "{MODULE}:better"]\n')
    assert [outcome.verdict.word for outcome in result.outcomes] == ["ACCEPTED", "ACCEPTED"]
    assert Path.cwd() == folder
    assert len(read_log("experiments.json")) == 2


def test_earlier_variants_against_the_same_baseline_are_counted(folder: Path) -> None:
    """The correction is for one sweep; what was tried before is told."""
    assert sweep(systems("same", "worse")).earlier == 0
    assert sweep(systems("better", "same")).earlier == 1
    record_baseline(folder, "better")
    assert sweep(systems("same")).earlier == 0


def test_other_places_for_runs_log_and_baseline(folder: Path) -> None:
    """What is chosen holds; the log tells the run as seen from itself."""
    (folder / "baseline.json").rename(folder / "other.json")
    (folder / "logs").mkdir()
    settings = SweepSettings(baseline="other.json", runs=Path("kept/runs"), log=Path("logs/mine.json"))
    assert words(sweep(systems("better"), settings)) == {"better": "ACCEPTED"}
    (entry,) = read_log("logs/mine.json")
    assert (folder / "logs" / entry.record["run"]).resolve().parent == folder / "kept" / "runs"


class Counting(ThreadingHTTPServer):
    """An embedder behind HTTP that writes down what it is asked for."""

    daemon_threads = True
    texts: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Counting

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.texts += texts
        vectors = [{"index": i, "embedding": [1, len(text), sum(text.encode()) % 97]} for i, text in enumerate(texts)]
        data = json.dumps({"data": vectors}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Drop the message."""


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    """A server on loopback."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    server = Counting(("127.0.0.1", 0), Handler)
    server.texts = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_the_same_chunks_are_embedded_once(folder: Path, embedder: Counting) -> None:
    """Variants that differ in fusion or BM25 share the embeddings; another chunk size needs its own, once.

    So do questions, but for the first of each variant: what a process does first takes longer, and is not recorded.
    """
    url = f"http://127.0.0.1:{embedder.server_port}/v1"
    base = f'[base]\npipeline.dense = true\n"pipeline.embedder" = {{ kind = "openai", model = "toy", url = "{url}" }}\n'
    base += 'pipeline.fusion.method = "rrf"\n'
    result = sweep(f'{base}[grid]\n"pipeline.lexical.k1" = [0.9, 1.2]\n"pipeline.fusion.k" = [10, 60]\n')
    assert not any(outcome.error for outcome in result.outcomes)
    counted = Counter(embedder.texts)
    assert [counted[document.text] for document in SET.documents] == [1] * 24
    assert [counted[query.text] for query in SET.queries] == [4] + [1] * 23
    embedder.texts.clear()
    sweep(
        f'{base}[grid]\n"pipeline.fusion.k" = [5]\n"chunking.max_tokens" = [384, 4]\n"pipeline.chunk.overlap" = [0]\n'
    )
    again = Counter(embedder.texts)
    assert not any(again[document.text] for document in SET.documents)
    assert sum(again.values()) - sum(again[query.text] for query in SET.queries) >= 24


def test_an_embedder_or_chunker_that_has_only_a_name_can_be_changed_inside(folder: Path, embedder: Counting) -> None:
    """``openai:toy`` becomes a table with kind and model, and a chunker one with its name."""
    url = f"http://127.0.0.1:{embedder.server_port}/v1"
    (folder / "karat.toml").write_text(
        (folder / "karat.toml").read_text().replace("dense = false", 'chunk = "fixed"\nembedder = "openai:toy"')
    )
    result = sweep(f'[[variant]]\npipeline.embedder.url = "{url}"\npipeline.chunk.size = 64\n')
    assert result.outcomes[0].evaluation is not None
    system = result.outcomes[0].evaluation.provenance.system
    assert (system["embedder"]["model"], system["embedder"]["url"]) == ("toy", url)
    assert (system["chunk"]["chunker"], system["chunk"]["size"]) == ("fixed", 64)


def test_a_damaged_list_of_finished_runs_costs_answers_and_nothing_else(folder: Path) -> None:
    """A sweep that cannot know what it has asked asks again."""
    text = systems("same", "better")
    Path("sweep.toml").write_text(text)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "asking" and count_questions().total() > 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(read_sweep("sweep.toml"), progress=stop)
    (finished,) = (folder / "runs").glob("sweep-*.part")
    finished.write_text("[")
    assert words(sweep(text)) == {"same": "ACCEPTED", "better": "ACCEPTED"}
    assert not finished.exists()


def test_a_folder_for_runs_that_cannot_be_made(folder: Path) -> None:
    """It is told in the system's own words before anything is asked."""
    with pytest.raises(InputError, match=r"karat\.toml/runs: cannot be made: Not a directory"):
        sweep(systems("better"), SweepSettings(runs=Path("karat.toml/runs")))
    assert not count_questions()


def test_whoever_waits_for_a_folder_says_so(tmp_path: Path) -> None:
    """The second gets it when the first lets go."""
    from karat.files import lock_folder

    waits, order = threading.Event(), list[str]()

    def second() -> None:
        with lock_folder(tmp_path, waits.set):
            order.append("second")

    with lock_folder(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(600)
        order.append("first")
    thread.join(600)
    assert order == ["first", "second"]
