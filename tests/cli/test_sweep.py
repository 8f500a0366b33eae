"""``karat sweep``: a table of variants with verdicts, and nothing lost when it is stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import validate

from karat.experiments import read_log
from karat.schema import json_schema
from sweeping import MODULE, make_project, record_baseline, systems

VERB = "sweep"
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a baseline and a sweep over four retrievers, which is the current folder."""
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    record_baseline(tmp_path)
    (tmp_path / "sweep.toml").write_text(systems("same", "better", "worse", "broken"))
    return tmp_path


def test_one_row_for_each_variant_then_reasons_and_the_front(run: Run, folder: Path) -> None:
    """Measures, difference with interval, corrected p, latency and verdict; why; quality beside latency."""
    out, err = run("sweep.toml")
    table, reasons, front, summary = out.split("\n\n")
    head, before, same, better, worse, broken = table.split("\n")
    assert re.fullmatch(r"variant +RR@10 +P@1 +delta RR@10 +95 % interval +p +p95 ms +verdict", head)
    assert re.match(r"baseline +0\.7500  0\.5000 +- +- +-  +\S+ +-$", before)
    assert re.search(r"better +1\.0000  1\.0000 +\+0\.2500  \+0\.\d+ to \+0\.\d+  0\.0001 .* ACCEPTED$", better)
    assert re.search(r"worse +0\.5000  0\.0000 +-0\.2500 .* REJECTED$", worse)
    assert re.search(r"same .* \+0\.0000  \+0\.000 to \+0\.000 +- +\S+ +ACCEPTED$", same)  # and no p of 0
    assert re.search(r"broken +- +- +- +- +- +- +failed$", broken)
    assert f"REJECTED  system={MODULE}:broken: failed: the first 5 questions failed" in reasons
    assert front.startswith("quality and latency")
    assert summary.splitlines() == [
        "2 of 4 accepted: not worse by policy default",
        "p is corrected for 2 variants (Westfall-Young); intervals are not",
        "experiments.json has them as exp-001 to exp-004",
    ]
    assert f"karat: 2 of 4: system={MODULE}:better" in err


def test_json_has_everything(run: Run, folder: Path) -> None:
    """The same as the table, and the checks of the gate."""
    document = json.loads(run("sweep.toml", "--json", "--objective", "P@1", "--policy", "threshold")[0])
    assert (document["policy"], document["objective"], document["require_gain"]) == ("threshold", "P@1", True)
    assert document["baseline"]["results"]["RR@10"] == 0.75
    assert document["correction"] == {"method": "westfall-young", "variants": 3, "not_counted": 0}
    same, better, worse, broken = document["variants"]
    assert [variant["verdict"] for variant in document["variants"]] == ["REJECTED", "ACCEPTED", "REJECTED", "REJECTED"]
    assert better["objective"]["difference"] == 0.5
    assert better["p_corrected"] == 2**-12  # no other variant changed as much
    assert [check["kind"] for check in worse["checks"]] == ["failed", "empty", "slow"] + ["max_drop_rel"] * 2
    assert broken["error"].startswith("the first 5")
    assert same["config_changes"] == {"eval.system": f"{MODULE}:same"}
    assert (folder / better["run"]).is_file()


@pytest.mark.slow
def test_json_is_as_the_published_schema_says(run: Run, folder: Path) -> None:
    """The plan, the report with and without a baseline, and every entry of the log."""
    validate(json.loads(run("sweep.toml", "--dry-run", "--json")[0]), json_schema("sweep-plan"))
    validate(json.loads(run("sweep.toml", "--json")[0]), json_schema("sweep"))
    (folder / "baseline.json").unlink()
    validate(json.loads(run("sweep.toml", "--json")[0]), json_schema("sweep"))
    log = json.loads((folder / "experiments.json").read_text())
    validate(log, json_schema("experiments"))
    assert len(log["experiments"]) == 7  # broken failed alike both times
    for entry in log["experiments"]:
        validate(entry, json_schema("sweep-entry"))


