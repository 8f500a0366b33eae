"""The HTML report in a browser, as its reader meets it: Chromium, driven by Playwright."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsers import find_cut_off
from karat.reports import render_html
from reports.documents import conclude, typed
from reports.report_samples import ATTACK, sample, without_baseline

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NONE = "\u2013"
Opened = Callable[..., "Page"]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Open the page of a document; afterwards, see that it asked for nothing and that the console stayed empty."""
    said: list[str] = []
    requests: list[str] = []
    contexts = []

    def call(document: dict[str, Any], *, fragment: str = "", quiet: bool = True, **options: Any) -> Page:
        path = tmp_path / "report.html"
        path.write_text(render_html(typed(document)), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(600_000)
        if quiet:
            page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: requests.append(request.url.split("#")[0]))
        page.goto(path.as_uri() + fragment)
        return page

    yield call
    for context in contexts:
        context.close()
    assert said == []
    assert {url for url in requests if not url.startswith("data:")} == {(tmp_path / "report.html").as_uri()}


def _column(page: Page, name: str) -> list[str]:
    heads = page.locator("#queries thead th").all_inner_texts()
    place = next(i for i, head in enumerate(heads) if head.split()[0] == name)
    return page.locator(f"#queries tbody td:nth-child({place + 1})").all_inner_texts()


def _ids(page: Page) -> list[str]:
    return [text.removeprefix("✗ ").split()[0] for text in _column(page, "Query")]


def _status(page: Page) -> str:
    return page.locator("#queries [role=status]").inner_text()


def test_verdict_comes_first(opened: Opened) -> None:
    """The first heading is the verdict, seen without scrolling, and the sections are linked in a bar that stays."""
    page = opened(sample())
    assert page.locator("h1").inner_text().split() == ["✗", "Fail"]
    box = page.locator("h1").bounding_box()
    assert box is not None
    assert box["y"] < 200
    page.get_by_role("link", name="Latency").click()
    assert page.locator("#latency h2").evaluate("(head) => head.getBoundingClientRect().top") < 450
    assert page.locator("nav").is_visible()


def test_a_judges_card_has_the_mean_that_labels_correct(opened: Opened) -> None:
    """Both numbers stand together, with the interval, and which of them limits look at."""
    document = sample()
    correction = {"labels": 60, "judge": 0.9, "mean": 0.7153, "low": 0.5764, "high": 0.8541}
    document["measures"][0]["by_labels"] = correction
    page = opened(document)
    words = "by the judge; corrected by 60 labels 0.715 (0.576 to 0.854), which limits look at"
    assert page.locator(".card .labels").all_inner_texts() == [words]


def test_content_with_a_script_is_text(opened: Opened) -> None:
    """Scripts and images in queries, reasons, caveats and snippets are read, not run."""
    page = opened(sample(), fragment="#q=q0000")
    assert page.locator("#query-title").inner_text() == f"{ATTACK} a page of prices"
    assert page.locator(".snippet").first.inner_text().startswith(ATTACK)
    assert page.locator("#caveats li").inner_text() == f"few queries {ATTACK}"
    assert page.locator("img").count() == 0
    assert page.evaluate("window.attacked") is None


def test_policy_stops_a_script_that_got_in(opened: Opened) -> None:
    """Were markup ever to get through, the policy would not let it run; the console tells of it."""
    page = opened(sample(), quiet=False)
    message = page.evaluate(
        """() => new Promise((done) => {
            document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
            const script = document.createElement("script");
            script.textContent = "window.attacked = 1";
            document.body.append(script);
        })"""
    )
    assert message.startswith("script-src")
    assert page.evaluate("window.attacked") is None


