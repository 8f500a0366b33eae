"""A project to sweep: 24 questions, retrievers of known quality, and a baseline."""

from __future__ import annotations

from pathlib import Path

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.gate import Baseline, write_baseline
from karat.projects import gate_run, open_project
from karat.runs import make_run

NUMBERS = range(24)
SET = GoldenSet(
    name="numbers",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=f"d{i:02}", text=f"All about word{i:02} and others.") for i in NUMBERS),
    queries=tuple(Query(id=f"q{i:02}", text=f"what is word{i:02}") for i in NUMBERS),
    judgments=tuple(Judgment(query=f"q{i:02}", target=Target(document=f"d{i:02}"), grade=1) for i in NUMBERS),
)
MODULE = "retrievers_to_sweep"
CODE = '''
import os, sys, time

def _asked(name, query):
    with open(os.environ.get("ASKED", os.devnull), "a") as file:
        file.write(f"{name} {query}\\n")
    while os.environ.get("HOLD") == f"{name} {query}" and not os.path.exists("go on"):
        time.sleep(0.005)

def _answer(name, query, first):
    """Return the right document in the first place, or else in the second."""
    _asked(name, query)
    number = int(query[-2:])
    right, wrong = f"d{number:02}", f"d{(number + 1) % 24:02}"
    return [right, wrong] if first(number) else [wrong, right]

def plain(query, k):
    return _answer("plain", query, lambda n: n % 2 == 0)

def same(query, k):
    return _answer("same", query, lambda n: n % 2 == 0)

def better(query, k):
    return _answer("better", query, lambda n: True)

def bit_better(query, k):
    return _answer("bit_better", query, lambda n: n % 2 == 0 or n == 1)

def worse(query, k):
    return _answer("worse", query, lambda n: False)

def mixed(query, k):
    return _answer("mixed", query, lambda n: n % 2 == (n < 6))

def broken(query, k):
    raise ConnectionError("refused")
'''
CONFIG = '[golden]\npath = "set"\n[pipeline]\ndense = false\n[eval]\nmeasures = ["RR@10", "P@1"]\nwarm_up = 0\n'


def make_project(folder: Path) -> Path:
    """Write the project: golden set, configuration and retrievers."""
    golden.write(SET, folder / "set")
    (folder / "karat.toml").write_text(CONFIG)
    (folder / f"{MODULE}.py").write_text(CODE)
    return folder


def record_baseline(folder: Path, system: str = "plain", measures: tuple[str, ...] = ()) -> None:
    """Make what a retriever answers the baseline; ``plain`` has RR 0.75 and P@1 0.5."""
    project = open_project(folder)
    retriever = project.system(None if system == "pipeline" else f"{MODULE}:{system}")
    run = make_run(project.golden, retriever, project.settings())
    taken = gate_run(project, run, alone=True, measures=measures).evaluation
    write_baseline(Baseline(evaluation=taken, recorded="2026-11-16"), folder / "baseline.json")


def systems(*names: str) -> str:
    """Return a grid over retrievers."""
    return f'[grid]\n"eval.system" = [{", ".join(chr(34) + MODULE + ":" + name + chr(34) for name in names)}]\n'
