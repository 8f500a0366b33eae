"""The command line in the process of the tests, for what depends on nothing but its arguments."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

import pytest

from karat.cli import main


def run_karat(*arguments: str | Path) -> CompletedProcess[bytes]:
    """Run ``karat`` with some arguments, and return its exit code and the bytes that it prints."""
    command = ["karat", *map(str, arguments)]
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with (
        patch.object(sys, "argv", command),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    assert isinstance(ended.value.code, int)
    out, err = (stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
    return CompletedProcess(command, ended.value.code, out, err)