def test_names_that_objects_have_are_names(opened: Opened) -> None:
    """Measures, segments and queries may be called like what every object inherits; the page shows their numbers."""
    text = json.dumps(sample())
    for plain, name in (
        ("nDCG@5", "constructor"),
        ("RR@10", "__proto__"),
        ("easy", "toString"),
        ("q0004", "__proto__"),
    ):
        text = text.replace(json.dumps(plain), json.dumps(name))
    document = json.loads(text)
    page = opened(document, fragment="#q=__proto__")
    assert page.locator("#query-title").inner_text() == document["queries"][4]["text"]
    assert page.locator(".scores bdi").all_inner_texts() == ["constructor", "__proto__"]
    page.keyboard.press("Escape")
    page.locator("#segment").select_option(label="toString")
    assert _ids(page).count("__proto__") == 1


def test_table_sorts_both_ways(opened: Opened) -> None:
    """The worst change is first; a press on a heading sorts by it, another turns it round, and the heading says so.

    A query without a change, which may be unanswerable, is last either way.
    """
    document = sample(20)
    document["queries"][3]["scores"] = {}
    page = opened(document)
    assert page.locator("#queries th[aria-sort=ascending]").inner_text().startswith("Change")
    ascending = [_number(text) for text in _column(page, "Change") if text != NONE]
    assert ascending == sorted(ascending)
    assert _column(page, "Change")[-1] == NONE
    page.get_by_role("button", name="Change").click()
    assert [_number(text) for text in _column(page, "Change") if text != NONE] == ascending[::-1]
    assert _column(page, "Change")[-1] == NONE
    assert page.locator("#queries th[aria-sort=descending]").count() == 1
    page.get_by_role("button", name="Query", exact=True).click()
    assert _ids(page) == [f"q{number:04d}" for number in range(20)]


def _number(text: str) -> float:
    return 0.0 if text == "= same" else float(text.split()[-1].replace("\u2212", "-"))


def test_table_filters(opened: Opened) -> None:
    """Text, state and segment narrow the table down, together, and the page says how many are left."""
    document = sample(20)
    page = opened(document)
    page.keyboard.press("/")
    page.keyboard.type("NUMBER 1")
    wanted = {query["id"] for query in document["queries"] if "number 1" in query["text"]}
    assert set(_ids(page)) == wanted
    page.locator("#segment").select_option(label="hard")
    hard = {query["id"] for query in document["queries"] if query["id"] in wanted and query["category"] == "hard"}
    assert set(_ids(page)) == hard
    assert _status(page) == f"{len(hard)} queries"
    page.locator("#search").fill("")
    page.locator("#segment").select_option(label="all")
    page.locator("#state").select_option(label="failures")
    assert set(_ids(page)) == {failure["query"] for failure in document["failures"]}
    page.locator("#search").fill("no such text")
    assert _status(page) == "No query matches."


def test_parts_of_the_page_lead_to_their_queries(opened: Opened) -> None:
    """A segment, a state and a recommendation show their queries in the table; the id of one opens it."""
    document = sample(20)
    page = opened(document)
    page.locator(".segments").get_by_role("button", name="hard").click()
    assert set(_ids(page)) == {query["id"] for query in document["queries"] if query["category"] == "hard"}
    page.locator(".chip.better").click()
    assert all(text.startswith("▲") for text in _column(page, "Change"))
    place, most = max(enumerate(document["recommendations"]), key=lambda entry: len(entry[1]["queries"]))
    assert len(most["queries"]) > 8
    page.locator(".advice li").nth(place).get_by_role("button", name="all").click()
    assert set(_ids(page)) == set(most["queries"])
    page.locator(".only").click()
    assert _status(page) == "20 queries"
    page.locator(".advice li").first.get_by_role("button").first.click()
    page.wait_for_url(lambda url: url.endswith(f"#q={document['recommendations'][0]['queries'][0]}"))
    assert page.locator("#query").is_visible()


def test_measure_changes_plots_and_table(opened: Opened) -> None:
    """Choosing a measure anywhere draws its plots and segments and fills the table with its numbers."""
    document = sample()
    page = opened(document)
    page.locator("#segment-measure").select_option(label="RR@10")
    page.get_by_role("button", name="Query", exact=True).click()
    assert _column(page, "Baseline") == [f"{query['baseline']['RR@10']:.3f}" for query in document["queries"]]
    assert "RR@10 of each query" in (page.locator(".dots svg").get_attribute("aria-label") or "")
    assert {page.locator(f"#{name}").input_value() for name in ("measure", "table-measure")} == {"1"}


