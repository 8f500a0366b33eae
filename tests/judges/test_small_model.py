"""The whole path of ``karat judge`` with a real model behind a real server, which keeps to the schema."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.answering_project import configure, enter_project
from cli.gate_project import main

pytestmark = pytest.mark.slow(12)

PROMPT = """version: 1
---
Does the answer decline to answer? The reason is one word.
"""


@pytest.fixture(scope="module")
def address(python_of: Callable[[str], Path]) -> Iterator[str]:
    """Where the model is, as long as a test of this file runs."""
    program = [python_of("judges"), Path(__file__).with_name("small_model.py")]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_a_model_judges_and_is_asked_once(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it says is a score or a reason, its tokens are those that the server counted, and all of it is kept.

    How it judges is no better than chance, which is why no value is expected.
    """
    enter_project(tmp_path, monkeypatch, count=1)
    (tmp_path / "refusal.md").write_text(PROMPT)  # the model reads 70 tokens in a second
    configure(
        tmp_path,
        f'url = "{address}/v1"\nmodel = "smollm2"\ntimeout = 600\nnames = ["refusal"]\n'
        'prompts = { refusal = "refusal.md" }\n',
    )
    assert main(["eval", "."]) == 0
    first = judge(capsys)
    assert first["spending"]["calls"] == 2  # with the one that finds out how the server gives JSON
    assert first["spending"]["input_tokens"] > 50
    (row,) = first["measures"]
    assert (row["scored"], row["total"]) == (1, 1), row["reasons"]
    assert row["mean"] in (0.0, 1.0)
    again = judge(capsys)
    assert again["measures"] == first["measures"]
    assert again["spending"]["calls"] == 0


def judge(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["judge", ".", "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))
