"""What explain names for every planted fault, as docs/explain.md shows it.

``PYTHONPATH=src:. .venv/bin/python -m tests.diagnosis.planted.table`` writes it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.diagnosis.planted.faults import FAULTS, Fault
from tests.diagnosis.planted.hotel import UNCHOSEN, explain, without_choice

PAGE = Path(__file__).parents[3] / "docs" / "explain.md"
BEGIN, END = "<!-- planted faults: written by tests/diagnosis/planted/table.py -->", "<!-- end of planted faults -->"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was named for a fault."""

    fault: Fault
    planted: str
    named: str
    """The first cause of the run."""
    queries: Counter[str]
    """How many queries have each cause first."""

    @property
    def is_right(self) -> bool:
        return self.named == self.planted


@cache
def results() -> tuple[Result, ...]:
    """Plant every fault, and explain the run."""
    return plant()


def plant() -> tuple[Result, ...]:
    rows = []
    for planted, faults in FAULTS.items():
        for fault in faults:
            groups = explain(fault()).groups
            queries = Counter({group.cause: len(group.queries) for group in groups})
            rows.append(Result(fault=fault, planted=planted, named=groups[0].cause, queries=queries))
    return tuple(rows)


def render(rows: tuple[Result, ...]) -> str:
    """Return the tables as Markdown."""
    names = [*FAULTS, "unknown"]
    total: dict[str, Counter[str]] = {name: Counter() for name in FAULTS}
    for row in rows:
        total[row.planted].update(row.queries)
    lines = ["| planted | runs named right | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for name in FAULTS:
        own = [row for row in rows if row.planted == name]
        cells = [str(total[name][other] or "") for other in names]
        lines.append(f"| {name} | {sum(row.is_right for row in own)} of {len(own)} | " + " | ".join(cells) + " |")
    right = sum(row.is_right for row in rows)
    queries = sum(sum(count.values()) for count in total.values())
    own_queries = sum(total[name][name] for name in FAULTS)
    misses = [f"{row.planted}: {_describe(row.fault)} It named {row.named} first." for row in rows if not row.is_right]
    share = f"{own_queries:,} of {queries:,} ({own_queries / queries:.0%})"
    lines += ["", f"Runs: {right} of {len(rows)} ({right / len(rows):.0%}). Single queries: {share}."]
    lines += ["", "Runs that were named wrong:", "", *[f"- {miss}" for miss in misses or ["none"]]]
    lines += ["", "The faults:", "", *(f"- {row.planted}: {_describe(row.fault)}" for row in rows)]
    return "\n".join(lines).strip()


def render_unchosen(rows: tuple[Result, ...]) -> str:
    """Return how many faults are named first among queries that were not chosen, and the misses, as Markdown."""
    right = sum(row.is_right for row in rows)
    misses = [
        f"- {row.planted}: {_describe(row.fault)} It named {row.named} first." for row in rows if not row.is_right
    ]
    head = f"Among the first {UNCHOSEN} queries of the set, whose own failures compete with the fault, "
    return "\n".join([f"{head}{right} of {len(rows)} runs are named right. The misses:", "", *(misses or ["- none"])])


def _describe(fault: Fault) -> str:
    return " ".join((fault.__doc__ or "").split())


def write() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with without_choice():
        unchosen = render_unchosen(plant())
    PAGE.write_text(f"{before}{BEGIN}\n\n{unchosen}\n\n{render(results())}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write()
