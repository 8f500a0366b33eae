"""A real browser for tests that look at pages."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; where there is none nothing of this can be tested, which CI does not accept."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("UNTESTED: pages in a browser: playwright is not installed")
    path = _chromium()
    if path is None:
        assert os.environ.get("CI") != "true", "there is no chromium; install it (apt-get install chromium)"
        pytest.skip("UNTESTED: pages in a browser: there is no chromium, and it could not be installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


def _chromium() -> str | None:
    """Find the browser; where it is missing and may be installed, install Debian's, one process at a time."""
    with Path(tempfile.gettempdir(), "karat-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = next(filter(None, map(shutil.which, NAMES)), None)
        if path or os.geteuid() or shutil.which("apt-get") is None:
            return path
        shell = "chromium-headless-shell"  # half the CPU time of the whole browser, which draws windows nobody sees
        install = ["apt-get", "install", "-y", "--no-install-recommends", shell, "fonts-dejavu-core"]
        for command in (["apt-get", "update"], install):
            subprocess.run(command, capture_output=True, timeout=600, check=False)
        return shutil.which(shell)
