"""Every page in a browser, of a project whose texts attack: light, dark and on a phone, by keyboard, and live."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from browsers import FLAGS, find_chromium, find_cut_off
from cli.gate_project import accept, make_project, make_set
from karat.core import Document, Hit, Judgment, Provenance, Query, Target, Trace
from karat.golden import identify
from karat.index import Indexer
from karat.labelling import open_desk, propose_wording
from karat.pages import keep_traffic, link_session
from karat.runs import RunWriter
from karat.server import PAGES
from server.served import WORK, make_traffic, write_experiments, write_work
from server.test_server_faults import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

ATTACKS = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "<svg onload=document.title='owned'>",
    "</title></main><style>*{display:none}</style>",
    "\u202egnp.exe\u2066 {{ 7*7 }} %s ' or 1=1 --",
    "javascript:document.title='owned'",
)
KINDS = {
    "light": {"viewport": {"width": 1200, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 800}, "has_touch": True},
}
LOOKS = (("dark", 1200), ("light", 1200), ("light", 390))
"""Colours and widths: how a page looks depends on nothing else, so that it is loaded once for all of them."""


ODD, LONG = (quote(f"{ATTACKS[place]} {place}", safe="") for place in (0, 1))
"""A query with 10,000 hits, and one of a million letters."""
PATHS = {
    "overview": "/", "runs": "/runs", "run": "/runs/second", "comparison": "/compare?a=first&b=second",
    "rankings": f"/compare/{ODD}?a=first&b=second", "query": f"/queries/{ODD}", "golden": "/golden",
    "golden-query": f"/golden/{ODD}", "judge": "/judge", "agreement": "/judge/agreement", "proposals": "/proposals",
    "proposal": "/proposals/1", "trials": "/trials", "trial": "/trials/rerank",
    "confirm": "/confirm?feature=rerank&act=stop", "experiments": "/experiments", "live": "/live",
    "session": "", "work": "/jobs", "work-item": f"/jobs/{WORK}",
}  # fmt: skip
"""Where each page is in the hostile project: a new page has to be added, or the tests fail."""
MORE = ("/experiments?sweep=*", f"/runs?q={quote(ATTACKS[0])}", "/runs/second?show=errors")


def _make_hostile_project(folder: Path) -> None:
    queries = tuple(
        Query(id=f"{attack} {place}", text=f"{attack} {'long ' * (200_000 if place == 1 else 1)}", category=attack)
        for place, attack in enumerate(ATTACKS)
    )
    documents = tuple(Document(id=f"{attack} d", text=f"{attack} text", title=attack) for attack in ATTACKS)
    judgments = tuple(
        Judgment(query=query.id, target=Target(document=document.id), grade=1, annotator=ATTACKS[0])
        for query, document in zip(queries, documents, strict=True)
    )
    golden = make_project(
        folder, golden_set=make_set(0, name="odd", queries=queries, documents=documents, judgments=judgments)
    )
    for number, name in enumerate(("first", "second")):
        provenance = Provenance(
            name=ATTACKS[number],
            golden=identify(golden),
            system={"kind": ATTACKS[2]},
            fingerprint="sha256:0",
            settings={"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0},
        )
        with RunWriter(folder / "runs" / f"{name}.jsonl", provenance) as writer:
            for place, query in enumerate(queries):
                ids = [documents[(place + number) % len(documents)].id]
                ids += [f"{ATTACKS[0]} {rank}" for rank in range(10_000 if place == 0 else 3)]
                hits = tuple(Hit(id_, float(len(ids) - rank), id_) for rank, id_ in enumerate(ids))
                error = ATTACKS[1] if number and place == 5 else ""
                writer.write(Trace(query=query.id, text=query.text, hits=() if error else hits, error=error))
    accept(folder, folder / "runs" / "first.jsonl")
    make_traffic(folder, texts=ATTACKS, name=ATTACKS[0])
    write_experiments(folder, ATTACKS[1])
    propose_wording(open_desk(folder), queries[0].id, paraphrase=f"{ATTACKS[2]} so?", by=ATTACKS[5], reason=ATTACKS[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    _make_hostile_project(folder)
    write_work(folder, ATTACKS[0])
    indexer = Indexer(folder)
    indexer.update()
    keep_traffic(indexer, "", "")
    indexer.compare("first", "second", bounds=True)
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """The address of a server of its own."""
    command = [sys.executable, "-m", "karat", "serve", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"].rstrip("/")
        process.terminate()
        assert process.wait(600) == 0


def _open(
    browser: Browser, address: str, path: str, said: list[str], *, is_live: bool = True, **options: object
) -> Page:
    """Open a page, and note what it says and asks for elsewhere; one that is not live stays as it is."""
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(600_000)
    if not is_live:
        page.route("**/events", lambda route: route.fulfill(status=204))  # a stream that has ended for good
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
    if not is_live:
        page.on("request", lambda request, urls=set(): _note_twice(request.url, urls, said))
    page.on(
        "request",
        lambda request: None if request.url.startswith((address, "data:", "blob:")) else said.append(request.url),
    )
    page.goto(address + path)
    return page


def _note_twice(url: str, urls: set[str], said: list[str]) -> None:
    if url in urls:
        said.append(f"{url} is loaded twice")
    urls.add(url)


def _read(address: str, path: str) -> Any:
    """Return the document of a page, as soon as it is computed: another test may have removed the index."""
    for _ in range(2400):
        with urllib.request.urlopen(address + path, timeout=600) as answer:
            if answer.status == 200:
                return json.load(answer)
        time.sleep(0.25)
    raise AssertionError(path)


def _find_session(address: str) -> str:
    line = _read(address, "/live.json")["traffic"]["sessions"][-1]
    return link_session(line["key"], line["at"])


@pytest.mark.slow(5)
def test_what_is_computed_appears_by_itself(browser: Browser, address: str) -> None:
    """A comparison that nobody asked for before: the page is seen at once, and its content and bounds come later."""
    said: list[str] = []
    page = _open(browser, address, "/compare?a=second&b=first", said)
    page.get_by_role("heading", name="What moved").wait_for()
    page.get_by_text("being computed").first.wait_for(state="detached")
    assert "A and B" not in page.title()
    assert page.locator("td", has_text="not judged").count() > 0
    assert not said


@pytest.mark.slow(40)
def test_every_page_is_whole_and_accessible(browser: Browser, address: str) -> None:
    """Nothing of the content acts, or is asked for elsewhere or twice; nothing is cut off, and axe is content."""
    from axe_playwright_python.sync_playwright import Axe

    axe, paths = Axe(), PATHS | {"session": _find_session(address)}
    _read(address, "/compare.json?a=first&b=second")
    still: dict[str, object] = {"reduced_motion": "reduce"}  # or axe would look while colours change
    for path in (*(paths[page.name] for page in PAGES), f"/queries/{LONG}", f"/golden/{LONG}", *MORE, "/nothing"):
        said: list[str] = []
        page = _open(browser, address, path, said, is_live=False, color_scheme="dark", **still, **KINDS["light"])
        assert page.title() != "owned"
        assert len(page.content()) < 300_000, path
        page.evaluate(axe.axe_script)
        for scheme, width in LOOKS:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 800})
            assert page.locator("main").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert find_cut_off(page) == [], (path, width)
            violations = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
            faults = [(entry["id"], entry["nodes"][0]["html"][:200]) for entry in violations]
            assert faults == [], (path, scheme, width)
        page.context.close()
        assert [text for text in said if "404" not in text or path != "/nothing"] == [], path


@pytest.mark.slow(10)
def test_keys_lead_around(browser: Browser, address: str) -> None:
    """j and Enter open a run, j on rankings leads to the next query, and ? shows the keys."""
    said: list[str] = []
    page = _open(browser, address, "/runs", said, **KINDS["light"])
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.locator("#keys").wait_for(state="hidden")
    page.keyboard.press("j")
    page.locator("[data-row].lit a:focus").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    page.goto(f"{address}/compare?a=first&b=second")
    page.locator("[data-row] a").first.click()
    page.wait_for_url("**/compare/**")
    before = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != before)
    page.keyboard.press("k")
    page.wait_for_url(before)
    page.context.close()
    assert said == []


@pytest.mark.slow
def test_g_leads_to_a_page(browser: Browser, address: str) -> None:
    """g r goes to the runs; a while after g, r is a letter like others."""
    page = browser.new_page()
    page.clock.install(time=0)
    page.goto(address)
    page.clock.pause_at(3_600_000)  # or a slow machine would take longer than the while
    page.keyboard.press("g")
    page.clock.run_for(1_500)
    page.keyboard.press("r")
    page.keyboard.press("g")
    assert page.url == f"{address}/"
    page.keyboard.press("r")
    page.wait_for_url("**/runs")
    page.close()


@pytest.mark.slow
def test_a_key_after_a_dialog_acts(browser: Browser, address: str) -> None:
    """A browser moves the focus out of a closed dialog only at the next frame: a key before that is not typed there."""
    page = _open(browser, address, "/runs", [], **KINDS["light"])
    for close in ("", "keys.close();", "button.click();"):
        page.evaluate(
            f"keys.showModal(); button = document.activeElement; {close}"
            "button.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));"
        )
        assert page.locator("[data-row].lit a:focus").count() == bool(close), close  # open, it takes the keys itself
        page.reload()
    page.context.close()


def _change_runs(route: Route) -> None:
    """Answer with a page of runs that has a link to the second run above its table, and one more run."""
    answer = route.fetch()
    text = answer.text().replace('<p role="status"', '<p><a href="/runs/second">the best</a></p><p role="status"')
    text = text.replace("<tbody>", '<tbody><tr data-row><th><a href="/runs/newest">newest</a></th></tr>')
    route.fulfill(response=answer, body=text)


@pytest.mark.slow
def test_a_live_page_keeps_what_people_do(browser: Browser, address: str) -> None:
    """New content has the focus in the row that was lit, and what was chosen; a change is never lost, only put off."""
    page = _open(browser, address, "/runs", [], is_live=False, **KINDS["light"])  # only the test says what has changed
    page.evaluate("light(rows().findIndex((row) => row.dataset.href === '/runs/second'))")
    chosen = "Object.fromEntries(new FormData(document.getElementById('choose')))"
    before = page.evaluate(chosen)
    page.keyboard.press("x")
    assert page.evaluate(chosen) != before
    before = page.evaluate(chosen)
    page.route("**/runs", _change_runs)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.evaluate("Promise.all([refresh(), refresh()])")
    assert len(urls) == 2  # the second change came while the first answer was on its way
    assert page.locator("[data-row]").count() == 3
    assert page.locator("[data-row].lit[data-href='/runs/second'] a:focus").count() == 1
    assert page.evaluate(chosen) == before
    page.unroute("**/runs")
    page.locator("[data-search]").focus()
    page.evaluate("refresh()")
    assert page.locator("[data-row]").count() == 3
    page.evaluate("document.activeElement.blur()")
    page.locator("[data-row]").nth(2).wait_for(state="detached")
    page.context.close()


def _wait_for_runs(address: str, count: int) -> None:
    """Wait until the index has so many runs, and is not behind."""
    for _ in range(2400):
        page = _read(address, "/runs.json")
        if (len(page["runs"]), page["index"]["waiting"]) == (count, 0):
            return
        time.sleep(0.25)
    raise AssertionError(page["index"])


@pytest.mark.slow(10)
def test_a_finished_run_appears_by_itself(browser: Browser, address: str, folder: Path) -> None:
    """Without a reload; and the index may be removed meanwhile, after which all of it comes back."""
    said: list[str] = []
    page = _open(browser, address, "/runs", said, **KINDS["light"])
    assert page.locator("[data-row]").count() == 2
    shutil.copy(folder / "runs" / "first.jsonl", folder / "third.tmp")
    (folder / "third.tmp").rename(folder / "runs" / "third.jsonl")
    page.locator("[data-row]").nth(2).wait_for()
    for file in (folder / ".karat").glob("index.db*"):
        file.unlink()
    _wait_for_runs(address, 3)
    (folder / "runs" / "third.jsonl").unlink()
    _wait_for_runs(address, 2)
    page.context.close()
    assert said == []


@pytest.mark.slow
def test_a_tab_that_nobody_sees_does_not_listen(browser: Browser, address: str) -> None:
    """A browser has six connections to a server for all tabs; what was missed is asked for when one is seen again."""
    page = browser.new_context(**KINDS["light"]).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(600_000)
    with page.expect_request("**/events"), page.expect_worker() as listener:
        page.goto(f"{address}/runs")
    seen = "Object.defineProperty(document, 'hidden', { value: %s, configurable: true }); "
    seen += "document.dispatchEvent(new Event('visibilitychange'));"
    with listener.value.expect_event("close"):
        page.evaluate(seen % "true")
    with page.expect_request("**/events"), page.expect_response("**/runs"):
        page.evaluate(seen % "false")
    page.context.close()


@pytest.mark.slow(5)
def test_pages_of_a_new_project_fit_a_phone(browser: Browser, tmp_path: Path) -> None:
    """They teach, with commands and files that are longer than a line."""
    make_project(tmp_path)
    with serving(tmp_path) as (address, _):
        page = browser.new_context(**KINDS["phone"]).new_page()  # type: ignore[arg-type]
        for path in ("/", "/runs", "/live", "/trials", "/experiments", "/jobs"):
            page.goto(address + path)
            page.locator("[data-wait]").wait_for(state="detached")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.context.close()


@pytest.mark.slow
def test_moving_along_rows_leaves_a_wide_table_where_it_is(browser: Browser, address: str) -> None:
    """A row that is wider than its place must not move it sideways."""
    page = _open(browser, address, "/runs", [], is_live=False, **KINDS["phone"])
    place = page.locator(".scroll").first
    for _ in range(2):
        page.keyboard.press("j")
        assert place.evaluate("place => place.scrollLeft") == 0
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/judge"])
def test_a_page_is_done_with_loading(address: str, path: str, tmp_path: Path) -> None:
    """For a program that lets time pass only while nothing loads; a stream of the page's own never ends."""
    command = [find_chromium(), *FLAGS, "--headless", f"--user-data-dir={tmp_path}", "--virtual-time-budget=8000"]
    shown = subprocess.run(
        [*command, "--dump-dom", address + path], capture_output=True, text=True, timeout=600, check=True
    )
    assert "</main>" in shown.stdout


