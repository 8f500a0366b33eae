"""``karat judge``: against a real server, from karat.toml to the gate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import COUNT, configure, enter_project, name_model
from cli.gate_project import main
from judges.model_server import Request, forward, obey, serve
from karat.judges import JUDGES, load_prompt
from karat.schema import JudgeReport, from_plain
from karat.schema.judging import JudgeRequest, JudgeRequests


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose system answers, which is the current folder."""
    return enter_project(tmp_path, monkeypatch)


def run_judge(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["judge", ".", *arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    from_plain(report, JudgeReport)
    return dict(report)


def test_opinions_are_measures_like_any_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are written beside the run, scored, and gated; another judge is not compared."""
    with serve(obey) as server:
        configure(folder, name_model(server), "Bad")
        assert main(["eval", "."]) == 0
        capsys.readouterr()
        report = run_judge(capsys, "--votes", "2")
        assert [row["mean"] for row in report["measures"]] == [pytest.approx(8 / 12), 1.0]
        assert [(row["scored"], row["total"]) for row in report["measures"]] == [(COUNT, COUNT)] * 2
        # Eight answers are equal to their reference, so that both judges ask the same of the model.
        assert len(server.requests) == 2 * (4 * COUNT - 2 * 8)
        assert report["spending"]["calls"] == len(server.requests) + len(server.probed) == len(server.requests) + 1
        assert [(row["voted"], row["disputed"], row["spread"]) for row in report["measures"]] == [(12, 0, 0.0)] * 2
        again = run_judge(capsys, "--votes", "2")
        assert again["measures"] == report["measures"]
        assert (again["spending"]["calls"], again["spending"]["cached"]) == (0, 2 * 4 * COUNT)
    (run,) = (folder / "runs").glob("*.jsonl")
    assert main(["eval", ".", "--run", str(run), "-m", "Faithfulness", "-m", "CiteFirst", "-m", "RR@10"]) == 0
    out = capsys.readouterr().out
    assert "Faithfulness  0.6667    12/12" in out
    assert "CiteFirst     1.0000    12/12" in out
    rule = '[gate]\nextends = "none"\nrules = [{ metric = "Faithfulness", min = 0.9 }]\n'
    configure(folder, system="Bad", gate=rule)
    assert main(["gate", str(run)]) == 1
    assert "Faithfulness" in capsys.readouterr().out


def test_different_judges_are_not_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless their measures are left out; a run that nobody judged can be compared in all else."""
    with serve(obey) as server:
        for system, temperature in (("Good", 0.0), ("Bad", 0.5)):
            configure(folder, name_model(server, f"temperature = {temperature}\n"), system)
            assert main(["eval", "."]) == 0
            assert main(["judge", "."]) == 0
    runs = sorted(map(str, (folder / "runs").glob("*.jsonl")))
    capsys.readouterr()
    assert main(["compare", *runs, "-m", "Faithfulness"]) == 2
    assert (
        "cannot be compared in Faithfulness: another judge scored it in run B (faithfulness:m@"
        in capsys.readouterr().err
    )
    assert main(["compare", *runs, "-m", "RR@10"]) == 0
    Path(runs[0]).with_suffix(".opinions").unlink()
    capsys.readouterr()
    assert main(["compare", *runs, "-m", "RR@10", "-m", "Faithfulness"]) == 0
    printed = capsys.readouterr().out
    assert "Faithfulness is not compared: run A is not judged by faithfulness; type 'karat judge RUN -j" in printed
    assert "baseline" not in printed
    assert "\nRR@10 " in printed


def test_a_judge_that_fails_makes_no_gate_pass(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it could not decide, and what somebody took out of the file, counts as the worst value."""
    rule = '[gate]\nextends = "none"\nrules = [{ metric = "Faithfulness", min = 0.9 }]\n'

    def reply(request: Request) -> Any:
        return obey(request) if "Fact 5 " in request.message or "Fact 6 " in request.message else "no JSON"

    with serve(reply) as server:
        configure(folder, name_model(server))
        assert main(["eval", "."]) == 0
        assert main(["judge", ".", "-j", "faithfulness"]) == 0
    configure(folder, gate=rule)
    (run,) = (folder / "runs").glob("*.jsonl")
    capsys.readouterr()
    assert main(["gate", str(run)]) == 1
    assert "0.1667" in capsys.readouterr().out
    opinions = run.with_suffix(".opinions")
    lines = opinions.read_text().splitlines(keepends=True)
    opinions.write_text("".join(line for line in lines if '"value":null' not in line))
    assert main(["gate", str(run)]) == 1
    assert "0.1667" in capsys.readouterr().out


def test_words_alone_need_no_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The default; the output says what it does not see."""
    assert main(["eval", "."]) == 0
    capsys.readouterr()
    assert main(["judge", "."]) == 0
    out = capsys.readouterr().out
    assert "LexicalSupport  1.0000   12/12" in out
    assert "a contradiction in the same words scores high" in out
    assert "no model was asked; " in out


def test_a_dry_run_asks_nothing_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what the calls would be."""
    with serve(obey) as server:
        configure(folder, name_model(server, "input_price = 1.0\noutput_price = 2.0\n"))
        assert main(["eval", "."]) == 0
        capsys.readouterr()
        report = run_judge(capsys, "--dry-run")
        assert server.requests == []
        assert report["spending"]["calls"] == 4 * COUNT + 1  # one finds out how the server gives JSON
        assert report["spending"]["money"] > 0
    assert list((folder / "runs").glob("*.opinions")) == []


def test_the_probe_is_shown_as_it_is_sent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the letter, each of its attempts, also to a server that refuses the first."""
    with serve(obey, rungs=("json_object", "prompt")) as server:
        configure(folder, name_model(server, "seed = 7\n"))
        assert main(["eval", "."]) == 0
        capsys.readouterr()
        assert main(["judge", "show", "faithfulness", ".", "--json"]) == 0
        shown = from_plain(json.loads(capsys.readouterr().out), JudgeRequests)
        assert main(["judge", "show", "faithfulness", "."]) == 0
        printed = capsys.readouterr().out
        assert main(["judge", ".", "-j", "faithfulness"]) == 3  # which does not know this way of asking
    assert server.probed == shown.probes
    assert all(f"\n{json.dumps(body)}\n" in printed for body in shown.probes)


def test_what_a_judge_is_sent_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the letter: the bodies that are shown are those that the server gets, also where a reply decides the next."""

    def show(*arguments: str) -> list[JudgeRequest]:
        assert main(["judge", "show", "faithfulness", *arguments, "--json"]) == 0
        return list(from_plain(json.loads(capsys.readouterr().out), JudgeRequests).requests)

    with serve(obey) as server:
        configure(folder, name_model(server, 'language = "German"\n'))
        assert main(["eval", "."]) == 0
        capsys.readouterr()
        claims, support = show(".", "--query", "q7")
        assert (claims.known, support.known) == (False, False)
        assert "[claim of the model]" in support.body["messages"][1]["content"]
        assert server.requests == []
        assert main(["judge", ".", "-j", "faithfulness"]) == 0
        capsys.readouterr()
        shown = show(".", "--query", "q7")
        assert [request.known for request in shown] == [True, True]
        assert shown[0].body == claims.body
        sent = [request.body for request in server.requests]
        assert all(request.body in sent for request in shown)
    assert shown[0].body["messages"][0]["content"].endswith("in German. Copy words of the texts as they are.")
    (told, _) = show(".", "--query", "q7", "--reply-format", "prompt")
    assert "response_format" not in told.body
    assert '"claims"' in told.body["messages"][0]["content"]
    assert main(["judge", "show", "faithfulness", ".", "--query", "q99"]) == 2
    assert "the run has no query 'q99'" in capsys.readouterr().err


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_can_be_shown_without_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Each prompt that it uses is sent, with its version and its hash; offline judges say that they ask nobody."""
    monkeypatch.chdir(tmp_path)
    assert main(["judge", "show", name]) == 0
    out = capsys.readouterr().out
    assert all(f": {prompt}, version 1, {load_prompt(prompt).digest}\n" in out for prompt in JUDGES[name].prompts)
    assert ("asks no model" in out) == (not JUDGES[name].prompts)
    assert main(["judge", "--show", name]) == 0
    assert capsys.readouterr().out == out


def test_requests_go_through_the_proxy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, and only if one is named; its address may hold no password."""
    with serve(obey) as server, forward() as proxy:
        configure(folder, name_model(server, f'proxy = "http://127.0.0.1:{proxy.server_port}"\n'))
        assert main(["eval", "."]) == 0
        assert main(["judge", ".", "-j", "faithfulness"]) == 0
        # The probe is a request, too.
        assert proxy.forwarded == len(server.requests) + server.probes == 2 * COUNT + 1
        configure(folder, name_model(server))
        assert main(["judge", ".", "-j", "faithfulness", "--no-cache"]) == 0
        assert proxy.forwarded == 2 * COUNT + 1
        capsys.readouterr()
        for address, message in (("http://me:s3cretword@host:1", "holds a password"), ("host", "'host' is not usable")):
            configure(folder, name_model(server, f'proxy = "{address}"\n'))
            assert main(["judge", ".", "-j", "faithfulness"]) == 2
            printed = capsys.readouterr().err
            assert message in printed
            assert "s3cretword" not in printed


NOBODY = "url = 'http://127.0.0.1:9/v1'\nmodel = 'm'"


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ("", ["-j", "faithfulness"], "faithfulness: [judges] in karat.toml has no url and model"),
        ("", ["-j", "faithfullness"], "there is no judge 'faithfullness', did you mean 'faithfulness'?"),
        ("modle = 'm'", [], "[judges] has no key 'modle', did you mean 'model'?"),
        ("votes = 'two'", [], "[judges] votes = 'two' is of the wrong type"),
        (f"{NOBODY}\nbudget = 1.0", ["-j", "refusal"], "a budget of money needs prices"),
        (f"{NOBODY}\nprompts = {{ claims = 'mine.md' }}", ["-j", "faithfulness"], "mine.md"),
        ("texts = 0", [], "[judges] texts = 0; choose 1 or more"),
        (f"{NOBODY}\ninput_price = nan\nbudget = 1.0", ["-j", "refusal"], "input_price = nan; choose 0 to"),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_anything_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], table: str, arguments: list[str], message: str
) -> None:
    """One message, exit code 2."""
    assert main(["eval", "."]) == 0
    configure(folder, table)
    capsys.readouterr()
    assert main(["judge", ".", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_run_without_answers_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what is missing."""
    (folder / "answering.py").write_text("class Good:\n    def retrieve(self, query, k):\n        return ['d1']\n")
    assert main(["eval", "."]) == 0
    capsys.readouterr()
    assert main(["judge", "."]) == 2
    assert "no question of the run has an answer" in capsys.readouterr().err


def test_opinions_of_another_run_do_not_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was made again has to be judged again; a file that is no opinions is an error."""
    assert main(["eval", "."]) == 0
    assert main(["judge", "."]) == 0
    (run,) = (folder / "runs").glob("*.jsonl")
    run.write_text(run.read_text().replace("Fact 1 is true.", "Fact 1 is not true."))
    capsys.readouterr()
    assert main(["eval", ".", "--run", str(run), "-m", "LexicalSupport"]) == 0
    printed = capsys.readouterr()
    assert "has opinions about another run" in printed.err
    assert "0/12" in printed.out
    run.with_suffix(".opinions").write_text("nonsense\n")
    assert main(["eval", ".", "--run", str(run)]) == 2
    assert "is not an opinion" in capsys.readouterr().err


def test_a_vote_that_is_there_twice_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would count twice, and as a judge that agrees with itself."""
    assert main(["eval", "."]) == 0
    assert main(["judge", "."]) == 0
    (run,) = (folder / "runs").glob("*.jsonl")
    opinions = run.with_suffix(".opinions")
    opinions.write_text(opinions.read_text() + opinions.read_text().splitlines()[1] + "\n")
    capsys.readouterr()
    assert main(["eval", ".", "--run", str(run)]) == 2
    assert "a second opinion of 'lexical_support' on query 'q0' with the same vote" in capsys.readouterr().err


def test_opinions_are_no_run_and_go_with_their_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are not listed, and are removed with the run that they are about."""
    for system in ("Bad", "Good"):
        configure(folder, system=system)
        assert main(["eval", "."]) == 0
        assert main(["judge", "."]) == 0
    capsys.readouterr()
    assert main(["runs", "list", ".", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    assert main(["runs", "prune", ".", "--keep", "1", "--yes"]) == 0
    (run,) = (folder / "runs").glob("*.jsonl")
    assert list((folder / "runs").glob("*.opinions")) == [run.with_suffix(".opinions")]


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_and_repeats_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    """Of 500 calls: killed at any moment, every call that had its reply is not made again; the result is the same."""
    folder = enter_project(tmp_path, monkeypatch, count=125)
    with serve(obey, delay=0.002) as server:
        configure(folder, name_model(server, "concurrency = 4\nvotes = 2\n"))
        assert main(["eval", "."]) == 0
        command = [sys.executable, "-m", "karat", "judge", ".", "--json"]
        own = environment | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        for count in (50, 300):
            process = subprocess.Popen(command, env=own, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while len(server.requests) < count and process.poll() is None:
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        killed = len(server.requests)
        last = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, timeout=600)
        assert last.returncode == 0, last.stderr
        report = json.loads(last.stdout)
        # Two votes are two calls with the same body. At each kill, up to four were on their way without a reply.
        counts = Counter(map(_identify, server.requests))
        assert len(counts) == 2 * 125
        assert 500 <= sum(counts.values()) <= 500 + 2 * 4
        # A busy server may note what a killed process has sent only now.
        assert killed + report["spending"]["calls"] <= sum(counts.values()) <= killed + report["spending"]["calls"] + 4
        again = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, timeout=600)
        assert json.loads(again.stdout)["measures"] == report["measures"]
    assert [row["mean"] for row in report["measures"]] == [1.0, 1.0]
    assert [row["scored"] for row in report["measures"]] == [125, 125]


def _identify(request: Request) -> str:
    return json.dumps(request.body, sort_keys=True)


def test_an_evaluation_tells_of_citations_that_exist_nowhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four answers cite a hit, which is right, and an id that nobody knows: eight answers of twelve are precise."""
    configure(folder, system="Ghost")
    assert main(["eval", ".", "-m", "CitePrecision", "-m", "CiteAccuracy"]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()[1:3]]
    assert rows == [["CitePrecision", "0.8333", "12/12"], ["CiteAccuracy", "1.0000", "12/12"]]
    names = ", ".join(f"'ghost' of 'q{i}'" for i in range(4))
    assert f"4 cited ids of 4 queries are neither a hit nor a document: {names} (an id counts once for a query" in out
    assert main(["eval", ".", "-m", "CitePrecision", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["invented"] == {"q0": ["ghost"], "q1": ["ghost"], "q2": ["ghost"], "q3": ["ghost"]}


def test_an_evaluation_says_what_failures_would_make_of_means(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measures that need an answer have no value for a question that failed; the gate counts it as the worst."""
    configure(folder, system="Half")
    assert main(["eval", ".", "-m", "CiteFirst", "-m", "RR@10"]) == 0
    out = capsys.readouterr().out
    assert "with what failed as the worst value, as in the gate: CiteFirst 0.5000\n" in out
    configure(folder, system="Shy")
    assert main(["eval", ".", "-m", "CiteFirst", "-m", "RR@10"]) == 0
    out = capsys.readouterr().out
    assert "with what failed or was refused as the worst value, as in the gate: CiteFirst 0.5000\n" in out
    assert "CiteFirst: 6 without a value (the answer was refused)\n" in out
    configure(folder)
    assert main(["eval", ".", "-m", "CiteFirst", "-m", "RR@10", "-m", "TopChunk"]) == 0  # of which none has a value
    assert "as in the gate" not in capsys.readouterr().out