def test_a_policy_without_tests_is_warned_of(run: Run, folder: Path) -> None:
    """Without a test some of many pass by chance; with a gain asked for there is one."""
    out, _ = run("sweep.toml", "--policy", "threshold")
    assert "the policy makes no test: of many variants some pass it by chance" in out
    out, _ = run("sweep.toml", "--policy", "threshold", "--require-gain")
    assert "1 of 4 accepted: not worse by policy threshold and better by RR@10" in out
    assert "p is corrected for 3 variants" in out


def test_an_interval_that_contradicts_p_is_said(run: Run, folder: Path) -> None:
    """Four of 24 queries rose: p is 1/2 to 4 for a gain, and the bootstrap's interval leaves out 0."""
    body = "return _answer('few', query, lambda n: n % 2 == 0 or n < 8)"
    code = f"from {MODULE} import _answer\ndef few(query, k):\n    {body}\n"
    (folder / "risers.py").write_text(code)
    (folder / "sweep.toml").write_text('[grid]\n"eval.system" = ["risers:few"]\n')
    out, _ = run("sweep.toml", "--objective", "RR@10")
    assert re.search(r"few +\S+ +\S+ +\+0\.0833  \+0\.0\d+ to \+0\.\d+  0\.0625", out)
    named = "that of system=risers:few leaves out 0 with p 0.0625 for a gain, before correction"
    assert f"\ntrust p, and not the interval, where they disagree: {named}\n" in out


def test_a_baseline_below_its_floors_is_said(run: Run, folder: Path) -> None:
    """Otherwise one would wonder why nothing is accepted."""
    (folder / "strict.toml").write_text('[[rules]]\nmetric = "RR@10"\nmin = 0.9\n')
    out, _ = run("sweep.toml", "--policy", "strict.toml")
    assert "the baseline itself is below the floors of RR@10: to be accepted a variant has to reach them" in out
    assert "1 of 4 accepted" in out


def test_latencies_of_earlier_runs_are_said(run: Run, folder: Path) -> None:
    """They were measured under another load than those of today."""
    record_baseline(folder, "pipeline")
    (folder / "sweep.toml").write_text('[grid]\n"pipeline.lexical.k1" = [0.9]\n')
    run("sweep.toml")
    (folder / "sweep.toml").write_text('[grid]\n"pipeline.lexical.k1" = [0.9, 1.5]\n')
    out, _ = run("sweep.toml")
    assert "1 of the latencies were measured earlier, under another load; --again measures them again" in out
    assert "were measured earlier" not in run("sweep.toml", "--again")[0]


def test_a_dry_run_lists_the_variants_and_asks_nothing(run: Run, folder: Path) -> None:
    """Also as JSON."""
    out, _ = run("sweep.toml", "--dry-run")
    assert out.startswith(f"4 variants of .\n  system={MODULE}:same\n")
    document = json.loads(run("sweep.toml", "--dry-run", "--json")[0])
    assert len(document["variants"]) == 4
    assert not (folder / "runs").exists()


def test_more_variants_than_the_limit(run: Run, folder: Path) -> None:
    """The number is said, and how to allow it."""
    _, err = run("sweep.toml", "--limit", "3", code=2)
    assert err == (
        "karat: sweep.toml: there are 4 variants to try, and the limit is 3; try fewer values at once, or allow more "
        "with --limit\n"
    )


def test_when_all_variants_fail_the_exit_code_is_three(run: Run, folder: Path) -> None:
    """Their errors are recorded nevertheless."""
    (folder / "sweep.toml").write_text(systems("broken"))
    out, _ = run("sweep.toml", code=3)
    assert "0 of 1 accepted" in out
    assert "experiments.json has them as exp-001" in out
    assert read_log("experiments.json")[0].verdict == "REJECTED"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[grid", "karat: sweep.toml: is not valid TOML"),
        ("[grid]\n", "karat: sweep.toml: [grid] is empty"),
        ('[grid]\n"pipeline.chnk" = [1]\n', "[pipeline] has no key 'chnk', did you mean 'chunk'?"),
        ('[[variant]]\nname = "a\\u001b[31m"\nx = 1\n', "there is no table 'x'"),
    ],
)
def test_a_mistake_in_the_file_is_one_message(run: Run, folder: Path, text: str, message: str) -> None:
    """Exit code 2, and nothing asked."""
    (folder / "sweep.toml").write_text(text)
    out, err = run("sweep.toml", code=2)
    assert message in err
    assert out == ""
    assert "Traceback" not in err
    assert "\x1b" not in err


