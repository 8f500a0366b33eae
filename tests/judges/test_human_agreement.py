"""How far words alone agree with people: the benchmark's numbers are those of the docs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from public_data import find_collection

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.public_data
def test_the_table_of_the_docs_is_that_of_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """AUROC and kappa of each human-labelled set, and the kappa of people where a sentence has several."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "judges"))
    monkeypatch.delitem(sys.modules, "agreement", raising=False)
    import agreement

    monkeypatch.setattr(agreement, "RESAMPLES", 2)
    folder = find_collection("faithfulness")
    page = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    for place, (name, (read, file)) in enumerate(agreement.SETS.items()):
        row = agreement.judge_words(name, list(read(folder / file)))
        auroc, kappa, people = (cell.split()[0] for cell in row.strip("| ").split(" | ")[3:])
        assert float(auroc) == pytest.approx(_read(page, "AUROC", place), abs=0.0006)
        assert float(kappa) == pytest.approx(_read(page, "kappa at 0.5", place), abs=0.006)
        if people != "-":
            assert float(people) == pytest.approx(_read(page, "kappa of people", place), abs=0.006)


def _read(page: str, title: str, place: int) -> float:
    (cells,) = re.findall(rf"^\| {re.escape(title)} \| (.*) \|$", page, re.MULTILINE)
    return float(cells.split(" | ")[place])
