"""The API keeps what its own description says: schemathesis draws requests from it, good ones and bad ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from karat.files import hold_folder
from karat.server import Tokens
from server.served import WORK, make_indexed_project
from server.test_judging_in_browser import serving

CONFIGURATION = """
[parameters]
"path.query" = "q02"
"path.run" = "new"
"path.feature" = "rerank"
"path.work" = "20261118-090000-abcdef"
"query.a" = "old"
"query.b" = "new"
"""
"""What is there: drawn ids would lead nowhere."""
LEFT_OUT = ("positive_data_acceptance", "unsupported_method")
"""A schema cannot say that two runs are not the same one; and where only a change is, a page may be looked for."""


@pytest.mark.slow(10)
def test_every_operation_keeps_its_description(tmp_path: Path) -> None:
    """No drawn request ends in a status, a type, a header or a document that ``/api`` does not name."""
    folder = make_indexed_project(tmp_path / "project")
    place = folder / ".karat" / "work" / WORK
    (place / "end.json").unlink()
    lock = hold_folder(place)  # as of work that runs, so that no other is started, which would outlive the test
    assert lock is not None
    token = Tokens(folder).add("ada", "admin")
    configuration = tmp_path / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    with serving(folder) as (_, port):
        command = [
            sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration), "run", f"http://127.0.0.1:{port}/api",
            "--header", f"Authorization: Bearer {token}", "--phases", "coverage,fuzzing", "--max-examples", "4",
            "--exclude-checks", ",".join(LEFT_OUT), "--generation-deterministic", "--no-color",
        ]  # fmt: skip
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    os.close(lock)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "Authentication failed" not in process.stdout  # else no change was tried
