"""Redaction: what is never written, whatever it looks like, and however long the text is."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat import online
from karat.core import Answer
from karat.online import Redaction, ingest, read_log
from karat.online._personal import _hide, hide_personal
from karat.online.shadow import Shadow


@each(
    ("text", "expected"),
    [
        ("mail ann.lee+x@mail.example.org now", "mail [e-mail] now"),
        ("call +49 (151) 123-4567!", "call [phone]!"),
        ("call 030 1234567 or (555) 123-4567", "call [phone] or [phone]"),
        ("card 4111-1111-1111-1111 and 5500 0000 0000 0004", "card [card] and [card]"),
        ("order 4111111111111112", "order 4111111111111112"),
        ("key sk-7Hq2mZ0xW9abcdefgh.", "key [key]"),
        ("AKIAIOSFODNN7EXAMPLE", "[key]"),
        ("sha d41d8cd98f00b204e9800998ecf8427e", "sha [key]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- x", "[key] x"),
        ("on 2024-01-15 at 10:30, room 12, 12345678", "on 2024-01-15 at 10:30, room 12, 12345678"),
        ("how do I reset the internationalization settings of v1.2.3?", None),
        ("uuid 550e8400-e29b-41d4-a716-446655440000", None),
        ("4111 1111 1111 1111 12/27 123", "[card]"),
        ("order 12 4111 1111 1111 1111, room 4111", "order 12 [card], room 4111"),
        ("4111\u00a01111\u20111111\n1111 and 4111 \u2013 1111 \u2013 1111 \u2013 1111", "[card] and [card]"),
        ("no.4111111111111111, _5500000000000004_ or v-4111111111111111", "no.[card], _[card]_ or v-[card]"),
        ("12.05.1980 0151 23456789", "12.05.1980 [phone]"),
        ("tel.+49\u202f151\u20111234567 +49 30 7654321", "tel.[phone] [phone]"),
        ("0151 2345678 0152 8765431", "[phone]"),
        ("0151 2345678 0152 8765432", "[card]"),  # it passes the check by chance, and nothing of it is left
        ("order 12345678 for 1,299,000.00 on 17.11.2026 and 2026-11-18 - 2026-11-20", None),
        ("ann\uff20example.org ann%40example.org an\u200bn@exam\u00adple.org", "[e-mail] [e-mail] [e-mail]"),
        ('"ann lee"@example.org and lodash@4.17.21', "[e-mail] and lodash@4.17.21"),
        ("SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DH GOCSPX-abcdefghijklmn", "[key] [key]"),
        ("xapp-1-A111-222-abcdefabcdef a_sq0atp-abcdefghijklmnopqrstuv", "[key] a_[key]"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK----- x", "[key] x"),
        ("login password=hunter2secret now", "login password=[key] now"),
        ("PWD: hunter2, db_token = 'a b c' x", "PWD: [key] db_token = [key] x"),
        ('{"api_key": "abc", "page": 2}', '{"api_key": [key] "page": 2}'),
        ("Authorization: Bearer abc?x=1&client_secret=y", "Authorization: [key]"),
        ("token: 0151 2345678 secret: -----BEGIN RSA PRIVATE KEY-----\nabc", "token: [key] secret: [key]"),
        ("how do I change my password? 10:30, tokens: 5, a=b", None),
        ("\u0661\u0662\u0663 \u0664\u0665\u0666 \u0667\u0668\u0669\u0660", "[phone]"),
    ],
)
def test_redaction(text: str, expected: str | None) -> None:
    """Addresses, numbers and keys are replaced by what they are; dates, versions and words stay."""
    assert Redaction()(text) == (text if expected is None else expected)


def test_redaction_of_everything_a_host_says(tmp_path: Path) -> None:
    """Texts, answers, errors and attributes are redacted before they are written; own patterns come first."""
    path = tmp_path / "karat.db"
    log = online.open(path, redact={"order": r"ORD-\d+"})
    log.record("ann@example.org ORD-1", answer="ann@example.org", error="ann@example.org", deep={"a": ["ORD-2"]})
    log.feedback("note", note={"ann@example.org": "ORD-3"})
    everything = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert not any(needle in everything for needle in (b"ann@example.org", b"ORD-1", b"ORD-2", b"ORD-3"))
    log.close()
    ingest(path)
    with read_log(path) as reader:
        (query,) = reader.queries()
        (event,) = reader.events()
    assert (query.text, query.answer, query.error) == ("[e-mail] [order]", "[e-mail]", "[e-mail]")
    assert (query.attributes, event.attributes) == ({"deep": {"a": ["[order]"]}}, {"note": {"[e-mail]": "[order]"}})


@pytest.mark.parametrize(
    "part",
    [
        "a=",
        "1 ",
        "+1",
        "1_",
        "a@b.1",
        '"@a.co',
        "sk-0123456789abcdef ",
        "4111111111111111 ",
        "2024-01-15 ",
        "%40",
        "token=",
        "token:'",
        "pwd: ",
        "\u200b1",
    ],
)
def test_time_grows_with_the_text(part: str) -> None:
    """A text that is eight times as long takes about eight times the time of the processor; a square would be 64."""
    redact = Redaction()

    def measure(length: int) -> float:
        text = part * (length // len(part))
        times = list[float]()
        for _ in range(3):
            start = thread_time()
            redact(text)
            times.append(thread_time() - start)
        return min(times)

    assert measure(16_000) < 30 * max(measure(2_000), 0.0005)


def test_attributes_of_any_type(tmp_path: Path) -> None:
    """What JSON does not have becomes text before it is redacted, and what is too long is dropped and counted."""

    @dataclass
    class Person:
        mail: str

    class Colour(enum.Enum):
        RED = "ann@example.org"

    path = tmp_path / "karat.db"
    with online.open(path) as log:
        values = [{"ann@example.org"}, b"ann@example.org", ValueError("ann@example.org"), Person("ann@example.org")]
        log.record("q", values=values, colour=Colour.RED, card=4111111111111111, keys={("ann@example.org",): 1})
        log.record("plain", page=2, share=0.5, milliseconds=1_700_000_000_000, no=None, yes=True)
        log.record("long", note=["x" * 600_000, "x" * 600_000])
        assert log.dropped == {"too_large": 1}
    ingest(path)
    with read_log(path) as reader:
        first, second = (query.attributes for query in reader.queries())
    assert first["values"] == [["[e-mail]"], "[e-mail]", "[e-mail]", {"mail": "[e-mail]"}]
    assert (first["colour"], first["card"]) == ("[e-mail]", "[card]")
    assert "ann" not in str(first["keys"])
    assert second == {"page": 2, "share": 0.5, "milliseconds": 1_700_000_000_000, "no": None, "yes": True}


def test_names_that_are_texts(tmp_path: Path) -> None:
    """Labels are redacted; ids of documents stay, but what is too long for one is hashed, the same way everywhere."""
    mail, text, trace = "ann@example.org", "the wifi password is " * 20, "4bf92f3577b34da6a3ce929d0e0e4736"
    path = tmp_path / "karat.db"
    log = online.open(path, system=mail)
    labels = {"intent": f"help {mail}", "mode": mail, "tool": mail}
    hits = [{"id": "wifi", "score": 0.5, "text": text, "metadata": mail}, {"id": text}, (text, 0.25), text]
    log.record("q", hits, channels={"dense": ["a", text]}, answer="x", citations=[text, "wifi"], trace=trace, **labels)
    log.record("r", ["wifi"], trace=f"trace for {mail}", intent="x" * 500)
    log.feedback(f"told {mail}", document=text)
    everything = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert mail.encode() not in everything
    assert text.encode() not in everything
    log.close()
    ingest(path)
    with read_log(path) as reader:
        first, second = reader.queries()
        (event,) = reader.events()
    assert (first.intent, first.mode, first.tool, first.system) == ("help [e-mail]", *["[e-mail]"] * 3)
    assert (first.trace, second.trace, second.intent) == (trace, "trace for [e-mail]", "x" * 100)
    assert first.documents == ("wifi", event.document, event.document, event.document)
    assert (first.channels, first.citations) == ({"dense": ("a", event.document)}, (event.document, "wifi"))
    assert (event.kind, event.document[:5], len(event.document)) == ("told [e-mail]", "text-", 37)


@given(st.lists(st.sampled_from([*"ab1 2-3@%40.PRIVATE KEY\x1c\n=:", "pwd", "token"]), max_size=40).map("".join))
def test_the_short_way_hides_the_same(text: str) -> None:
    """Most texts are known to be harmless without a look at each word; whatever is not is looked at."""
    assert hide_personal(text) == _hide(text)


def test_shadow_runs_hide_what_queries_hide(tmp_path: Path) -> None:
    """The query, both lists and both answers: no byte of an address, or of a text where an id should be."""
    path, text = tmp_path / "karat.db", "a text that is no id " * 20
    answer = Answer("Mail ann@example.org.", citations=[text], hits=[(text, 1.0), ("pool", 0.5)])
    with online.open(path) as log:
        for result in ([text, "pool"], answer):
            shadow = Shadow(*[lambda query, k, own=result: own] * 2, log=log, feature="f", percent=100)
            with shadow.within(query=text, session="ann"):
                shadow("mail ann@example.org", 2)
            assert shadow.drain()
    there = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"mail [e-mail]" in there
    assert [part for part in (b"ann@", b"a text that") if part in there] == []
    ingest(path)
    with read_log(path) as reader:
        lists, answers = reader.shadow_runs("f")
    for run in (lists, answers):
        hidden = {run.query, run.control[0], run.treatment[0]}
        assert (run.text, run.control[1], len(hidden), {name[:5] for name in hidden}) == (
            "mail [e-mail]", "pool", 1, {"text-"},
        )  # fmt: skip
    assert lists.answers == (None, None)
    for own in answers.answers:
        assert own is not None
        assert (own.text, own.citations[0].id, own.hits[0].document) == ("Mail [e-mail].", *[answers.query] * 2)
