"""``karat power``: how many queries are needed, from guesses, from two runs, and from the noise of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import stdev

import pytest
from jsonschema import validate
from statsmodels.stats.power import TTestPower

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target, UsageError
from karat.evaluation import score_run
from karat.gate import Baseline, write_baseline, write_fit
from karat.projects import gate_run, open_project, plan_power
from karat.runs import Settings, make_run, read_any_run
from karat.schema import json_schema

VERB = "power"
Run = Callable[..., tuple[str, str]]
NAMES = [f"{i:02}" for i in range(8)]
SET = GoldenSet(
    name="tiny",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=f"d{i}", text=f"Text {i}.") for i in NAMES),
    queries=tuple(Query(id=f"q{i}", text=f"topic {i}") for i in NAMES),
    judgments=tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=1) for i in NAMES),
)
DIFFERENCES = [-0.5, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def finder(late: int = 0) -> Callable[[str, int], list[str]]:
    """A retriever that has the right document first, but of the first queries second."""

    def find(query: str, k: int) -> list[str]:
        i = int(query.split()[1])
        names = [f"d{i:02}", f"d{(i + 1) % 8:02}"]
        return (names[::-1] if i < late else names)[:k]

    return find


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two runs of eight queries, which differ in two."""
    golden.write(SET, tmp_path / "set")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10", "R@5"]\n')
    monkeypatch.chdir(tmp_path)
    make_run(SET, finder(), output=tmp_path / "a.jsonl")
    make_run(SET, finder(late=2), output=tmp_path / "b.jsonl")
    return tmp_path


def test_a_project_has_a_number_of_queries(run: Run, folder: Path) -> None:
    """Named, or the current folder; --n wins. All eight queries of the set have something to find."""
    arguments = ((str(folder),), (), ("-n", "8"))
    named, here, counted = (json.loads(run("--sd", "0.2", "--json", *more)[0]) for more in arguments)
    assert named == here == counted
    assert json.loads(run(".", "--n", "20", "--json")[0])["rows"][0]["n"] == 20


def test_without_anything_there_are_three_guesses(run: Run) -> None:
    """The numbers of the specification, and a sentence."""
    assert run()[0] == (
        "sd      needed for 0.05\n0.1500               73\n0.2500              199\n0.3500              387\n\n"
        "80 of 100 comparisons find a difference of 0.05 (alpha 0.05, two sides) with 73 to 387 queries, "
        "where the differences have an sd of 0.15 to 0.35\n"
    )


def test_what_fifteen_queries_see(run: Run) -> None:
    """Of 0.1 they see two thirds at best: power .67, .30 and .18, where 20, 52 and 99 are needed."""
    rows = [line.split() for line in run("--effect", "0.1", "--n", "15")[0].split("\n")]
    assert [row[:4] for row in rows[1:4]] == [
        ["0.1500", "20", "15", "0.671"], ["0.2500", "52", "15", "0.303"], ["0.3500", "99", "15", "0.178"],
    ]  # fmt: skip
    document = json.loads(run("--n", "280", "--json")[0])
    assert [round(row["detectable"], 3) for row in document["rows"]] == [0.025, 0.042, 0.059]


@pytest.mark.parametrize(("sides", "way", "words"), [("1", "larger", "a drop of"), ("2", "two-sided", "a difference")])
def test_a_given_spread_against_statsmodels(run: Run, sides: str, way: str, words: str) -> None:
    """Power, queries and the smallest effect, with all that can be set."""
    arguments = ["--sd", "0.2", "--n", "60", "--effect", "0.06", "--power", "0.9", "--alpha", "0.01", "--sides"]
    document = json.loads(run(*arguments, sides, "--json")[0])
    (row,) = document["rows"]
    theirs = TTestPower()
    assert row["power"] == pytest.approx(theirs.power(0.3, 60, 0.01, alternative=way), abs=1e-9)
    needed = theirs.solve_power(effect_size=0.3, alpha=0.01, power=0.9, alternative=way)
    assert row["needed"] - 1 < needed <= row["needed"]
    assert document["meaning"].startswith(f"90 of 100 comparisons find {words}")
    assert (document["spread_from"], document["runs"], document["sides"]) == ("given", [], int(sides))


def test_two_runs_give_the_spread(run: Run, folder: Path) -> None:
    """By hand: two of eight queries lose a half; a measure on which nothing differs has no spread."""
    document = json.loads(run("--run", "b.jsonl", "--against", "a.jsonl", "--json")[0])
    rr, recall = document["rows"]
    sd = stdev(DIFFERENCES)
    assert (rr["measure"], rr["n"], rr["sd"]) == ("RR@10", 8, pytest.approx(sd))
    assert rr["power"] == pytest.approx(TTestPower().power(0.05 / sd, 8, 0.05), abs=1e-9)
    assert recall == {"measure": "R@5", "n": 8, "sd": None, "needed": None, "power": None, "detectable": None}
    assert (document["runs"], document["spread_from"]) == (["a.jsonl", "b.jsonl"], "runs")
    out, _ = run("--run", "b.jsonl", "--against", "a.jsonl", "-m", "RR@10", "--n", "500", "--effect", "0.1")
    assert out.startswith(
        "b.jsonl against a.jsonl\n\nmeasure      sd  needed for 0.1  queries  power for 0.1  detectable\n"
    )
    smallest = sd * TTestPower().solve_power(nobs=500, alpha=0.05, power=0.8)
    assert f"\nRR@10    0.2315              45      500          1.000      {smallest:.4f}\n" in out
    assert "; with 500 queries 99 of 100 do, and 80 of 100 find one of 0.029\n" in out


