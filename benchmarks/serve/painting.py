"""Opens some pages in Chromium, each for the first time, and prints when something is seen and how much was loaded.

``painting.py ADDRESS RUNS QUERIES`` prints a line of JSON for each page: the milliseconds to the first paint, those to
the content where that is computed first, and the bytes of the page with its styles and scripts; or why that was not
measured. One comparison is of two runs that nobody compared before. Without a browser it prints nothing, and
says why.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from asking import list_pages

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SEEN = "performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint')?.startTime"
LOADED = (
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    ".reduce((sum, entry) => sum + entry.decodedBodySize, 0)"
)


PATIENCE = 60_000
"""Milliseconds for a page."""


def list_painted(address: str, runs: int, queries: int) -> Iterator[dict[str, Any]]:
    """Yield when each page is seen, and its bytes, or why that is not known."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        sys.exit("playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        sys.exit(f"there is no browser: none of {', '.join(NAMES)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        pages = {
            **list_pages(runs, queries, random.Random(1)),
            "comparison, new": f"/compare?a=run-001&b=run-{runs - 2:03}",
        }
        for page, place in pages.items():
            if "as JSON" in page or "as CSV" in page:
                continue
            context = browser.new_context()  # with an empty cache
            try:
                yield {"page": page, **measure(context.new_page(), address.rstrip("/") + place)}
            except (Error, TimeoutError) as error:
                yield {"page": page, "why": str(error).splitlines()[0]}
            finally:
                context.close()
        browser.close()


def measure(opened: Any, address: str) -> dict[str, float]:
    """Return when a page is seen, and the bytes of it."""
    opened.set_default_timeout(PATIENCE)
    opened.goto(address)
    for _ in range(PATIENCE // 10):  # wait_for_function needs eval, which the pages forbid
        if (seen := opened.evaluate(SEEN)) is not None:
            measured = {"milliseconds": seen, "bytes": opened.evaluate(LOADED)}
            if opened.locator("[data-wait]").count():  # a page that says what is being computed
                opened.locator("[data-wait]").wait_for(state="detached")
                measured |= {"content": opened.evaluate("performance.now()"), "bytes": opened.evaluate(LOADED)}
            return measured
        opened.wait_for_timeout(10)
    raise TimeoutError(f"nothing was seen within {PATIENCE // 1000} s")


if __name__ == "__main__":
    for painted in list_painted(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])):
        print(json.dumps(painted), flush=True)
