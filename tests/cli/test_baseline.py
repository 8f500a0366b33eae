"""``karat baseline``: recorded only when asked for, only when it passes, and never over something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import TOML, edited, make_project, make_run, make_set, signed
from karat import golden
from karat.core import Judgment, Target
from karat.gate import read_baseline
from karat.projects import open_project

VERB = "baseline"
Run = Callable[..., tuple[str, str]]
LEXICAL = "[pipeline]\ndense = false\n"
FLOOR = "[[gate.rules]]\nmetric = 'RR@10'\nmin = 0.7\nnon_inferior = true\n"
GOOD, FEW, BAD = [1] * 12, [1] * 9 + [2] * 3, [1] * 5 + [2] * 6 + [0]


def configure(path: Path, **changes: Any) -> Path:
    """Let a run be of the pipeline that its project configures, but for some changes."""
    system = open_project(path.parent.parent).system(cache=False).description
    return edited(path, lambda line: line | {"system": {**system, **changes}} if "karat" in line else line)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of twelve queries with a floor, a good run, one that is a little worse and a bad one; no baseline."""
    golden_set = make_project(tmp_path, FLOOR)
    for name, places in (("good", GOOD), ("few", FEW), ("bad", BAD)):
        make_run(tmp_path, golden_set, places, name, system={"kind": "test", "name": name})
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestUpdate:
    """What is recorded, and what is not."""

    def test_a_run_that_passes(self, run: Run, folder: Path) -> None:
        """The first one has nothing to be compared with, which is no fault; the scores of every query are kept."""
        out, err = run("update", "runs/good.jsonl")
        assert out == ""
        assert err == (
            "karat: baseline.json now holds good with 12 queries\n"
            'karat: with baseline = "baseline.json" in [gate] of karat.toml, the gate also fails where the file is '
            "missing\n"
        )
        baseline = read_baseline("baseline.json")
        assert (baseline.recorded, baseline.forced) == (f"{datetime.now(tz=UTC):%Y-%m-%d}", "")
        assert baseline.evaluation.values("RR@10") == {f"q{i:02}": 1.0 for i in range(1, 13)}
        assert baseline.evaluation.lists["q02"] == ("d02", "d01", "x01", "x02")
        assert baseline.evaluation.provenance.system == {"kind": "test", "name": "good"}
        assert baseline.evaluation.provenance.golden["fingerprint"] == golden.fingerprint(make_set())
        assert baseline.evaluation.latency_of("p95") == 10.0

    def test_a_run_that_fails_its_own_gate(self, run: Run, folder: Path) -> None:
        """Below the floor, it is refused with exit code 1, by name, and nothing is written."""
        _, err = run("update", "runs/bad.jsonl", code=1)
        assert err == (
            "karat: the run does not pass its own gate and is not recorded: RR@10: 0.6667 is below 0.7; "
            "--force 'why' records it all the same\n"
        )
        assert not (folder / "baseline.json").exists()

    def test_a_run_that_is_worse_than_the_baseline(self, run: Run, folder: Path) -> None:
        """It is refused too, floors or not, and the baseline stays as it was, byte by byte."""
        (folder / "karat.toml").write_text(TOML)
        run("update", "runs/good.jsonl")
        before = (folder / "baseline.json").read_bytes()
        assert "dropped by 0.333, more than 0.05 (one-sided p = 0.00781)" in run("update", "runs/bad.jsonl", code=1)[1]
        assert (folder / "baseline.json").read_bytes() == before

    def test_a_better_run_takes_its_place(self, run: Run, folder: Path) -> None:
        """And the file says so."""
        run("update", "runs/few.jsonl")
        run("update", "runs/good.jsonl")
        assert read_baseline("baseline.json").evaluation.name == "good"

    def test_force_needs_a_reason_and_records_it(self, run: Run, folder: Path) -> None:
        """Without one nothing is done; show and the gate's JSON have it."""
        assert "--force needs a reason" in run("update", "runs/bad.jsonl", "--force", "  ", code=2)[1]
        assert "--force needs a reason, which is recorded" in run("update", "runs/bad.jsonl", "--force", code=2)[1]
        _, err = run("update", "--force", "runs/bad.jsonl", code=2)
        assert "no RUN is named, and 'runs/bad.jsonl' is the reason of --force; write the reason last" in err
        assert "no run is named; name a run, or a project" in run("update", code=2)[1]
        assert not (folder / "baseline.json").exists()
        run("update", "runs/bad.jsonl", "--force", " below the floor, issue 7 ")
        assert read_baseline("baseline.json").forced == "below the floor, issue 7"
        assert "accepted although it did not pass its gate: below the floor, issue 7\n" in run("show")[0]
        assert json.loads(run("show", "--json")[0])["forced"] == "below the floor, issue 7"

    def test_force_that_is_not_needed_is_not_recorded(self, run: Run, folder: Path) -> None:
        """The run passed its gate, and the file does not say otherwise."""
        _, err = run("update", "runs/good.jsonl", "--force", "just in case")
        assert "karat: --force was not needed, so that its reason is not recorded\n" in err
        assert read_baseline("baseline.json").forced == ""

    def test_a_forced_one_does_not_stay_so(self, run: Run, folder: Path) -> None:
        """The next that passes has no reason to give."""
        run("update", "runs/bad.jsonl", "--force", "to begin with")
        run("update", "runs/good.jsonl")
        assert read_baseline("baseline.json").forced == ""

    def test_inconclusive(self, run: Run, folder: Path) -> None:
        """Three losses beyond the tolerance, by chance or not, are refused with exit code 4, by any policy."""
        run("update", "runs/good.jsonl")
        _, err = run("update", "runs/few.jsonl", code=4)
        assert (
            "the run is worse than the baseline by more than is tolerated, which may be chance, and is not recorded"
            in err
        )
        (folder / "baseline.json").unlink()
        (folder / "karat.toml").write_text(TOML + FLOOR + "[gate]\non_inconclusive = 'fail'\n")
        run("update", "runs/good.jsonl")
        _, err = run("update", "runs/few.jsonl", code=4)
        assert "too few changed to test: 3 of " in err
        assert read_baseline("baseline.json").evaluation.name == "good"
        run("update", "runs/few.jsonl", "--force", "we looked at all three")
        assert read_baseline("baseline.json").forced == "we looked at all three"
        assert "accepted although it did not pass its gate: we looked at all three\n" in run("show")[0]

    def test_no_drop_follows_another_without_a_reason(self, run: Run, folder: Path) -> None:
        """Two runs, each inconclusive against the one before: neither is recorded, and the baseline stays."""
        run("update", "runs/good.jsonl")
        before = (folder / "baseline.json").read_bytes()
        for places in (FEW, [1] * 6 + [2] * 6):
            run("update", make_run(folder, make_set(), places, "next"), code=1 if places != FEW else 4)
        assert (folder / "baseline.json").read_bytes() == before

    def test_what_was_inconclusive_is_kept_in_the_file(self, run: Run, folder: Path) -> None:
        """One query of twelve lost 0.5, within the tolerance, though it could be more: accepted, recorded and shown."""
        run("update", "runs/good.jsonl")
        _, err = run("update", make_run(folder, make_set(), [2, *[1] * 11], "next"))
        assert "karat: accepted although inconclusive: RR@10: the mean dropped by 0.0417, and" in err
        (reason,) = read_baseline("baseline.json").inconclusive
        assert reason.startswith("RR@10: the mean dropped by 0.0417, and the drop could be as large as")
        assert f"\naccepted although inconclusive: {reason}\n" in run("show")[0]
        run("update", "runs/good.jsonl")
        assert read_baseline("baseline.json").inconclusive == ()

    def test_removed_questions_need_a_rebase_first(self, run: Run, folder: Path) -> None:
        """Whoever deletes three of twelve questions records nothing until the rebase has shown them."""
        run("update", "runs/good.jsonl")
        fewer = make_project(folder, FLOOR, golden_set=make_set(9))
        path = make_run(folder, fewer, [1] * 9, "next")
        _, err = run("update", path, code=4)
        assert (
            "nothing is recorded until 'karat baseline rebase' has shown what goes: removed: 3 of 12 questions" in err
        )
        assert "- q12 " in run("rebase")[0]
        run("update", path)
        assert read_baseline("baseline.json").evaluation.name == "next"

    def test_the_policy_can_be_chosen(self, run: Run, folder: Path) -> None:
        """By name; one that lacks numbers refuses the run."""
        run("update", "runs/few.jsonl", "--policy", "beluga")
        assert list(read_baseline("baseline.json").evaluation.means) == ["RR@10"]
        assert "CiteCoverage: the run has no number" in run("update", "runs/few.jsonl", "--policy", "blocks", code=1)[1]

    def test_a_policy_that_checks_nothing(self, run: Run, folder: Path) -> None:
        """Nothing is recorded by it."""
        (folder / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["NumRet"]\n')
        assert "checks nothing" in run("update", "runs/good.jsonl", "--force", "so what", code=2)[1]
        assert not (folder / "baseline.json").exists()

    def test_several_repeats(self, run: Run, folder: Path) -> None:
        """Each query has a value for each asking."""
        path = make_run(folder, make_set(), GOOD, "twice", repeat=2)
        lines = path.read_text().splitlines()
        again = [json.dumps(json.loads(line) | {"repeat": 1}) for line in lines[1:-1]]
        path.write_text("\n".join([*lines[:-1], *again, lines[-1]]) + "\n")
        run("update", path)
        evaluation = read_baseline("baseline.json").evaluation
        assert {evaluation.repeated_values("RR@10", query) for query in evaluation.queries} == {(1.0, 1.0)}
        assert "12 queries, each asked 2 times" in run("show")[0]

    def test_a_project_in_pyproject(self, run: Run, folder: Path) -> None:
        """It is found from the run, beside any other tools; one without karat's table, or broken, is passed by."""
        (folder / "karat.toml").unlink()
        inner = folder / "runs" / "2026"
        inner.mkdir()
        (folder / "runs" / "good.jsonl").rename(inner / "good.jsonl")
        (inner / "pyproject.toml").write_text("[tool.ruff]\n")
        (folder / "runs" / "pyproject.toml").write_text("[tool\n")
        (folder / "pyproject.toml").write_text(
            "[tool.karat.golden]\npath = 'set'\n[tool.karat.eval]\nmeasures = ['RR@10']\n"
        )
        run("update", inner / "good.jsonl")
        assert (folder / "baseline.json").exists()


class TestNewest:
    """Which run is meant by a project, and what is said of several."""

    @pytest.fixture
    def dated(self, folder: Path) -> Path:
        """Runs of the configured pipeline with days in their names; the good run is the newest on its golden set."""
        make_project(folder, FLOOR + LEXICAL)
        for day, name in enumerate(("bad", "few", "good"), 1):
            path = folder / "runs" / f"{name}.jsonl"
            configure(path).rename(folder / "runs" / f"{name}-2026-11-0{day}-00000000.jsonl")
        return folder

    @pytest.mark.parametrize("arguments", [(".",), ("runs",), ("runs", "--golden", "."), (".", "--golden", ".")])
    def test_a_project(self, run: Run, dated: Path, arguments: tuple[str, ...]) -> None:
        """The newest run is taken, and it is said which that is; the folder of the runs says the same."""
        _, err = run("update", *arguments)
        first, second, _ = err.splitlines()
        assert first.startswith("karat: the newest complete run of the configured system is ")
        assert first.endswith("runs/good-2026-11-03-00000000.jsonl")
        assert second.endswith("baseline.json now holds good with 12 queries")
        assert read_baseline("baseline.json").evaluation.name == "good"

    def test_from_elsewhere(self, run: Run, dated: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A project is named by its path; its runs may be kept in another place."""
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (dated / "runs" / "few-2026-11-02-00000000.jsonl").rename(elsewhere / "few-2026-11-02-00000000.jsonl")
        run("update", elsewhere, "--golden", dated)
        assert read_baseline(dated / "baseline.json").evaluation.name == "few"
        run("update", dated)
        assert read_baseline(dated / "baseline.json").evaluation.name == "good"

    def test_what_is_newer_and_cannot_be_taken(self, run: Run, dated: Path) -> None:
        """Unfinished, damaged, incomplete and on another golden set: each is passed over, and told."""
        good = (dated / "runs" / "good-2026-11-03-00000000.jsonl").read_text()
        (dated / "runs" / "new-2026-11-04-00000000.jsonl.part").write_text(good)
        (dated / "runs" / "new-2026-11-05-00000000.jsonl").write_text(good[:-40])
        more = Judgment(query="q01", target=Target(document="x01"), grade=0)
        other = replace(make_set(), judgments=(*make_set().judgments, more))
        make_run(dated, other, GOOD, "new-2026-11-06-00000000")
        make_run(dated, make_set(), GOOD[:5], "new-2026-11-07-00000000")
        make_run(dated, make_set(), GOOD, "new-2026-11-08-00000000")
        _, err = run("update", ".")
        notes = [line.removeprefix("karat: passed over: runs/new-2026-11-0") for line in err.splitlines()[:-3]]
        assert len(notes) == 5
        assert "8-00000000.jsonl: is not of the configured system: system is 'test' (karat.toml: 'pipeline')" in notes
        assert "6-00000000.jsonl: is on another golden set" in notes
        assert "4-00000000.jsonl.part: the run was not finished; run 'karat eval' again to continue it" in notes
        assert any(line.startswith("7-00000000.jsonl: run ") and "lacks answers to 7 of" in line for line in notes)
        assert any(line.startswith("5-00000000.jsonl") for line in notes)
        assert read_baseline("baseline.json").evaluation.name == "good"

    def test_none_that_can_be_taken(self, run: Run, dated: Path) -> None:
        """Nothing is recorded: no run yet, or the golden set is another by now."""
        make_project(dated, FLOOR + LEXICAL, golden_set=replace(make_set(), judgments=make_set().judgments[1:]))
        _, err = run("update", ".", code=2)
        assert err == (
            "karat: .: no complete run of the configured system on the current golden set; not "
            "runs/good-2026-11-03-00000000.jsonl: is on another golden set, nor 2 more; 'karat eval' makes one, and "
            "any run is taken by the name of its file\n"
        )
        for path in (dated / "runs").iterdir():
            path.unlink()
        assert run("update", ".", code=2)[1] == "karat: runs: there are no runs yet; 'karat eval' makes them\n"
        assert not (dated / "baseline.json").exists()

    @pytest.mark.parametrize("verb", ["update", "diff"])
    def test_several(self, run: Run, dated: Path, verb: str) -> None:
        """A shell's pattern may give more than one: the newest is named with the command that takes it."""
        paths = sorted(path.relative_to(dated) for path in (dated / "runs").iterdir())
        good = "runs/good-2026-11-03-00000000.jsonl"
        assert run(verb, *paths, code=2)[1] == (
            f"karat: 3 runs were given, and one is expected; the newest is {good}: karat baseline {verb} {good}\n"
        )
        assert f"karat baseline {verb} {good} --golden .\n" in run(verb, *paths, "--golden", ".", code=2)[1]
        _, err = run(verb, "karat.toml", "set/queries.jsonl", code=2)
        assert err == "karat: 2 runs were given, and one is expected; name a run, or a project for its newest run\n"
        assert not (dated / "baseline.json").exists()

    def test_the_same_twice_is_one(self, run: Run, dated: Path) -> None:
        """A name that stands twice means one run."""
        run("update", *["runs/good-2026-11-03-00000000.jsonl"] * 2)
        assert read_baseline("baseline.json").evaluation.name == "good"

    def test_diff(self, run: Run, dated: Path) -> None:
        """It compares the newest run too; what is printed is that of the run by its name."""
        run("update", "runs/few-2026-11-02-00000000.jsonl")
        out, err = run("diff", ".")
        assert err == "karat: the newest complete run is runs/good-2026-11-03-00000000.jsonl\n"
        assert out == run("diff", "runs/good-2026-11-03-00000000.jsonl")[0]


class TestOtherBaselines:
    """What stands in the place of the baseline."""

    def test_another_golden_set(self, run: Run, folder: Path) -> None:
        """No question is left: refused with what differs; by force it is replaced, for the floors hold."""
        run("update", "runs/good.jsonl")
        before = (folder / "baseline.json").read_bytes()
        golden_set = make_set()
        other = replace(
            golden_set, queries=tuple(replace(query, text=f"{query.text}!") for query in golden_set.queries)
        )
        make_project(folder, FLOOR, golden_set=other)
        new = make_run(folder, other, GOOD, "new")
        _, err = run("update", new, code=2)
        assert "'good' has no question in common with golden set 'turns'" in err
        assert err.endswith("; --force 'why' replaces the baseline\n")
        assert (folder / "baseline.json").read_bytes() == before
        run("update", new, "--force", "other questions")
        baseline = read_baseline("baseline.json")
        assert (baseline.evaluation.name, baseline.forced) == ("new", "other questions")

    def test_a_set_that_grew(self, run: Run, folder: Path) -> None:
        """One more judgment is applied to the baseline too, and nothing has to be forced."""
        run("update", "runs/good.jsonl")
        more = Judgment(query="q01", target=Target(document="x01"), grade=0)
        other = replace(make_set(), judgments=(*make_set().judgments, more))
        make_project(folder, FLOOR, golden_set=other)
        run("update", make_run(folder, other, GOOD, "new"))
        assert read_baseline("baseline.json").forced == ""

    @pytest.mark.parametrize(
        "data",
        [
            b"", b"{}", b"\xff", b'{"karat": "baseline", "format": 2, "queries": {}}', b'{"karat": "baseline", "for',
            b'{"karat": "baseline", "format": 1, "queries": []}', b"precious = true\n",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("force", [(), ("--force", "I know what I do")])
    def test_a_file_that_is_no_baseline(self, run: Run, folder: Path, data: bytes, force: tuple[str, ...]) -> None:
        """A mistyped path, another version, a damaged file: it is never overwritten, whatever is forced."""
        path = folder / "baseline.json"
        path.write_bytes(data)
        _, err = run("update", "runs/good.jsonl", *force, code=2)
        assert err.startswith("karat: baseline.json")
        assert err.count("\n") == 1
        assert path.read_bytes() == data
        assert sorted(file.name for file in folder.iterdir()) == ["baseline.json", "karat.toml", "runs", "set"]

    def test_the_configuration_by_mistake(self, run: Run, folder: Path) -> None:
        """--baseline karat.toml does not cost the configuration."""
        before = (folder / "karat.toml").read_bytes()
        run("update", "runs/good.jsonl", "--baseline", "karat.toml", "--force", "oops", code=2)
        run("update", "runs/good.jsonl", "--baseline", "set", "--force", "oops", code=2)
        assert (folder / "karat.toml").read_bytes() == before

    def test_one_that_is_named_in_the_configuration(self, run: Run, folder: Path) -> None:
        """It is recorded there, also the first time, when there is none."""
        (folder / "karat.toml").write_text(TOML + FLOOR + "[gate]\nbaseline = 'accepted.json'\n")
        assert "accepted.json: no such file; 'karat baseline update RUN' records a baseline" in run("show", code=2)[1]
        run("update", "runs/good.jsonl")
        assert (folder / "accepted.json").exists()
        assert "good, recorded" in run("show")[0]

    def test_links_and_places_outside(self, run: Run, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A link stays one; a place outside the project is as good as any, if it is said."""
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "accepted.json"
        run("update", "runs/few.jsonl", "--baseline", elsewhere)
        (folder / "baseline.json").symlink_to(elsewhere)
        run("update", "runs/good.jsonl")
        assert (folder / "baseline.json").is_symlink()
        assert read_baseline(elsewhere).evaluation.name == "good"

    def test_a_link_to_nothing(self, run: Run, folder: Path) -> None:
        """It is not taken for a baseline that is not there yet."""
        (folder / "baseline.json").symlink_to("gone.json")
        assert "no such file" in run("update", "runs/good.jsonl", code=2)[1]
        assert not (folder / "gone.json").exists()

    def test_a_place_that_cannot_be_written(self, run: Run, folder: Path) -> None:
        """One message, exit code 2."""
        _, err = run("update", "runs/good.jsonl", "--baseline", "none/baseline.json", code=2)
        assert err == "karat: none/baseline.json: cannot be written: No such file or directory\n"
        _, err = run("update", "runs/good.jsonl", "--baseline", "karat.toml/baseline.json", code=2)
        assert "cannot be written: Not a directory" in err


class TestFit:
    """fit's baseline-metrics.json."""

    def test_written_and_gated_with(self, run: Run, folder: Path) -> None:
        """With the measures that it holds, though karat.toml names others; then `fit` gates with it."""
        three = replace(make_set(), judgments=tuple(
            Judgment(query=f"q{i:02}", target=Target(document=name), grade=1)
            for i in range(1, 13) for name in (f"d{i:02}", "d01" if i > 1 else "d02", "x01")))  # fmt: skip
        make_project(folder, golden_set=three)
        good = make_run(folder, three, GOOD, "good")
        run("update", good, "--baseline", "baseline-metrics.json", "--format", "fit")
        document = json.loads((folder / "baseline-metrics.json").read_text())
        assert document["metrics"] == {
            "recall_at_5": 1.0, "precision_at_5": 0.6, "mrr": 1.0, "ndcg_at_5": 1.0,
            "latency": {"p50": 10.0, "p95": 10.0, "p99": 10.0},
        }  # fmt: skip
        (folder / "karat.toml").write_text(TOML + "[gate]\npolicy = 'fit'\n")
        run("update", good, "--baseline", "baseline-metrics.json", "--format", "fit")
        assert "means only, which cannot be tested" in run("show", "--baseline", "baseline-metrics.json")[0]

    def test_tests_cannot_be_made_with_it(self, run: Run, folder: Path) -> None:
        """The default policy needs scores of single queries, and says so."""
        run("update", "runs/good.jsonl", "--format", "fit")
        _, err = run("update", "runs/good.jsonl", code=1)
        assert "RR@10: the baseline has no scores of single queries: record it again" in err
        run("update", "runs/good.jsonl", "--force", "from fit's file to karat's")
        assert read_baseline("baseline.json").evaluation.values("RR@10")

    def test_without_times_it_is_not_written(self, run: Run, folder: Path) -> None:
        """They belong to the file."""
        path = make_run(folder, make_set(), GOOD, "timeless", ms=None)
        _, err = run("update", path, "--format", "fit", code=2)
        assert "the run has no latency.p50, latency.p95, latency.p99, which baseline-metrics.json holds" in err
        assert not (folder / "baseline.json").exists()


class TestShow:
    """What the baseline holds."""

    def test_text(self, run: Run, folder: Path) -> None:
        """Means, latency and what the system was made of."""
        run("update", "runs/good.jsonl")
        day = f"{datetime.now(tz=UTC):%Y-%m-%d}"
        assert run("show")[0] == (
            f"good, recorded {day}, 12 queries\n\nmeasure             mean\nRR@10             1.0000\n"
            "latency.p50 (ms)    10.0\nlatency.p95 (ms)    10.0\nlatency.p99 (ms)    10.0\n\n"
            "  kind: test\n  name: good\n"
        )

    def test_a_project_is_an_argument_too(self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As in every other verb; a file is refused with the option that takes one."""
        run("update", "runs/good.jsonl")
        here = run("show")[0]
        monkeypatch.chdir(folder.parent)
        assert run("show", folder.name)[0] == run("show", "--golden", folder.name)[0] == here
        assert "keep one of them" in run("show", folder.name, "--golden", folder.name, code=2)[1]
        file = f"{folder.name}/baseline.json"
        assert f"{file} is not a folder; name the project, or the baseline with" in run("show", file, code=2)[1]

    def test_json(self, run: Run, folder: Path) -> None:
        """The same for scripts."""
        run("update", "runs/good.jsonl")
        document = json.loads(run("show", "--json")[0])
        assert list(document) == [
            "file", "name", "recorded", "forced", "inconclusive", "rebased", "shrunk", "golden", "fingerprint",
            "system", "settings", "queries", "repeats", "failed", "means", "latency",
        ]  # fmt: skip
        assert (document["means"], document["queries"], document["failed"]) == ({"RR@10": 1.0}, 12, 0)

    def test_there_is_none(self, run: Run, folder: Path) -> None:
        """Said with the place where it would be, and how it comes about."""
        assert (
            "baseline.json: there is no baseline yet; 'karat baseline update RUN' records one" in run("show", code=2)[1]
        )

    def test_hostile_text(self, run: Run, folder: Path) -> None:
        """Nothing of a file acts on the terminal, and numbers that are missing are a dash."""
        run("update", "runs/good.jsonl")
        path = folder / "baseline.json"
        record: dict[str, Any] = json.loads(path.read_text())
        rude = "\x1b]0;owned\x07\u202e\n"  # click takes plain colours out, where there is no terminal; not this
        record |= {"name": f"n{rude}", "forced": f"f{rude}", "recorded": f"r{rude}", "system": {f"k{rude}": f"v{rude}"}}
        record["means"][f"RR@10{rude}"] = None
        record["latency"] = {"total": {"p50": None}}
        path.write_text(signed(record))
        out, _ = run("show")
        assert all(line.isprintable() for line in out.split("\n"))
        assert out.count("\\x07\\u202e\\n") == 6
        json.loads(run("show", "--json")[0])


class TestDiff:
    """A comparison without a verdict."""

    def test_it_says_what_changed_and_decides_nothing(self, run: Run, folder: Path) -> None:
        """A bad run exits with 0, and nothing is written."""
        run("update", "runs/good.jsonl")
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        out, _ = run("diff", "runs/bad.jsonl")
        assert "RR@10" in out
        assert "-0.333" in out
        assert "RR@10" in json.dumps(json.loads(run("diff", "runs/bad.jsonl", "--json")[0]))
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    def test_a_query_that_returns_nothing_counts_as_in_the_gate(self, run: Run, folder: Path) -> None:
        """DupRate@10 is undefined for an empty list; left out, it would look as if nothing had happened."""
        (folder / "karat.toml").write_text(TOML.replace('["RR@10"]', '["RR@10", "DupRate@10"]'))
        run("update", "runs/good.jsonl")
        path = make_run(folder, make_set(), GOOD, "empty")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line | {"hits": []} if "hits" in line else line) + "\n" for line in lines))
        pair = json.loads(run("diff", path, "--json")[0])["pairs"][0]
        (row,) = [row for row in pair["measures"] if row["measure"] == "DupRate@10"]
        assert (row["n"], row["baseline"], row["candidate"]) == (12, 0.0, 1.0)

    def test_what_cannot_be_compared(self, run: Run, folder: Path) -> None:
        """Another k, and no baseline at all."""
        assert "there is no baseline yet" in run("diff", "runs/bad.jsonl", code=2)[1]
        run("update", "runs/good.jsonl")
        other = make_run(folder, make_set(), GOOD, "shallow", k=5)
        assert "they differ in k (5, was 10)" in run("diff", other, code=2)[1]


def test_a_measure_that_the_baseline_does_not_know_yet(run: Run, folder: Path) -> None:
    """One more rule on the same run is no reason to refuse it: the baseline learns the measure."""
    run("update", "runs/good.jsonl")
    (folder / "karat.toml").write_text(TOML + FLOOR + "[[gate.rules]]\nmetric = 'AP'\nnon_inferior = true\n")
    run("update", "runs/good.jsonl")
    assert '"AP"' in (folder / "baseline.json").read_text()


def test_means_that_contradict_their_rows(run: Run, folder: Path) -> None:
    """A baseline whose means were edited is damaged, and says so."""
    run("update", "runs/good.jsonl")
    path = folder / "baseline.json"
    text = path.read_text()
    path.write_text(text.replace('"RR@10": 1.0', '"RR@10": 0.0', 1))
    assert path.read_text() != text
    assert "the mean of RR@10 is 0, and that of its queries 1" in run("show", code=2)[1]


def test_a_first_baseline_of_few_scores_says_so(run: Run, folder: Path) -> None:
    """One of twelve queries has something relevant: that is printed and kept, and a strict policy refuses it."""
    few = make_set(judgments=make_set().judgments[:1])
    make_project(folder, golden_set=few)
    path = str(make_run(folder, make_set(), [1] * 12, "open"))
    edited(Path(path), lambda row: {**row, "golden": golden.identify(few)} if "golden" in row else row)
    _, err = run("update", path)
    assert "accepted although inconclusive: unscored: the mean of RR@10 is of 1 of 12 answerable queries" in err
    (reason,) = read_baseline("baseline.json").inconclusive
    assert reason.startswith("unscored: ")
    (folder / "baseline.json").unlink()
    make_project(folder, "[gate]\non_inconclusive = 'fail'\n", golden_set=few)
    run("update", path, code=4)
    assert not (folder / "baseline.json").exists()
