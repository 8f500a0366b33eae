"""The offline half needs nothing that only POSIX has; the rest of other systems cannot be tried here.

.github/workflows/platforms.yml runs packaging/smoke.py on macOS and Windows.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = r"""
import asyncio, multiprocessing, os, pathlib, sys, tempfile, concurrent.futures, polars, numpy, bm25s  # they ask first
HIDDEN = {"fcntl", "grp", "pwd", "resource", "termios", "tty"}
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder())
for name in HIDDEN:
    sys.modules.pop(name, None)
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fork", "geteuid", "getuid", "killpg"):
    delattr(os, name)
from karat.cli import main as run  # under this name it does not end the process at once
for line in sys.stdin.read().splitlines():
    sys.argv = ["karat", *line.split()]
    try:
        run()
    except SystemExit as end:
        print(f"{line}: {end.code or 0}", file=sys.stderr)
"""
"""A Python without the modules and functions that Windows lacks."""


@pytest.mark.slow
def test_scoring_checking_and_baselines_need_no_posix(tmp_path: Path) -> None:
    """What packaging/smoke.py tries, in a Python from which they were taken."""
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 2.0 t\n")
    (tmp_path / "docs").mkdir()
    for name, text in (("one", "Refunds take five days."), ("two", "Breakfast is served at seven o'clock.")):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    (tmp_path / "karat.toml").write_text(
        '[golden]\npath = "set"\n[pipeline]\ndense = false\n[gate]\nextends = "none"\n'
        '[[gate.rules]]\nmetric = "RR@10"\nmin = 0.1\n'
    )
    lines = {
        "score qrels.txt run.txt -m RR": 0,
        "golden synth docs set --per-document 1": 0,
        "check .": 0,
        "baseline update . --force first": 0,
        "runs show . -m RR@10": 0,
        "doctor .": 0,
        "score missing.txt run.txt": 2,
    }
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input="\n".join(lines),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    told = [line for line in process.stderr.splitlines() if line.rpartition(":")[0] in lines]
    assert told == [f"{line}: {code}" for line, code in lines.items()], process.stderr
