"""The library's calls: one run, several runs, and a run that is read once and scored many times."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import karat
from karat.measures import _files, _frames, _stream, score_runs

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1}}
RUN = {"q1": {"c": 0.5, "a": 0.5, "x": 0.9}, "q2": {"y": 2.0, "a": 1.0}, "q3": {"a": 1.0}}
MEASURES = ["nDCG@10", "RR", "AP", "NumRet"]


def _frame() -> pl.DataFrame:
    rows = [(query, document, score) for query, scored in RUN.items() for document, score in scored.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def _trec(folder: Path) -> Path:
    path = folder / "run.txt"
    lines = [f"{q} Q0 {d} 0 {s} tag\n" for q, scored in RUN.items() for d, s in scored.items()]
    path.write_text("".join(lines))
    return path


def test_a_run_that_was_read_once_gives_the_same_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``read_run`` changes no score, whatever the run was read from, and can be scored again and again."""
    expected = karat.score(QRELS, RUN, MEASURES)
    path = _trec(tmp_path)
    small = karat.read_run(path)
    monkeypatch.setattr(_files, "_LARGE", 0)
    again = karat.read_run(karat.read_run(_frame()))
    for run in (karat.read_run(RUN), karat.read_run(_frame()), small, karat.read_run(path), again):
        for _ in range(2):
            scores = karat.score(QRELS, run, MEASURES)
            np.testing.assert_array_equal(scores.values, expected.values)
            assert scores.not_judged == 1


def test_a_run_is_checked_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``read_run`` refuses a duplicate at once, by its line where there are lines."""
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq1 Q0 a 3 0 t\n")
    monkeypatch.setattr(_files, "_LARGE", 0)
    with pytest.raises(karat.InputError, match=r"line 3: document 'a' appears twice for query 'q1'"):
        karat.read_run(path)
    with pytest.raises(karat.InputError, match="document 'a' appears twice"):
        karat.read_run(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "a"], "score": [1.0, 2.0]}))


def test_an_irregular_run_that_was_read_once_is_scored_from_dicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``read_run`` hands text that the streaming reader leaves alone to the exact one."""
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 a\x01b 1 2 t\nq1 Q0 a 1 1 t\n")
    monkeypatch.setattr(_files, "_LARGE", 0)
    run = karat.read_run(path)
    assert karat.score({"q1": {"a\x01b": 1}}, run, "RR").mean() == {"RR": 1.0}
    assert karat.score({"q1": {"a": 1}}, run, "RR").mean() == {"RR": 0.5}


def test_scattered_queries_are_brought_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose queries come back after others is read a second time, whole, and prepared all the same."""
    monkeypatch.setattr(_stream, "ROWS", 2)
    monkeypatch.setattr(_frames, "ROWS", 2)
    shuffled = _frame().sample(fraction=1.0, shuffle=True, seed=3)
    expected = karat.score(QRELS, RUN, MEASURES)
    np.testing.assert_array_equal(karat.score(QRELS, shuffled, MEASURES).values, expected.values)
    np.testing.assert_array_equal(karat.score(QRELS, karat.read_run(shuffled), MEASURES).values, expected.values)


def test_hashes_that_collide_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hash that is the same for all, every document is still found, and no other one in its place."""
    expected = karat.score(QRELS, RUN, MEASURES)
    monkeypatch.setattr(_stream, "hashes", lambda column, seed: np.full(len(column), 7, np.uint64))
    np.testing.assert_array_equal(karat.score(QRELS, _frame(), MEASURES).values, expected.values)
    judgments = {"q1": {"a": 1}}  # a single judged pair: the index holds, and ids alone tell the rows apart
    assert karat.score(judgments, _frame(), "RR").mean() == karat.score(judgments, RUN, "RR").mean()


def test_several_runs_share_their_judgments() -> None:
    """``score_runs`` keeps names and order, and takes measures that can be read only once."""
    both = score_runs(QRELS, {"b": RUN, "a": {"q2": {"a": 1}}}, iter(["RR", "P@1"]))
    assert [(scores.name, scores.measures) for scores in both] == [("b", ("RR", "P@1")), ("a", ("RR", "P@1"))]
    assert both[1].not_in_run == ("q1",)
    assert score_runs(QRELS, {}) == []


