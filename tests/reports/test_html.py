"""The HTML report as text: nothing of the document is markup, nothing is loaded, and it stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.reports import render_html
from reports.report_samples import ATTACK, sample, without_baseline

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, and the text up to the next tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.elements[-1][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name == tag]

    @property
    def data(self) -> Any:
        return json.loads(next(text for attributes, text in self.all("script") if attributes.get("id") == "data"))


def test_verdict_and_its_reasons_are_in_the_page_without_any_script() -> None:
    """The verdict, the counts and the failing checks are markup, the failing ones only."""
    page = Page(render_html(sample()))
    assert [text for _, text in page.all("span")] == ["✗"]
    assert re.search(r"</span>\s+Fail</h1>", render_html(sample()))
    assert page.all("title") == [({}, "Fail: bm25 on hotel")]
    assert [text for _, text in page.all("li")] == ["✗ fail: ", "✗ fail: "]
    assert "3 checks of policy default: 2 fail, 1 pass. Exit code 1." in render_html(sample())


def test_no_content_becomes_markup() -> None:
    """A document with a script in queries, snippets, caveats and reasons adds no element to the page."""
    plain = json.loads(json.dumps(sample()).replace(json.dumps(ATTACK)[1:-1], "harmless"))
    tags = [tag for tag, _, _ in Page(render_html(sample())).elements]
    assert tags == [tag for tag, _, _ in Page(render_html(plain)).elements]
    assert tags.count("script") == 2
    assert "img" not in tags


def test_data_says_what_the_document_says() -> None:
    """Text travels unchanged, however hostile; hits, scores and expectations keep their numbers."""
    document = sample()
    data = Page(render_html(document)).data
    query = document["queries"][0]
    assert data["queries"][0]["text"] == query["text"]
    assert data["queries"][0]["scores"] == list(query["scores"].values())
    passage, place, score, grade, was, dense, lexical = data["queries"][0]["hits"][2]
    assert data["passages"][passage][0] == "d0-3:chunk:0"
    assert data["documents"][place] == ["d0-3", "Title d0-3"]
    assert (score, grade, was, dense, lexical) == (0.3333, 3, 8, 4, 3)
    assert data["queries"][0]["expected"] == [[place, 3, 3]]
    assert data["queries"][1]["scores"] == [None, None]


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_survives(text: str) -> None:
    """Every string comes back from the page as it went in, lone surrogates and line separators too."""
    document = sample(4, hits=1, snippet=20)
    document["queries"][3]["text"] = text
    document["run"]["name"] = text
    page = render_html(document)
    page.encode()
    assert Page(page).data["queries"][3]["text"] == text
    assert not re.search("[<>&\u2028\u2029]", page.split('id="data">')[1].split("</script>")[0])


def test_policy_allows_only_the_page_s_own_script_and_style() -> None:
    """The policy names the hashes of what is inlined, and nothing else may run, load or be sent."""
    page = Page(render_html(sample()))
    policy = next(a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    script = next(text for attributes, text in page.all("script") if not attributes)
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "img-src": "data:",
        "script-src": _hash(script), "style-src": _hash(page.all("style")[0][1]),
    }  # fmt: skip


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_nothing_is_loaded_from_outside() -> None:
    """No element refers to an address, the style imports none, and the script knows only the name of SVG."""
    page = Page(render_html(sample()))
    addresses = [a[key] for _, a, _ in page.elements for key in ("src", "href", "action", "srcset") if key in a]
    assert addresses == ["data:,"]
    assert "url(" not in page.all("style")[0][1]
    assert "@import" not in page.all("style")[0][1]
    script = next(text for attributes, text in page.all("script") if not attributes)
    assert re.findall(r"https?://[^\"\s]+", script) == ["http://www.w3.org/2000/svg"]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\bfetch\(", script
    )


@pytest.mark.parametrize("text", ["a word in English ", "早餐多少钱一位客人"])
def test_three_hundred_queries_stay_below_two_megabytes(text: str) -> None:
    """Where every hit is another passage, in scripts of one byte or three, the page is small enough to mail."""
    document = sample(300)
    for passage in document["passages"].values():
        passage["snippet"] = (text * 40)[:300]
    assert len(render_html(document).encode()) < 2_000_000


def test_snippets_are_whole_where_there_is_room() -> None:
    """Only a report that would grow too large shortens its snippets, and shows that it did."""
    few, many = sample(3), sample(1500, hits=4)
    assert [text for _, text in Page(render_html(few)).data["passages"]] == [
        passage["snippet"] for passage in few["passages"].values()
    ]
    assert {len(text) for _, text in Page(render_html(many)).data["passages"]} == {160}
    assert all(text.endswith("…") for _, text in Page(render_html(many)).data["passages"])


def test_same_document_same_bytes() -> None:
    """Rendering twice gives the same page, and leaves the document as it was."""
    document = sample()
    before = json.dumps(document)
    assert render_html(document) == render_html(json.loads(before))
    assert json.dumps(document) == before


def test_first_run_has_no_baseline() -> None:
    """Without a baseline the page says so."""
    page = render_html(without_baseline(sample()))
    assert "no baseline" in page
    assert Page(page).data["baseline"] is None


def test_only_the_first_hits_are_carried() -> None:
    """Of a deep ranking twenty hits are shown, and the page knows how many there were."""
    query = Page(render_html(sample(4, hits=30))).data["queries"][0]
    assert (len(query["hits"]), query["found"]) == (20, 30)


def test_wheel_carries_the_assets(tmp_path: Path) -> None:
    """What a user installs has the style and the scripts."""
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    names = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("karat/reports/assets/")}
    assert names == {"dom.js", "plots.js", "query.js", "table.js", "report.js", "report.css"}
