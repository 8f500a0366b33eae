"""The HTML report in a browser, as its reader meets it: Chromium, driven by Playwright."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from karat.reports import failures, recommendations, render_html
from reports.report_samples import ATTACK, sample, without_baseline

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; where there is none nothing of this can be tested, which CI does not accept."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("UNTESTED: the HTML report in a browser: playwright is not installed")
    found = _chromium()
    if found is None:
        assert os.environ.get("CI") != "true", "there is no chromium; install it (apt-get install chromium)"
        pytest.skip("UNTESTED: the HTML report in a browser: there is no chromium, and it could not be installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


def _chromium() -> str | None:
    """Find the browser; where it is missing and may be installed, install Debian's, one process at a time."""
    with Path(tempfile.gettempdir(), "karat-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = next(filter(None, map(shutil.which, NAMES)), None)
        if found or os.geteuid() or shutil.which("apt-get") is None:
            return found
        install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
        for command in (["apt-get", "update"], install):
            subprocess.run(command, capture_output=True, timeout=600, check=False)
        return shutil.which("chromium")


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Open the page of a document; afterwards, see that it asked for nothing and that the console stayed empty."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def call(document: dict[str, Any], *, fragment: str = "", quiet: bool = True, **options: Any) -> Page:
        path = tmp_path / "report.html"
        path.write_text(render_html(document), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        if quiet:
            page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url.split("#")[0]))
        page.goto(path.as_uri() + fragment)
        return page

    yield call
    for context in contexts:
        context.close()
    assert said == []
    assert {url for url in asked if not url.startswith("data:")} == {(tmp_path / "report.html").as_uri()}


def _column(page: Page, name: str) -> list[str]:
    heads = page.locator("#queries thead th").all_inner_texts()
    place = next(i for i, head in enumerate(heads) if head.split()[0] == name)
    return page.locator(f"#queries tbody td:nth-child({place + 1})").all_inner_texts()


def _rows(page: Page) -> int:
    return page.locator("#queries tbody tr").count()


def test_verdict_comes_first(opened: Opened) -> None:
    """The first heading is the verdict, and it is seen without scrolling."""
    page = opened(sample())
    assert page.locator("h1").inner_text() == "✗ Fail"
    box = page.locator("h1").bounding_box()
    assert box is not None
    assert box["y"] < 200


def test_content_with_a_script_is_text(opened: Opened) -> None:
    """Scripts and images in queries, reasons, caveats and snippets are read, not run."""
    page = opened(sample(), fragment="#query=q0000")
    assert page.locator("#query-title").inner_text() == f"{ATTACK} a page of prices"
    assert page.locator(".snippet").first.inner_text().startswith(ATTACK)
    assert page.locator("#caveats li").inner_text() == f"few queries {ATTACK}"
    assert page.locator("img").count() == 0
    assert page.evaluate("window.attacked") is None


def test_policy_stops_a_script_that_got_in(opened: Opened) -> None:
    """Were markup ever to get through, the policy would not let it run; the console tells of it."""
    page = opened(sample(), quiet=False)
    told = page.evaluate(
        """() => new Promise((done) => {
            document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
            const script = document.createElement("script");
            script.textContent = "window.attacked = 1";
            document.body.append(script);
        })"""
    )
    assert told.startswith("script-src")
    assert page.evaluate("window.attacked") is None


def test_table_sorts_both_ways(opened: Opened) -> None:
    """A press on a heading sorts by it, another turns it round, and the heading says so."""
    page = opened(sample(20))
    head = page.get_by_role("button", name="Change")
    head.click()
    ascending = [_number(text) for text in _column(page, "Change") if text != "\u2013"]
    assert ascending == sorted(ascending)
    assert page.locator("#queries th[aria-sort=ascending]").inner_text().startswith("Change")
    head.click()
    descending = [_number(text) for text in _column(page, "Change") if text != "\u2013"]
    assert descending == ascending[::-1]
    assert page.locator("#queries th[aria-sort=descending]").count() == 1


def _number(text: str) -> float:
    return float(text.split()[-1].replace("\u2212", "-"))