def test_names_from_the_file_do_nothing_to_the_terminal(run: Run, folder: Path) -> None:
    """Control characters in a name are escaped everywhere."""
    (folder / "sweep.toml").write_text(
        f'[[variant]]\nname = "a\\u001b[31m\\nb"\ndescription = "\\u001b[2J"\neval.system = "{MODULE}:better"\n'
    )
    out, err = run("sweep.toml")
    assert "a\\x1b[31m\\nb" in out
    assert "\x1b" not in out + err


def test_what_a_system_prints_is_no_result(run: Run, folder: Path) -> None:
    """Standard output has the JSON alone."""
    (folder / "talks.py").write_text(
        f"from {MODULE} import better\ndef find(query, k):\n    print('hello')\n    return better(query, k)\n"
    )
    (folder / "sweep.toml").write_text('[grid]\n"eval.system" = ["talks:find"]\n')
    out, err = run("sweep.toml", "--json")
    assert json.loads(out)["variants"][0]["verdict"] == "ACCEPTED"
    assert "hello" in err


NO_LIMIT = "[base]\neval.timeout = 0\n"
"""A question that is held for a test may take as long as it likes."""


def begin(folder: Path, environment: dict[str, str], **more: str) -> subprocess.Popen[str]:
    """Start the sweep of the folder in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "karat", "sweep", "sweep.toml"],
        cwd=folder,
        env=environment | {"ASKED": str(folder / "asked.txt")} | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(folder: Path, questions: int) -> None:
    """Wait until so many questions were asked."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if (path := folder / "asked.txt").exists() and len(path.read_text().splitlines()) >= questions:
            return
        time.sleep(0.005)
    raise AssertionError(f"no {questions} questions within ten minutes")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_stopped_goes_on(folder: Path, environment: dict[str, str], how: signal.Signals) -> None:
    """Killed in the middle of the second variant: nothing that was answered is asked again, and the log is whole."""
    (folder / "sweep.toml").write_text(NO_LIMIT + systems("same", "better"))
    worker = begin(folder, environment, HOLD="better what is word10")
    wait_for(folder, 35)
    os.kill(worker.pid, how)
    _, err = worker.communicate(timeout=600)
    assert worker.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    if how is signal.SIGINT:
        assert "karat: interrupted; repeat the command to continue where it stopped" in err
        assert "Traceback" not in err
    assert not (folder / "experiments.json").exists()
    out, err = begin(folder, environment).communicate(timeout=600)
    assert "2 of 2 accepted" in out
    assert "answered before: runs/" in err
    times = Counter((folder / "asked.txt").read_text().splitlines())
    assert len(times) == 48
    assert times.total() <= 48 + 3  # those that were under way when it was stopped
    assert max(times[line] for line in times if line.startswith("same")) == 1
    assert len(read_log(folder / "experiments.json")) == 2


@pytest.mark.slow
def test_two_sweeps_at_once_lose_nothing(folder: Path, environment: dict[str, str]) -> None:
    """The second waits while the first asks, and both are in the log."""
    (folder / "sweep.toml").write_text(NO_LIMIT + systems("same", "better"))
    first = begin(folder, environment, HOLD="same what is word04")
    wait_for(folder, 5)
    (folder / "sweep.toml").write_text(NO_LIMIT + systems("worse", "bit_better"))
    second = begin(folder, environment)
    assert second.stderr is not None
    assert any("this one waits" in line for line in second.stderr)
    (folder / "go on").touch()
    for worker in (first, second):
        out, err = worker.communicate(timeout=600)
        assert worker.returncode == 0, err
        assert "experiments.json has them as" in out
    log = read_log(folder / "experiments.json")
    assert len({entry.id for entry in log}) == 4
    assert {entry.record["variant"].rpartition(":")[2] for entry in log} == {"same", "better", "worse", "bit_better"}
    assert set(Counter((folder / "asked.txt").read_text().splitlines()).values()) == {1}