def test_the_baseline_of_the_project_is_what_a_run_is_compared_with(run: Run, folder: Path) -> None:
    """Without --against; its measures are the ones that are shown."""
    taken = score_run(SET, read_any_run("a.jsonl", SET), ["RR@10"])
    write_baseline(Baseline(evaluation=taken), folder / "baseline.json")
    out, _ = run("--run", "b.jsonl")
    assert out.startswith("b.jsonl against baseline.json\n")
    assert "\nRR@10    0.2315 " in out
    assert "\nR@5 " not in out
    out, _ = run("--run", "a.jsonl")
    assert (
        "the runs do not differ on any query, so nothing can be planned with them: name another with --against" in out
    )


def test_repeats_give_the_noise(run: Run, folder: Path) -> None:
    """By hand: q00 and q01 are right at every second asking, so that two repeats have the variance 1/8 each."""
    questions: list[str] = []

    def moody(query: str, k: int) -> list[str]:
        questions.append(query)
        return finder(late=0 if questions.count(query) % 2 else 2)(query, k)

    make_run(SET, moody, Settings(repeat=2, warm_up=0), output=folder / "moody.jsonl")
    document = json.loads(run("--run", "moody.jsonl", "-m", "RR@10", "--json")[0])
    (row,) = document["rows"]
    assert row["sd"] == pytest.approx((2 * (2 * 0.125 / 2) / 8) ** 0.5)
    assert (document["spread_from"], document["runs"], row["n"]) == ("repeats", ["moody.jsonl"], 8)
    assert "with at least " in document["meaning"]
    assert document["meaning"].endswith(
        "the noise between repeats of one system, and a change of the system adds to it"
    )


def test_json_is_as_the_published_schema_says(run: Run, folder: Path) -> None:
    """Guesses, a number of queries, and two runs, one measure of which does not differ."""
    for arguments in ([], ["--sd", "0.2", "--n", "40"], ["--run", "b.jsonl", "--against", "a.jsonl"]):
        validate(json.loads(run(*arguments, "--json")[0]), json_schema("power"))


def test_from_python(folder: Path) -> None:
    """One function does what the verb does; what does not go together is refused."""
    plan = plan_power("b.jsonl", against="a.jsonl", measures=["RR@10"])
    assert (plan.spread_from, plan.runs, plan.rows[0].n) == ("runs", ("a.jsonl", "b.jsonl"), 8)
    with pytest.raises(UsageError, match="sd is measured where there is a run"):
        plan_power("b.jsonl", sd=0.2)
    with pytest.raises(UsageError, match="against is of use with a run only"):
        plan_power(against="a.jsonl")


def test_a_run_alone_says_nothing(run: Run, folder: Path) -> None:
    """Without a baseline, another run or repeats there is no spread."""
    _, err = run("--run", "a.jsonl", code=2)
    assert "a.jsonl: there is nothing to compare the run with; name another with --against" in err


def test_means_alone_have_no_spread(run: Run, folder: Path) -> None:
    """A baseline of fit holds no scores of single queries."""
    taken = score_run(SET, read_any_run("a.jsonl", SET), ["R@5", "P@5", "RR@10", "nDCG@5"])
    write_fit(Baseline(evaluation=taken, recorded="2026-11-16"), folder / "baseline-metrics.json")
    _, err = run("--run", "b.jsonl", "--against", "baseline-metrics.json", code=2)
    assert "baseline-metrics.json: has means only, and no spread" in err


def test_runs_that_do_not_mean_the_same_are_refused(run: Run, folder: Path) -> None:
    """A run with another k has no common spread."""
    make_run(open_project(folder).golden, finder(), Settings(k=5), output=folder / "k.jsonl")
    _, err = run("--run", "k.jsonl", "--against", "a.jsonl", code=2)
    assert "they differ in k (5, was 10)" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--run b.jsonl --sd 0.2", "--sd is measured with --run"),
        ("--against a.jsonl", "--against goes with --run"),
        (". --golden set", "the project is . or set; name one"),
        ("-m RR@10", "--measure goes with --run"),
        ("--effect 0", "'--effect'"),
        ("--effect nan", "effect nan should be a finite number above 0"),
        ("--sd inf", "standard deviation inf should be"),
        ("--n 1", "'--n'"),
        ("--power 0.04", "power 0.04 should lie between alpha (0.05) and 1"),
        ("--alpha 0.5", "'--alpha'"),
        ("--sides 3", "'--sides'"),
        ("--effect 1e-9 --sd 10", "needs more than 1,000,000,000,000 queries"),
    ],
)
def test_a_wrong_call_is_explained(run: Run, folder: Path, arguments: str, message: str) -> None:
    """Exit code 2, and what is wrong."""
    assert message in run(*arguments.split(), code=2)[1]


