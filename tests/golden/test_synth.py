"""Golden sets made by machine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from each import each
from karat.core import Document, GoldenSet, InputError, UsageError
from karat.golden import check, needles, synthesise
from karat.start._golden import make_starter
from karat.text import sentences

NAMES = ("billing", "audit", "search", "login", "export", "mail")


def page(n: int) -> str:
    """Write a page as teams have many of: what it is about in a few sentences, and the same steps as everywhere."""
    draw, name = Random(n), f"{NAMES[n % 6]}{n}"
    fails = draw.choice(["rejects invoices", "delays messages", "drops sessions", "repeats reports"])
    when = draw.choice(["after a deployment", "when the disk is full", "during a failover"])
    return (
        f"---\ntitle: {name}\n---\n# Runbook: {name}\n\nThis runbook is for the engineer who is on call this week. "
        f"The {name} service {fails} {when}.\n\n## Steps\n\n1. Open the console.\n2. Click **Audit**.\n"
        "3. Click the [large button](button.md) and wait until it is green.\n4. Tell the channel.\n\n"
        f"```sh\nrestart {name}\n```\n\nOwners keep {draw.randrange(10, 99)} backups in the {name} vault. Good luck!\n"
    )


def pages(count: int) -> list[Document]:
    """Return this many pages."""
    return [Document(id=f"p{n:05}", text=page(n), format="markdown") for n in range(count)]


def texts_of(gold: GoldenSet) -> list[str]:
    """Return the texts of the queries."""
    return [query.text for query in gold.queries]


def test_short_sentences_are_kept_by_the_splitter():
    """The sources' own test: three sentences, of which their splitter lost the first."""
    assert sentences("Wow! That is amazing. Really great!") == ["Wow!", "That is amazing.", "Really great!"]


def test_short_sentences_ask_nothing():
    """A sentence of ten characters or fewer becomes no query."""
    gold = synthesise([Document(id="d", text="Wow! That is amazing. Really great!")], 3)
    assert [q.text for q in gold.queries] == ["That is amazing.", "Really great!"]


def test_ids_and_judgments():
    """Queries have numbers as ids, and only their document is relevant, judged by a machine."""
    gold = synthesise([Document(id="a", text="One sentence here."), Document(id="b", text="")], 2)
    assert [q.id for q in gold.queries] == ["q001"]
    assert [(j.query, j.target.document, j.grade, j.source) for j in gold.judgments] == [
        ("q001", "a", 1, "bootstrapped")
    ]


def test_another_generator_can_write_the_queries():
    """The hook for an LLM gets the document and how many queries are wanted, and no more than that are taken."""
    gold = synthesise([Document(id="a", title="T")], 2, generate=lambda document, n: [document.title] * (n + 5))
    assert [q.text for q in gold.queries] == ["T", "T"]


def test_needles_have_their_defaults_and_their_places():
    """Eight logs of 200 lines, twelve facts; each span is the one line that answers."""
    gold = needles()
    assert [len(d.text.splitlines()) for d in gold.documents] == [200] * 8
    assert len(gold.queries) == 12
    for query, judgment in zip(gold.queries, gold.judgments, strict=True):
        text = gold.document_by_id[judgment.target.document].text.encode()
        line = text[judgment.target.span.start : judgment.target.span.end].decode()
        subject = query.text.removeprefix("What is the code of ").removesuffix("?")
        assert line.startswith(f"The code of {subject} is ")
        assert sum(d.text.count(line) for d in gold.documents) == 1


def test_needles_are_the_same_for_the_same_seed_only():
    """The same seed gives the same set to the byte, another seed another one."""
    assert needles(seed=7) == needles(seed=7)
    assert needles(seed=7) != needles(seed=8)


@pytest.mark.parametrize("wrong", [{"documents": 0}, {"needles": 0}, {"lines": 1, "documents": 1, "needles": 2}])
def test_impossible_haystacks_are_refused(wrong):
    """Nothing to hide in, nothing to hide, or more facts than lines."""
    with pytest.raises(UsageError):
        needles(**wrong)


class TestRunbooks:
    """Pages that have most of their sentences in common."""

    def test_what_every_page_says_is_not_asked(self):
        """What is left are the sentences that only one page has, none of them a step."""
        texts = texts_of(synthesise(pages(30)))
        assert len(texts) == 60
        assert {"service", "vault"} == {word for text in texts for word in ("service", "vault") if word in text}
        assert not any("console" in text or "Audit" in text or "runbook" in text for text in texts)

    def test_no_id_tells_the_answer(self):
        """The linter warns about ids of queries that name their documents, so none of them is made."""
        assert "telling-id" not in {finding.rule for finding in check(synthesise(pages(30))).findings}

    def test_the_linter_finds_no_repeats(self):
        """The set that a project starts with has no query that contradicts another, or asks the same."""
        rules = {finding.rule for finding in check(synthesise(pages(30))).findings}
        assert "copied-query" in rules
        assert "near-duplicate-query" not in rules

    def test_a_sentence_may_be_marked_or_wrapped_in_the_other_document(self):
        """Emphasis, a link, line ends, case and articles do not make it another; it need be no candidate there."""
        text = "Green towels hang beside the old boiler. The sauna opens at six on Sundays."
        filler = "".join(f"Number {n} of these sentences is about guest {n}.\n" for n in range(50))
        for other in (
            "Green **towels** hang beside\nan old [boiler](boiler.md).",
            f"{filler}\n- green towels hang beside old boiler",
        ):
            gold = synthesise([Document(id="a", text=text), Document(id="b", text=other)], 3)
            of_one = {judgment.query for judgment in gold.judgments if judgment.target.document == "a"}
            assert [query.text for query in gold.queries if query.id in of_one] == [
                "The sauna opens at six on Sundays."
            ]

    def test_part_of_a_word_is_no_sentence_of_another(self):
        """Only whole words in a row count."""
        texts = ["The pool opens at six sharp.", "The carpool opens at six sharp.", "The pool opens at six sharpened."]
        assert texts_of(synthesise([Document(id=f"d{i}", text=text) for i, text in enumerate(texts)])) == texts

    def test_nearly_the_same_twice_in_a_page_asks_once(self):
        """Of two sentences that differ in an ending the first is taken."""
        text = (
            "The lifeguard leaves the pool at nine. The lifeguards leave the pool at nine. Towels hang near old doors."
        )
        gold = synthesise([Document(id="d", text=text)])
        assert texts_of(gold) == ["The lifeguard leaves the pool at nine.", "Towels hang near old doors."]
        assert "near-duplicate-query" not in {finding.rule for finding in check(gold).findings}


