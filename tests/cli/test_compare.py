"""``karat compare``: two runs in all respects, more in a matrix, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import validate
from scipy import stats
from statsmodels.stats.multitest import multipletests

import karat
from karat import golden
from karat.cli._compare_text import comparison_text
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.evaluation import score_run
from karat.gate import Baseline, compare_document, write_baseline, write_fit
from karat.projects import baseline_path, open_project, read_evaluations
from karat.runs import Settings, make_run, read_any_run
from karat.schema import json_schema
from step_down_oracle import adjusted_by_hand

VERB = "compare"
Run = Callable[..., tuple[str, str]]
N = 12


def golden_set(queries: int = N) -> GoldenSet:
    """One document for each query; the even ones ask for times, the odd ones for prices."""
    names = [f"{i:02}" for i in range(queries)]
    return GoldenSet(
        name="tiny",
        grades=("no", "yes"),
        relevant=1,
        documents=tuple(Document(id=f"d{i}", text=f"Text {i}.") for i in names),
        queries=tuple(
            Query(id=f"q{i}", text=f"topic {i}", category=("times", "prices")[int(i) % 2], paraphrases=(f"about {i}",))
            for i in names
        ),
        judgments=tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=1) for i in names),
    )


def finder(late: Sequence[int] = (), never: Sequence[int] = (), n: int = N) -> Callable[[str, int], list[str]]:
    """A retriever that has the right document first; of some queries second, and of some not at all."""

    def find(query: str, k: int) -> list[str]:
        i = int(query.split()[1])
        right, other, third = f"d{i:02}", f"d{(i + 1) % n:02}", f"d{(i + 2) % n:02}"
        if i in never:
            return [other, third][:k]
        return [other, right, third][:k] if i in late else [right, other, third][:k]

    return find


class Described:
    """A retriever that says what it is made of."""

    def __init__(self, find: Callable[[str, int], list[str]], **parts: object) -> None:
        self.retrieve, self.parts = find, parts

    def describe(self) -> dict[str, object]:
        return self.parts


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two runs: b has three queries later than a, one earlier, and one that it does not find."""
    made = tmp_path_factory.mktemp("compare")
    golden.write(golden_set(), made / "set")
    (made / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10", "R@1"]\n')
    save(made / "a.jsonl", Described(finder(late=[0]), size=256, kind="x"))
    save(made / "b.jsonl", Described(finder(late=[1, 2, 3], never=[5]), size=384, kind="x"))
    return made


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(path: Path, system: object, **settings: object) -> None:
    """Ask a system about the project beside the file, and keep what it answers."""
    make_run(open_project(path.parent).golden, system, Settings(**settings), output=path)  # type: ignore[arg-type]


def test_two_runs_by_hand(run: Run, folder: Path) -> None:
    """RR: three queries lose a half, one loses all, one wins a half; of these five all 32 flips are tried."""
    out, err = run("a.jsonl", "b.jsonl", "-m", "RR@10")
    assert err == ""
    head, names, line = out.split("\n")[0:2], out.split("\n")[3], out.split("\n")[4]
    assert head == ["A  Described (a.jsonl)", "B  Described (b.jsonl)"]
    assert names.split("  ")[0] == "measure"
    # The sum is -2. As far out are: all halves and the one alike (2 of 32), and one half against them (8).
    assert line.split() == [
        "RR@10", "0.9583", "0.7917", "-0.1667", *line.split()[4:7], "0.3125", "0.3125",
        f"{stats.ttest_1samp([-0.5] * 3 + [-1, 0.5] + [0] * 7, 0).pvalue:.4f}", *line.split()[10:11], "1/7/4", "12",
    ]  # fmt: skip
    assert (
        "no difference between A and B is shown in RR@10, which does not mean that there is none: see karat power"
        in out
    )
    assert "fewer than 6 queries changed in RR@10: the two-sided sign-flip test cannot reach 0.05" in out


def test_a_project_stands_for_its_newest_run(run: Run, folder: Path) -> None:
    """As for every verb that takes a run; a note says which one that is."""
    for name, file in (("find-2026-01-02-aaaaaaaa", "a.jsonl"), ("find-2026-01-03-bbbbbbbb", "b.jsonl")):
        (folder / "runs").mkdir(exist_ok=True)
        shutil.copy(folder / file, folder / "runs" / f"{name}.jsonl")
    out, err = run("a.jsonl", ".", "-m", "RR@10")
    assert err == "karat: the newest complete run is runs/find-2026-01-03-bbbbbbbb.jsonl\n"
    assert out.split("\n")[1] == "B  Described (find-2026-01-03-bbbbbbbb.jsonl)"


def test_a_drop_that_the_gate_can_show_is_not_denied(run: Run, folder: Path) -> None:
    """Five halves lost of twelve: two-sided p = 2/32, which shows nothing; the gate's one-sided p = 1/32 fails."""
    save(folder / "all.jsonl", finder())
    save(folder / "five.jsonl", finder(late=range(5)))
    out, _ = run("all.jsonl", "five.jsonl", "-m", "RR@10")
    assert "  two-sided p   p W-Y  " in out
    assert (
        "see karat power\nthe gate looks for drops only: its one-sided p, before correction, is half of the two-sided "
        "one: RR@10 0.0312\n"
    ) in out
    assert (
        "trust p, and not the interval, where they disagree: that of RR@10 leaves out 0 with p 0.0625 (5 of 12 changed)"
        in out
    )
    assert "the gate looks" not in run("five.jsonl", "all.jsonl", "-m", "RR@10")[0]  # a gain
    assert "the gate looks" not in run("a.jsonl", "b.jsonl", "-m", "RR@10")[0]  # 0.3125 / 2: nor does the gate see it


def test_of_a_count_no_query_wins(run: Run, folder: Path) -> None:
    """More unjudged documents are neither better nor worse; of RR, one query is better and four are worse."""
    out, _ = run("a.jsonl", "b.jsonl", "-m", "Unjudged@1", "-m", "RR@10")
    rows = {
        line.split()[0]: line.split()[-2:] for line in out.splitlines() if line.startswith(("Unjudged@1 ", "RR@10 "))
    }
    assert rows["Unjudged@1"] == ["-", "12"]
    assert rows["RR@10"] == ["1/7/4", "12"]


def test_documents_with_ids_like_those_of_chunks_stay_apart(run: Run, folder: Path) -> None:
    """The set judges x:chunk:0, so that x:chunk:7 is another document; its place is that of karat score.

    Where the set judges other documents, hits count once for each document, and a note says how to keep them apart.
    """
    (folder / "qrels.txt").write_text("q 0 x:chunk:0 1\n")
    (folder / "plain.txt").write_text("q 0 y 1\n")
    for name, first in (("one", "x:chunk:7"), ("two", "z")):
        (folder / f"{name}.txt").write_text(
            f"q Q0 {first} 1 4 t\nq Q0 x:chunk:8 2 3 t\nq Q0 x:chunk:0 3 2 t\nq Q0 y 4 1 t\n"
        )
    for golden_file, place in (("qrels", 3), ("plain", 4)):
        (folder / "karat.toml").write_text(f'[golden]\npath = "{golden_file}.txt"\n')
        value = karat.score(folder / f"{golden_file}.txt", folder / "one.txt", ["RR@10"]).mean()["RR@10"]
        assert value == 1 / place
        out, err = run("one.txt", "two.txt", "--golden", ".", "-m", "RR@10")
        row = next(line for line in out.splitlines() if line.startswith("RR@10"))
        if golden_file == "qrels":
            assert (row.split()[1], err) == (f"{value:.4f}", "")
            continue
        assert row.split()[1] == f"{1 / 2:.4f}"  # all of x is one document
        assert "one.txt: 2 hits more of the same document, by ids such as 'x:chunk:7'" in err
        assert "--ids opaque keeps them apart" in err
        again, _ = run("one.txt", "two.txt", "--golden", ".", "-m", "RR@10", "--ids", "opaque")
        assert next(line for line in again.splitlines() if line.startswith("RR@10")).split()[1] == f"{value:.4f}"


def test_bounds_of_the_difference(run: Run, folder: Path) -> None:
    """P@1 is 11/12 in a and 8/12 in b; the first documents of one query in a, and of four in b, are not judged."""
    out, _ = run("a.jsonl", "b.jsonl", "-m", "P@1", "--bounds")
    assert (
        "if unjudged documents were judged    worst      now     best  unjudged  decided\n"
        "P@1                                -0.3333  -0.2500  +0.0833         5       no\n"
    ) in out
    document = json.loads(run("a.jsonl", "b.jsonl", "-m", "P@1", "--bounds", "--json")[0])
    validate(document, json_schema("comparison"))
    (measure,) = document["pairs"][0]["measures"]
    assert measure["bounds"] == {
        "worst": pytest.approx(-4 / 12), "best": pytest.approx(1 / 12), "decided": False, "unjudged": 5, "exact": True,
    }  # fmt: skip
    (measure,) = json.loads(run("a.jsonl", "b.jsonl", "-m", "P@1", "--json")[0])["pairs"][0]["measures"]
    assert "bounds" not in measure
    _, err = run("a.jsonl", "b.jsonl", "a.jsonl", "--bounds", code=2)
    assert "--by, --per-query and --bounds are for two runs" in err


def test_what_made_the_difference(run: Run, folder: Path) -> None:
    """Queries that lost and won with their texts and what moved; how the lists and the systems differ."""
    out, _ = run("a.jsonl", "b.jsonl", "-m", "RR@10")
    assert (
        "lost most (4 in all)\n"
        "  q05  RR@10 1.000 to 0.000  topic 05\n      d06 2 to 1; d05 out, was 1; d07 3 to 2\n"
        "  q01  RR@10 1.000 to 0.500  topic 01\n      d02 2 to 1; d01 1 to 2\n" in out
    )
    assert "won most (1 in all)\n  q00  RR@10 0.500 to 1.000  topic 00\n      d00 2 to 1; d01 1 to 2\n" in out
    rows = [line.split() for line in out.split("\n")]
    # The same: 7 of 12. Exchanged on top: tau 1/3 of three ids; q05 has lost its first.
    at = next(i for i, row in enumerate(rows) if row[:2] == ["lists", "RBO"])
    assert rows[at + 1][:2] == ["12", "queries"]
    assert rows[at + 1][6:] == ["41.7%", "7", "7", "0", "0", "5"]
    assert "the systems differ in    A    B\nsize                   256  384\n" in out
    assert any(row[:2] == ["latency", "(ms)"] for row in rows)


def test_the_numbers_are_those_of_scipy(run: Run, folder: Path) -> None:
    """All measures in JSON against the scores of ``karat.evaluate``: t, exact p, effect size, and the correction."""
    measures = ["RR@10", "R@1", "nDCG@3", "DupRate@10"]
    document = json.loads(run("a.jsonl", "b.jsonl", "--json", *(word for m in measures for word in ("-m", m)))[0])
    (pair,) = document["pairs"]
    before = karat.evaluate(golden_set(), finder(late=[0]), measures)
    after = karat.evaluate(golden_set(), finder(late=[1, 2, 3], never=[5]), measures)
    p = []
    for column, measure in enumerate(pair["measures"]):
        a, b = before.values[:, column], after.values[:, column]
        assert measure["measure"] == measures[column]
        assert (measure["baseline"], measure["candidate"]) == pytest.approx((a.mean(), b.mean()))
        if not (b - a).any():
            assert (measure["p"], measure["p_t"], measure["wins"] + measure["losses"]) == (1.0, 1.0, 0)
            p.append(1.0)
            continue
        exact = stats.permutation_test(
            (b, a), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True,
            n_resamples=np.inf,
        ).pvalue  # fmt: skip
        p.append(exact)
        assert measure["p"] == pytest.approx(exact, abs=1e-12)
        assert measure["p_t"] == pytest.approx(stats.ttest_rel(b, a).pvalue)
        assert measure["effect"] == pytest.approx((b - a).mean() / (b - a).std(ddof=1))
    expected = adjusted_by_hand((after.values - before.values).T.tolist(), two_sided=True)
    assert [item["p_corrected"] for item in pair["measures"]] == pytest.approx(expected)
    assert (document["correction"], document["tests"], document["level"], document["seed"]) == (
        "westfall-young",
        4,
        0.95,
        0,
    )
    assert pair["lists"]["queries"] == 12


@pytest.mark.slow
@pytest.mark.parametrize(("correction", "theirs"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")])
def test_other_corrections(run: Run, folder: Path, correction: str, theirs: str) -> None:
    """Chosen with --correction, and named in the head of the table."""
    arguments = ["a.jsonl", "b.jsonl", "-m", "RR@10", "-m", "R@1", "-m", "nDCG@3", "--correction", correction]
    tests = json.loads(run(*arguments, "--json")[0])["pairs"][0]["measures"]
    expected = multipletests([test["p"] for test in tests], method=theirs)[1]
    assert [test["p_corrected"] for test in tests] == pytest.approx(expected.tolist())
    assert {"holm": "p Holm", "bonferroni": "p Bonferroni", "bh": "p BH"}[correction] in run(*arguments)[0]


def test_without_a_correction_there_is_no_column_for_it(run: Run, folder: Path) -> None:
    """--correction none shows p and the t-test's."""
    head = run("a.jsonl", "b.jsonl", "--correction", "none")[0].split("\n")[3]
    assert " p     p t " in head
    assert "W-Y" not in head


@pytest.mark.slow
def test_json_is_as_the_published_schema_says(run: Run, folder: Path) -> None:
    """Two runs with segments and queries, three runs, and means alone."""
    save(folder / "c.jsonl", finder(late=range(12)))
    write_fit(_baseline(folder, ["R@5", "P@5", "RR@10", "nDCG@5"]), folder / "baseline-metrics.json")
    for arguments in (
        ["a.jsonl", "b.jsonl", "--by", "category", "--per-query"],
        ["a.jsonl", "b.jsonl", "c.jsonl", "--correction", "none"],
        ["baseline-metrics.json", "b.jsonl"],
    ):
        validate(json.loads(run(*arguments, "--json")[0]), json_schema("comparison"))


def _baseline(folder: Path, measures: list[str]) -> Baseline:
    project = open_project(folder)
    evaluation = score_run(project.golden, read_any_run("a.jsonl", project.golden), measures)
    return Baseline(evaluation=evaluation, recorded="2026-11-16")


def test_segments(run: Run, folder: Path) -> None:
    """By category each half by itself; the prices lost three, the times one and won one."""
    out, _ = run("a.jsonl", "b.jsonl", "-m", "RR@10", "--by", "category")
    rows = [line.split() for line in out.split("\n")]
    prices = next(row for row in rows if row[:2] == ["prices", "RR@10"])
    times = next(row for row in rows if row[:2] == ["times", "RR@10"])
    assert prices[2:5] == ["1.0000", "0.6667", "-0.3333"]
    assert prices[-2:] == ["0/3/3", "6"]
    assert times[2:5] == ["0.9167", "0.9167", "+0.0000"]
    assert times[-2:] == ["1/4/1", "6"]
    _, err = run("a.jsonl", "b.jsonl", "--by", "tier", code=2)
    assert "tiny: no query has a tier" in err


def test_segments_by_a_field_of_the_metadata(run: Run, folder: Path) -> None:
    """Any name will do; one that no query has is refused with those that there are."""
    set_ = golden.read(folder / "set")
    queries = tuple(replace(query, metadata={"len": "short"} if query.id < "q06" else {}) for query in set_.queries)
    shutil.rmtree(folder / "set")
    golden.write(replace(set_, queries=queries), folder / "set")
    for name, find in (("a", finder(late=[0])), ("b", finder(late=[1, 2, 3], never=[5]))):
        (folder / f"{name}.jsonl").unlink()
        save(folder / f"{name}.jsonl", Described(find, kind="x"))
    row = next(line for line in run("a.jsonl", "b.jsonl", "--by", "len")[0].splitlines() if line.startswith("short"))
    assert row.split()[-1] == "6"
    assert "no query has a leng; did you mean 'len'?" in run("a.jsonl", "b.jsonl", "--by", "leng", code=2)[1]
    assert "no query has a zzz; their metadata has 'len'" in run("a.jsonl", "b.jsonl", "--by", "zzz", code=2)[1]


def test_per_query(run: Run, folder: Path) -> None:
    """Those first that changed most; of one measure both values, of several the differences."""
    out, _ = run("a.jsonl", "b.jsonl", "-m", "RR@10", "--per-query")
    table = out.split("RR@10, query by query\n")[1].split("\n\n")[0].split("\n")
    assert table[0].split() == ["query", "A", "B", "B", "-", "A", "lists"]
    assert table[1].split() == ["q05", "1.0000", "0.0000", "-1.0000", "incompatible"]
    assert [row.split()[0] for row in table[2:]] == [
        "q00", "q01", "q02", "q03", "q04", "q06", "q07", "q08", "q09", "q10", "q11",
    ]  # fmt: skip
    out, _ = run("a.jsonl", "b.jsonl", "--per-query")
    table = out.split("B - A, query by query\n")[1].split("\n")
    assert table[0].split() == ["query", "RR@10", "R@1", "lists"]
    assert table[1].split() == ["q00", "+0.5000", "+1.0000", "incompatible"]


@pytest.mark.slow
def test_three_runs_are_a_matrix(run: Run, folder: Path) -> None:
    """Row minus column, marked where p over all pairs is at most 0.05: of B and C it is 2 * 20/512 by Holm's method."""
    save(folder / "c.jsonl", finder(late=range(12)))
    marked, _ = run("a.jsonl", "b.jsonl", "c.jsonl", "-m", "RR@10")
    assert "-0.2917*" in marked
    assert "row minus column; * p at most 0.05, corrected by Westfall-Young for 3 tests" in marked
    out, _ = run("a.jsonl", "b.jsonl", "c.jsonl", "-m", "RR@10", "--correction", "holm")
    table = out.split("\n\n")[1].split("\n")
    assert [row.split() for row in table] == [
        ["RR@10", "mean", "-", "A", "-", "B", "-", "C"],
        ["A", "0.9583", ".", "+0.1667", "+0.4583*"],
        ["B", "0.7917", "-0.1667", ".", "+0.2917"],
        ["C", "0.5000", "-0.4583*", "-0.2917", "."],
    ]
    assert "row minus column; * p at most 0.05, corrected by Holm for 3 tests" in out
    assert "\nRBO of the lists" in out
    document = json.loads(run("a.jsonl", "b.jsonl", "c.jsonl", "--json", "--correction", "holm")[0])
    assert [(pair["baseline"], pair["candidate"]) for pair in document["pairs"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    tests = [measure for pair in document["pairs"] for measure in pair["measures"]]
    expected = multipletests([test["p"] for test in tests], method="holm")[1]
    assert [test["p_corrected"] for test in tests] == pytest.approx(expected.tolist())
    assert document["tests"] == len(tests) == 6


def test_a_difference_that_is_shown_is_said(run: Run, folder: Path) -> None:
    """Better and worse by what the measure wants, and the others by name."""
    save(folder / "c.jsonl", finder(late=range(12)))
    out, _ = run("c.jsonl", "a.jsonl", "-m", "RR@10", "-m", "R@3", "-m", "DupRate@3")
    assert "B is better than A in RR@10 (p W-Y at most 0.05); no difference is shown in R@3, DupRate@3, " in out
    out, _ = run("a.jsonl", "c.jsonl", "-m", "RR@10", "-m", "InvRate@3")
    assert "B is worse than A in RR@10, InvRate@3 (p W-Y at most 0.05)\n" in out
    assert "A and B score the same on every query" in run("a.jsonl", "a.jsonl")[0]


def test_paraphrases_and_repeats_make_no_query_more_than_one(run: Run, folder: Path) -> None:
    """The wordings are averaged: q00 is late in one of two, and n is the number of queries whatever was asked."""

    def by_wording(query: str, k: int) -> list[str]:
        return finder(late=[0, 1] if query.startswith("about") else [])(query, k)

    save(folder / "p.jsonl", finder(), paraphrases=True, repeat=3)
    save(folder / "q.jsonl", by_wording, paraphrases=True, repeat=3)
    measure = json.loads(run("p.jsonl", "q.jsonl", "-m", "RR@10", "--json")[0])["pairs"][0]["measures"][0]
    differences = [-0.25, -0.25] + [0.0] * 10
    assert (measure["n"], measure["losses"], measure["ties"]) == (12, 2, 10)
    assert measure["difference"] == pytest.approx(np.mean(differences))
    assert measure["p"] == 0.5  # two queries that changed, not twelve answers
    assert measure["p_t"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    save(folder / "once.jsonl", by_wording, paraphrases=True)
    save(folder / "base.jsonl", finder(), paraphrases=True)
    other = json.loads(run("base.jsonl", "once.jsonl", "-m", "RR@10", "--json")[0])["pairs"][0]["measures"][0]
    assert (measure["low"], measure["high"]) == (other["low"], other["high"])


def test_a_baseline_file_is_a_run_too(run: Run, folder: Path) -> None:
    """Its measures are compared; one that it lacks is refused, and of its lists there are ten documents."""
    project = open_project(folder)
    taken = score_run(project.golden, read_any_run("a.jsonl", project.golden), ["RR@10"])
    write_baseline(Baseline(evaluation=taken, recorded="2026-11-16"), baseline_path(project))
    out, _ = run("baseline.json", "b.jsonl")
    assert "A  Described (baseline.json)\n" in out
    assert "\nRR@10    0.9583  0.7917  -0.1667  " in out
    assert "\nR@1 " not in out
    assert "only the first 10 documents of the lists are compared: a baseline file holds no more" in out
    _, err = run("baseline.json", "b.jsonl", "-m", "R@1", code=2)
    assert "baseline.json: has no R@1; it has RR@10" in err
    (folder / "cut.json").write_text((folder / "baseline.json").read_text()[:500])
    assert "cut.json" in run("cut.json", "b.jsonl", code=2)[1]


def test_means_alone_are_compared_without_tests(run: Run, folder: Path) -> None:
    """baseline-metrics.json of fit: the means and their difference, and that nothing can be tested."""
    project = open_project(folder)
    measures = ["R@5", "P@5", "RR@10", "nDCG@5"]
    taken = score_run(project.golden, read_any_run("a.jsonl", project.golden), measures)
    write_fit(Baseline(evaluation=taken, recorded="2026-11-16"), folder / "baseline-metrics.json")
    out, _ = run("baseline-metrics.json", "b.jsonl")
    row = next(line.split() for line in out.split("\n") if line.startswith("RR@10 "))
    assert row == ["RR@10", "0.9583", "0.7917", "-0.1667", *["-"] * 7]
    assert "A has means only, so nothing can be tested and no lists are compared" in out


def test_lists_are_compared_whole(run: Run, folder: Path) -> None:
    """Beyond the tenth document, too: two lists of twelve that differ in the last two."""
    others = [f"d{i:02}" for i in range(12)]
    save(folder / "x.jsonl", lambda query, k: others, k=12)
    save(folder / "y.jsonl", lambda query, k: [*others[:10], "e1", "e2"], k=12)
    lists = json.loads(run("x.jsonl", "y.jsonl", "--json")[0])["pairs"][0]["lists"]
    assert lists["jaccard"] == pytest.approx(10 / 14)
    assert (lists["k"], lists["top1_changed"]) == (None, 0)


def test_runs_that_do_not_mean_the_same_are_refused(run: Run, folder: Path) -> None:
    """Another k with what differs, or a golden set without a common question."""
    save(folder / "k.jsonl", finder(), k=5)
    _, err = run("a.jsonl", "k.jsonl", code=2)
    assert "run B 'k.jsonl' and run A 'a.jsonl' cannot be compared: they differ in k (5, was 10)" in err
    assert "baseline" not in err
    queries = tuple(replace(query, id=f"other-{query.id}") for query in golden_set().queries)
    make_run(replace(golden_set(), queries=queries), finder(), output=folder / "other.jsonl")
    _, err = run("a.jsonl", "other.jsonl", code=2)
    assert "has no question in common with golden set 'tiny'; it was asked 'other-" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.jsonl"], "one run: name two or more to compare"),
        (["a.jsonl", "b.jsonl", "a.jsonl", "--by", "category"], "--by, --per-query and --bounds are for two runs"),
        (["a.jsonl", "b.jsonl", "a.jsonl", "--per-query"], "--by, --per-query and --bounds are for two runs"),
        (["a.jsonl", "nope.jsonl"], "nope.jsonl"),
        (["a.jsonl", "b.jsonl", "-m", "ncdg@5"], "did you mean"),
        (["a.jsonl", "b.jsonl", "--golden", "nope"], "nope: no such file or folder"),
    ],
)
def test_a_wrong_call_is_explained(run: Run, folder: Path, arguments: list[str], message: str) -> None:
    """Exit code 2, and what to do."""
    assert message in run(*arguments, code=2)[1]


def test_answers_from_elsewhere(run: Run, folder: Path) -> None:
    """TREC files do not say how many hits were asked for: lists of unequal length are compared, and it is told."""
    lines = {"long": "", "short": ""}
    for i in range(N):
        for rank, j in enumerate((i, i + 1, i + 2)):
            line = f"q{i:02} Q0 d{j % N:02} {rank + 1} {3 - rank} t\n"
            lines["long"] += line
            lines["short"] += line if rank < 2 else ""
    for name, text in lines.items():
        (folder / f"{name}.txt").write_text(text)
    out, err = run("long.txt", "short.txt", "-m", "RR@10")
    assert "A and B score the same on every query" in out
    assert "short.txt: its lists have at most 2 hits, and the others were asked for 3" in err
    assert "latency" not in out


def test_failures_are_told(run: Run, folder: Path) -> None:
    """A query that failed lost all, and says why."""

    def fragile(query: str, k: int) -> list[str]:
        if query == "topic 07":
            raise RuntimeError("no \x1b[31mroute")
        return finder()(query, k)

    save(folder / "f.jsonl", fragile)
    out, _ = run("a.jsonl", "f.jsonl", "-m", "RR@10")
    assert "  q07  RR@10 1.000 to 0.000  topic 07\n      failed: RuntimeError: no \\x1b[31mroute\n" in out
    assert "B: 1 of 12 queries failed and count as 0" in out
    assert "with hits in one run only: 1" in out


@pytest.mark.slow
def test_the_same_bytes_on_any_number_of_threads(tmp_path: Path) -> None:
    """JSON is the same in every process, with one thread and with four; another seed gives other intervals and p."""
    golden.write(golden_set(60), tmp_path / "set")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n')
    save(tmp_path / "a.jsonl", finder(late=range(0, 60, 3), n=60))
    save(tmp_path / "b.jsonl", finder(late=range(20), never=range(40, 48), n=60))

    def called(threads: int, *more: str) -> bytes:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        words = [sys.executable, "-m", "karat", "compare", "a.jsonl", "b.jsonl", "--json", "--per-query", *more]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=True).stdout

    once = called(1)
    assert called(4) == once
    assert once.isascii()
    first, other = (json.loads(text)["pairs"][0]["measures"][2] for text in (once, called(1, "--seed", "1")))
    assert (first["measure"], first["difference"]) == ("RR@10", other["difference"])
    assert first["wins"] + first["losses"] > 16  # so that flips are drawn
    assert (first["low"], first["p"]) != (other["low"], other["p"])


def test_from_python(folder: Path) -> None:
    """The text and the document of two evaluations, as ``karat baseline diff`` uses them."""
    project = open_project(folder)
    pair = [score_run(project.golden, read_any_run(name, project.golden), ["RR@10"]) for name in ("a.jsonl", "b.jsonl")]
    comparison = compare_document(pair, project.golden)
    assert "\nRR@10    0.9583  0.7917  -0.1667  " in comparison_text(comparison)
    assert comparison.pairs[0].lists is not None
    assert comparison.pairs[0].lists.k is None


def test_runs_without_lists_have_no_matrix_of_them(folder: Path) -> None:
    """Evaluations that kept no documents are compared by their scores alone."""
    project = open_project(folder)
    taken = score_run(project.golden, read_any_run("a.jsonl", project.golden), ["RR@10"])
    evaluations = [replace(taken, lists={}).renamed(name) for name in ("x", "y", "z")]
    text = comparison_text(compare_document(evaluations, project.golden))
    assert "RBO" not in text
    assert "lists are not compared: there are none for A and B" in text


def test_baselines_with_nothing_in_common_are_refused(run: Run, folder: Path) -> None:
    """Each has another measure, so that nothing can be compared."""
    project = open_project(folder)
    for name, measure in (("x.json", "RR@10"), ("y.json", "R@1")):
        taken = score_run(project.golden, read_any_run("a.jsonl", project.golden), [measure])
        write_baseline(Baseline(evaluation=taken), folder / name)
    assert "the baselines have no measure in common" in run("x.json", "y.json", code=2)[1]


def test_reading_says_nothing_if_nobody_listens(folder: Path) -> None:
    """From Python: a shorter list from elsewhere has the k of the run that it is compared with."""
    (folder / "short.txt").write_text("".join(f"q{i:02} Q0 d{i:02} 1 1 t\n" for i in range(N)))
    evaluations = read_evaluations(["a.jsonl", "short.txt"], ["RR@10"])
    assert [evaluation.provenance.settings["k"] for evaluation in evaluations.evaluations] == [10, 10]
    assert [evaluation.name for evaluation in evaluations.evaluations] == ["a.jsonl", "short.txt"]
    assert evaluations.evaluations[1].lists == {f"q{i:02}": (f"d{i:02}",) for i in range(N)}
    assert evaluations.measures == ("RR@10",)


def test_a_run_that_lacks_answers_is_refused(run: Run, folder: Path) -> None:
    """Half of a run would be averaged over the half that is there."""
    head, *traces, end = (folder / "a.jsonl").read_text().splitlines()
    (folder / "half.jsonl").write_text("\n".join([head, *traces[: len(traces) // 2], end]) + "\n")
    assert "lacks answers to" in run("half.jsonl", "a.jsonl", code=2)[1]