def test_table_filters(opened: Opened) -> None:
    """Text, state and segment narrow the table down, together, and the page says how many are left."""
    document = sample(20)
    page = opened(document)
    page.locator("#search").fill("NUMBER 1")
    wanted = [one["id"] for one in document["queries"] if "number 1" in one["text"]]
    assert [text.split()[0] for text in _column(page, "Query")] == wanted
    page.locator("#segment").select_option(label="hard")
    hard = [one["id"] for one in document["queries"] if one["id"] in wanted and one["category"] == "hard"]
    assert [text.split()[0] for text in _column(page, "Query")] == hard
    assert page.locator("#queries [role=status]").inner_text() == f"1 to {len(hard)} of {len(hard)} queries"
    page.locator("#search").fill("")
    page.locator("#segment").select_option(label="all")
    page.locator("#state").select_option(label="failures")
    assert [text.split()[0] for text in _column(page, "Query")] == [one.query for one in failures(document)]
    page.locator("#search").fill("no such text")
    assert page.locator("#queries [role=status]").inner_text() == "No query matches."


def test_measure_changes_plots_and_table(opened: Opened) -> None:
    """Choosing a measure draws its plots and fills the table with its numbers."""
    document = sample()
    page = opened(document)
    page.locator("#measure").select_option(label="RR@10")
    assert _column(page, "Was") == [f"{one['baseline']['RR@10']:.3f}" for one in document["queries"]]
    assert "RR@10 of each query" in (page.locator(".dots svg").get_attribute("aria-label") or "")


def test_failures_say_what_was_expected_and_what_came(opened: Opened) -> None:
    """An error, a must-pass that does not and a query that found nothing are listed, the grave ones first."""
    document = sample()
    page = opened(document)
    items = page.locator(".failures > li")
    others = [one.query for one in failures(document) if one.query not in ("q0001", "q0003")]
    assert [text.split()[0] for text in items.all_inner_texts()] == ["q0001", "q0003", *others]
    assert others[0] == "q0002"
    assert "✗ failed: TimeoutError: no answer" in items.nth(0).inner_text()
    assert "Nothing came." in items.nth(0).inner_text()
    assert "grade 3 Title d2-3 did not come" in items.nth(2).inner_text()
    assert "1. Title d2-1" in items.nth(2).inner_text()


def test_recommendations_lead_to_their_queries(opened: Opened) -> None:
    """What the rules advise is there, and the ids that it rests on open their queries."""
    document = sample()
    page = opened(document)
    assert recommendations(document)
    assert page.locator(".advice li").count() == len(recommendations(document))
    page.locator(".advice li").first.get_by_role("button").first.click()
    first = recommendations(document)[0].queries[0]
    assert page.url.endswith(f"#query={first}")
    assert page.locator("#query").is_visible()


def test_query_shows_both_rankings_and_the_matched_terms(opened: Opened) -> None:
    """The dialog has was and now side by side, grades, movements, and the words of the query marked, no others."""
    page = opened(sample(), fragment="#query=q0004")
    was, now = page.locator(".ranking").all()
    assert was.locator("li").first.inner_text().split("\n")[:2] == ["1", "Title d4-10"]
    assert now.locator("li").first.inner_text().split("\n")[:2] == ["1", "Title d4-1"]
    assert "something that is no longer found" in was.inner_text()
    assert "▼ down 9" in page.locator(".results li").nth(9).inner_text()
    assert "new" in page.locator(".results li").nth(1).inner_text()
    marks = {text.lower() for text in page.locator("mark").all_inner_texts()}
    assert marks == {"price", "breakfast", "4"}


def test_documents_that_left_are_named_where_the_report_knows_them(opened: Opened) -> None:
    """A document that was found and no longer is stands in the ranking that it was in."""
    document = sample()
    document["queries"][4]["left"] = [{"document": "gone", "title": "Gone for good", "was": 9, "grade": 2}]
    page = opened(document, fragment="#query=q0004")
    assert "Gone for good" in page.locator(".ranking").first.locator("li").nth(8).inner_text()


