"""A shadow index against the live one: blocks' gold, its policies, its summary, and stability, through the CLI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import main
from karat.schema import from_plain
from karat.schema.stability import BlocksSummary, StabilityReport

ROUTER = """# Router

## Reset

To reset the router, hold the small button for ten seconds. The light turns red.

## Ports

| port | for |
|---|---|
| 80 | web pages |

## Update

Run this command to update the firmware:

```sh
routerctl update --firmware latest
```
"""
PRINTER = """# Printer

## Paper

Load paper into the lower tray. It holds 250 sheets of paper.

## Toner

Order toner when the yellow light is on. A toner cartridge lasts 3000 pages.
"""
GOLD = [
    ("Q-1", "router", "S.1.1", ["S.1.1.p.Bk001"],
     ["How do I reset the router?", "Router reset: which button do I hold?", "How long to hold the reset button?"]),
    ("Q-2", "router", "S.1.3", ["S.1.3.p.Bk003", "S.1.3.c.Bk004"],
     ["How do I update the firmware?", "Which command does the firmware update?", "firmware update command"]),
    ("Q-3", "printer", "S.1.1", ["S.1.1.p.Bk001"],
     ["How many sheets of paper does the tray hold?", "Paper: how many sheets?", "sheets of paper in the tray"]),
    ("Q-4", "printer", "S.1.2", ["S.1.2.p.Bk002"],
     ["How many pages does a toner cartridge last?", "Toner cartridge: pages?", "pages that a toner cartridge lasts"]),
]  # fmt: skip
CONFIG = """
[golden]
path = "../gold.jsonl"
documents = "../pages"

[pipeline]
chunk = {chunk}
dense = false
answer = {{ sentences = 1, support = 0.2 }}

[eval]
k = 5
unit = "target"
measures = ["R@5"]
paraphrases = true
repeat = 2
"""
Call = Callable[..., str]


def write_project(folder: Path, name: str, chunk: str) -> None:
    (folder / name).mkdir()
    (folder / name / "karat.toml").write_text(CONFIG.format(chunk=chunk))


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Gold rows of blocks, two pages, a live index that is recorded as the baseline, and a way to run commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "router.md").write_text(ROUTER)
    (tmp_path / "pages" / "printer.md").write_text(PRINTER)
    rows = [
        {"qid": qid, "doc": document, "anchor_section": section, "relevant": relevant, "paraphrases": wordings}
        for qid, document, section, relevant, wordings in GOLD
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: str, code: int = 0) -> str:
        assert main(arguments) == code, capsys.readouterr()
        return capsys.readouterr().out

    write_project(tmp_path, "live", '{ name = "heading" }')
    run("eval", "live")
    run("baseline", "update", "live", "--policy", "blocks")
    return run


def decide(call: Call, shadow: str, policy: str, code: int, baseline: str = "live/baseline.json") -> dict[str, Any]:
    """Return the outcome of each check that is not operational."""
    document = json.loads(call("gate", shadow, "--policy", policy, "--baseline", baseline, "--json", code=code))
    assert document["verdict"]["exit_code"] == code
    return {
        check["metric"]: check["outcome"]
        for check in document["checks"]
        if check["kind"] not in ("slow", "failed", "empty")
    }


@pytest.mark.slow
def test_a_shadow_index_is_eligible_or_not(call: Call, tmp_path: Path) -> None:
    """Other chunks with the same answers pass both policies; chunks that tear sections apart lose recall."""
    write_project(tmp_path, "shadow", '{ name = "sentence", size = 64, overlap = 0 }')
    write_project(tmp_path, "torn", '{ name = "fixed", size = 8, overlap = 0 }')
    for name in ("shadow", "torn"):
        call("eval", name)
    canary = {"R@5": "pass", "CiteCoverage": "pass", "CiteAccuracy": "pass", "CitePrecision(unit='bytes')": "pass",
              "delta_s.median": "pass", "delta_s.p90": "pass", "Lambda(repeats=1)": "pass"}  # fmt: skip
    acceptance = {
        "R@5": "pass",
        "CiteCoverage": "pass",
        "CiteAccuracy": "pass",
        "CitePrecision(unit='bytes')": "pass",
        "delta_s.max": "pass",
        "Lambda": "pass",
    }
    assert decide(call, "shadow", "blocks", 0) == canary
    assert decide(call, "shadow", "blocks-acceptance", 0) == acceptance
    assert decide(call, "torn", "blocks", 1)["R@5"] == "fail"

    # The live index may also be known by its summary alone.
    call("report", "live", "--format", "blocks", "--output", "live.json")
    assert decide(call, "shadow", "blocks", 0, "live.json") == canary
    summary = from_plain(json.loads(Path("live.json").read_text()), BlocksSummary)
    assert (summary.recall, summary.coverage, summary.citation_accuracy, summary.bad_qids) == (1.0, 1.0, 1.0, [])
    assert set(summary.by_type) == {"prose", "code"}
    assert summary.by_type["code"].recall == 1.0

    report = from_plain(json.loads(call("stability", "torn", "--json")), StabilityReport)
    assert (report.wordings, report.repeats, report.measures["R@5"].repeats.most) == (3, 2, 0.0)
    table = call("stability", "torn", "-m", "R@5")
    assert table.startswith("over 3 wordings")
    assert "over 2 repeats" in table
    assert "answers to 4 of 4 queries:" in table


@pytest.mark.slow
def test_a_system_that_cites_everything_is_not_eligible(call: Call, tmp_path: Path) -> None:
    """It covers and hits what is relevant in each answer; most of what it cites is not."""
    write_project(tmp_path, "greedy", '{ name = "heading" }')
    config = tmp_path / "greedy" / "karat.toml"
    config.write_text(config.read_text().replace("sentences = 1, support = 0.2", "sentences = 50, support = 0.0"))
    call("eval", "greedy")
    for policy in ("blocks", "blocks-acceptance"):
        outcomes = decide(call, "greedy", policy, 1)
        assert (outcomes["CiteCoverage"], outcomes["CiteAccuracy"]) == ("pass", "pass")
        assert outcomes["CitePrecision(unit='bytes')"] == "fail"


@pytest.mark.slow
def test_a_system_that_does_not_answer_is_not_eligible(call: Call, tmp_path: Path) -> None:
    """Its recall is the same, and everything about answers is missing, which does not pass."""
    write_project(tmp_path, "silent", '{ name = "heading" }')
    config = tmp_path / "silent" / "karat.toml"
    config.write_text(config.read_text().replace("answer = { sentences = 1, support = 0.2 }\n", ""))
    call("eval", "silent")
    outcomes = decide(call, "silent", "blocks", 1)
    assert outcomes.pop("R@5") == "pass"
    assert set(outcomes.values()) == {"fail"}
    summary = from_plain(json.loads(call("report", "silent", "--format", "blocks")), BlocksSummary)
    assert (summary.coverage, summary.median, len(summary.bad_qids)) == (None, None, 4)


@pytest.mark.slow
def test_mistakes(call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One message: a run that asked once says nothing about stability, and a summary has no policy."""
    main(["report", "live", "--format", "blocks", "--policy", "blocks"])
    assert "--policy has no part in blocks' summary" in capsys.readouterr().err
    config = tmp_path / "live" / "karat.toml"
    config.write_text(config.read_text().replace("paraphrases = true\nrepeat = 2\n", ""))
    call("eval", "live")
    assert main(["stability", "live"]) == 2
    assert "asked every question once" in capsys.readouterr().err
