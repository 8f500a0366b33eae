"""Two runs side by side, and one query through all runs: the numbers are those of the library."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from starlette.testclient import TestClient

from cli.gate_project import make_project, make_run, make_set
from each import each
from karat.core import Hit, Place, Provenance, Stage, Trace
from karat.golden import identify
from karat.index import Indexer, open_index
from karat.pages import ComparisonRequest, NotReady, name_missing_bounds, show_comparison
from karat.pages._moving import name_movers
from karat.projects import compare_runs
from karat.runs import RunWriter
from karat.schema import to_plain
from karat.server._differences import describe_comparison, head_comparison
from karat.server._watching import Watcher
from server.served import NEW, OLD, make_client, make_indexed_project

PAIR = "a=old&b=new"


def test_a_comparison_is_that_of_the_command_line(client: TestClient, indexed: Path) -> None:
    """Every number of karat compare is in the document, and the queries are counted by hand."""
    page = client.get(f"/compare.json?{PAIR}&measure=RR%4010").json()
    files = [indexed / "runs" / "old.jsonl", indexed / "runs" / "new.jsonl"]
    expected = compare_runs(files, page["measures"], bounds=True)
    assert page["comparison"]["pairs"][0]["measures"] == list(to_plain(expected.pairs[0].measures))
    old = [1 / place for place in OLD]
    new = [1 / place if place > 0 else 0.0 for place in NEW]
    new[8] = 0.0
    gains = [after - before for before, after in zip(old, new, strict=True)]
    assert page["worse"] == sum(gain < 0 for gain in gains)
    assert page["better"] == 0
    assert [query["id"] for query in page["queries"][:4]] == ["q05", "q09", "q12", "q02"]
    assert sum(dot["count"] for dot in page["dots"]) == 12
    gained = client.get(f"/compare.json?{PAIR}&order=gains").json()["queries"]
    assert [query["gain"] for query in gained] == [query["gain"] for query in reversed(page["queries"])]
    assert (len(gained), page["same"]) == (page["worse"], 12 - page["worse"])
    assert "What moved" in client.get(f"/compare?{PAIR}").text


@each(
    ("rows", "heading", "text"),
    [
        ([("a", -0.2, 0.01), ("b", -0.1, 0.01)], "B is worse", "it is worse in a and b"),
        (
            [("a", -0.2, 0.01), ("low", -9.0, 0.01)],
            "B is better in some, worse in others",
            "it is better in low; it is worse in a",
        ),
        ([("a", 0.2, 0.4)], "No difference is shown", "in a what differs may be chance"),
        (
            [("a", 0.2, 0.01), ("b", None, None)],
            "B is better",
            "it is better in a; b cannot be compared: no query has a value in both",
        ),
        ([("b", None, None)], "A and B", "b cannot be compared: no query has a value in both"),
    ],
)
def test_the_first_glance_at_two_runs_says_which_is_better(
    indexed: Path, rows: list[tuple[str, float | None, float | None]], heading: str, text: str
) -> None:
    """By the direction of each measure; what is not significant, or was not compared, is no verdict."""
    with open_index(indexed) as index:
        page = show_comparison(index, ComparisonRequest(a="old", b="new"))
    pair = page.comparison.pairs[0]
    measures = [
        structs.replace(
            pair.measures[0], measure=name, difference=difference, p=p, significant=p is not None and p < 0.05
        )
        for name, difference, p in rows
    ]
    own = [structs.replace(page.second.measures[0], name=name, lower_is_better=name == "low") for name, _, _ in rows]
    page = structs.replace(
        page,
        comparison=structs.replace(page.comparison, pairs=(structs.replace(pair, measures=tuple(measures)),)),
        second=structs.replace(page.second, measures=tuple(own)),
    )
    assert (head_comparison(page), describe_comparison(page)) == (heading, text)


def test_the_page_of_two_runs_says_it_on_top(client: TestClient) -> None:
    """With an axis below the differences; and without a column of what moved queries where no run records that."""
    page = client.get(f"/compare?{PAIR}").text
    assert re.search(r"<h1[^>]*>(B is|No difference)", page)
    numbers = re.findall(r"<text[^>]*>([+-]?[\d.]+)</text>", client.get(f"/compare.svg?chart=differences&{PAIR}").text)
    assert "0" in numbers
    assert {number[0] for number in numbers if number != "0"} == {"+", "-"}
    assert '<th scope="col">Moved by</th>' not in page
    assert "takes two runs that record channels" in page


def test_a_comparison_that_was_not_made_is_asked_for(tmp_path: Path) -> None:
    """The page names the job, and shows it once the indexer has done it; a changed run is compared anew."""
    folder = make_indexed_project(tmp_path)
    request = ComparisonRequest(a="old", b="new")
    with open_index(folder) as index, pytest.raises(NotReady) as missing:
        show_comparison(index, request)
    assert missing.value.job == ("compare", "old", "new")
    indexer = Indexer(folder)
    indexer.compare("old", "new")
    with open_index(folder) as index:
        first = show_comparison(index, request)
    assert first.worse
    assert name_missing_bounds(first) == ("bounds", "old", "new")  # which come later: they take longer
    indexer.compare("old", "new", bounds=True)
    with open_index(folder) as index:
        whole = show_comparison(index, request)
    assert name_missing_bounds(whole) is None
    assert [row.difference for row in whole.comparison.pairs[0].measures] == [
        row.difference for row in first.comparison.pairs[0].measures
    ]
    path = folder / "runs" / "new.jsonl"
    path.write_text(path.read_text().replace('"score":3', '"score":4'))
    indexer.update()
    with open_index(folder) as index, pytest.raises(NotReady):
        show_comparison(index, request)


def test_a_browser_sees_something_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser gets a page that says what is computed, a program waits, and a header says how long, within limits."""
    waited: list[float] = []

    async def work(_: Watcher, job: tuple[str, ...], patience: float) -> str | None:
        assert job == ("compare", "old", "new")
        waited.append(patience)
        return None

    monkeypatch.setattr(Watcher, "work", work)
    client = make_client(make_indexed_project(tmp_path))
    browser = {"accept": "text/html"}
    page = client.get(f"/compare?{PAIR}", headers=browser)
    assert page.status_code == 202
    assert "data-wait" in page.text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text
    for headers in ({}, {"prefer": "wait=20"}, {"prefer": "respond-async, wait=900"}, {"prefer": "wait=x"}):
        assert client.get(f"/compare?{PAIR}", headers={**browser, **headers}).status_code == 202
    assert client.get(f"/compare.json?{PAIR}").json()["status"] == 202
    assert waited == [0.25, 0.25, 20, 25, 0.25, 3]