def test_dot_opens_its_query(opened: Opened) -> None:
    """Pointing at a dot tells its query, and a click opens it."""
    document = sample()
    page = opened(document)
    one = document["queries"][5]
    places = page.locator(".dots svg")
    places.scroll_into_view_if_needed()
    box = places.bounding_box()
    assert box is not None
    unit = box["width"] / 420  # the plot's own units: from 56 to 406 across, from 364 down to 14
    x = box["x"] + unit * (56 + 350 * one["baseline"]["nDCG@5"])
    y = box["y"] + unit * (364 - 350 * one["scores"]["nDCG@5"])
    page.mouse.move(x, y)
    assert "q0005" in page.locator(".pointed").inner_text()
    page.mouse.click(x, y)
    assert page.locator("#query-title").inner_text() == one["text"]


def test_keyboard_alone_is_enough(opened: Opened) -> None:
    """Arrow keys and Enter open a dot's query, Tab and Enter go on to the next, Escape closes; headings sort."""
    page = opened(sample())
    page.locator(".dots").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator(".pointed").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".pointed").inner_text() != first
    page.keyboard.press("Enter")
    title = page.locator("#query-title").inner_text()
    assert title.removeprefix(ATTACK)[:20] in page.locator(".pointed").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#query-title").inner_text() != title
    assert page.evaluate("document.activeElement.textContent") == "Next →"
    page.keyboard.press("Escape")
    assert not page.locator("#query").is_visible()
    assert page.evaluate("document.activeElement.className") == "plot dots"
    page.get_by_role("button", name="Now").focus()
    page.keyboard.press("Enter")
    assert page.locator("#queries th[aria-sort]").inner_text().startswith("Now")


def test_light_and_dark(opened: Opened) -> None:
    """The page follows the system, and the button changes it, either way."""
    for scheme, before, after in (("light", "255", "23"), ("dark", "23", "255")):
        page = opened(sample(), color_scheme=scheme)
        ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"
        assert page.evaluate(ground) == before
        page.locator(".theme").click()
        assert page.evaluate(ground) == after


def test_phone_width_needs_no_sideways_scrolling(opened: Opened) -> None:
    """At 390 pixels nothing is wider than the screen, in the page and in the dialog."""
    page = opened(sample(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(page.url.split("#")[0] + "#query=q0004")
    assert page.locator("#query").evaluate("(dialog) => dialog.scrollWidth") <= 390


def test_ten_thousand_queries_are_usable(opened: Opened) -> None:
    """The page holds a screenful of rows and a few paths, and sorts and filters in a moment."""
    page = opened(sample(10_000, hits=3, snippet=40))
    assert _rows(page) == 25
    assert page.locator("*").count() < 3000
    assert page.locator("#queries [role=status]").inner_text() == "1 to 25 of 10,000 queries"
    taken = page.evaluate(
        """() => { const start = performance.now();
                   document.querySelectorAll("#queries .sort")[4].click();
                   return performance.now() - start; }"""
    )
    assert taken < 1000
    page.get_by_role("button", name="Next page").click()
    assert page.locator("#queries [role=status]").inner_text() == "26 to 50 of 10,000 queries"


def test_first_run_shows_what_it_can(opened: Opened) -> None:
    """Without a baseline there is no plot against it, and the rest is there."""
    page = opened(without_baseline(sample()))
    assert "There is no baseline" in page.locator("#compared").inner_text()
    assert page.locator(".card").count() == 2
    page.locator("#queries tbody button").first.click()
    assert page.locator(".rankings").count() == 0


def test_drawings_have_text_alternatives(opened: Opened) -> None:
    """Every drawing says in words what is to be seen."""
    page = opened(sample(), fragment="#query=q0004")
    labels = page.locator("svg").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
    assert len(labels) > 6
    assert all(len(text) > 10 for text in labels)
    assert any("p95 40.0 ms" in text for text in labels)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("fragment", ["", "#query=q0004"])
def test_axe_finds_no_violation(opened: Opened, scheme: str, width: int, fragment: str) -> None:
    """The rules of axe-core hold in both colours, on a phone and a desk, for the page and for a query."""
    from axe_playwright_python.sync_playwright import Axe

    viewport = {"width": width, "height": 900}
    page = opened(sample(), fragment=fragment, color_scheme=scheme, viewport=viewport)
    page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert len(found.response["passes"]) > 10