def test_failures_say_what_was_expected_and_what_came(opened: Opened) -> None:
    """An error, a must-pass that does not and a query that found nothing are listed, the grave ones first."""
    document = sample()
    page = opened(document)
    items = page.locator(".failures > li")
    others = [failure["query"] for failure in document["failures"] if failure["query"] not in ("q0001", "q0003")]
    assert [text.split()[0] for text in items.all_inner_texts()] == ["q0001", "q0003", *others]
    assert others[0] == "q0002"
    assert "✗ failed: TimeoutError: no answer" in items.nth(0).inner_text()
    assert "Nothing came." in items.nth(0).inner_text()
    assert "Title d2-3 did not come" in items.nth(2).inner_text()
    assert "1. Title d2-1" in items.nth(2).inner_text()


def test_query_shows_both_rankings_and_the_matched_terms(opened: Opened) -> None:
    """The dialog has both rankings, grades, movements, what left, and the words of the query marked, no others."""
    document = sample()
    document["queries"][4]["left"] = [{"document": "gone", "title": "Gone for good", "was": 11, "grade": 3}]
    page = opened(document, fragment="#q=q0004")
    was, now = page.locator(".ranking").all()
    assert was.locator("li").first.inner_text().split("\n")[:2] == ["1", "Title d4-10"]
    assert now.locator("li").first.inner_text().split("\n")[:2] == ["1", "Title d4-1"]
    assert was.locator("li").nth(8).inner_text().split("\n") == ["9", "no longer found"]
    assert was.locator("li").nth(10).inner_text().split("\n") == ["11", "Gone for good", "gone", "grade 3"]
    assert [moved.get_attribute("aria-label") for moved in now.locator(".moved").all()][:2] == ["up 9", "new"]
    assert was.locator("li.relevant").count() == 3
    now.locator("li").first.hover()
    assert page.locator(".lit").count() == 3
    marks = {text.lower() for text in page.locator("mark").all_inner_texts()}
    assert marks == {"price", "breakfast", "4"}
    assert page.locator("#query table tbody tr").all_inner_texts() == ["Title d4-3\tgrade 3\trank 8\trank 3"]


def test_dot_tells_and_opens_its_query(opened: Opened) -> None:
    """Pointing at a dot tells its query and a click opens it; where several meet, the table shows them."""
    document = sample()
    document["queries"][5]["scores"] = document["queries"][5]["baseline"] = {"nDCG@5": 0.0, "RR@10": 0.5}
    document["queries"][6]["scores"] = document["queries"][6]["baseline"] = {"nDCG@5": 0.0, "RR@10": 0.5}
    page = opened(document)
    page.locator(".dots").scroll_into_view_if_needed()
    page.locator(".dots").focus()
    for text in ("q0004", "2 queries"):
        while text not in page.locator(".tip").inner_text():
            page.keyboard.press("ArrowRight")
        box = page.locator(".ring").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 200, box["y"] + 200)
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        if page.locator("#query").is_visible():
            assert page.locator("#query-title").inner_text() == document["queries"][4]["text"]
            page.keyboard.press("Escape")
    assert _ids(page) == ["q0005", "q0006"]