@pytest.mark.slow
def test_the_gate_of_a_project_is_simulated(run: Run, folder: Path) -> None:
    """Eight perfect queries: up to four lost ones cannot be shown, five are; JSON is as the published schema says."""
    _record_baseline(folder)
    out, _ = run("--gate", "--runs", "20")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "policy default, 20 simulated runs for each line"
    assert "what happened fail inconclusive pass" in lines
    assert "nothing but chance 0.0 % 0.0 % 100.0 %" in lines  # all scores are the same
    assert "4 of 8 queries lost 0.0 % 100.0 % 0.0 %" in lines
    assert "5 of 8 queries lost 100.0 % 0.0 % 0.0 %" in lines
    assert lines[-1].endswith("a loss of 4 of 8 queries is seen in 0 %; seen: a loss of 5 of 8 in 100 %")
    document = json.loads(run("--gate", "--runs", "20", "--json", "--policy", "threshold")[0])
    validate(document, json_schema("power"))
    assert (document["gate"]["policy"], document["gate"]["n"]) == ("threshold", 8)
    assert document["gate"]["losses"] == [{"lost": 1, "fail": 1.0, "inconclusive": 0.0, "passed": 0.0}]


@pytest.mark.slow
def test_false_alarms_may_come_from_a_second_run(run: Run, folder: Path) -> None:
    """Two queries of the second run are late: with a policy that tolerates no drop, three of four runs fail."""
    _record_baseline(folder)
    document = json.loads(run("--gate", "--run", "b.jsonl", "--policy", "rig", "--runs", "100", "--json")[0])
    assert document["gate"]["noise_from"] == "run"
    assert 0.1 < document["gate"]["noise"]["fail"] < 0.45  # both late in the candidate: 1/4


@pytest.mark.slow
def test_a_policy_with_other_measures_is_simulated_as_the_gate_decides(run: Run, folder: Path) -> None:
    """The baseline has no R@3; the gate computes it from the lists, so that an unchanged run passes."""
    _record_baseline(folder)
    (folder / "other.toml").write_text(
        'extends = "none"\nrules = [{ metric = "R@3", min = 0.5, non_inferior = true }]\n'
    )
    assert gate_run(folder, read_any_run("a.jsonl", SET), policy="other.toml").decision.exit_code == 0
    document = json.loads(run("--gate", "--policy", "other.toml", "--runs", "20", "--json")[0])
    assert document["gate"]["noise"]["passed"] == 1.0
    assert document["gate"]["baseline_fails"] == []


@pytest.mark.slow
def test_failures_of_the_baseline_itself_are_no_false_alarms(run: Run, folder: Path) -> None:
    """One relevant document for each query, and P@5 of at most 0.2: nothing can reach 0.6, whatever chance does."""
    _record_baseline(folder)
    out, _ = run("--gate", "--policy", "fit", "--runs", "20")
    assert out.splitlines()[-1] == (
        "the baseline itself fails P@5: these failures are neither false alarms nor losses that were seen"
    )
    document = json.loads(run("--gate", "--policy", "fit", "--runs", "20", "--json")[0])
    validate(document, json_schema("power"))
    assert (document["gate"]["noise"]["fail"], document["gate"]["baseline_fails"]) == (1.0, ["P@5"])


@pytest.mark.slow
def test_runs_that_pass_in_spite_of_unjudged_documents_are_not_promised(run: Run, folder: Path) -> None:
    """What the documents of a simulated run are is not known, so that their grades cannot be held against it."""
    _record_baseline(folder)
    (folder / "bounds.toml").write_text('on_unjudged = "bounds"\n')
    out, _ = run("--gate", "--policy", "bounds.toml", "--runs", "20")
    assert out.endswith('; unjudged documents are not simulated: with on_unjudged = "bounds", fewer runs pass\n')


def test_what_does_not_go_with_a_gate_is_refused(run: Run, folder: Path) -> None:
    """A project without a baseline, options of the other table, and a policy without a gate."""
    assert "has no baseline, whose scores the simulation needs" in run("--gate", code=2)[1]
    assert "--sd does not go with --gate" in run("--gate", "--sd", "0.2", code=2)[1]
    assert "--policy goes with --gate" in run("--policy", "fit", code=2)[1]


def _record_baseline(folder: Path) -> None:
    evaluation = score_run(SET, read_any_run("a.jsonl", SET), ["RR@10", "R@5", "P@5", "nDCG@5"])
    write_baseline(Baseline(evaluation=evaluation), folder / "baseline.json")
