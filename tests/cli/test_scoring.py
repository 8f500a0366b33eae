"""How runs are scored: the options that every command which scores has, and golden sets that cannot be scored on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cli.gate_project import make_project, make_run, make_set
from karat.cli import main
from karat.core import GoldenSet, Judgment, Query, Target
from karat.golden import write

Call = Callable[..., tuple[str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call any verb; return its output and its errors."""

    def run(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["karat", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert ended.value.code == code, err
        return out, err

    return run


def half_judged() -> GoldenSet:
    """Twelve queries; six of them have nothing relevant, so that recall is undefined for them."""
    golden_set = make_set()
    return replace(golden_set, judgments=tuple(replace(j, grade=int(j.query <= "q06")) for j in golden_set.judgments))


def mean(document: dict[str, object]) -> float:
    """Return the mean of R@5 in the document of a decision."""
    (row,) = (row for row in document["measures"] if row["name"] == "R@5")  # type: ignore[attr-defined]
    return float(row["mean"] if "mean" in row else row["candidate"])


@pytest.mark.parametrize(("undefined", "expected"), [(None, 1.0), ("zero", 0.5), ("one", 1.0)])
@pytest.mark.parametrize("by", ["option", "karat.toml"])
def test_undefined_reaches_eval_gate_and_report(
    call: Call, tmp_path: Path, undefined: str | None, expected: float, by: str
) -> None:
    """The same mean everywhere, whether the option or the configuration says how undefined values count."""
    configured = f'undefined = "{undefined}"\n' if undefined and by == "karat.toml" else ""
    golden_set = make_project(tmp_path, golden_set=half_judged())
    (tmp_path / "karat.toml").write_text(f'[golden]\npath = "set"\n[eval]\nmeasures = ["R@5"]\n{configured}')
    path = make_run(tmp_path, golden_set, [1] * 12)
    option = ["--undefined", undefined] if undefined and by == "option" else []
    out, _ = call("eval", tmp_path, "--run", path, "--json", *option)
    cell = json.loads(out)["runs"][0]["measures"]["R@5"]
    assert (cell["mean"], cell["n"]) == (expected, 12 if undefined else 6)
    for verb in (("gate", path, "--json"), ("report", path, "--format", "json")):
        document = json.loads(call(*verb, *option)[0])
        assert mean(document) == expected
        assert document["run"]["settings"].get("undefined", "exclude") == (undefined or "exclude")


def test_undefined_reaches_compare(call: Call, tmp_path: Path) -> None:
    """Both runs are scored by the rule that is asked for."""
    golden_set = make_project(tmp_path, golden_set=half_judged())
    first, second = (make_run(tmp_path, golden_set, [place] * 12, name) for place, name in ((1, "old"), (0, "new")))
    out, _ = call("compare", first, second, "-m", "R@5", "--undefined", "one", "--json")
    assert '"baseline": 1.0' in json.dumps(json.loads(out))
    assert '"n": 12' in json.dumps(json.loads(out))


def test_a_baseline_of_another_rule_is_refused(call: Call, tmp_path: Path) -> None:
    """A run whose undefined values count as 1 does not pass against one whose do not."""
    golden_set = make_project(tmp_path, golden_set=half_judged())
    path = make_run(tmp_path, golden_set, [1] * 12)
    call("baseline", "update", path)
    _, err = call("gate", path, "--undefined", "one", code=2)
    assert "undefined ('one', was 'exclude')" in err


def test_a_decision_is_not_scored_again(call: Call, tmp_path: Path) -> None:
    """The options are for runs; a decision has been scored."""
    golden_set = make_project(tmp_path)
    out, _ = call("gate", make_run(tmp_path, golden_set, [1] * 12), "--json")
    (tmp_path / "decision.json").write_text(out)
    _, err = call("report", tmp_path / "decision.json", "--undefined", "one", code=2)
    assert "--undefined is for a run" in err


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ('undefined = "nil"', "[eval] undefined is 'nil'; choose exclude, zero or one"),
        ('ids = "hash"', "[eval] ids is 'hash'; choose auto, chunk, prefix, path, canonical or opaque"),
        ('min_score = "high"', "[eval] min_score is 'high', which is of the wrong type"),
    ],
)
def test_a_mistake_in_the_configuration_names_the_choices(call: Call, tmp_path: Path, key: str, message: str) -> None:
    """A key of [eval] that cannot be understood ends the command before anything is scored."""
    make_project(tmp_path, f"{key}\n")
    assert message in call("eval", tmp_path, code=2)[1]


