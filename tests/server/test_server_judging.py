"""Judging, agreement, the golden set and proposals as pages and changes, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from karat.core import Document, Hit, Judgment, Provenance, Query, Span, Target, Trace
from karat.golden import identify
from karat.index import Indexer
from karat.labelling import Answer, measure_labels, open_desk, propose_labels, save_label
from karat.pages import find_desk
from karat.runs import RunWriter
from karat.server import Tokens
from labelling.rooms import add_queue, ana_says, bo_says, label_all, make_desk, make_golden, make_project
from server.served import make_client

EVIL = '<script>alert(1)</script><style>*{display:none}</style><svg onload="alert(2)">\u202e"\'>'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    make_desk(folder)
    Indexer(folder).update()
    find_desk.cache_clear()
    return folder


@pytest.fixture
def client(project: Path) -> TestClient:
    return make_client(project)


def read_form(html: str, name: str = "judge") -> dict[str, str]:
    """The hidden fields of a form, as a browser would send them."""
    form = re.search(rf'<form[^>]*id="{name}".*?</form>', html, re.DOTALL)
    assert form
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0])
    return dict(fields)


def token(client: TestClient) -> str:
    match = re.search(r'data-csrf="(\w+)"', client.get("/judge").text)
    assert match
    return match[1]


def send(client: TestClient, address: str, **fields: str) -> Any:
    return client.post(address, data={"csrf": token(client), **fields})


def lines(project: Path, who: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / "labels" / "people" / f"{who}.jsonl").read_text().splitlines()[1:]]


def test_a_pair_is_judged_by_a_form_alone(project: Path, client: TestClient) -> None:
    """Without a script: the form has all that is needed, and answers with the next pair."""
    html = client.get("/judge?queue=first&who=ana").text
    assert "Grade how well the document answers the question" in html  # the guidelines are at hand
    fields = read_form(html)
    said = {"answer": "2", "note": " so ", "quote": "It closes late.", "seconds": "4.2"}
    answer = client.post("/judge/save", data={**fields, **said})
    assert (answer.status_code, answer.headers["location"]) == (303, "/judge?queue=first&who=ana")
    [line] = lines(project, "ana")
    assert (line["query"], line["document"], line["grade"], line["note"]) == (
        fields["query"], fields["document"], 2, "so",
    )  # fmt: skip
    text = f"# Room {fields['document'][1:]}"
    assert text in html
    following = read_form(client.get(answer.headers["location"]).text)
    assert (following["query"], following["document"]) != (fields["query"], fields["document"])
    progress = client.get("/judge").text
    assert "1 of 80 labels" in progress
    assert "ana: 1 graded, 4.2 s each" in progress


def test_a_form_that_is_sent_twice_counts_once(project: Path, client: TestClient) -> None:
    fields = read_form(client.get("/judge?queue=first&who=ana").text)
    for answer in ("2", "2"):
        assert client.post("/judge/save", data={**fields, "answer": answer}).status_code == 303
    assert [line["grade"] for line in lines(project, "ana")] == [2]


def test_a_selection_is_a_span_of_bytes(project: Path, client: TestClient) -> None:
    """A browser counts UTF-16 units: 'café' has one more byte than units."""
    page = client.get("/judge.json?queue=first&who=ana").json()
    text = page["task"]["text"]
    start = text.index("café")
    fields = read_form(client.get("/judge?queue=first&who=ana").text)
    client.post("/judge/save", data={**fields, "answer": "3", "start": str(start), "end": str(start + 9)})
    [line] = lines(project, "ana")
    assert text.encode()[slice(*line["span"])].decode() == text[start : start + 9]


def test_undo_leads_back_to_the_pair(project: Path, client: TestClient) -> None:
    html = client.get("/judge?queue=first&who=ana").text
    assert 'id="undo"' not in html
    fields = read_form(html)
    html = client.get(client.post("/judge/save", data={**fields, "answer": "skip"}).headers["location"]).text
    assert "Take back your last label (skipped, d" in html
    undo = read_form(html, "undo")
    for _ in range(2):  # sent twice it takes back one label
        back = client.post("/judge/undo", data=undo)
        assert back.status_code == 303
    again = read_form(client.get(back.headers["location"]).text)
    assert (again["query"], again["document"]) == (fields["query"], fields["document"])
    assert len(lines(project, "ana")) == 2
    refused = send(client, "/judge/undo", who="ana")
    assert (refused.status_code, "no label to take back" in refused.text) == (400, True)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"csrf": "x"}, 403), ({"answer": "7"}, 400), ({"answer": "good"}, 400), ({"queue": "none"}, 400),
        ({"document": "d99"}, 400), ({"start": "5", "end": "2"}, 400), ({"note": "x" * 4001}, 400),
        ({"extra": "1"}, 303),
    ],
)  # fmt: skip
def test_what_is_wrong_is_not_saved(project: Path, client: TestClient, change: dict[str, str], status: int) -> None:
    fields = read_form(client.get("/judge?queue=first&who=ana").text)
    answer = client.post("/judge/save", data={**fields, "answer": "2", **change})
    assert answer.status_code == status
    assert (project / "labels" / "people").exists() == (status == 303)


def test_a_token_says_who_it_is(project: Path) -> None:
    """Whatever the form says; and each role may do what it may."""
    tokens = Tokens(project)
    secrets = {role: tokens.add(f"{role}-1", role) for role in ("viewer", "annotator", "admin")}
    client = make_client(project, needs_token=True)
    headers = {role: {"authorization": f"Bearer {secret}"} for role, secret in secrets.items()}
    label = {"queue": "first", "query": "q1", "document": "d2", "answer": "2", "who": "mallory"}
    assert client.post("/judge/save", json=label, headers=headers["viewer"]).status_code == 403
    saved = client.post("/judge/save", json=label, headers=headers["annotator"])
    assert saved.json()["who"] == "annotator-1"
    looked = client.get("/judge?queue=first", headers=headers["viewer"])
    assert looked.status_code == 200
    assert "ask an admin of the project for a token with the role annotator" in looked.text
    assert "queue=first" not in looked.text  # no link leads to what would be refused
    assert client.get("/judge.json?queue=first", headers=headers["viewer"]).json()["task"] is None
    assert "ask an admin" not in client.get("/judge", headers=headers["annotator"]).text
    assert "Who are you?" not in client.get("/judge", headers=headers["annotator"]).text
    wording = {"query": "q1", "paraphrase": "hours of 1?"}
    proposed = client.post("/propose/wording", json=wording, headers=headers["annotator"]).json()
    assert (proposed["by"], proposed["state"]) == ("annotator-1", "open")
    decision = {"answer": "accept", "reason": "good", "who": "mallory"}
    address = f"/proposals/{proposed['proposal']}/decide"
    before = (project / "set" / "queries.jsonl").read_bytes()
    assert client.post(address, json=decision, headers=headers["annotator"]).status_code == 403
    assert (project / "set" / "queries.jsonl").read_bytes() == before
    shown = client.get(f"/proposals/{proposed['proposal']}", headers=headers["annotator"]).text
    assert "An admin accepts or refuses it." in shown
    accepted = client.post(address, json=decision, headers=headers["admin"]).json()
    assert (accepted["state"], accepted["decision"]["by"]) == ("accepted", "admin-1")
    assert open_desk(project).golden.query_by_id["q1"].paraphrases == ("hours of 1?",)
    settling = {"adjudicator": "ada"}
    assert client.post("/judge/settling", json=settling, headers=headers["annotator"]).status_code == 403


def test_agreement_is_that_of_the_files(project: Path, client: TestClient) -> None:
    desk = open_desk(project)
    label_all(desk, "ana", ana_says)
    label_all(desk, "bo", bo_says)
    page = client.get("/judge/agreement.json").json()
    own = measure_labels(open_desk(project))
    assert page["agreement"]["alpha"]["value"] == own.alpha.value
    assert [row["document"] for row in page["agreement"]["disputes"]] == [row.document for row in own.disputes]
    html = client.get("/judge/agreement?queue=first").text
    assert "ana and bo" in html
    assert f"To settle: {len(own.disputes)}" in html
    rows = client.get("/judge/agreement.csv").text.splitlines()
    assert (rows[0], len(rows)) == ('"query","document","ana","bo"', len(own.disputes) + 1)
    answer = send(client, "/judge/settling", adjudicator=" cy ")
    assert (answer.status_code, answer.headers["location"]) == (303, "/judge/agreement?made=disputes-1")
    assert "The queue <strong>disputes-1</strong> was made" in client.get(answer.headers["location"]).text
    assert "cy settles them" in client.get("/judge/agreement").text
    task = client.get("/judge?queue=disputes-1&who=cy").text
    assert "Somebody says" in task
    assert client.get("/judge?queue=disputes-1&who=ana").status_code == 400
    fields = read_form(task)
    client.post("/judge/save", data={**fields, "answer": "0"})
    assert lines(project, "cy")[0]["settles"] is True


def test_nobody_sees_what_others_say_of_a_pair_before_judging_it(project: Path, client: TestClient) -> None:
    """Who has answered it, who leads and who settles see it; without tokens nobody does until all labels are there."""
    tokens = Tokens(project)
    people = (("Ada", "admin"), ("ana", "annotator"), ("bo", "annotator"), ("cy", "annotator"))
    headers = {name: {"authorization": f"Bearer {tokens.add(name, role)}"} for name, role in people}
    desk = open_desk(project)
    save_label(desk, "first", "ana", Answer(query="q1", document="d2", verdict="cannot_tell"))
    own = make_client(project, needs_token=True)

    def count(name: str) -> tuple[int, int]:
        page = own.get("/judge/agreement.json", headers=headers[name]).json()
        assert ("cannot tell" in own.get("/judge/agreement.csv", headers=headers[name]).text) is (page["later"] == 0)
        assert ("cannot tell" in own.get("/judge/agreement", headers=headers[name]).text) is (page["later"] == 0)
        assert set(page["texts"]) == {row["query"] for row in page["agreement"]["disputes"]}
        return len(page["agreement"]["disputes"]), page["later"]

    assert {name: count(name) for name in headers} == {"Ada": (1, 0), "ana": (1, 0), "bo": (0, 1), "cy": (0, 1)}
    assert "ana <strong>" not in client.get("/judge/agreement").text
    assert "1 pair is not shown yet" in client.get("/judge/agreement").text
    own.post("/judge/settling", json={"adjudicator": "cy"}, headers=headers["Ada"])
    assert (count("cy"), count("bo")) == ((1, 0), (0, 1))
    save_label(desk, "first", "bo", Answer(query="q1", document="d2", verdict="cannot_tell"))
    assert (count("bo"), "ana <strong>" in client.get("/judge/agreement").text) == ((1, 0), True)


def test_the_queue_with_the_most_finished_pairs_is_proposed_first(project: Path, client: TestClient) -> None:
    """Disputes come last: they hold a few pairs of the other queues."""
    desk = open_desk(project)
    for who, grade in (("ana", 1), ("bo", 3)):
        for document in ("d2", "d3"):
            save_label(desk, "first", who, Answer(query="q1", document=document, grade=grade))
    add_queue(desk, "disputes-1", kind="disputes", sources=(), adjudicator="cy")
    save_label(desk, "disputes-1", "cy", Answer(query="q1", document="d2", grade=3))
    page = client.get("/proposals.json").json()
    assert (list(page["ready"]), page["finished"]) == (["first", "disputes-1"], {"first": 2, "disputes-1": 1})
    options = re.findall(r'<option value="([^"]*)">([^<]*)', client.get("/proposals").text)
    assert options[0] == ("first", "first (4 labels, 2 finished pairs)")


def test_a_queue_that_cannot_be_leads_back_to_judge(client: TestClient) -> None:
    """In words, and not as a pattern; an address that has no page of the menu leads to the overview alone."""
    for address in ("/judge?queue=../x", "/judge?queue=other&who=ana"):
        html = client.get(address).text
        assert '<a href="/judge">Back to Judge</a>' in html
        assert "regex" not in html
    assert "the value of &#39;queue&#39;" in client.get("/judge?queue=../x").text.replace("The value", "the value")
    assert "Back to" not in client.get("/nothing").text


def test_all_answers_of_a_person_are_counted(project: Path, client: TestClient) -> None:
    desk = open_desk(project)
    for document, answer in (("d1", {"grade": 1}), ("d2", {"verdict": "skip"}), ("d3", {"verdict": "cannot_tell"})):
        save_label(desk, "first", "ana", Answer(query="q1", document=document, **answer))
    assert "ana: 1 graded, 1 skipped, 1 that they cannot tell" in client.get("/judge").text


def test_a_dispute_can_be_given_to_somebody_else(project: Path) -> None:
    """The form stays, offers those who can judge, and makes no second queue for one person; others get no link."""
    tokens = Tokens(project)
    people = (("Ada", "admin"), ("Ben", "annotator"), ("Cy", "annotator"), ("Vi", "viewer"))
    headers = {name: {"authorization": f"Bearer {tokens.add(name, role)}"} for name, role in people}
    desk = open_desk(project)
    for who, grade in (("ana", 1), ("bo", 3)):
        save_label(desk, "first", who, Answer(query="q1", document="d2", grade=grade))
    client = make_client(project, needs_token=True)
    for name in ("ben", "Vi", "nobody"):
        refused = client.post("/judge/settling", json={"adjudicator": name}, headers=headers["Ada"])
        assert refused.status_code == 400
        assert "there are Ada, Ben, Cy" in refused.text
    for _ in range(2):
        made = client.post("/judge/settling", json={"adjudicator": "Ben"}, headers=headers["Ada"])
        assert made.json()["queue"] == "disputes-1"
    page = client.get("/judge/agreement", headers=headers["Ada"]).text
    assert "Ben settles them." in page
    assert "/judge?queue=disputes-1" not in page
    assert '<option value="Cy">' in page
    assert "/judge?queue=disputes-1" not in client.get("/judge", headers=headers["Cy"]).text
    assert "/judge?queue=disputes-1" in client.get("/judge/agreement", headers=headers["Ben"]).text
    aside = {"queue": "disputes-1", "query": "q1", "document": "d2", "answer": "skip"}
    assert client.post("/judge/save", json=aside, headers=headers["Ben"]).status_code == 200
    made = client.post("/judge/settling", json={"adjudicator": "Cy"}, headers=headers["Ada"]).json()
    settled = {**aside, "queue": made["queue"], "answer": "3"}
    assert client.post("/judge/save", json=settled, headers=headers["Cy"]).status_code == 200
    assert "There is nothing to settle." in client.get("/judge/agreement", headers=headers["Ada"]).text


def test_disputes_are_worth_doing_once(project: Path, client: TestClient) -> None:
    """However many people may settle them."""
    desk = open_desk(project)
    for who, grade in (("ana", 1), ("bo", 3)):
        save_label(desk, "first", who, Answer(query="q1", document="d2", grade=grade))
    for who in ("cy", "di"):
        send(client, "/judge/settling", adjudicator=who)
    steps = [step["title"] for step in client.get("/index.json").json()["next"]]
    assert sum("disputes-" in title for title in steps) == 1


def test_nobody_labels_without_a_name(project: Path, client: TestClient) -> None:
    """On this machine, where nobody signs in, too: the page asks who it is, and nothing is saved without it."""
    html = client.get("/judge?queue=first").text
    assert "Say who you are first" in html
    assert 'id="judge"' not in html
    label = {"queue": "first", "query": "q1", "document": "d1", "answer": "2"}
    refused = send(client, "/judge/save", **label)
    assert (refused.status_code, "Say who you are" in refused.text) == (400, True)
    assert send(client, "/propose/labels", queue="first", unfinished="on").status_code == 400


def test_an_unfinished_queue_is_worth_doing(project: Path, client: TestClient) -> None:
    label_all(open_desk(project), "ana", ana_says, most=3)
    steps = {step["address"]: step["title"] for step in client.get("/index.json").json()["next"]}
    assert steps["/judge?queue=first"] == "Judge: 77 labels are missing in the queue first"


def test_nothing_left_says_so(project: Path, client: TestClient) -> None:
    label_all(open_desk(project), "ana", ana_says)
    assert "Nothing is left for you here" in client.get("/judge?queue=first&who=ana").text
    assert "Judge" in client.get("/judge").text


def test_the_confidence_of_a_decision_is_shown(project: Path, client: TestClient) -> None:
    add_queue(open_desk(project), "ab", kind="decide")
    assert client.get("/judge.json?queue=ab&who=bo").json()["queue"]["decides"]["confidence"] == 0.5
    assert "it is not known yet which run is better" in client.get("/judge?queue=ab&who=bo").text
    label_all(open_desk(project), "ana", ana_says, queue="ab")
    assert (
        "the run that looks better is better with <strong>more than 99.9 %</strong> confidence"
        in client.get("/judge?queue=ab&who=bo").text
    )


def test_the_golden_set_is_searched_and_paged(client: TestClient) -> None:
    first = client.get("/golden.json?limit=3").json()
    assert ([row["id"] for row in first["queries"]], first["more"], first["total"]) == (["q0", "q1", "q2"], "q2", 8)
    second = client.get("/golden.json?limit=3&after=q2").json()
    assert [row["id"] for row in second["queries"]] == ["q3", "q4", "q5"]
    assert [row["id"] for row in client.get("/golden.json?q=CAF%C3%89+3").json()["queries"]] == ["q3"]
    assert client.get("/golden.json?category=times").json()["matching"] == 4
    assert first["findings"]
    assert client.get("/golden.json?rule=no-such").json()["matching"] == 0
    assert len(client.get("/golden.csv").text.splitlines()) == 9


def test_findings_stand_at_their_place(tmp_path: Path) -> None:
    """Every query that a rule is about has its badge, however many there are, in the list and on its own page."""
    set_ = make_golden()
    twin = replace(set_.queries[0], id="q-twin")
    folder = make_project(tmp_path / "p", replace(set_, queries=(*set_.queries, twin)))
    Indexer(folder).update()
    client = make_client(folder)
    rows = {row["id"]: row["findings"] for row in client.get("/golden.json").json()["queries"]}
    rule = "no-relevant-document"
    assert [id_ for id_, findings in rows.items() if rule in findings] == [f"q{i}" for i in range(8)]
    assert rule in client.get("/golden/q7").text
    assert client.get(f"/golden.json?rule={rule}").json()["matching"] == 8


def test_a_query_has_its_judgments_and_proposals_are_made_there(project: Path, client: TestClient) -> None:
    page = client.get("/golden/q1.json").json()
    assert [(row["document"], row["grade"], row["annotator"], row["decides"]) for row in page["judgments"]] == [
        ("d0", 0, "eve", True)
    ]
    assert client.get("/golden/none").status_code == 404
    before = (project / "set" / "judgments.jsonl").read_bytes()
    answer = send(client, "/propose/grade", query="q1", document="d3", grade="3", quote="It closes late.", who="ana")
    assert (answer.status_code, answer.headers["location"]) == (303, "/proposals/0001")
    assert send(client, "/propose/wording", query="q2", text="Hours of café 2?", who="ana").status_code == 303
    assert send(client, "/propose/wording", query="new", text="Is there a spa?", who="ana").status_code == 303
    assert send(client, "/propose/grade", query="q1", document="no", grade="3", quote="x").status_code == 400
    assert (project / "set" / "judgments.jsonl").read_bytes() == before
    html = client.get("/proposals/0001").text
    assert '<q class="was" dir="auto">It closes late.</q>' in html
    assert "d3@" not in html  # bytes tell nobody what was selected
    assert '<a class="button" href="#decide">Accept or refuse</a>' in html.partition("What it changes")[0]
    assert 'name="who"' in html
    assert send(client, "/proposals/0001/decide", answer="accept", reason="", who="ada").status_code == 400
    assert send(client, "/proposals/0001/decide", answer="accept", reason="read", who="ada").status_code == 303
    assert send(client, "/proposals/0002/decide", answer="refuse", reason="no", who="ada").status_code == 303
    assert (project / "set" / "judgments.jsonl").read_bytes().startswith(before)
    Indexer(project).update()
    for address in ("/golden/q1", "/queries/q1"):
        assert '<q class="was" dir="auto">It closes late.</q>' in client.get(address).text
    assert "#decide" not in client.get("/proposals/0001").text
    assert "Refused by <strong>ada</strong>" in client.get("/proposals/0002").text
    assert "<h2>What it changed</h2>" in client.get("/proposals/0001").text
    assert "<h2>What it would have changed</h2>" in client.get("/proposals/0002").text
    assert "· 1 wording<" in client.get("/proposals/0002").text
    assert "· 1 new query<" in client.get("/proposals/0003").text
    assert "<del" in client.get("/proposals/0002").text
    assert client.get("/proposals/9").status_code == 404
    page = client.get("/proposals.json?limit=2").json()
    assert ([row["proposal"] for row in page["proposals"]], page["more"]) == (["0003", "0002"], "0002")
    older = client.get("/proposals.json?limit=2&after=0002").json()
    assert [row["state"] for row in older["proposals"]] == ["accepted"]


def test_labels_are_proposed(project: Path, client: TestClient) -> None:
    desk = open_desk(project)
    label_all(desk, "ana", ana_says)
    assert "first (40 labels, 0 finished pairs)" in client.get("/proposals").text
    assert send(client, "/propose/labels", queue="first", who="ana").status_code == 400
    answer = send(client, "/propose/labels", queue="first", unfinished="on", who="ana", reason="alone")
    html = client.get(answer.headers["location"]).text
    assert "40 judgments by 1 person, on 40 pairs" in html
    assert html.count("When does café 1 open?") == 1
    assert html.count("<ins>grade ") == 40
    again = send(client, "/propose/labels", queue="first", unfinished="on", who="ana")
    assert "Proposal 0001 is open and has all of this" in again.text
    save_label(desk, "first", "bo", Answer(query="q1", document="d2", grade=ana_says("q1", "d2")))
    propose_labels(desk, "first", by="bo", unfinished=True)
    assert "2 open proposals" in client.get("/golden").text


def test_a_long_document_is_cut_around_its_passage(tmp_path: Path) -> None:
    set_ = make_golden()
    long = "x " * 20_000 + "THE PASSAGE." + " y" * 20_000
    documents = tuple(replace(own, text=long) if own.id == "d2" else own for own in set_.documents)
    folder = make_project(tmp_path / "p", replace(set_, documents=documents))
    hits = [{"id": "d2", "score": 2.0, "content": "THE PASSAGE."}]
    (folder / "run.jsonl").write_text(json.dumps({"qid": "q1", "query": "x?", "topk": hits}) + "\n")
    desk = open_desk(folder)
    add_queue(desk, sources=(str(folder / "run.jsonl"),))
    Indexer(folder).update()
    client = make_client(folder)
    html = client.get("/judge?queue=first&who=ana").text
    assert "<mark>THE PASSAGE.</mark>" in html
    assert "is the passage that a system returned; grade the whole document" in html
    assert 'data-offset="28000"' in html
    assert "more characters: show all of it" in html
    whole = client.get("/judge?queue=first&who=ana&query=q1&document=d2&whole=true").text
    assert 'data-offset="0"' in whole
    assert "show all of it" not in whole


def test_guidelines_are_shown_as_their_markdown_means(project: Path, client: TestClient) -> None:
    """And not with its signs: people read them beside every pair."""
    (project / "labels" / "guidelines.md").write_text("# Be strict\n\n3. *all* of it\n0. <b>nothing</b>\n")
    html = client.get("/judge?queue=first&who=ana").text
    assert "<h2>Be strict</h2>" in html
    assert '<li value="3"><em>all</em> of it</li><li value="0">&lt;b&gt;nothing&lt;/b&gt;</li>' in html


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path) -> None:
    """In questions, documents, titles, ids, names, notes, reasons and guidelines."""
    set_ = make_golden()
    queries = (Query(id=EVIL, text=EVIL, category=EVIL, paraphrases=(EVIL,), answer=EVIL), *set_.queries)
    documents = (Document(id="d1", text=f"{EVIL}\n" + "z" * 1_000_000, title=EVIL), *set_.documents[2:])
    folder = make_project(tmp_path / "p", replace(set_, queries=queries, documents=documents, judgments=()))
    run = {"qid": EVIL, "query": EVIL, "topk": [{"id": "d1", "score": 1.0}]}
    (folder / "run.jsonl").write_text(json.dumps(run) + "\n")
    desk = open_desk(folder)
    add_queue(desk, sources=(str(folder / "run.jsonl"),), people=3)
    (desk.folder / "guidelines.md").write_text(EVIL)
    Indexer(folder).update()
    client = make_client(folder)
    who = EVIL.replace("\u202e", "")[:60]
    pages = [client.get("/judge", params={"queue": "first", "who": who})]
    for name, grade in ((who, "0"), ("bo", "3")):
        fields = read_form(client.get("/judge", params={"queue": "first", "who": name}).text)
        data = {**fields, "query": EVIL, "who": name, "answer": grade, "note": EVIL}
        assert client.post("/judge/save", data=data).status_code == 303
    assert send(client, "/propose/wording", query=EVIL, text=EVIL + "?", reason=EVIL, who="ana").status_code == 303
    send(client, "/judge/settling", adjudicator="cy")
    pages += [
        client.get(address) for address in ("/judge", "/judge/agreement", "/golden", "/proposals", "/proposals/1")
    ]
    pages.append(client.get("/golden", params={"q": "script"}))
    for page in pages:
        assert page.status_code == 200
        for acting in ("<script>", "<style>", "<svg onload", "\u202e"):
            assert acting not in page.text
        assert len(page.text) < 300_000


def test_the_set_may_be_broken_and_pages_say_so(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "p")
    desk = open_desk(folder)
    add_queue(desk)
    Indexer(folder).update()
    (folder / "set" / "queries.jsonl").write_text("{")
    find_desk.cache_clear()
    client = make_client(folder)
    assert "file that changed" in client.get("/golden").text
    Indexer(folder).update()
    for address in ("/golden", "/golden/q1"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "queries.jsonl" in answer.text


def test_an_answer_with_a_line_end_is_not_another_answer(project: Path, client: TestClient) -> None:
    """A pattern of Python lets a line end pass before its own end: it was taken for a refusal, or for a grade."""
    fields = read_form(client.get("/judge?queue=first&who=ana").text)
    assert client.post("/judge/save", data={**fields, "answer": "skip\n"}).status_code == 400
    assert send(client, "/propose/grade", query="q1", document="d1", grade="3", who="ana").status_code == 303
    sent = send(client, "/proposals/0001/decide", answer="accept\n", reason="read", who="ada")
    assert (sent.status_code, client.get("/proposals/0001.json").json()["state"]) == (400, "open")


def test_an_old_form_with_another_grade_is_refused_and_not_dropped(project: Path, client: TestClient) -> None:
    """Without a script, somebody goes back in the browser and corrects the grade: the form has the key of before."""
    fields = read_form(client.get("/judge?queue=first&who=ana").text)
    assert client.post("/judge/save", data={**fields, "answer": "2"}).status_code == 303
    refused = client.post("/judge/save", data={**fields, "answer": "0"})
    assert refused.status_code == 400
    assert "load the page again" in refused.text
    assert [line["grade"] for line in lines(project, "ana")] == [2]


def test_a_text_keeps_the_line_end_with_which_it_is_shown(tmp_path: Path) -> None:
    """Browsers drop a line end right after <pre>, and would count the place of selected words from there."""
    text, base = "words " * 3000 + "The answer.", make_golden()
    run = [{"query": "q1", "document": "d1", "query_text": "?", "passage": "The answer.", "grade": None}]
    # The window begins 12,000 characters before the passage; words are put so that it begins with the line end.
    place = text.index("The answer.") - 12_000
    text = text[:place].rstrip() + "s" * (place - len(text[:place].rstrip())) + "\n" + text[place + 1 :]
    golden = replace(base, documents=tuple(replace(own, text=text) for own in base.documents))
    folder = make_project(tmp_path / "other", golden)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in run))
    add_queue(open_desk(folder), kind="rows", sources=(str(folder / "rows.jsonl"),))
    find_desk.cache_clear()
    client = make_client(folder)
    shown = client.get("/judge.json?queue=first&who=ana").json()["shown"]
    assert shown["before"].startswith("\n")
    html = client.get("/judge?queue=first&who=ana").text
    pre = re.search(r'<pre class="text"[^>]*>(.*?)<mark>', html, re.DOTALL)
    assert pre
    assert pre[1] == "\n" + shown["before"]


def test_a_damaged_file_of_one_person_stops_no_other(project: Path, client: TestClient) -> None:
    """The overview and the pages about labels name it; others judge on; its owner and a proposal have to wait."""
    desk = open_desk(project)
    label_all(desk, "bo", bo_says, most=4)
    label_all(desk, "ana", ana_says, most=4)
    bo = project / "labels" / "people" / "bo.jsonl"
    bo.write_text(bo.read_text() + "{\n")
    (project / "labels" / "queues" / "odd.jsonl").write_text("{\n")
    named, whole = "labels/people/bo.jsonl, line 6: is not a label", "Left out, since it cannot be read"
    for path in ("/judge", "/judge?queue=first&who=ana", "/judge/agreement", "/proposals"):
        html = client.get(path).text
        assert named in html, path
        assert whole in html, path
    steps = [step["why"] for step in client.get("/index.json").json()["next"] if step["title"].startswith("Mend what")]
    assert [step.split(": ")[0] for step in steps] == [
        "labels/people/bo.jsonl, line 6",
        "labels/queues/odd.jsonl",
    ]
    fields = read_form(client.get("/judge?queue=first&who=ana").text)
    assert client.post("/judge/save", data={**fields, "answer": "2"}).status_code == 303
    assert len(lines(project, "ana")) == 5
    own = client.get("/judge?queue=first&who=bo")
    assert (own.status_code, named in own.text) == (400, True)
    refused = send(client, "/propose/labels", queue="first", who="ana", unfinished="on")
    assert (refused.status_code, named in refused.text) == (400, True)
    assert client.get("/proposals.json").json()["proposals"] == []


def test_pages_use_the_grade_that_decides(tmp_path: Path) -> None:
    """What was settled as 0 is not relevant on any page, though somebody gave a 3; nor is a lower median of 1."""
    votes = [
        ("d1", 0, "manual", "ana"), ("d1", 3, "manual", "bo"), ("d1", 0, "validated", "cy"),
        ("d2", 3, "manual", "ana"), ("d2", 1, "manual", "bo"), ("d3", 2, "manual", "ana"),
    ]  # fmt: skip
    judgments = tuple(
        Judgment(query="q1", target=Target(document=d), grade=g, source=s, annotator=a)  # type: ignore[arg-type]
        for d, g, s, a in votes
    )
    judged = replace(make_golden(queries=2), judgments=judgments)
    folder = make_project(tmp_path / "p", judged)
    for name in ("old", "new"):
        provenance = Provenance(
            name=name, golden=identify(judged), system={"kind": "test"}, fingerprint=name, settings={}
        )
        with RunWriter(folder / "runs" / f"{name}.jsonl", provenance) as writer:
            for query in ("q0", "q1"):
                writer.write(Trace(query=query, text="?", hits=tuple(Hit(f"d{i}", 9.0 - i) for i in (1, 2, 3))))
    Indexer(folder).update()
    client = make_client(folder)
    page = client.get("/queries/q1.json").json()
    assert page["relevant"] == ["d3"]
    assert [(hit["document"], hit["grade"], hit["relevant"]) for hit in page["ranking"]["hits"]] == [
        ("d1", 0, False), ("d2", 1, False), ("d3", 2, True),
    ]  # fmt: skip
    assert page["runs"][0]["ranks"] == {"d3": 3}
    said = {(own["document"], own["annotator"]): (own["decides"], own["decided"]) for own in page["judgments"]}
    assert said["d1", "bo"] == (False, 0)
    assert said["d2", "ana"] == (True, 1)
    both = client.get("/compare/q1.json?a=old&b=new").json()
    assert [hit["relevant"] for hit in both["first"]["hits"]] == [False, False, True]
    html = client.get("/queries/q1").text
    assert "does not decide" in html
    assert "the median, 1, decides" in html
    assert client.get("/golden.json?q=q1").json()["queries"][0]["relevant"] == 1


def test_one_thing_is_not_many(tmp_path: Path) -> None:
    """Counts have their noun in the singular where there is one."""
    set_ = make_golden(queries=1, documents=2)
    folder = make_project(tmp_path / "p", set_)
    add_queue(open_desk(folder), people=1)
    Indexer(folder).update()
    client = make_client(folder)
    assert "1 query, 2 documents, 1 judgment. " in client.get("/golden").text
    assert "0 of 1 label<" in client.get("/judge").text


def test_a_span_outside_the_text_has_no_words(tmp_path: Path) -> None:
    """The beginning of its document is not what somebody selected."""
    outside = Judgment(query="q0", target=Target(document="d1", span=Span(5000, 5010)), grade=3, annotator="ana")
    set_ = make_golden(queries=1, documents=2)
    folder = make_project(tmp_path / "p", replace(set_, judgments=(*set_.judgments, outside)))
    Indexer(folder).update()
    client = make_client(folder)
    assert [row["text"] for row in client.get("/golden/q0.json").json()["judgments"] if row["document"] == "d1"] == [""]
    assert "d1@5000-5010" in client.get("/golden/q0").text
