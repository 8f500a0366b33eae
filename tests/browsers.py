"""A real browser for tests that look at pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from debian import program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHELL = "chromium-headless-shell"
"""It takes half the CPU time of the whole browser, which draws windows that nobody sees."""
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome")
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
    path = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


def find_chromium() -> str:
    """Return the path of the browser; where it is missing and may be installed, install Debian's."""
    return program("pages in a browser", SHELL, "fonts-dejavu-core", names=NAMES)