def test_eval_refuses_a_set_whose_errors_make_scores_wrong(call: Call, tmp_path: Path) -> None:
    """Two grades of one annotator for one pair: the number would depend on which of them counts."""
    golden_set = make_set()
    twice = replace(
        golden_set, judgments=(*golden_set.judgments, Judgment(query="q01", target=Target(document="d01"), grade=0))
    )
    make_project(tmp_path, golden_set=twice)
    out, err = call("eval", tmp_path, "--run", make_run(tmp_path, twice, [1] * 12), code=2)
    assert not out
    assert "the golden set has errors: duplicate-judgment: 1 pair judged twice by one annotator" in err
    assert f"'karat golden check {tmp_path}' says how to correct them" in err


def test_eval_shows_other_errors_beside_the_scores(call: Call, tmp_path: Path) -> None:
    """A judgment of a query that does not exist changes no score; it is a caveat, in the text and in the JSON."""
    golden_set = make_set()
    lost = replace(
        golden_set, judgments=(*golden_set.judgments, Judgment(query="q99", target=Target(document="d01"), grade=1))
    )
    make_project(tmp_path, golden_set=lost)
    path = make_run(tmp_path, lost, [1] * 12)
    caveat = "golden set: unknown-query: 1 judgment of 1 query that the set does not have (q99)"
    assert f"caveat: {caveat}" in call("eval", tmp_path, "--run", path)[0]
    assert json.loads(call("eval", tmp_path, "--run", path, "--json")[0])["caveats"] == [caveat]


def test_a_judgment_that_is_there_twice_is_a_caveat(call: Call, tmp_path: Path) -> None:
    """The same grade twice makes no score wrong."""
    golden_set = make_set()
    twice = replace(golden_set, judgments=(*golden_set.judgments, golden_set.judgments[0]))
    make_project(tmp_path, golden_set=twice)
    path = make_run(tmp_path, twice, [1] * 12)
    (caveat,) = json.loads(call("eval", tmp_path, "--run", path, "--json")[0])["caveats"]
    assert caveat.startswith(
        "golden set: duplicate-judgment: 1 pair judged twice by one annotator, with the same grade"
    )


def test_eval_of_a_sound_set_has_no_caveats(call: Call, tmp_path: Path) -> None:
    """The document has the key only where there is something to say."""
    golden_set = make_project(tmp_path)
    path = make_run(tmp_path, golden_set, [1] * 12)
    assert "caveats" not in json.loads(call("eval", tmp_path, "--run", path, "--json")[0])


def test_eval_says_once_that_queries_have_no_answer(call: Call, tmp_path: Path) -> None:
    """Not once for each measure that leaves them out."""
    golden_set = make_set()
    queries = tuple(replace(query, answerable=query.id != "q12") for query in golden_set.queries)
    golden_set = replace(
        golden_set, queries=queries, judgments=(*golden_set.judgments[:-1], replace(golden_set.judgments[-1], grade=0))
    )
    make_project(tmp_path, golden_set=golden_set)
    run = make_run(tmp_path, golden_set, [1] * 12)
    refusals, _ = call("eval", tmp_path, "--run", run, "-m", "RR@10", "-m", "TrueEmpty", "-m", "RightRefusal")
    assert "1 of 12 queries have no answer, which TrueEmpty and RightRefusal measure; other measures" in refusals
    out, _ = call("eval", tmp_path, "--run", run, "-m", "RR@10", "-m", "TrueEmpty")
    assert out.count("have no answer") == 1
    plain, _ = call("eval", tmp_path, "--run", run, "-m", "RR@10")
    assert "have no answer and are left out: TrueEmpty, FalseHits and RightRefusal measure them" in plain
    assert "without a value" not in out
    assert "1 of 1 unanswerable queries got hits instead of none: q12" in out


def test_ids_of_a_live_system_are_read_as_they_say(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retriever that returns document#section is scored by its documents if --ids or [eval] ids says so."""
    golden = GoldenSet(
        grades=("no", "yes"), relevant=1, queries=(Query(id="q", text="When does it open?"),),
        judgments=(Judgment(query="q", target=Target(document="pool"), grade=1),),
    )  # fmt: skip
    write(golden, tmp_path / "set")
    (tmp_path / "karat.toml").write_text(
        '[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10"]\nsystem = "mine_for_ids:find"\n'
    )  # fmt: skip
    (tmp_path / "mine_for_ids.py").write_text("def find(query, k):\n    return ['pool#S.1']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "no document that the system returned is judged" in call("eval", tmp_path, code=2)[1]
    assert "RR@10    1.0000" in call("eval", tmp_path, "--ids", "path")[0]
    out, _ = call("check", tmp_path, "--ids", "path", "--no-report", "--json", code=0)
    assert json.loads(out)["run"]["settings"]["ids"] == "path"
