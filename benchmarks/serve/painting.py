"""Opens some pages in Chromium, each for the first time, and prints when something is seen and how much was loaded.

``painting.py ADDRESS RUNS QUERIES`` prints JSON: by page the milliseconds to the first paint, and the bytes of the page
with its styles and scripts. Without a browser it prints an empty object.
"""

from __future__ import annotations

import json
import random
import shutil
import sys

from asking import list_pages

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SEEN = "performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint')?.startTime"
LOADED = (
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    ".reduce((sum, entry) => sum + entry.decodedBodySize, 0)"
)


def main(address: str, runs: int, queries: int) -> dict[str, tuple[float, float]]:
    """Return when each page is seen, and its bytes."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        return {}
    painted = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for page, place in list_pages(runs, queries, random.Random(1)).items():
            if "as JSON" in page or "as CSV" in page:
                continue
            opened = browser.new_context().new_page()  # with an empty cache
            opened.goto(address.rstrip("/") + place)
            while opened.evaluate(SEEN) is None:  # wait_for_function needs eval, which the pages forbid
                opened.wait_for_timeout(10)
            painted[page] = (opened.evaluate(SEEN), opened.evaluate(LOADED))
            opened.context.close()
        browser.close()
    return painted


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
