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
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from karat.reports import render_html
from reports.documents import conclude, make_check, make_document, make_measure, typed
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
    """The verdict, what changed and every check with its reason are markup; only what passed is folded."""
    page = Page(render_html(typed(sample())))
    assert page.all("title") == [({}, "Fail: bm25 on hotel")]
    assert ({"class": "lead"}, "2 of 3 checks failed.") in page.all("p")
    assert [text for attributes, text in page.all("span") if attributes.get("class") == "why"] == [
        "0.1 is below 0.5", ATTACK, "ruled out",
    ]  # fmt: skip
    assert [attributes for attributes, _ in page.all("details")][:2] == [
        {"class": "fail", "open": None},
        {"class": "pass"},
    ]
    assert ({}, "chunk.size") in page.all("code")
    assert {"href": "#q=q0003"} in [attributes for attributes, _ in page.all("a")]


@each(
    ("outcome", "exit_code", "baseline", "said"),
    [
        ("pass", 0, {}, "All 2 checks passed. It may ship."),
        ("inconclusive", 0, {}, "It is not known whether RR@10 got worse by more than is tolerated. What would decide: "
         "more queries, or repeats."),
        ("inconclusive", 4, None, "There is no baseline yet, so it is not known whether RR@10 got worse. What would "
         "decide: a baseline."),
        ("fail", 1, None, "1 of 2 checks failed."),
    ],
)  # fmt: skip
def test_lead_says_what_was_proved(outcome: str, exit_code: int, baseline: dict[str, Any] | None, said: str) -> None:
    """The sentence under the verdict says why something is undecided, and never calls that a pass."""
    document = make_document(outcome=outcome)
    document["verdict"]["exit_code"] = exit_code
    document["checks"][1]["outcome"] = outcome
    if baseline is None:
        document["baseline"] = None
    assert [
        text for attributes, text in Page(render_html(typed(document))).all("p") if attributes.get("class") == "lead"
    ] == [said]


def test_a_floor_in_doubt_waits_for_no_baseline() -> None:
    """It needs labels or judgments: whether anything got worse is another question."""
    document = make_document(outcome="inconclusive") | {"baseline": None}
    document["checks"] = [{"metric": "Faithfulness", "kind": "min", "outcome": "inconclusive", "reason": "no labels"}]
    (lead,) = (
        text for attributes, text in Page(render_html(typed(document))).all("p") if attributes.get("class") == "lead"
    )
    assert "not known whether Faithfulness would keep the limit" in lead
    assert lead.endswith("What would decide: labels or judgments, as the checks say.")


def test_long_lists_of_checks_are_folded_not_lost() -> None:
    """Of thirty failures twelve are seen at once, and the others behind a line that counts them."""
    document = sample()
    document["checks"] = [
        {"metric": f"P@{n}", "kind": "min", "outcome": "fail", "reason": f"no {n}"} for n in range(30)
    ]
    page = Page(render_html(typed(document)))
    assert sum(attributes.get("class") == "why" for attributes, _ in page.all("span")) == 30
    assert "18 more" in [text for _, text in page.all("summary")]


def test_bounds_are_a_table_of_the_page() -> None:
    bounds = {"worst": 0.7, "best": 0.9, "exact": False, "unjudged": 12}
    page = Page(render_html(typed(make_document(measures=[make_measure(bounds=bounds)]))))
    assert "Unjudged documents" in [text for _, text in page.all("summary")]
    cells = [text for _, text in page.all("td")]
    assert cells[(start := cells.index("0.7000")) : start + 4] == ["0.7000", "0.7500", "up to 0.9000", "12"]


def test_no_content_becomes_markup() -> None:
    """A document with a script in queries, snippets, caveats and reasons adds no element to the page."""
    plain = json.loads(json.dumps(sample()).replace(json.dumps(ATTACK)[1:-1], "harmless"))
    tags = [tag for tag, _, _ in Page(render_html(typed(sample()))).elements]
    assert tags == [tag for tag, _, _ in Page(render_html(typed(plain))).elements]
    assert tags.count("script") == 3
    assert "img" not in tags