def test_two_rankings_stand_side_by_side(client: TestClient) -> None:
    """Ranks, grades and the place in the other run; the neighbours are those of the list of the comparison."""
    page = client.get(f"/compare/q02.json?{PAIR}").json()
    first = {hit["document"]: hit for hit in page["first"]["hits"]}
    assert (first["d02"]["rank"], first["d02"]["other"], first["d02"]["relevant"]) == (1, 2, True)
    assert [hit["grade"] for hit in page["second"]["hits"] if hit["document"] != "d02"] == [None] * 3
    assert (page["previous"], page["place"], page["of"], page["next"]) == ("q12", 4, 4, None)
    # The one relevant document is second, after one that nobody judged: if that is relevant, too, the first hit is.
    assert page["second"]["scores"]["RR@10"] == 0.5
    assert page["second"]["bounds"]["RR@10"] == {"worst": 0.5, "best": 1.0, "unjudged": 3}
    assert (
        "0.500 to 1.000 if the 3 unjudged documents were judged"
        in client.get(f"/compare/q02?{PAIR}&measure=RR%4010").text
    )
    before = client.get(f"/compare/q12.json?{PAIR}").json()
    assert before["next"] == "q02"
    assert client.get(f"/compare/q01.json?{PAIR}").json()["place"] == 0
    html = client.get(f"/compare/q12?{PAIR}").text
    assert re.search(r"data-next href=\"/compare/", html)
    failed = client.get(f"/compare/q09.json?{PAIR}").json()
    assert failed["second"]["error"] == "out of memory"


def _trace(*hits: Hit, stages: tuple[Stage, ...] = ()) -> Trace:
    return Trace(query="q", text="wifi", hits=hits, stages=stages)


def test_what_moved_a_document_is_named() -> None:
    """Channels first, by the places that hits keep; then the first stage, by its list or by the order of its scores."""
    place = {"dense": Place(1, 0.9), "lexical": Place(4, 2.0)}
    old = _trace(Hit("pool", 2.0, channels=place), Hit("wifi", 1.0, channels={"lexical": Place(2, 3.0)}))
    new = _trace(Hit("wifi", 2.0, channels={"lexical": Place(1, 4.0)}), Hit("pool", 1.0, channels=place))
    assert name_movers(old, new) == {"wifi": "lexical"}  # the pool stands lower because of the wifi only

    def rank(*names: str) -> tuple[Hit, ...]:
        return tuple(Hit(name, -float(number)) for number, name in enumerate(names))

    dense = Stage(name="candidate", channel="dense", hits=rank("wifi", "pool", "spa"))
    fused, others = Stage(name="fusion", hits=rank("wifi", "pool")), Stage(name="fusion", hits=rank("pool", "wifi"))
    before = _trace(*rank("wifi", "pool"), stages=(dense, fused))
    assert name_movers(before, _trace(*rank("pool", "wifi"), stages=(dense, others))) == {
        "wifi": "fusion",
        "pool": "fusion",
    }
    lost = Stage(name="candidate", channel="dense", hits=rank("wifi", "spa"))
    assert name_movers(before, _trace(*rank("wifi"), stages=(lost, fused))) == {"pool": "dense"}
    assert name_movers(before, _trace(*rank("pool"))) == {}  # of that way nothing is known
    assert name_movers(before, None) == {}


