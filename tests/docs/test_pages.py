"""The pages of the docs as a browser shows them: whole, from this disk alone, on a phone, and in the dark."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
WIDE = ("index", "gate", "golden-formats", "judge", "measures", "security", "trec_eval", "trial")
"""Pages with long lines of code, wide tables or pictures."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built once; mkdocs finds no broken link and no page outside the menu."""
    folder = tmp_path_factory.mktemp("pages") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr
    return folder


class _Assets(HTMLParser):
    """Collects what a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        loads = {"link": "href", "script": "src", "img": "src", "iframe": "src"}
        if tag in loads and attributes.get(loads[tag]) and attributes.get("rel") != "canonical":
            self.loaded.append(str(attributes[loads[tag]]))


@pytest.mark.slow
def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    """A browser needs no other host for them."""
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    for page in pages:
        assets = _Assets()
        text = page.read_text(encoding="utf-8")
        assert "```" not in text, f"{page.name}: a block that is none"
        assets.feed(text)
        assert assets.loaded
        assert [asset for asset in assets.loaded if re.match(r"(?:\w+:)?//", asset)] == [], page.name
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(?:@import\s+(?:url\()?|url\()\s*[\"']?(?:https?:)?//", text), sheet.name


@pytest.mark.slow
def test_no_page_is_wider_than_a_phone(site: Path, browser: Browser) -> None:
    """Tables and code scroll in their own boxes. Who likes it dark has it dark, with code to copy and in colours."""
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.set_default_timeout(600_000)
    for name in WIDE:
        page.goto((site / f"{name}.html").as_uri(), wait_until="domcontentloaded")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.goto((site / "gate.html").as_uri())
    assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"
    assert page.locator(".highlight span[class]").count() > 10
    page.locator(".md-code__button, .md-clipboard").first.wait_for(state="attached")
    page.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.slow
def test_search_finds_a_page_and_asks_nobody_else(site: Path, browser: Browser) -> None:
    """Browsers let no script read files of the disk, so that search needs a server; any will do."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}"
        page = browser.new_page(viewport={"width": 1280, "height": 844})
        page.set_default_timeout(600_000)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{home}/index.html")
        page.locator("input[data-md-component=search-query]").press_sequentially("westfall")  # it listens to keys
        page.locator(".md-search-result__item a[href*=westfall-young]").first.wait_for(state="attached")
        assert [url for url in requests if not url.startswith(home)] == []
        page.close()
        server.shutdown()