def test_keyboard_alone_is_enough(opened: Opened) -> None:
    """Arrow keys and Enter open a dot's query, arrows go on to the next, Escape closes and gives the focus back."""
    page = opened(sample())
    page.locator(".dots").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator(".tip").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".tip").inner_text() != first
    page.keyboard.press("Enter")
    title = page.locator("#query-title").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#query-title").inner_text() != title
    page.keyboard.press("ArrowLeft")
    assert page.locator("#query-title").inner_text() == title
    page.get_by_role("button", name="Next query").focus()
    page.keyboard.press("Enter")
    assert page.locator("#query-title").inner_text() != title
    assert page.evaluate("document.activeElement.className") == "next"
    page.keyboard.press("Escape")
    assert not page.locator("#query").is_visible()
    assert page.evaluate("document.activeElement.className") == "dots"
    page.get_by_role("button", name="Candidate").focus()
    page.keyboard.press("Enter")
    assert page.locator("#queries th[aria-sort]").inner_text().startswith("Candidate")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_address_names_the_query(opened: Opened) -> None:
    """A query has an address; back closes it however many were looked at, and a wrong address does no harm."""
    document = sample()
    document["queries"][7]["id"] = odd = "a b/%25#q=é'\ufffd</script>"
    page = opened(document, fragment="#q=%")
    page.locator("#checks a").click()
    page.locator("#query").get_by_role("button", name="Close").click()
    page.wait_for_url(lambda url: "#" not in url)
    entries = page.evaluate("history.length")
    page.locator("#queries tbody tr").first.click()
    page.wait_for_url(lambda url: "#q=" in url)
    opened_at = page.url
    page.get_by_role("button", name="Next query").click()
    page.wait_for_url(lambda url: url != opened_at)
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    page.locator("#query").wait_for(state="hidden")
    page.wait_for_url(lambda url: "#q=" not in url)
    page.locator("#search").fill("number 7")
    page.locator("#queries tbody button").click()
    assert odd in page.locator("#query p").first.inner_text()
    page.wait_for_url(lambda url: "#q=" in url)
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.locator("#query-title").inner_text() == document["queries"][7]["text"]


def test_link_is_copied(opened: Opened) -> None:
    """The address of an open query goes into the clipboard, or the page says where to find it."""
    page = opened(sample(), fragment="#q=q0004", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.reload()
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden')))")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("Copy it from the address bar").wait_for()


def test_light_and_dark(opened: Opened) -> None:
    """The page follows the system, the button changes it either way, and the choice is kept, where it may be."""
    ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"
    for scheme, before, after in (("light", "247", "16"), ("dark", "16", "247")):
        page = opened(sample(), color_scheme=scheme)
        assert page.evaluate(ground) == before
        page.locator(".theme").click()
        assert page.evaluate(ground) == after
        page.reload()
        assert page.evaluate(ground) == after
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } })")
    page.reload()
    page.locator(".theme").click()
    assert page.evaluate(ground) == "247"