@pytest.mark.slow(10)
def test_a_trial_is_stopped_and_reopened_by_forms(browser: Browser, address: str) -> None:
    """By keyboard and without a script: no reason, no decision; then the trail has who and why."""
    said: list[str] = []
    page = _open(browser, address, "/trials/rerank", said, java_script_enabled=False, **KINDS["phone"])
    page.get_by_role("link", name="Stop the trial").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/confirm?**")
    page.get_by_label("Who are you?").fill("Ada")
    page.get_by_role("button", name="Stop the trial").click()
    assert "/confirm" in page.url  # the reason is required
    page.get_by_label("Why").fill(ATTACKS[0])
    page.keyboard.press("Enter")
    page.wait_for_url("**/trials/rerank?number=1")
    assert page.locator("h1 .badge").inner_text().endswith("rejected")
    assert ATTACKS[0] in page.locator(".trail-list").first.inner_text()
    page.get_by_role("link", name="Reopen the trial").click()
    page.get_by_label("Who are you?").fill("Bo")
    page.get_by_label("Why").fill("too early")
    page.get_by_role("button", name="Reopen the trial").click()
    page.wait_for_url("**/trials/rerank?number=1")
    assert page.locator("h1 .badge").inner_text().endswith("running")
    assert page.title() != "owned"
    page.context.close()
    assert said == []


