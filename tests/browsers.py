"""A real browser for tests that look at pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from debian import program

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


_CUT_OFF = """() => [...document.querySelectorAll("main :is(table, svg)")]
  .filter((subject) => subject.getClientRects().length)
  .flatMap((subject) => {
    const place = subject.closest(".scroll"), about = subject.outerHTML.slice(0, 120);
    const cells = subject.tagName === "TABLE" ? [...subject.querySelectorAll("th, td")] : [];
    if (cells.some((cell) => !cell.getClientRects().length)) return [`a column is hidden: ${about}`];
    if (!place) {
      const around = subject.parentElement.closest("figure, .panel, article, section, main");
      const edge = around.getBoundingClientRect().right;
      return subject.getBoundingClientRect().right > edge + 1 ? [`does not scroll: ${about}`] : [];
    }
    const style = getComputedStyle(place);
    const says = place.tabIndex === 0 && style.overflowX === "auto" && style.backgroundImage.includes("gradient");
    return says ? [] : [`scrolls without saying so: ${about}`];
  })"""


def find_cut_off(page: Page) -> list[str]:
    """Return the tables and pictures of a page that a reader cannot see as a whole, or not see that there is more.

    What is wider than its place has to be in a region that scrolls, takes the focus, and has a shadow at its sides.
    """
    cut_off: list[str] = page.evaluate(_CUT_OFF)
    return cut_off