def test_a_query_through_all_runs(client: TestClient) -> None:
    """Its scores and the ranks of its relevant documents, by hand; judgments, and what a run returned."""
    page = client.get("/queries/q06.json").json()
    assert {run["run"]: run["ranks"] for run in page["runs"]} == {"old": {"d06": 3}, "new": {"d06": 3}}
    lost = client.get("/queries/q05.json?run=new").json()
    assert {run["run"]: run["ranks"]["d05"] for run in lost["runs"]} == {"old": 1, "new": None}
    assert lost["ranking"]["run"]["id"] == "new"
    assert lost["judgments"][0]["grade"] == 1
    text = client.get("/queries/q05").text
    assert "Through all runs" in text
    assert re.search(r'title="d05">Rank of ', text)


def test_a_missing_score_says_why(tmp_path: Path) -> None:
    """On the page of a query as on that of a run; a mean of nothing is a dash that says so."""
    whole = make_set(3)
    folder, without = tmp_path / "some", tmp_path / "none"
    for place, judged in ((folder, 2), (without, 0)):
        place.mkdir()
        judgments = [replace(own, grade=int(number < judged)) for number, own in enumerate(whole.judgments)]
        golden = make_project(place, golden_set=make_set(3, judgments=tuple(judgments)))
        make_run(place, golden, [1, 2, 1], "old")
        Indexer(place).update()
    client = make_client(folder)
    rows = {row["id"]: row["missing"] for row in client.get("/runs/old.json").json()["queries"]}
    assert (rows["q01"], list(rows["q03"])) == ({}, ["RR@10"])
    (run,) = client.get("/queries/q03.json").json()["runs"]
    assert (run["scores"], run["missing"]) == ({"RR@10": None}, rows["q03"])
    assert f"RR@10 has no value: {rows['q03']['RR@10']}." in client.get("/queries/q03").text
    assert "has no value" not in client.get("/queries/q01").text
    client = make_client(without)
    assert "no query has a value" in client.get("/runs").text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/compare?a=old&b=old", 400), ("/compare?a=old", 400), ("/compare?a=old&b=none", 404),
        ("/compare?a=old&b=broken", 400), (f"/compare?{PAIR}&measure=none", 400), (f"/compare/none?{PAIR}", 404),
        ("/queries/none", 404), ("/queries/q01?run=none", 404), ("/queries/..%2F..%2Fetc%2Fpasswd", 404),
    ],
)  # fmt: skip
def test_odd_pairs_and_queries_are_refused(client: TestClient, address: str, status: int) -> None:
    """One message each."""
    assert client.get(address).status_code == status


def test_the_list_of_what_moved_says_by_what(tmp_path: Path) -> None:
    """A query that moved names the channel in which its relevant document stands elsewhere; another names none."""
    golden = make_project(tmp_path)
    for name, rank in (("first", 1), ("second", 7)):
        head = Provenance(
            name=name, golden=identify(golden), system={"kind": "test"}, fingerprint="sha256:0",
            settings={"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0},
        )  # fmt: skip
        with RunWriter(tmp_path / "runs" / f"{name}.jsonl", head) as writer:
            for number, query in enumerate(golden.queries):
                right = Hit(f"d{query.id[1:]}", 1.0, channels={"lexical": Place(rank if number else 1, 1.0)})
                hits = (right,) if rank == 1 or not number else (Hit("x01", 2.0), right)
                writer.write(Trace(query=query.id, text=query.text, hits=hits))
    indexer = Indexer(tmp_path)
    indexer.update()
    indexer.compare("first", "second")
    with open_index(tmp_path) as index:
        page = show_comparison(index, ComparisonRequest(a="first", b="second"))
    assert [query.mover for query in page.queries] == ["lexical"] * 11


def test_whoever_names_no_runs_chooses_them(client: TestClient) -> None:
    """A browser is led to the list of runs with what it named; a program hears what is missing."""
    browser = {"accept": "text/html"}
    answer = client.get("/compare?a=old", headers=browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?choose=on&a=old")
    html = client.get(answer.headers["location"], headers=browser).text
    assert "Choose two runs" in html
    assert 'value="old" aria-label="old as A" checked' in html
    assert client.get("/compare.json?a=old", headers=browser).status_code == 400