def test_data_says_what_the_document_says() -> None:
    """Text travels unchanged, however hostile; hits, scores and expectations keep their numbers."""
    document = sample()
    data = Page(render_html(typed(document))).data
    query = document["queries"][0]
    assert data["queries"][0]["text"] == query["text"]
    assert data["queries"][0]["scores"] == list(query["scores"].values())
    passage, place, score, grade, was, dense, lexical = data["queries"][0]["hits"][2]
    assert data["passages"][passage][0] == "d0-3:chunk:0"
    assert data["documents"][place] == ["d0-3", "Title d0-3"]
    assert (score, grade, was, dense, lexical) == (0.3333, 3, 8, 4, 3)
    assert data["queries"][0]["expected"] == [[place, 3, 3]]
    assert data["queries"][1]["scores"] == [None, None]
    assert {row["id"]: tuple(row["failure"]) for row in data["queries"] if row["failure"]} == {
        failure.query: failure.lines for failure in typed(document).failures
    }
    assert [row["id"] for row in data["queries"] if row["grave"]] == ["q0001", "q0003"]
    ids = [[data["queries"][place]["id"] for place in row["queries"]] for row in data["recommendations"]]
    assert ids == [row["queries"] for row in document["recommendations"]]


@each(
    ("status", "checks", "compared", "standing"),
    [
        ("PASS", ["min pass"], True, ["pass", "pass"]),
        ("FAIL", ["min fail"], True, ["fail", "fail"]),
        ("UNCHECKED", [], True, ["none", "no rule"]),
        ("INCONCLUSIVE", ["min pass", "non_inferior inconclusive"], False, ["inconclusive", "no baseline"]),
        ("INCONCLUSIVE", ["non_inferior inconclusive"], True, ["inconclusive", "inconclusive"]),
        ("DEGRADED", ["min pass", "max_drop_abs pass"], True, ["degraded", "fell, within tolerance"]),
        ("DEGRADED", ["non_inferior inconclusive"], True, ["inconclusive", "fell, inconclusive"]),
        ("DEGRADED", ["min pass"], True, ["degraded", "fell, no rule on it"]),
    ],
)
def test_card_does_not_call_a_pass_what_nothing_proved(
    status: str, checks: list[str], compared: bool, standing: list[str]
) -> None:
    """A card's words follow from the checks on its measure: without a baseline, a rule on its fall proves nothing."""
    rows = [make_check(*check.split()) for check in checks]
    document = make_document(measures=[make_measure(status=status)], checks=rows)
    document["baseline"] = document["baseline"] if compared else None
    assert Page(render_html(typed(document))).data["measures"][0]["standing"] == standing


@each(
    ("kind", "limit", "lower", "drawn"),
    [
        ("min", 0.4, False, (["min", 0.4], None)),
        ("max", 0.4, True, (["max", 0.4], None)),
        ("non_inferior", 0.02, False, (None, 0.78)),
        ("max_drop_rel", 0.1, False, (None, 0.72)),
        ("max_rise_abs", 0.1, True, (None, 0.9)),
    ],
)
def test_card_draws_the_limits_of_its_rules(kind: str, limit: float, lower: bool, drawn: tuple[Any, Any]) -> None:
    """A floor or ceiling, and how far the number may get worse than the baseline's 0.8, whichever way worse is."""
    document = make_document(measures=[make_measure(lower_is_better=lower)], checks=[make_check(kind, limit=limit)])
    measure = Page(render_html(typed(document))).data["measures"][0]
    assert (measure["limit"], measure["tolerated"]) == drawn


