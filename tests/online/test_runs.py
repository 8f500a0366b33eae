"""Decisions of the gate in the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from in_process import run_karat
from karat.core import InputError
from karat.online import check_health, record_report
from karat.reports import read_document
from karat.store import open_store

REPORT = Path(__file__).resolve().parents[1] / "reports" / "decision_format_1.json"


def test_a_decision_is_recorded_once_with_all_its_values(tmp_path: Path) -> None:
    """Means, intervals, differences and segments are rows; health shows the last run; the view has its columns."""
    report, store = REPORT, tmp_path / "karat.db"
    printed = json.loads(run_karat("online", "record", report, store, "--feature", "rerank", "--json").stdout)
    assert printed["new"]
    assert not record_report(store, str(report)).new
    decision = read_document(str(report))
    assert decision is not None
    health = check_health(store)
    assert health.run is not None
    assert (health.run.run, health.run.outcome) == (printed["run"], decision.verdict.outcome)
    assert health.run.measures == {measure.name: measure.mean for measure in decision.measures}
    with open_store(store) as opened:
        (measure,) = decision.measures
        assert measure.name == "RR@10"
        (row,) = opened._rows(
            "select run_type, feature_id, mrr_at_10, mrr_delta, query_count, system_fingerprint from eval_results"
        )
        expected = ("regression", "rerank", measure.mean, measure.difference, decision.run.queries)
        assert row == (*expected, decision.run.fingerprint)
        ((low, high),) = opened._rows("select low, high from run_values where segment = ''")
        assert (low, high) == measure.interval
        ((count,),) = opened._rows("select count(*) from run_values where segment != ''")
        assert count == sum(len(segment.means) for segment in decision.segments)


def test_a_decision_is_recorded_for_each_feature_that_it_is_about(tmp_path: Path) -> None:
    """A second feature of the same run has a record of its own, which a trial of it can find."""
    store = tmp_path / "karat.db"
    recorded = [record_report(store, str(REPORT), feature=feature) for feature in ("one", "two", "one", "two", "")]
    assert [record.new for record in recorded] == [True, True, False, False, False]
    assert recorded[0].run == recorded[2].run
    assert len({record.run for record in recorded}) == 2
    with open_store(store) as opened:
        assert sorted(opened._rows("select feature from runs")) == [("one",), ("two",)]


def test_what_is_no_decision(tmp_path: Path) -> None:
    """Another file is refused, and nothing is written."""
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match="is not a decision"):
        record_report(tmp_path / "karat.db", str(tmp_path / "other.json"))
    assert not (tmp_path / "karat.db").exists()
