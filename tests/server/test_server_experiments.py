"""The page of experiments: what a sweep found, as the log and karat sweep say it."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from starlette.testclient import TestClient

from karat.experiments import SweepSettings, find_sweeps, read_sweep, run_sweep, sweep_document
from karat.index import Indexer
from server.served import make_client, make_served_project
from sweeping import MODULE, make_project, record_baseline, systems


def _ids(client: TestClient, query: str) -> list[str]:
    return [line["id"] for line in client.get(f"/experiments.json{query}").json()["variants"]]


def test_the_newest_sweep_comes_first_the_best_variant_on_top(client: TestClient) -> None:
    """By hand: one accepted, one rejected, one failed; the entry of another tool is on a page of its own."""
    page = client.get("/experiments.json").json()
    assert (page["sweep"], page["total"], page["objective"]) == ("sizes.toml", 4, "RR@10")
    assert page["counts"] == {"accepted": 1, "rejected": 1, "failed": 1, "none": 0}
    assert [line["id"] for line in page["variants"]] == ["exp-002", "exp-003", "exp-004"]
    first, second, third = page["variants"]
    assert (first["run"], second["run"]) == ("old", "")
    assert (first["p_corrected"], first["tested"], first["n"], first["front"]) == (0.02, 2, 12, True)
    assert (second["gain"], second["front"], third["reason"]) == (-0.1, False, "failed: no")
    assert page["settings"] == ["pipeline.chunk.size"]
    assert page["measures"] == ["RR@10", "latency.p95"]
    hand = client.get("/experiments.json?sweep=-").json()
    assert [(line["name"], line["verdict"]) for line in hand["variants"]] == [("by hand", "none")]
    assert hand["variants"][0]["results"] == {"R@5": 0.5}


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("?sweep=*&sort=tried", ["exp-001", "exp-002", "exp-003", "exp-004"]),
        ("?sort=-tried", ["exp-004", "exp-003", "exp-002"]),
        ("?sort=RR%4010", ["exp-003", "exp-002", "exp-004"]),
        ("?sort=-pipeline.chunk.size", ["exp-004", "exp-003", "exp-002"]),
        ("?sort=p", ["exp-002", "exp-003", "exp-004"]),
        ("?verdict=failed", ["exp-004"]),
        ("?front=on", ["exp-002"]),
        ("?q=256", ["exp-003"]),
        ("?q=nothing", []),
        ("?sort=tried&limit=1&after=exp-002", ["exp-003"]),
        ("?sweep=none.toml", []),
    ],
)
def test_order_and_filters_are_in_the_address(client: TestClient, query: str, ids: list[str]) -> None:
    """What has no value comes last, and a page goes on where the last one ended."""
    assert _ids(client, query) == ids


def test_an_unknown_order_is_refused(client: TestClient) -> None:
    """With those that there are."""
    answer = client.get("/experiments.json?sort=colour")
    assert answer.status_code == 400
    assert "pipeline.chunk.size" in answer.json()["error"]


def test_rows_and_picture_have_every_variant(client: TestClient) -> None:
    """A row each; in the picture a line each, told apart by form; one without results ends at its settings."""
    rows = list(csv.DictReader(io.StringIO(client.get("/experiments.csv").text)))
    assert [row["pipeline.chunk.size"] for row in rows] == ["64", "256", "whole"]
    assert rows[0]["p corrected"] == "0.02"
    picture = ElementTree.fromstring(client.get("/experiments.svg?chart=parallel").text)
    kinds = [part.get("class") for part in picture.iter("{http://www.w3.org/2000/svg}path")]
    assert [kind for kind in kinds if kind and kind.startswith("way")] == ["way rejected", "way accepted", "way failed"]
    assert [link.get("href") for link in picture.iter("{http://www.w3.org/2000/svg}a")] == ["/runs/old"]


def test_a_damaged_log_and_an_empty_one_are_said(tmp_path: Path) -> None:
    """The first with what is wrong, the second with how to begin, or the sweep files that are there."""
    folder = make_project(tmp_path)
    client = make_client(folder)
    assert "[grid]" in client.get("/experiments").text
    (folder / "sweeps").mkdir()
    (folder / "sweeps" / "a.toml").write_text("[grid]\n'pipeline.depth' = [1, 2]\n")
    (folder / "other.toml").write_text("x = 1\n")
    (folder / "broken.toml").write_text("[grid\n")
    assert find_sweeps(folder) == ("sweeps/a.toml",)
    assert "karat sweep sweeps/a.toml" in client.get("/experiments").text
    (folder / "experiments.json").write_text("{}")
    page = client.get("/experiments.json").json()
    assert page["problem"].startswith("experiments.json is not a log")
    assert "The log cannot be read" in client.get("/experiments").text


@pytest.mark.slow(3)
def test_the_page_says_what_the_sweep_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts, corrected p, changes and the front of a real sweep are those of karat sweep --json."""
    folder = make_project(tmp_path)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    record_baseline(folder)
    (folder / "sweep.toml").write_text(f'objective = "RR@10"\n{systems("better", "bit_better", "worse", "broken")}')
    report = sweep_document(run_sweep(read_sweep(folder / "sweep.toml"), SweepSettings()))
    Indexer(folder).update()
    page = make_client(folder).get("/experiments.json?sort=tried").json()
    assert len(page["variants"]) == 4
    for line, variant in zip(page["variants"], report.variants, strict=True):
        assert (line["id"], line["name"], line["reason"]) == (variant.id, variant.name, variant.reason)
        assert (line["p"], line["p_corrected"], line["front"]) == (variant.p, variant.p_corrected, variant.pareto)
        assert line["verdict"] == ("failed" if variant.error else variant.verdict.lower())
        if not variant.error:
            assert line["difference"] == variant.objective.difference
            assert line["results"] == variant.results
            assert line["run"]


def test_the_overview_is_about_the_newest_run_that_is_no_variant(tmp_path: Path) -> None:
    """And it says that there are newer ones, which its trend and the list of runs show."""
    folder = make_served_project(tmp_path)
    log = folder / "experiments.json"
    log.write_text(log.read_text().replace("runs/old.jsonl", "runs/new.jsonl"))
    Indexer(folder).update()
    client = make_client(folder)
    page = client.get("/index.json").json()
    assert (page["latest"]["id"], page["newer"]) == ("old", 1)
    assert "1 newer run is a variant" in client.get("/").text