TURNS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NAMES = st.sampled_from(("__proto__", "constructor", "toString", "</script>", "\u2028", "")) | st.text(
    "ab<&é問", max_size=5
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.data())
def test_any_name_is_a_name(names: list[str], draw: st.DataObject) -> None:
    """Whatever measures, segments and stages are called, each number stays with its name."""
    numbers = {name: draw.draw(st.floats(0, 1).map(lambda value: round(value, 4))) for name in names}
    document = make_document(measures=[make_measure(name) for name in names])
    document["queries"][0] |= {"scores": numbers, "baseline": {}}
    document["segments"][0] |= {"field": names[0], "value": names[-1], "means": numbers, "baseline": None}
    stage = document["latency"]["stages"]["total"]
    document["latency"] |= {"stages": {name: stage | {"mean": value} for name, value in numbers.items()}}
    data = Page(render_html(typed(document))).data
    columns = [measure["name"] for measure in data["measures"]]
    assert dict(zip(columns, data["queries"][0]["scores"], strict=True)) == numbers
    assert dict(zip(columns, data["segments"][0]["means"], strict=True)) == numbers
    assert data["segments"][0]["baseline"] == [None] * len(names)
    assert {name: now["mean"] for name, now, _ in data["stages"]} == numbers
    assert all(
        not isinstance(value, dict) or value.keys() <= {"n", "mean", "p50", "p95", "p99"} for value in data.values()
    )


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_survives(text: str) -> None:
    """Every string comes back from the page as it went in, but for what is no character or turns the writing round."""
    document = sample(4, hits=1, snippet=20)
    document["queries"][3]["text"] = text
    document["run"]["name"] = text
    page = render_html(typed(document))
    page.encode()
    shown = Page(page).data["queries"][3]["text"]
    assert len(shown) == len(text)
    for character, given_ in zip(shown, text, strict=True):
        acts = category(given_) in ("Cc", "Cs") and given_ not in "\t\n\r"
        assert character == ("\ufffd" if acts or given_ in TURNS else given_)
    assert not set(TURNS) & set(page)
    assert not re.search("[<>&\u2028\u2029]", page.split('id="data">')[1].split("</script>")[0])


def test_policy_allows_only_the_page_s_own_script_and_style() -> None:
    """The policy names the hashes of what is inlined, and nothing else may run, load or be sent."""
    page = Page(render_html(typed(sample())))
    policy = next(a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = [_hash(text) for attributes, text in page.all("script") if not attributes]
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "img-src": "data:",
        "script-src": " ".join(scripts), "style-src": _hash(page.all("style")[0][1]),
    }  # fmt: skip


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_nothing_is_loaded_from_outside() -> None:
    """No element refers to an address, the style imports none, and the script knows only the name of SVG."""
    page = Page(render_html(typed(sample())))
    addresses = {a[key] for _, a, _ in page.elements for key in ("src", "href", "action", "srcset") if key in a}
    assert addresses == {"data:,", "#q=q0003"}
    assert "url(" not in page.all("style")[0][1]
    assert "@import" not in page.all("style")[0][1]
    script = "".join(text for attributes, text in page.all("script") if not attributes)
    assert re.findall(r"https?://[^\"\s]+", script) == ["http://www.w3.org/2000/svg"]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\bfetch\(", script
    )


def test_queries_that_returned_nothing_are_counted() -> None:
    """The head of the page says how many were asked, failed, and returned nothing although there is an answer."""
    document = sample()
    for query in document["queries"]:
        query["error"] = ""
    document["run"]["failed"] = 0
    first, second, third = document["queries"][:3]
    first["hits"], second["hits"], third["hits"] = [], [], []
    third["unanswerable"] = True  # nothing is what it should return
    page = Page(render_html(typed(conclude(document))))
    asked = f"{document['run']['queries']} queries, 0 failed, 2 returned nothing"
    assert asked in [text for _, text in page.all("dd")]


@pytest.mark.parametrize("text", ["a word in English ", "早餐多少钱一位客人"])
def test_three_hundred_queries_stay_below_two_megabytes(text: str) -> None:
    """Where every hit is another passage, in scripts of one byte or three, the page is small enough to mail."""
    document = sample(300)
    for passage in document["passages"].values():
        passage["snippet"] = (text * 40)[:300]
    assert len(render_html(typed(document)).encode()) < 2_000_000