def test_mistakes_are_found_before_files_are_read() -> None:
    """A wrong measure or option is reported even when the files do not exist."""
    with pytest.raises(karat.MeasureError, match="did you mean 'ndcg'"):
        karat.score("nowhere", "nowhere", "ncdg@10")
    with pytest.raises(karat.UsageError, match="unknown conventions 'rigg', did you mean 'rig'"):
        karat.score("nowhere", "nowhere", conventions="rigg")
    with pytest.raises(karat.UsageError, match="undefined='nan'; choose from exclude, zero, one"):
        karat.score("nowhere", "nowhere", undefined="nan")  # type: ignore[arg-type]


def test_a_run_is_no_judgments() -> None:
    """What was read as a run cannot be given as judgments, where its scores would be cut to grades."""
    with pytest.raises(karat.UsageError, match="a run was given as qrels"):
        karat.score(karat.read_run(RUN), RUN, "RR")


def test_a_run_that_was_read_once_is_a_copy_and_can_be_sent_elsewhere() -> None:
    """Later changes of the caller's dict have no effect, and other processes can have it."""
    changing = {"q1": {"a": 2.0, "b": 1.0}}
    run = karat.read_run(changing)
    changing["q1"]["b"] = 9.0
    for copy in (run, pickle.loads(pickle.dumps(run)), pickle.loads(pickle.dumps(karat.read_run(_frame())))):
        assert karat.score({"q1": {"a": 1}}, copy, "RR").count("RR") == 1
    assert karat.score({"q1": {"a": 1}}, run, "RR").mean() == {"RR": 1.0}
    classes = {"a": "A", "c": "A"}
    expected = karat.score(QRELS, RUN, MEASURES, classes=classes)
    prepared = karat.score(QRELS, karat.read_run(_frame()), MEASURES, classes=classes)
    np.testing.assert_array_equal(prepared.values, expected.values)


def test_judgments_cannot_be_changed() -> None:
    """Arrays of judgments are read-only."""
    with pytest.raises(ValueError, match="read-only"):
        karat.read_judgments(QRELS).grades[0] = 5


def test_a_judged_query_with_nothing_to_find_counts() -> None:
    """A query that the judgments list without documents is scored, and has no recall."""
    scores = karat.score({"q1": {"a": 1}, "q2": {}, "q3": []}, {"q1": ["a"], "q2": ["b"]}, ["R@5", "P@1", "NumRet"])
    assert scores.queries == ("q1", "q2", "q3")
    assert scores.missing("R@5") == {"no relevant documents": 2}
    assert scores.mean()["P@1"] == 1 / 3
    streamed = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "score": [1.0, 1.0]})
    again = karat.score({"q1": {"a": 1}, "q2": {}, "q3": []}, streamed, ["R@5", "P@1", "NumRet"])
    np.testing.assert_array_equal(again.values, scores.values)


def test_a_written_parameter_is_never_computed_as_another() -> None:
    """Where conventions would override what was written, the measure is refused."""
    with pytest.raises(karat.UsageError, match="conventions rig decide gain otherwise"):
        karat.score(QRELS, RUN, "nDCG(gain='linear')@5", conventions="rig")
    assert karat.score(QRELS, RUN, "P(rel=3)@5", conventions="fit").definitions == {"P(rel=3)@5": "P(rel=3)@5"}


def test_no_undefined_value_becomes_the_best_one() -> None:
    """``undefined="zero"`` leaves out what has no value where 0 would be the best."""
    scores = karat.score(QRELS, {"q1": ["x", "a"]}, ["InvRate", "Hole@5", "AP"], undefined="zero")
    assert [scores.count(measure) for measure in scores.measures] == [1, 1, 2]


def test_scores_are_found_under_other_spellings() -> None:
    """Aliases, measures and whole numbers as query ids are understood where scores are looked up."""
    scores = karat.score({"1": {"a": 1}}, {"1": ["a"]}, ["mrr@10"])
    assert scores.count("recip_rank@10") == scores.count(karat.Measure.parse("MRR@10")) == 1
    assert scores.value(1, "mrr@10") == 1.0  # type: ignore[arg-type]
    with pytest.raises(karat.UsageError, match="no measure 'P@1' in these scores"):
        scores.count("P@1")
    assert scores.judged_retrieved == 1
