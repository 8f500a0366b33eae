"""The pages as HTML, JSON, CSV and SVG: all from one document, which its schema describes."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from cli.gate_project import accept, make_run, make_set
from karat.index import Indexer
from karat.pages import keep_traffic
from karat.schema import SystemChange, json_schema
from karat.server import PAGES
from karat.server._rendering import make_environment
from server.served import OLD, WORK, find_sessions, make_client, make_indexed_project, make_project

SVG = "{http://www.w3.org/2000/svg}"
ADDRESSES = {
    "overview": "/index", "runs": "/runs", "run": "/runs/new", "golden": "/golden", "golden-query": "/golden/q01",
    "judge": "/judge", "agreement": "/judge/agreement", "proposals": "/proposals", "proposal": "/proposals/1",
    "comparison": "/compare", "rankings": "/compare/q02", "query": "/queries/q02",
    "trials": "/trials", "trial": "/trials/rerank", "confirm": "/confirm",
    "experiments": "/experiments", "live": "/live", "session": "/sessions",
    "work": "/jobs", "work-item": f"/jobs/{WORK}",
}  # fmt: skip
ASKED = {
    "comparison": "?a=old&b=new", "rankings": "?a=old&b=new", "confirm": "?feature=rerank&act=stop",
}  # fmt: skip


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_page_is_a_document_and_its_html(client: TestClient, name: str) -> None:
    """The JSON is as its published schema says, and the HTML answers at the same address."""
    page = next(page for page in PAGES if page.name == name)
    options = ASKED.get(name, "")
    if name == "session":
        path, _, at = find_sessions(client)[0].partition("?")
        options = f"?session={path.removeprefix('/sessions/')}&{at}"
    answer = client.get(ADDRESSES[name] + ".json" + options)
    assert answer.status_code == 200, answer.text
    Draft202012Validator(json_schema(page.document)).validate(answer.json())
    html = client.get("/" if name == "overview" else ADDRESSES[name] + options)
    assert (html.status_code, html.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<script>" not in html.text
    marked = re.findall(r'<a href="([^"]+)" data-key="." aria-current="(page|true)">', html.text)
    bar = next(other for other in PAGES if other.name == (page.part_of or name))
    assert marked == [(bar.address, "true" if page.part_of else "page")]
    rows = client.get(ADDRESSES[name] + ".csv" + options)
    assert rows.status_code == (200 if page.table else 404)
    assert len(rows.text.splitlines()) > (name != "agreement")  # of which nobody is asked here
    assert "style=" not in html.text


def test_every_page_is_tried() -> None:
    """A new page has to be added to the table above."""
    assert {page.name for page in PAGES} == ADDRESSES.keys()


def test_runs_are_sorted_filtered_and_paged(client: TestClient) -> None:
    """By hand: three runs, of which one is damaged, and has no mean, which comes last either way."""
    ids = lambda address: [run["id"] for run in client.get(address).json()["runs"]]  # noqa: E731
    assert ids("/runs.json?sort=RR%4010")[:2] == ["new", "old"]
    assert ids("/runs.json?sort=-RR%4010") == ["old", "new", "broken"]
    assert ids("/runs.json?outcome=none") == ["broken"]
    assert ids("/runs.json?q=OLD") == ["old"]
    first = client.get("/runs.json?sort=title&limit=2").json()
    assert (first["matching"], first["more"]) == (3, first["runs"][-1]["id"])
    second = client.get(f"/runs.json?sort=title&limit=2&after={first['more']}").json()
    assert (len(second["runs"]), second["more"]) == (1, None)
    assert {run["id"] for run in (*first["runs"], *second["runs"])} == {"old", "new", "broken"}


def test_queries_come_worst_first_a_page_at_a_time(client: TestClient) -> None:
    """All queries come once, in the order of their scores; filters count."""
    seen: list[str] = []
    address = "/runs/new.json?limit=5"
    after = ""
    while True:
        page = client.get(f"{address}&after={after}").json()
        seen += [query["id"] for query in page["queries"]]
        after = page["more"]
        if not after:
            break
    assert len(seen) == len(set(seen)) == 12
    assert seen[:3] == ["q05", "q09", "q12"]
    errors = client.get("/runs/new.json?show=errors").json()
    assert [query["id"] for query in errors["queries"]] == ["q09"]
    assert errors["queries"][0]["states"][0] == "error"
    best = client.get("/runs/new.json?order=best&q=of+0").json()["queries"]
    assert best[0]["scores"]["RR@10"] == 1.0


def test_csv_has_the_rows_and_no_formula(client: TestClient) -> None:
    """A spreadsheet gets a head and a row for each run."""
    answer = client.get("/runs.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["run"] for row in rows} == {"old", "new", "broken"}
    assert answer.headers["content-disposition"] == 'attachment; filename="karat-runs.csv"'
    page = client.get("/runs/old.csv").text.splitlines()
    assert len(page) == 13


def test_a_picture_is_a_file_of_its_own(client: TestClient) -> None:
    """The trend of a measure, as SVG with its own style; an unknown picture is not there."""
    answer = client.get("/index.svg?chart=trend:RR%4010")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert client.get("/index.svg?chart=nothing").status_code == 404
    assert client.get("/runs.svg").status_code == 404


def test_names_of_limits_stand_in_nobody_s_way(client: TestClient) -> None:
    """The floor and the best of a trend are named on the right of every mark and of the lines between them."""
    picture = ElementTree.fromstring(client.get("/index.svg?chart=trend:RR%4010").text)
    texts = {text.text: float(text.get("x") or 0) for text in picture.iter(f"{SVG}text")}
    lines = [float(line.get("x2") or 0) for line in picture.iter(f"{SVG}line")]
    assert texts["best"] > max(lines)
    assert texts["1.000"] > max(lines)


def test_a_run_says_each_failure_once_with_its_rule(client: TestClient) -> None:
    """How many checks failed stands on top, and each of them once below."""
    document = client.get("/runs/new.json").json()["report"]
    failed = [check for check in document["checks"] if check["outcome"] == "fail"]
    page = unescape(client.get("/runs/new").text)
    assert failed
    for check in failed:
        assert page.count(check["reason"]) == 1
    assert f"{len(failed)} of {len(document['checks'])} checks failed" in page


def test_a_digest_is_not_shown_as_a_whole() -> None:
    """It is as short as in every other report; other values are as they are."""
    digests = ["sha256:" + letter * 64 for letter in "ab"]
    rows = [SystemChange(key="source", now=digests[0], was=digests[1]), SystemChange(key="k", now=5, was=10)]
    shown = make_environment().get_template("parts.html").module.changes(rows)  # type: ignore[attr-defined]
    text = re.sub("<[^>]*>", "", str(shown))
    assert "source changed (sha256:bbbbbbbbbbbb → sha256:aaaaaaaaaaaa)" in text
    assert "k is 5, was 10" in text


def test_a_page_that_did_not_change_is_not_sent_again(client: TestClient) -> None:
    """The browser's tag is enough."""
    first = client.get("/runs")
    again = client.get("/runs", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/nothing", 404), ("/runs/none", 404), ("/runs/ne", 404), ("/runs?sort=none", 400), ("/runs?limit=0", 400),
        ("/runs?limit=many", 400), ("/runs?odd=1", 400), ("/runs?q=a&q=b", 400), ("/runs/new?order=sideways", 400),
        ("/static/none.css", 404), ("/runs/..%2F..%2Fkarat.toml", 404), ("/static/..%2Fserver.css", 404),
        ("/runs/new?measure=none", 400), ("/runs/%00", 404),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_said(client: TestClient, address: str, status: int) -> None:
    """One sentence, the right status, and nothing of the inside, as a page and as JSON."""
    answer = client.get(address)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    as_json = client.get(address, headers={"accept": "application/json"})
    assert as_json.json()["status"] == status


def test_a_bug_shows_nothing_of_the_inside(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback is on standard error, and the page says so."""
    from dataclasses import replace

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    broken = [replace(page, show=fail) if page.name == "runs" else page for page in PAGES]
    answer = make_client(indexed, pages=broken).get("/runs")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "a secret" in capsys.readouterr().err


def test_a_new_project_sees_a_checklist(tmp_path: Path) -> None:
    """Before anything is indexed, and after a set without runs is."""
    make_project(tmp_path)
    client = make_client(tmp_path)
    assert "First steps" in client.get("/").text
    assert '<h1 class="plain-title">Golden set ' in client.get("/golden").text  # a heading is never empty
    Indexer(tmp_path).update()
    page = client.get("/index.json").json()
    assert [item["done"] for item in page["checklist"]] == [True, False, True, True, False]
    assert "There is no run yet" in client.get("/runs").text


def test_what_was_not_read_yet_is_not_shown_as_undone(tmp_path: Path) -> None:
    """A project with runs, whose index is made for the first time, is none that has to begin."""
    set_ = make_set()
    make_project(tmp_path)
    make_run(tmp_path, set_, [-1] * len(OLD), "first")
    client = make_client(tmp_path)
    page, html = client.get("/index.json").json(), client.get("/").text
    assert (page["unread"], page["checklist"], page["next"]) == (True, [], [])
    assert "Not read yet" in html
    assert not any(words in html for words in ("First steps", "as it was before", "none yet"))
    Indexer(tmp_path).update()
    assert client.get("/index.json").json()["unread"] is False
    assert "Not read yet" not in client.get("/").text


def test_the_checklist_of_a_set_without_judgments_begins_with_a_run(tmp_path: Path) -> None:
    """Its run is there, though nothing is scored; then people judge, and errors of the set come after that."""
    set_ = make_set()
    make_project(tmp_path, golden_set=replace(set_, judgments=()))
    make_run(tmp_path, replace(set_, judgments=()), [-1] * len(OLD), "first")
    Indexer(tmp_path).update()
    page = make_client(tmp_path).get("/index.json").json()
    done = {item["title"]: item["done"] for item in page["checklist"]}
    assert (done["A first run"], done["Judgments of what runs return"]) == (True, False)
    html = make_client(tmp_path).get("/").text
    assert "karat label queue first" in html
    assert "golden pool" not in html.partition("Health of the golden set")[0]  # one hint for one step
    assert "Nothing is judged yet" in html
    assert "not decided" in html.lower()
    assert (page["latest"]["outcome"], page["latest"]["note"]) == (None, "nothing is judged yet")
    steps = [step["title"] for step in page["next"] if not step["title"].startswith("Golden set: ")]
    assert steps == ["Judge what the runs returned"]


def test_the_overview_says_what_its_verdict_rests_on(tmp_path: Path) -> None:
    """Without a baseline it is inconclusive, for that reason; the run of the baseline is compared with itself."""
    golden = make_project(tmp_path, golden_set=make_set())
    run = make_run(tmp_path, golden, OLD, "old")
    Indexer(tmp_path).update()
    client = make_client(tmp_path)
    page = client.get("/index.json").json()
    assert page["latest"]["outcome"] == "inconclusive"
    assert 1 <= len(page["unknown"]) <= 3
    assert "baseline" in page["unknown"][0]
    assert page["unknown"][0] in unescape(client.get("/").text)
    accept(tmp_path, run)
    Indexer(tmp_path).update()
    assert client.get("/index.json").json()["unknown"] == []
    assert "is the run of the baseline, which is compared with itself: it passes the gate" in client.get("/").text


def test_the_api_describes_every_page(client: TestClient) -> None:
    """OpenAPI 3.1 with the published schemas; every reference leads somewhere."""
    api = client.get("/api").json()
    assert api["openapi"] == "3.1.0"
    assert "/runs/{run}.json" in api["paths"]

    def check(part: object) -> None:
        if isinstance(part, dict):
            if isinstance(reference := part.get("$ref"), str):
                place = api
                for step in reference.removeprefix("#/").split("/"):
                    place = place[step]
            for inner in part.values():
                check(inner)
        elif isinstance(part, list):
            for inner in part:
                check(inner)

    check(api)


def test_overview_tells_what_is_next(client: TestClient) -> None:
    """The newest run fails: that is the first thing, and each thing leads somewhere that exists."""
    page = client.get("/index.json").json()
    assert page["latest"]["id"] == "new"
    assert 1 <= len(page["next"]) <= 5
    for step in page["next"]:
        assert client.get(step["address"].partition("#")[0]).status_code == 200
    assert [point["run"] for point in page["trend"]] == ["old", "new"]


MORE = (
    "/live?span=all&q=wifi", "/runs?q=new&sort=-time", "/runs/new?show=failed&category=times&limit=2", "/nothing",
    "/compare?a=old&b=new&order=gains&limit=1", "/experiments?sweep=*&limit=1", "/proposals?state=open",
    "/queries/q02?run=old", "/golden?limit=2", "/trials?limit=1",
)  # fmt: skip


@pytest.mark.slow
def test_every_link_leads_somewhere(tmp_path: Path) -> None:
    """Of every page, of pages with filters, and of the pages that these lead to: exports and pictures, too."""
    indexer, client = Indexer(make_indexed_project(tmp_path)), make_client(tmp_path)
    indexer.compare("old", "new", bounds=True)
    for span in ("day", "week", "month", "all"):
        keep_traffic(indexer, "", span)
    starts = [ADDRESSES[page.name] + ASKED.get(page.name, "") for page in PAGES if page.name != "session"]
    seen, left = set(), [*starts, *MORE, *find_sessions(client)]
    for _ in range(2):
        found: dict[str, str] = {}
        for path in left:
            seen.add(path)
            html = client.get(path).text
            found |= {unescape(link): path for link in re.findall(r'\bhref="(/[^"]*)"', html)}
        left = [link.partition("#")[0] for link in found]
        for link, path in found.items():
            answer = client.get(link)
            assert answer.status_code == 200, (path, link, answer.text[:300])
        left = sorted({link for link in left if link not in seen and not link.startswith("/static/")})
    assert len(seen) > 100