@pytest.mark.slow
def test_snippets_are_whole_where_there_is_room() -> None:
    """Only a report that would grow too large shortens its snippets, and a cut one shows that it is."""
    few, many, cut = sample(3, snippet=200), sample(1500, hits=4), sample(3, snippet=300)
    assert [text for _, text in Page(render_html(typed(few))).data["passages"]] == [
        passage["snippet"] for passage in few["passages"].values()
    ]
    assert {len(text) for _, text in Page(render_html(typed(many))).data["passages"]} == {160}
    assert all(
        text.endswith("…")
        for document in (many, cut)
        for _, text in Page(render_html(typed(document))).data["passages"]
    )


@pytest.mark.slow
def test_of_very_many_queries_the_notable_ones_have_rankings() -> None:
    """Of 5,020 queries 5,000 have their rankings: failures, links, and the greatest losses and gains among them.

    The others are there with text, scores and why they failed, and the page knows the command that shows the rest.
    """
    document = sample(5_020, hits=1, snippet=8)
    for query in document["queries"][4:]:
        query["scores"] = query["baseline"] = {"nDCG@5": 0.5, "RR@10": 0.5}
        query["hits"][0]["grade"] = 3
    moved = [f"q{number}" for number in range(4_990, 5_020)]
    document["movers"] = [
        {"query": id_, "measure": "RR@10", "baseline": 0.5, "candidate": 0.1 + place / 20, "moved": []}
        for place, id_ in enumerate(moved)
    ]
    document["run"]["file"] = "run-1.jsonl"
    document["queries"][4_000]["text"] = ATTACK * 10
    data = Page(render_html(typed(conclude(document)))).data
    brief = {row[0]: row for row in data["queries"] if isinstance(row, list)}
    assert len(data["queries"]) == 5_020
    assert (len(brief), data["ranked"], data["run"], data["relevant"]) == (20, 5_000, "run-1.jsonl", 3)
    assert not brief.keys() & {"q0000", "q0001", "q0002", "q0003", *moved}
    assert list(brief) == [f"q{number}" for number in range(4_970, 4_990)]
    assert brief["q4970"][1:5] == [
        "what is the price of breakfast number 4970", [["category", "easy"]], [0.5, 0.5], [0.5, 0.5],
    ]  # fmt: skip
    shown = {hit[0] for row in data["queries"] if isinstance(row, dict) for hit in row["hits"]}
    assert shown == set(range(len(data["passages"]))) == set(range(4_999))  # one query got an error
    assert data["passages"][-1][0] == "d5019-1:chunk:0"


def test_a_query_without_rankings_says_why_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.reports._html_data._RANKED", 3)
    document = sample()
    for query in document["queries"]:
        query |= {"error": "TimeoutError: no answer", "hits": [], "scores": {}}
    data = Page(render_html(typed(conclude(document)))).data
    assert data["queries"][-1][6:] == [
        ["failed: TimeoutError: no answer", "old: the baseline failed it, too"],
        "TimeoutError: no answer",
        True,
    ]
    assert data["run"] == "RUN"


def test_same_document_same_bytes() -> None:
    """Rendering twice gives the same page, and leaves the document as it was."""
    document = sample()
    before = json.dumps(document)
    assert render_html(typed(document)) == render_html(typed(json.loads(before)))
    assert json.dumps(document) == before


def test_first_run_has_no_baseline() -> None:
    """Without a baseline the page says so."""
    page = Page(render_html(typed(without_baseline(sample()))))
    assert ({}, "none yet") in page.all("dd")
    assert page.data["baseline"] is False


def test_only_the_first_hits_are_carried() -> None:
    """Of a deep ranking twenty hits are shown, and the page knows how many there were."""
    query = Page(render_html(typed(sample(4, hits=30)))).data["queries"][0]
    assert (len(query["hits"]), query["found"]) == (20, 30)


@pytest.mark.slow
def test_wheel_carries_the_assets(tmp_path: Path) -> None:
    """What a user installs has the style and the scripts."""
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    names = {name.removeprefix("karat/") for name in zipfile.ZipFile(wheel).namelist() if "/assets/" in name}
    kept = {f"reports/assets/{path.name}" for path in (ROOT / "src/karat/reports/assets").iterdir()}
    assert "reports/assets/report.css" in kept
    assert kept <= names
