"""How far judges without a model agree with people, and what judging costs beside ragas and deepeval.

``./scripts/bench judges`` prints AUROC and kappa on human-labelled sets (agreement.py). Then it judges the faithfulness
of 200 answers with each tool, 16 at once, on the same server, whose replies fit every schema: calls, letters sent and
CPU milliseconds an answer; then karat alone, with 64 calls at once, for all that a call takes of its CPU time, beside
the same number of posts by httpx2 alone; one answer whose judge is asked about three claims and says something of
two; and what the formulas of karat and ragas make of the same verdicts. ``--quick`` takes 4 answers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from agreement import print_agreement
from formulas import CASES

HERE = Path(__file__).resolve().parent
TOOLS = ("karat", "ragas", "deepeval")
LIMIT = 1.0
"""CPU milliseconds of karat's own for a call."""


class Program:
    """A Python program that answers a line with a line."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, *map(str, arguments)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def read(self) -> str:
        line = self._stream(self._process.stdout).readline().strip()
        if not line:
            raise SystemExit(f"failed: {self._process.args}")
        return line

    def write(self, line: str = "") -> None:
        stream = self._stream(self._process.stdin)
        stream.write(f"{line}\n")
        stream.flush()

    def ask(self) -> Any:
        self.write()
        return json.loads(self.read())

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream


def lose_a_verdict(tools: dict[str, Program]) -> None:
    """Print what each makes of a judge that loses one of three claims."""
    server = Program(HERE / "server.py", 3, 2)
    address = server.read()
    print("\n| three claims, two verdicts | faithfulness |")
    print("|---|---|")
    for tool, program in tools.items():
        program.write(f"{address} 1 1")
        program.read()
        (value,) = program.ask()["values"]
        print(f"| {tool} | {'not measurable' if value is None else f'{value:.2f}'} |", flush=True)
    server.end()


def compare_formulas(tools: dict[str, Program]) -> None:
    """Print what the formulas of karat and ragas make of the same verdicts, each by its own code."""
    print("\n| the same verdicts | karat | ragas |")
    print("|---|---|---|")
    values = {}
    for tool in ("karat", "ragas"):
        tools[tool].write("formulas")
        values[tool] = json.loads(tools[tool].read())
    for case, ours, theirs in zip(CASES, values["karat"], values["ragas"], strict=True):
        print(f"| {case} | {ours:.12g} | {theirs:.12g} |", flush=True)


def start(tool: str) -> Program:
    """Start the process of a tool."""
    return Program(HERE / "tools.py", tool)


def measure(
    server: Program, address: str, tool: str, program: Program, answers: int, at_once: int
) -> tuple[float, float, float]:
    """Return calls, letters and CPU milliseconds an answer."""
    program.write(f"{address} {answers} {at_once}")
    program.read()
    server.ask()  # what it counted until then belongs to the first answer
    result = program.ask()
    counted = server.ask()
    if len(result["values"]) != answers or None in result["values"]:
        raise SystemExit(f"{tool} has not judged all answers")
    return counted["calls"] / answers, counted["letters"] / answers, 1000 * result["seconds"] / answers


def measure_call(server: Program, address: str, tool: str, answers: int) -> float:
    """Return CPU milliseconds a call, with 64 at once."""
    program = start(tool)
    try:
        calls, _, spent = measure(server, address, tool, program, answers, 64)
    finally:
        program.end()
    return spent / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 answers instead of 200")
    quick = parser.parse_args().quick
    answers, many = (4, 8) if quick else (200, 1_000)
    if not quick:
        print_agreement()
        print()
    server = Program(HERE / "server.py")
    address = server.read()
    programs: dict[str, Program] = {}
    try:
        print("| faithfulness | calls | letters sent | CPU ms an answer | of karat |")
        print("|---|---|---|---|---|", flush=True)
        rows = {}
        for tool in TOOLS:  # one after another, and each stays: to import ragas or deepeval takes seconds
            programs[tool] = start(tool)
            rows[tool] = measure(server, address, tool, programs[tool], answers, 16)
        for tool, (calls, letters, spent) in rows.items():
            print(f"| {tool} | {calls:.1f} | {letters:,.0f} | {spent:.1f} | {spent / rows['karat'][2]:.1f}x |")
        costs = {tool: measure_call(server, address, tool, many) for tool in ("karat", "karat_kept", "bare")}
        lose_a_verdict(programs)
        compare_formulas(programs)
    finally:
        for program in (server, *programs.values()):
            program.end()
    print(f"\nall that karat takes with 64 at once: {costs['karat']:.2f} CPU ms a call (promise: {LIMIT})")
    print(f"with every reply kept on disk: {costs['karat_kept']:.2f}; a post by httpx2 alone: {costs['bare']:.2f}")
    raise SystemExit(not quick and costs["karat"] >= LIMIT)


if __name__ == "__main__":
    main()
