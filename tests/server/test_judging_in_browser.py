"""Judging in a real browser: by keyboard, by two people at once, with a server that is killed in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsers import browser as browser
from karat import golden
from karat.core import Judgment, Target
from karat.labelling import measure_labels, open_desk, propose_wording
from karat.server import Tokens
from labelling.rooms import add_queue, ana_says, bo_says, make_golden, make_project, say

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = ("judge", "judge?queue=first&who=ana", "judge/agreement", "golden", "golden/q1", "proposals", "proposals/1")
SAYS = {"ana": ana_says, "bo": bo_says}
ASKED = (
    "() => { const f = document.getElementById('judge')?.elements;"
    "return f ? [f.query.value, f.document.value, f.key.value] : null }"
)
AT_ONCE = "const own = setTimeout; window.setTimeout = (act, time) => own(act, time === 400 ? 0 : time)"
"""Keys count as soon as a pair appears, as for somebody who reads in no time."""
NEXT = "key => { const f = document.getElementById('judge'); return !f || f.elements.key.value !== key }"


@contextmanager
def serving(folder: Path, port: int = 0, options: tuple[str, ...] = ()) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server process of its own; yields it and its port."""
    command = [sys.executable, "-m", "karat", "serve", str(folder), "--port", str(port), "--json", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert process.stdout is not None
        lines = ""
        while not lines or lines.count("{") != lines.count("}"):
            lines += process.stdout.readline()
        yield process, int(json.loads(lines)["address"].rstrip("/").rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()  # waits, and closes the pipe


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two hundred pairs, half of which two people label."""
    folder = make_project(tmp_path / "p", make_golden(queries=20, documents=11))
    add_queue(open_desk(folder), overlap=0.5)
    return folder


def watch(page: Page, origin: str) -> list[str]:
    """Note what goes wrong on a page, which may take its time: errors of scripts, and requests to elsewhere."""
    page.set_default_timeout(600_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith((origin, "data:")) else faults.append(request.url)
    )
    return faults


def press(page: Page, who: str) -> bool:
    """Let a person answer the pair that is shown, without waiting; return whether there is one."""
    pair = page.evaluate(ASKED)
    if pair is None:
        return False
    page.wait_for_selector("main[data-ready]")
    page.keyboard.press(str(SAYS[who](pair[0], pair[1])))
    return True


def answer(page: Page, key: str) -> None:
    """Press a key once keys count."""
    page.wait_for_selector("main[data-ready]")
    page.keyboard.press(key)


def settle(page: Page, key: str) -> None:
    page.wait_for_function(NEXT, arg=key)


def find_axe_faults(page: Page) -> list[Any]:
    from axe_playwright_python.sync_playwright import Axe

    return [(own["id"], own["nodes"][0]["html"]) for own in Axe().run(page).response["violations"]]


@pytest.mark.slow(60)
def test_two_people_judge_by_keyboard_and_a_killed_server_loses_nothing(browser: Browser, project: Path) -> None:
    """All labels are in the files once, as they were given, and the agreement is that of the files."""
    with serving(project) as (first, port):
        origin = f"http://127.0.0.1:{port}/"
        pages = {who: browser.new_context().new_page() for who in SAYS}
        faults = {who: watch(page, origin) for who, page in pages.items()}
        for who, page in pages.items():
            page.add_init_script(AT_ONCE)
            page.goto(f"{origin}judge?queue=first&who={who}")
        given = _judge(pages, most=120)
        first.kill()
        first.wait()
        pending = {who: page.evaluate(ASKED) for who, page in pages.items()}
        for who, page in pages.items():
            press(page, who)
            page.wait_for_function("() => document.getElementById('told').textContent.startsWith('Not saved yet')")
    with serving(project, port):
        for who, page in pages.items():
            settle(page, pending[who][2])
        given += len(pages) + _judge(pages)
        assert all("Nothing is left for you here" in page.inner_text("main") for page in pages.values())
        pages["ana"].goto(f"{origin}judge/agreement")
        shown = pages["ana"].inner_text("main")
    desk = open_desk(project)
    labels = {who: dict(desk.book.labels_of(who)) for who in SAYS if desk.open_queue("first")}
    for who, own in labels.items():
        assert {pair: line.grade for pair, line in own.items()} == {pair: SAYS[who](*pair) for pair in own}
    assert {pair for own in labels.values() for pair in own} == _list_pairs()
    files = sorted((desk.folder / "people").glob("*.jsonl"))
    assert sum(len(file.read_text().splitlines()) - 1 for file in files) == given == sum(map(len, labels.values()))
    agreement = measure_labels(desk)
    theirs = golden.agreement(
        Judgment(query=query, target=Target(document=document), grade=line.grade or 0, annotator=who)
        for who, own in labels.items()
        for (query, document), line in own.items()
    )
    assert theirs is not None
    assert agreement.alpha.value == pytest.approx(theirs.alpha)
    assert f"{agreement.alpha.value:.3f}" in shown
    assert f"of {theirs.pairs} pairs" in shown
    assert all(line.seconds is not None for own in labels.values() for line in own.values())
    assert [fault for own in faults.values() for fault in own] == []


def _list_pairs() -> set[tuple[str, str]]:
    return {(f"q{query}", f"d{document}") for query in range(20) for document in range(1, 11)}


def _judge(pages: dict[str, Page], most: int = 10**6) -> int:
    """Let both people answer in turn, each without waiting for the other; return how many labels that were."""
    count = 0
    while count < most:
        shown = {who: page.evaluate(ASKED) for who, page in pages.items()}
        if not any(shown.values()):
            break
        for who, page in pages.items():
            count += press(page, who)
        for who, page in pages.items():
            if shown[who]:
                settle(page, shown[who][2])
    return count


@pytest.mark.slow(20)
def test_keys_spans_notes_and_undo(browser: Browser, project: Path) -> None:
    """A selection is the span, n opens the note, u takes back, c and s answer; nothing needs a mouse but the span."""
    with serving(project) as (_, port):
        page = browser.new_page()
        page.set_default_timeout(600_000)
        page.goto(f"http://127.0.0.1:{port}/judge?queue=first&who=ana")
        query, document, key = page.evaluate(ASKED)
        page.evaluate(
            "() => { const t = document.getElementById('text').firstChild; const r = document.createRange();"
            "const at = t.data.indexOf('café'); r.setStart(t, at); r.setEnd(t, at + 4);"
            "getSelection().removeAllRanges(); getSelection().addRange(r); }"
        )
        page.wait_for_function("() => !document.getElementById('chosen').hidden")
        page.keyboard.press("n")
        page.keyboard.type("1 note u s c")
        page.keyboard.press("Escape")
        answer(page, "3")
        settle(page, key)
        assert "Saved: 3 " in page.inner_text("#told")
        for letter in "cs":
            key = page.evaluate(ASKED)[2]
            answer(page, letter)
            settle(page, key)
        key, before = page.evaluate(ASKED)[2], page.evaluate(ASKED)[:2]
        answer(page, "u")
        settle(page, key)
        assert page.evaluate(ASKED)[:2] != before
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.evaluate(  # as fast as no person: the focus has not left the dialog yet
            "button = document.activeElement; keys.close();"
            "button.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', bubbles: true }))"
        )
        assert page.locator("textarea[name=note]:focus").count() == 1
    lines = [json.loads(line) for line in (project / "labels/people/ana.jsonl").read_text().splitlines()[1:]]
    first = lines[0]
    assert (first["query"], first["document"], first["grade"], first["note"]) == (query, document, 3, "1 note u s c")
    text = open_desk(project).golden.document_by_id[document].text.encode()
    assert text[slice(*first["span"])].decode() == "café"
    assert [line.get("verdict", "grade") for line in lines] == ["grade", "cannot_tell", "skip", "undo"]


@pytest.mark.slow(10)
def test_words_can_be_removed_and_going_to_a_page_skips_nothing(browser: Browser, project: Path) -> None:
    """Words selected by mistake do not become evidence; s after g leads to the golden set, and answers nothing."""
    with serving(project) as (_, port):
        page = browser.new_page()
        page.set_default_timeout(600_000)
        page.goto(f"http://127.0.0.1:{port}/judge?queue=first&who=ana")
        key = page.evaluate(ASKED)[2]
        page.evaluate("getSelection().selectAllChildren(document.getElementById('text'))")
        page.wait_for_function("() => !document.getElementById('chosen').hidden")
        page.click("#chosen button")
        assert not page.is_visible("#chosen")
        answer(page, "3")
        settle(page, key)
        page.wait_for_selector("main[data-ready]")
        page.keyboard.press("g")
        page.keyboard.press("s")
        page.wait_for_url("**/golden")
    [line] = (project / "labels/people/ana.jsonl").read_text().splitlines()[1:]
    assert (json.loads(line)["grade"], json.loads(line).get("span")) == (3, None)


@pytest.mark.slow(10)
def test_nothing_counts_before_somebody_can_have_looked(browser: Browser, project: Path) -> None:
    """A key that bounces and a second click do not grade the next pair; Enter among the words sends no grade either."""
    with serving(project) as (_, port):
        page = browser.new_page()
        watch(page, origin := f"http://127.0.0.1:{port}")
        page.add_init_script(
            "const own = setTimeout;window.setTimeout = (act, time) => time === 400 ? (ready = act, 0) : own(act, time)"
        )
        page.goto(f"{origin}/judge?queue=first&who=ana")
        first = page.evaluate(ASKED)
        page.keyboard.press("0")
        page.click("[data-answer='1']")
        assert "did not count" in page.inner_text("#told")
        page.evaluate("ready()")
        page.click("details.more summary")
        page.focus("[name=quote]")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.wait_for_function(NEXT, arg=first[2])
        assert "Saved: 2 " in page.inner_text("#told")
        page.keyboard.press("2")
        assert "did not count" in page.inner_text("#told")
        page.close()
    (saved,) = (json.loads(line) for line in (project / "labels/people/ana.jsonl").read_text().splitlines()[1:])
    assert (saved["query"], saved["document"], saved["grade"]) == (first[0], first[1], 2)


@pytest.mark.slow(30)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_pages_pass_axe_and_fit(browser: Browser, project: Path, scheme: Any, width: int) -> None:
    """In both colours, on a desk and on a phone: no violation, no error of a script, and nothing that sticks out."""
    desk = open_desk(project)
    for who, says in SAYS.items():
        for query, document in sorted(_list_pairs())[:60]:
            say(desk, who, query, document, says(query, document))
    propose_wording(desk, "q1", text="When may I come in?", by="ana", reason="as people ask")
    with serving(project) as (_, port):
        origin = f"http://127.0.0.1:{port}/"
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        page = context.new_page()
        page.route("**/events", lambda route: route.fulfill(status=204))  # nothing is replaced while axe looks
        faults = watch(page, origin)
        for name in PAGES:
            page.goto(origin + name)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            if width > 1000 or name in ("judge?queue=first&who=ana", "proposals/1"):
                assert find_axe_faults(page) == [], name
        assert faults == []


@pytest.mark.slow(10)
def test_notes_and_chosen_words_stay_with_their_pair(project: Path, browser: Browser) -> None:
    """When the page is loaded again, and when the label is taken back."""
    with serving(project) as (_, port):
        page = browser.new_page()
        faults = watch(page, origin := f"http://127.0.0.1:{port}")
        page.goto(f"{origin}/judge?queue=first&who=ana")
        page.keyboard.press("n")
        page.keyboard.type("not sure")
        page.keyboard.press("Escape")
        page.evaluate("() => getSelection().selectAllChildren(document.getElementById('text'))")
        page.wait_for_selector("#chosen:not([hidden])")
        end = page.input_value("#judge [name=end]")
        pair = page.evaluate(ASKED)
        page.reload()
        assert (page.input_value("[name=note]"), page.input_value("#judge [name=end]")) == ("not sure", end)
        assert page.locator("#chosen").is_visible()
        key = page.evaluate(ASKED)[2]
        answer(page, "2")
        page.wait_for_function(NEXT, arg=key)
        assert page.input_value("[name=note]") == ""
        key = page.evaluate(ASKED)[2]
        answer(page, "u")
        page.wait_for_function(NEXT, arg=key)
        assert page.evaluate(ASKED)[:2] == pair[:2]
        assert (page.input_value("[name=note]"), page.input_value("#judge [name=end]")) == ("not sure", end)
        page.close()
    assert faults == []


@pytest.mark.slow(10)
def test_who_signs_in_again_after_a_new_start_has_the_label_sent(project: Path, browser: Browser) -> None:
    """The server was killed, and the sessions with it: the label is kept, and sent when its person is back."""
    token = Tokens(project).add("Ana", "annotator")
    context = browser.new_context()
    page = context.new_page()
    with serving(project, options=("--with-tokens",)) as (_, port):
        watch(page, origin := f"http://127.0.0.1:{port}")
        page.goto(f"{origin}/judge?queue=first")
        page.fill("#token", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("#judge")
        pair = page.evaluate(ASKED)
        page.wait_for_selector("main[data-ready]")
    answer(page, "2")
    page.wait_for_function("() => document.getElementById('told').textContent.startsWith('Not saved yet')")
    with serving(project, port, options=("--with-tokens",)):
        link = page.locator("#told a")
        link.wait_for()
        assert "sent by itself" in page.inner_text("#told")
        other = context.new_page()
        other.goto(origin + (link.get_attribute("href") or ""))
        other.fill("#token", token)
        other.keyboard.press("Enter")
        other.wait_for_selector("#judge")
        page.bring_to_front()
        page.wait_for_function(NEXT, arg=pair[2])
        assert "Saved: 2 " in page.inner_text("#told")
        assert "trouble" not in (page.get_attribute("#told", "class") or "")
        context.close()
    (saved,) = (json.loads(line) for line in (project / "labels/people/Ana.jsonl").read_text().splitlines()[1:])
    assert [saved["query"], saved["document"], saved["key"]] == pair


@pytest.mark.slow(10)
def test_a_label_is_not_sent_as_somebody_else(project: Path, browser: Browser) -> None:
    """Whoever signs in meanwhile in the same browser did not give it."""
    tokens = {name: Tokens(project).add(name, "annotator") for name in ("Ana", "Ben")}
    with serving(project, options=("--with-tokens",)) as (_, port):
        context = browser.new_context()
        page = context.new_page()
        watch(page, origin := f"http://127.0.0.1:{port}")
        page.goto(f"{origin}/judge?queue=first")
        page.fill("#token", tokens["Ana"])
        page.keyboard.press("Enter")
        page.wait_for_selector("#judge")
        context.clear_cookies()
        answer(page, "2")
        page.locator("#told a").wait_for()
        other = context.new_page()
        other.goto(f"{origin}/sign-in?next=/judge?queue=first")
        other.fill("#token", tokens["Ben"])
        other.keyboard.press("Enter")
        other.wait_for_selector("#judge")
        page.bring_to_front()
        page.wait_for_function("() => document.getElementById('told').textContent.includes('somebody else')")
        context.close()
    assert not list((project / "labels").glob("people/*.jsonl"))
