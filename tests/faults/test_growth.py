"""Readers and parsers need time in proportion to what they read: each of these texts once took minutes or more.

The limit is more than ten times what is needed, and a fraction of what a pass for each letter would need.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from karat.core import (
    Document,
    GoldenSet,
    Hit,
    Judgment,
    KaratError,
    Measure,
    Provenance,
    Query,
    Run,
    Target,
    Trace,
    did_you_mean,
)
from karat.evaluation import score_run
from karat.feedback._gathering import LiveQuery
from karat.feedback._rewording import Rewordings
from karat.files import Reading, parse_toml
from karat.golden.formats._attack import strip_markup
from karat.golden.formats._head import Head
from karat.golden.formats._sgml import blank_comments, find_elements, remove_elements
from karat.golden.formats._topics import read_topics
from karat.golden.formats._trec import _find_markup, _read_records
from karat.golden.lint import check
from karat.labelling._book import Book
from karat.labelling._proposal import apply_changes
from karat.labelling._queue import Queue
from karat.mcp._calls import _read
from karat.runs._tracefile import _Wordings
from karat.schema.labelling import ProposalChange, QueueHead, QueueRow
from karat.start import _install
from karat.text import find_quote

SECONDS = 5.0
LONG = 100_000


class Text(Reading):
    """Reads one text, whatever the path."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.content = text

    def text(self, path: str | Path, name: str = "") -> str:
        return self.content


def read_records(text: str) -> None:
    """Read the records of a text of TREC's."""
    list(_read_records(Path("a"), Text(text)))


def read_all_topics(text: str) -> None:
    """Read the topics of a text of TREC's."""
    list(read_topics(Path("a"), Text(text)))


def lint_id(text: str) -> None:
    """Check a set in which an id is as long as a text."""
    check(GoldenSet(documents=(Document(id=text, text="a"),), queries=(Query(id=text, text="a"),)))


def lint_lost_id(text: str) -> None:
    """Check a set in which a judgment names a document by an id as long as a text."""
    lost = Judgment(query="q", target=Target(document=f"{4 * text}x"), grade=3)
    check(GoldenSet(documents=(Document(id=4 * text),), queries=(Query(id="q", text="a"),), judgments=(lost,)))