@each(
    ("text", "expected"),
    [
        ("- Bring a large towel of your own.\n\nIt is free. Ask at the desk.", ["Bring a large towel of your own."]),
        ("- Click Audit.\n- Click Export.\n\nIt is free there.", ["It is free there."]),
        ("# Steps\n\n- Click Audit.\n- Click Export.", ["Click Audit.", "Click Export."]),
        ("It is what it is, as it was.\n\nThe pool opens at six.", ["The pool opens at six."]),
    ],
)
def test_the_best_that_a_document_has(text, expected):
    """Sentences of paragraphs, else of lists; where all are short, those, and steps at the very last."""
    assert texts_of(synthesise([Document(id="d", text=text, format="markdown")])) == expected


class TestMost:
    """A limit to the queries of a set."""

    @pytest.mark.parametrize(("count", "most", "expected"), [(10, 200, 20), (10, 15, 10), (10, 7, 7), (300, 200, 200)])
    def test_they_are_spread_evenly(self, count, most, expected):
        """As many of each document as there is room for, and of many documents one each, as far apart."""
        gold = synthesise(pages(count), most=most)
        assert len(gold.queries) == expected
        assert len(gold.documents) == count
        places = [int(judgment.target.document[1:]) for judgment in gold.judgments]
        assert places == sorted(places)
        gaps = [after - before for before, after in pairwise(places) if after != before]
        assert max(gaps) - min(gaps) <= 1
        assert places[-1] >= count - max(gaps)

    def test_a_document_without_a_sentence_gives_way_to_its_neighbour(self):
        """Of a stretch of documents the first that has something to ask for is taken."""
        documents = [Document(id=f"d{n}", text=page(n) if n % 2 else "| a |") for n in range(40)]
        gold = synthesise(documents, most=20)
        assert [judgment.target.document for judgment in gold.judgments] == [f"d{n}" for n in range(1, 40, 2)]

    def test_a_generator_is_asked_no_more_than_is_needed(self):
        """One call for each stretch, unless it makes nothing."""
        calls = []

        def generate(document: Document, n: int) -> list[str]:
            calls.append((document.id, n))
            return [] if document.id == "p00000" else ["When?"]

        gold = synthesise(pages(9), 2, generate=generate, most=3)
        assert calls == [("p00000", 1), ("p00001", 1), ("p00003", 1), ("p00006", 1)]
        assert len(gold.queries) == 3

    def test_none_and_nothing(self):
        """No documents give no queries; a limit of none is refused."""
        assert synthesise([], most=5).queries == ()
        with pytest.raises(UsageError, match=r"most=0; make at least one query$"):
            synthesise(pages(1), most=0)


class TestStarter:
    """The set that a project starts with."""

    def write(self, folder: Path, texts: list[str]) -> Path:
        """Write documents."""
        for n, text in enumerate(texts):
            (folder / f"p{n:05}.md").write_text(text)
        return folder

    def test_few_documents(self, tmp_path):
        """All are asked for, and there is nothing to say."""
        gold = make_starter(self.write(tmp_path, [page(n) for n in range(30)]), "shop")
        assert (len(gold.golden.queries), gold.notes) == (60, ())

    @pytest.mark.slow
    def test_many_documents(self, tmp_path):
        """Two hundred are asked for, one query each, and that is said; who says nothing is not listed."""
        gold = make_starter(self.write(tmp_path, [*(page(n) for n in range(1_100)), ""]), "shop")
        assert len({judgment.target.document for judgment in gold.golden.judgments}) == len(gold.golden.queries) == 200
        assert gold.notes == ("200 of 1,101 documents are asked for",)

    def test_copies(self, tmp_path):
        """A document that stands twice gives no query, and a folder of copies alone is refused with the reason."""
        gold = make_starter(self.write(tmp_path, [page(1), page(2), page(2)]), "shop")
        assert {judgment.target.document for judgment in gold.golden.judgments} == {"p00000"}
        assert gold.notes == ("no sentence to ask for in p00001, p00002",)
        (tmp_path / "p00000.md").unlink()
        with pytest.raises(InputError, match="or only sentences that several documents share; write a few"):
            make_starter(tmp_path, "shop")