@pytest.mark.slow(10)
def test_pages_can_be_read_without_scripts(browser: Browser, address: str) -> None:
    """Links and forms do everything: filter, sort, choose two and compare."""
    page = _open(browser, address, "/runs", [], java_script_enabled=False, **KINDS["light"])
    page.locator("input[name=q]").fill("second")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/runs?q=second**")
    assert page.locator("[data-row]").count() == 1
    page.goto(f"{address}/runs?sort=title")
    page.get_by_role("button", name="Compare A with B").click()
    page.get_by_role(
        "heading", name="Which is better, and how sure"
    ).wait_for()  # the page loads again until it is computed
    page.context.close()


@pytest.mark.slow(20)
def test_every_picture_is_saved_as_png(browser: Browser, address: str) -> None:
    """At least one of each page that has pictures: as it is drawn, and twice as large."""
    paths = PATHS | {"session": _find_session(address), "live": "/live?span=all"}
    _read(address, "/compare.json?a=first&b=second")
    _read(address, "/live.json?span=all")
    for name in [page.name for page in PAGES if page.charts]:
        page = _open(browser, address, paths[name], said := [], **KINDS["light"])
        buttons = page.locator("figure[data-chart] button.png")
        buttons.first.wait_for()
        for place in range(buttons.count()):
            with page.expect_download() as waited:
                buttons.nth(place).click()
            data = waited.value.path().read_bytes()
            assert data[:8] == b"\x89PNG\r\n\x1a\n", name
            width, height = struct.unpack(">II", data[16:24])
            assert (width >= 500, height >= 100) == (True, True), (name, width, height)
            assert len(data) > 500, name
        page.context.close()
        assert said == [], name


@pytest.mark.slow(10)
def test_filters_are_in_the_address(browser: Browser, address: str) -> None:
    """/ leads to the search; what is chosen acts at once, and is there after a reload and after going back."""
    page = _open(browser, address, "/runs", said := [], **KINDS["light"])
    page.keyboard.press("/")
    page.keyboard.type("second")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs?q=second**")
    assert page.locator("[data-row]").count() == 1
    page.locator("select[name=outcome]").select_option("pass")
    page.wait_for_url("**outcome=pass**")
    assert page.locator("[data-row]").count() == 0
    page.reload()
    assert (page.locator("[name=outcome]").input_value(), page.locator("[name=q]").input_value()) == ("pass", "second")
    page.go_back()
    page.wait_for_url(lambda url: "outcome=pass" not in url)
    page.locator("select[name=outcome] option:checked[value='']").wait_for(state="attached")
    assert (page.locator("[name=outcome]").input_value(), page.locator("[name=q]").input_value()) == ("", "second")
    page.go_back()
    page.wait_for_url(f"{address}/runs")
    assert page.locator("[data-row]").count() == 2
    page.context.close()
    assert said == []