def lint_paraphrases(text: str) -> None:
    """Check a query with a paraphrase for every tenth letter of a text."""
    paraphrases = tuple(f"other {i} words w{i}" for i in range(len(text) // 10))
    check(GoldenSet(queries=(Query(id="q", text="what is it", paraphrases=paraphrases),)))


def number_wordings(text: str) -> None:
    """Number the wordings of one query that its golden set does not have, one for every other letter of a text."""
    traces = [Trace(query="q", text=f"wording {i}") for i in range(len(text) // 2)]
    records: list[Any] = [SimpleNamespace(trace=trace, paraphrase=None) for trace in traces]
    golden = GoldenSet(queries=(Query(id="q", text="what is it"),))
    assert _Wordings(golden, records).numbers == list(range(len(records)))


def score_strange_id(text: str) -> None:
    """Score a run whose only hit has an id as long as ten texts, which the message compares with those of the gold."""
    golden = GoldenSet(
        queries=(Query(id="q", text="a"),), judgments=(Judgment(query="q", target=Target(document="d"), grade=3),)
    )
    trace = Trace(query="q", text="a", hits=(Hit(10 * text, 1.0),))
    score_run(golden, Run(provenance=Provenance(name="mine"), traces=(trace,)), ["RR"])


def suggest(text: str) -> None:
    """Look for names that are like a text."""
    did_you_mean(text, [text[1:], "abc"])


def read_labels(text: str) -> None:
    """Read the labels of somebody who says the same of one pair again and again, a label for every fifth letter."""
    head = {"karat": "labels", "version": 1, "who": "ana"}
    label = {"at": "2026-11-18T00:00:00Z", "verdict": "grade", "query": "q", "document": "d", "grade": 1}
    rows = [head, *(label | {"key": f"k{i}"} for i in range(len(text) // 5))]
    with TemporaryDirectory() as folder:
        Path(folder, "ana.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        book = Book(Path(folder))
        book.refresh()
    assert book.last("ana") is not None


def list_pairs(text: str) -> None:
    """Look at every pair of a queue with a row for every fifth letter of a text."""
    head = QueueHead(karat="label-queue", version=1, name="a", kind="pool", at="2026-11-18T00:00:00Z")
    queue = Queue(head=head, rows=tuple(QueueRow(query=f"q{i}", documents=("d",)) for i in range(len(text) // 5)))
    assert [queue.pair(number)[0] for number in range(len(queue))] == [row.query for row in queue.rows]


def propose_paraphrases(text: str) -> None:
    """Apply a proposal with a paraphrase of one query for every other letter of a text."""
    changes = [ProposalChange(paraphrase=f"wording {i}", of="q") for i in range(len(text) // 2)]
    golden = apply_changes(GoldenSet(queries=(Query(id="q", text="what is it"),)), changes)
    assert len(golden.queries[0].paraphrases) == len(changes)


def harvest_wordings(text: str) -> None:
    """Look for other wordings of golden queries among live ones; all have two words in common."""
    numbers = range(len(text) // 80)
    golden = GoldenSet(queries=tuple(Query(id=f"q{i}", text=f"price of room w{i} x{i} y{i}") for i in numbers))
    rewordings = Rewordings(golden)
    live = [LiveQuery(f"k{i}", forms={f"price of room v{i} x{i} y{i}": 1}) for i in numbers]
    proposals = [rewordings.propose(query) for query in live]
    assert [proposal.rewording.query for proposal in proposals if proposal] == [query.id for query in golden.queries]


def receive_line(text: str) -> None:
    """Read the one line of a call of an agent, which comes in a piece for every letter of a text."""

    async def write() -> AsyncIterator[bytes]:
        yield b'{"note": "'
        for letter in text:
            yield letter.encode() * 50
        yield b'"}\n'

    async def read() -> None:
        process: Any = SimpleNamespace(stdout=write())
        assert [len(message.note) async for message in _read(process)] == [50 * len(text)]

    asyncio.run(read())


READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "brackets": (lambda text: Head(text=text).keys, "["),
    "objects": (lambda text: Head(text=text).keys, '{"a":'),
    "keys in a long key": (lambda text: Head(text=f'{{"{text}": {{{text}').keys, '"a":1,'.replace('"', "'")),
    "records": (read_records, "<DOC>"),
    "records with a number": (read_records, "<DOC 1>"),
    "records of nothing": (read_records, "<DOC></DOC>"),
    "half a record": (read_records, "<DOC "),
    "numbers": (lambda text: read_records(f"<DOC>{text}</DOC>"), "<DOCNO>"),
    "titles": (lambda text: read_records(f"<DOC><DOCNO>1</DOCNO>{text}</DOC>"), "<TITLE><HL>"),
    "texts": (lambda text: read_records(f"<DOC><DOCNO>1</DOCNO>{text}</DOC>"), "<TEXT>"),
    "markup": (_find_markup, "<DOCNO>"),
    "comments": (_find_markup, "<!--"),
    "comments in topics": (read_all_topics, "<!--"),
    "topics": (read_all_topics, "<top>"),
    "blanks before a citation": (strip_markup, "\n"),
    "an id": (lint_id, "a"),
    "paraphrases": (lint_paraphrases, "a"),
    "an id of parts that is not there": (lint_lost_id, "ab-"),
    "wordings": (number_wordings, "a"),
    "an id that the gold does not have": (score_strange_id, "a"),
    "a name": (suggest, "ab"),
    "a measure": (Measure.parse, " "),
    "a measure of digits": (Measure.parse, "9"),
    "a dotted key": (lambda text: parse_toml(f"{text}a = 1", "a"), "a."),
    "labels of a pair": (read_labels, "a"),
    "pairs of a queue": (list_pairs, "a"),
    "paraphrases of a proposal": (propose_paraphrases, "a"),
    "words of a quote": (lambda text: find_quote(text, f"{text[len(text) // 2 :]}b"), "a "),
    "wordings of a log": (harvest_wordings, "a"),
    "a line of a call": (receive_line, "a"),
    "a requirement": (lambda text: _install._parse_requirement(f"karat{text}x", ""), " "),
}


SLOW = ("wordings", "labels of a pair", "paraphrases", "paraphrases of a proposal", "a line of a call")


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=[pytest.mark.slow] if what in SLOW else []) for what in READERS]
)
def test_time_grows_with_the_length(what: str) -> None:
    """A text of one thing, again and again, is read or refused in no time."""
    read, part = READERS[what]
    text = part * (LONG // len(part))
    started = time.process_time()
    with suppress(KaratError):
        read(text)
    assert time.process_time() - started < SECONDS


def test_elements_are_those_of_a_pattern() -> None:
    """What is found is what ``<A>(.*?)</A>`` finds: up to the first closing tag, in any case, with tags inside."""
    text = "x<a>1<A>2</a>3<b>4</B><c>5<a>6</a></a><b>7"
    assert [(text[e.start : e.end], e.tag, e.text) for e in find_elements(text, "a|b|c")] == [
        ("<a>1<A>2</a>", "a", "1<A>2"),
        ("<b>4</B>", "b", "4"),
        ("<a>6</a>", "a", "6"),
    ]
    assert remove_elements(text, "a|b|c") == "x3<c>5</a><b>7"
    assert remove_elements("abc", "a") == "abc"


def test_comments_become_blanks() -> None:
    """Positions and lines stay, and what is never closed is no comment."""
    assert blank_comments("a<!-- b\nc -->d<!---->e<!-- f") == "a      \n     d       e<!-- f"


def test_keys_are_found_up_to_a_depth() -> None:
    """Formats are recognised by keys near the top; those deep down are not looked at."""
    assert Head(text='{"a": {"b": [{"c": 1}]}, "d": 2}').keys == {"a", "a.b", "a.b[].c", "d"}
    assert len(Head(text='{"a":' * 100).keys) < 30
