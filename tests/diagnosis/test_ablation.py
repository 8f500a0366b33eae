"""Ablation: the same numbers as evaluations of the pipeline without the part, verdicts by hand, the lexical floor."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.diagnosis.test_explain import GOLDEN

from each import each
from karat.cli._main import cli
from karat.core import UsageError
from karat.diagnosis import ablate
from karat.diagnosis._verdicts import judge, sign_test
from karat.evaluation._floor import advise
from karat.golden import write
from karat.projects import evaluate

CONFIG = """
[golden]
path = "golden"
[pipeline]
chunk = {{ name = "sentence", size = 8, overlap = 0 }}
dense = false
expand = {expand}
per_document = {per_document}
[eval]
k = 3
measures = ["R@2", "RR@3"]
"""


def make(folder: Path, *, expand: str = "true", per_document: int = 1) -> Path:
    folder.mkdir(exist_ok=True)
    write(replace(GOLDEN, gate={}), folder / "golden")
    (folder / "karat.toml").write_text(CONFIG.format(expand=expand, per_document=per_document), encoding="utf-8")
    return folder


def test_a_part_off_scores_as_a_pipeline_that_never_had_it(tmp_path: Path) -> None:
    """The oracle is karat.evaluate on the configuration without the part."""
    document = ablate(make(tmp_path / "full"))
    plain = evaluate(make(tmp_path / "plain", expand="false")).mean()
    every = evaluate(make(tmp_path / "every", per_document=0)).mean()
    full = evaluate(tmp_path / "full").mean()
    rows = {(part.part, row.measure): row for part in document.parts for row in part.measures}
    assert {part for part, _ in rows} == {"expand", "per_document"}
    for name in ("R@2", "RR@3"):
        assert (rows["expand", name].full, rows["expand", name].without) == (full[name], plain[name])
        assert rows["per_document", name].without == every[name]
    floor = {row.measure: row for row in document.floor}
    assert floor["RR@3"].floor == plain["RR@3"]
    assert floor["RR@3"].ratio == pytest.approx(plain["RR@3"] / full["RR@3"])


def test_measures_of_answers_are_left_out(tmp_path: Path) -> None:
    """Nothing is answered with a part off, and a measure without a value gets no verdict."""
    folder = make(tmp_path)
    document = ablate(folder, measures=["R@2", "CiteCoverage"])
    assert {row.measure for part in document.parts for row in part.measures} == {"R@2"}
    assert document.note.startswith("CiteCoverage left out: parts are off for what is retrieved")
    # The set has two queries, and six have to change alike for any p below 0.05.
    assert document.note.endswith("too few queries to show any change, so that their rows say nothing: R@2 (2)")
    with pytest.raises(UsageError, match="choose measures of retrieval"):
        ablate(folder, measures=["CiteCoverage"])


def test_the_sign_test_is_that_of_all_coin_tosses() -> None:
    """The oracle counts all outcomes that are at least as far from the middle."""
    for wins, losses in product(range(8), repeat=2):
        n = wins + losses
        extreme = [k for k in range(n + 1) if abs(k - n / 2) >= abs(wins - n / 2)]
        expected = sum(comb(n, k) for k in extreme) / 2**n if n >= 5 else None
        assert sign_test(wins, losses) == (pytest.approx(expected) if n >= 5 else None)


@each(
    ("gain", "p_sign", "p", "changed", "verdict"),
    [
        (-0.05, 0.01, 0.01, 20, "CRITICAL"),
        (-0.049, 0.05, 0.05, 20, "important"),
        (-0.2, 0.06, 0.01, 20, "likely useful"),
        (-0.2, None, 0.01, 4, "likely useful"),
        (-0.2, 0.01, 0.06, 20, "likely useful"),
        (-0.009, 0.5, 0.5, 5, "negligible"),
        (0.009, None, 0.5, 4, "likely redundant"),
        (0.01, 0.5, 0.5, 20, "possibly harmful"),
        (0.01, 0.01, 0.01, 20, "HARMFUL"),
    ],
)
def test_verdicts_by_hand(gain: float, p_sign: float | None, p: float, changed: int, verdict: str) -> None:
    """A strong word needs both tests."""
    assert judge(gain, p_sign, p, changed=changed) == verdict


def test_the_limits_of_the_floor() -> None:
    """From 0.80 up, from 0.50 up, below."""
    assert [advise(ratio) for ratio in (0.8, 0.79, 0.5, 0.49)] == ["PAUSE", "RATIONALIZE", "RATIONALIZE", "PROCEED"]


def test_the_verb_prints_parts_and_floor(tmp_path: Path) -> None:
    """Text and JSON; a system of one's own is refused."""
    folder = make(tmp_path / "full")
    result = CliRunner().invoke(cli, ["ablate", str(folder)])
    assert result.exit_code == 0, result.output
    head, row = (line for line in result.output.splitlines() if line.startswith(("without ", "expand ")))
    signs = {part.part: part.measures[0].p_sign for part in ablate(folder).parts}
    sign = "-" if signs["expand"] is None else f"{signs['expand']:.4f}"
    assert "  p sign  better  worse" in head
    assert row.split()[-3] == sign
    assert "CRITICAL, important and HARMFUL need both at 0.05" in result.output
    table = result.output[result.output.index("lexical floor") :]
    assert "the rest" in table
    assert re.search(r"adds little|may not be worth its cost|is needed", table)
    assert not re.search("PAUSE|RATIONALIZE|PROCEED", result.output), "words of JSON"
    result = CliRunner().invoke(cli, ["ablate", str(folder), "--json", "-m", "R@1"])
    assert [row["measure"] for row in json.loads(result.stdout)["floor"]] == ["R@1"]
    (folder / "own.py").write_text("def find(query, k):\n    return []\n", encoding="utf-8")
    config = folder / "karat.toml"
    config.write_text(config.read_text(encoding="utf-8") + 'system = "own:find"\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        with pytest.raises(UsageError, match="not the built-in pipeline"):
            ablate(folder)
