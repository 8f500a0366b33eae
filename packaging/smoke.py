"""Tries an installed karat: python smoke.py, with the Python of the environment that it is in. Needs nothing else.

It runs on any system, writes into a temporary folder only, and ends with 1 if anything is not as it should be.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(sys.executable).parent / ("karat.exe" if os.name == "nt" else "karat")


def karat(folder, *arguments, code=0):
    """Run the installed program, and return what it prints."""
    process = subprocess.run(
        [str(PROGRAM), *arguments], cwd=folder, capture_output=True, encoding="utf-8", timeout=600, check=False
    )
    if process.returncode != code:
        sys.exit(f"karat {' '.join(arguments)}: exit code {process.returncode}\n{process.stdout}{process.stderr}")
    return process.stdout


def main():
    """Score, start a project, check it and its baseline, report on it, and look at the installation."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        version = karat(folder, "--version").split()[-1]
        (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n", encoding="utf-8")
        (folder / "run.txt").write_text("q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\nq2 Q0 d1 1 3.5 t\n", encoding="utf-8")
        scores = json.loads(karat(folder, "score", "qrels.txt", "run.txt", "-m", "RR", "--json"))
        assert "0.75" in json.dumps(scores), scores
        (folder / "docs").mkdir()
        for name, text in (("one", "Refunds take five days."), ("two", "Breakfast is served at seven o'clock.")):
            (folder / "docs" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
        karat(folder, "golden", "synth", "docs", "set", "--per-document", "1")
        (folder / "karat.toml").write_text(
            '[golden]\npath = "set"\n[pipeline]\ndense = false\n[gate]\nextends = "none"\n'
            '[[gate.rules]]\nmetric = "RR@10"\nmin = 0.1\n',
            encoding="utf-8",
        )
        karat(folder, "check", ".")
        karat(folder, "baseline", "update", ".", "--force", "first")
        karat(folder, "check", ".")
        assert "RR@10" in karat(folder, "runs", "show", ".", "-m", "RR@10")
        report = json.loads(karat(folder, "doctor", ".", "--json"))
        assert (report["ready"], report["karat"]) == (True, version), report
        assert "_KARAT_COMPLETE" in karat(folder, "completion", "zsh")
        karat(folder, "score", "missing.txt", "run.txt", code=2)
    print(f"karat {version} works with Python {sys.version.split()[0]} on {sys.platform}")


if __name__ == "__main__":
    main()
