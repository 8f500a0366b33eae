"""What a new user tried, and the gate let pass: each story runs as it was told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.gate_project import TOML, make_gated_project, make_project, make_run, make_set
from karat.cli import main
from karat.core import GateFailed
from karat.projects import check

Call = Callable[..., tuple[int, str]]
LIMIT = "HTTP 429: too many requests"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call karat in this process; return its exit code, and everything that it printed."""

    def run(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["karat", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out + err

    return run


class TestOutOfQuota:
    """28 of 30 queries failed with 429."""

    def test_it_does_not_become_a_baseline(self, tmp_path: Path, call: Call) -> None:
        """``karat baseline update`` refuses it with exit code 3, and writes nothing."""
        golden_set = make_project(tmp_path, golden_set=make_set(30))
        errors = {query.id: LIMIT for query in golden_set.queries[:28]}
        path = make_run(tmp_path, golden_set, [1] * 30, errors=errors)
        code, text = call("baseline", "update", path)
        assert code == 3
        assert "28 of 30 queries failed or timed out, and at most 1 may: HTTP 429: too many requests" in text
        assert not (tmp_path / "baseline.json").exists()
        assert call("baseline", "update", path, "--force", "I know")[0] == 0

    def test_check_ends_with_three_and_never_says_that_it_may_ship(self, tmp_path: Path, call: Call) -> None:
        """There is no decision, whatever the scores of the two others are."""
        golden_set = make_gated_project(tmp_path, [1] * 30)
        rows = "\n".join(
            f"    if query == {query.text!r}: return ['d{query.id[1:]}']" for query in golden_set.queries[:2]
        )
        (tmp_path / "quota.py").write_text(f"def find(query, k):\n{rows}\n    raise RuntimeError({LIMIT!r})\n")
        code, text = call("check", tmp_path, "--system", "quota:find", "--no-report")
        assert code == 3
        assert "NO DECISION by policy default: the run failed, and says nothing about quality: 28 of 30" in text
        assert "may ship" not in text

    def test_in_python(self, tmp_path: Path) -> None:
        """``karat.check`` raises, with the exit code of a failed system."""
        make_project(tmp_path, golden_set=make_set(30))

        def find(query: str, k: int) -> list[str]:
            if query == "What of 01?":
                return ["d01"]
            raise RuntimeError(LIMIT)

        with pytest.raises(GateFailed, match="no decision by policy default") as raised:
            check(tmp_path, find)
        assert raised.value.exit_code == 3


def test_five_of_thirty_perfect_queries_return_nothing(tmp_path: Path, call: Call) -> None:
    """A fall of 17 % that no lead calls inconclusive: it fails, and names the queries."""
    golden_set = make_gated_project(tmp_path, [1] * 30)
    path = make_run(tmp_path, golden_set, [1] * 25 + [-1] * 5)
    code, text = call("gate", path)
    assert code == 1
    assert "fail  empty: 5 of 30 answerable queries returned nothing; 5 of them had results in the baseline: " in text
    assert "q26, q27, q28, q29, q30" in text


def test_policy_threshold_means_its_own_rules(tmp_path: Path, call: Call) -> None:
    """Two of thirty lost is a fall of 6.7 %: the lenient rule of karat.toml lets it pass, ``threshold`` does not."""
    golden_set = make_gated_project(tmp_path, [1] * 30)
    (tmp_path / "karat.toml").write_text(f'{TOML}[gate]\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\n')
    path = make_run(tmp_path, golden_set, [1] * 28 + [0] * 2)
    assert call("gate", path)[0] == 0
    code, text = call("gate", path, "--policy", "threshold")
    assert code == 1
    assert "RR@10   falls by at most 5.0%" in text
    assert "at least 0.5" not in text
    assert "the rules of karat.toml (rules) do not apply: policy threshold does" in text
    assert "FAIL by policy threshold: 1 of 4 checks failed" in text