def test_phone_width_needs_no_sideways_scrolling(opened: Opened) -> None:
    """At 390 pixels nothing is wider than the screen, however long the names are, and no table hides a column.

    What is wider than its place scrolls there, and what matters most stands first.
    """
    document = sample()
    document["run"]["name"] = document["queries"][4]["text"] = document["queries"][5]["id"] = "very-long-" * 40
    page = opened(document, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert find_cut_off(page) == []
    assert page.locator("#queries thead th").all_inner_texts()[:2] == ["Query", "Change"]
    page.goto(page.url.split("#")[0] + "#q=q0004")
    page.locator("#query").wait_for()
    assert page.locator("#query").evaluate("(dialog) => dialog.scrollWidth") <= 390


def test_ten_thousand_queries_are_usable(opened: Opened) -> None:
    """The page holds a screenful of rows and a few paths; dots that are near each other are one.

    A query whose rankings are left out says how to see them, in a command that a shell takes as it is.
    """
    document = sample(10_000, hits=3, snippet=40)
    document["queries"][9_998]["id"] = odd = "it's $(odd) </code>"
    page = opened(document)
    assert page.locator("#queries tbody tr").count() == 25
    assert page.locator("*").count() < 3000
    assert _status(page) == "1 to 25 of 10,000 queries"
    assert page.locator(".dot").count() < 60
    drawn = page.locator(".dot").evaluate_all(
        "(all) => all.reduce((sum, one) => sum + one.getAttribute('d').split('M').length - 1, 0)"
    )
    assert 300 < drawn < 2500
    page.get_by_role("button", name="Next page").click()
    assert _status(page) == "26 to 50 of 10,000 queries"
    ends = page.locator(".plot .tick").evaluate_all("(all) => all.map((one) => one.getBBox().x)")
    assert min(ends) >= 0  # no number of an axis is cut off
    assert "The page holds the rankings of 5,000 queries" in page.locator("#queries .caption").inner_text()
    page.locator("#search").fill(odd)
    page.locator("#queries tbody button").first.click()
    assert page.locator("#query-title").inner_text() == document["queries"][9_998]["text"]
    assert page.locator("#query code").inner_text() == "karat show RUN 'it'\\''s $(odd) </code>'"
    assert page.locator("#query h3").count() == 0


def test_first_run_shows_what_it_can(opened: Opened) -> None:
    """Without a baseline nothing pretends to be compared, and the rest is there."""
    page = opened(without_baseline(sample()))
    assert "There is no baseline to compare with yet" in page.locator("#compared").inner_text()
    assert "no baseline to compare with" in page.locator(".card").first.inner_text()
    assert page.locator(".dots").count() == 0
    assert page.locator("#queries thead th").all_inner_texts() == ["Query", "Candidate", "Segment", "Time"]
    assert page.locator("#queries th[aria-sort=ascending]").inner_text() == "Candidate"
    page.locator("#queries tbody button").first.click()
    assert page.locator(".rankings").count() == 0


def test_run_of_nothing_is_a_page_too(opened: Opened) -> None:
    """Where no query was asked there is nothing to draw, and nothing breaks."""
    page = opened(conclude(sample() | {"queries": [], "measures": [], "passages": {}, "checks": []}))
    assert page.locator(".lead").inner_text() == "The policy has no rule, so nothing was checked."
    assert _status(page) == "No query matches."
    assert "No query failed." in page.locator("#failures").inner_text()


def test_drawings_have_text_alternatives(opened: Opened) -> None:
    """Every drawing says in words what is to be seen; slow systems are told in seconds and minutes."""
    document = sample()
    document["latency"]["stages"]["total"] |= {"p95": 42_000.0, "p99": 4_281_900.1}
    page = opened(document, fragment="#q=q0004")
    page.locator("#latency svg").wait_for(state="attached")
    labels = page.locator("svg").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
    assert len(labels) > 6
    assert all(len(text) > 10 for text in labels)
    assert any("p50 18.0\u00a0ms, p95 42.0\u00a0s, p99 71.4\u00a0min" in text for text in labels)


def test_page_prints(opened: Opened) -> None:
    """On paper all is unfolded and white, nothing is cut off, and what can only be pressed is left out."""
    page = opened(sample(), color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 29, 33)"
    assert not page.locator(".theme, .filters, .more").locator("visible=true").count()
    assert page.locator("main section").locator("visible=true").count() == page.locator("main section").count()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.evaluate("openQuery(4)")
    assert not page.locator("main").is_visible()
    assert page.locator(".rankings").is_visible()


def test_verdict_needs_no_script(opened: Opened) -> None:
    """Where JavaScript is off there are the verdict, the reasons and what was run, and a word on the rest."""
    page = opened(sample(), java_script_enabled=False)
    assert page.locator("h1").inner_text().split() == ["✗", "Fail"]
    assert "0.1 is below 0.5" in page.locator("#checks").inner_text()
    assert "need JavaScript" in page.locator("main").inner_text()
    assert page.locator("#about summary").count() == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_axe_finds_no_violation(opened: Opened, scheme: str, width: int) -> None:
    """The rules of axe-core hold in both colours, on a phone and a desk, for the page and for a query."""
    from axe_playwright_python.sync_playwright import Axe

    viewport = {"width": width, "height": 900}
    page = opened(sample(), color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
    page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
    page.locator("#latency svg").wait_for()
    for place in ("the page", "a query"):
        results = Axe().run(page)
        assert results.violations_count == 0, f"{place}: {results.generate_report()}"
        assert len(results.response["passes"]) > 10
        page.evaluate("openQuery(4)")
