"""Rules on texts: chunks of the index under test, or documents of the set."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from each import each
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.golden import read
from karat.golden.lint import _chunk_rules
from karat.golden.lint._rule import RULES, Finding, Subject
from karat.golden.lint._scripts import script
from public_data import find_collection

RULE_NAMES = [rule.name for rule in RULES.values() if rule.check.__module__ == _chunk_rules.__name__]
PLAIN = "A text of some length with nothing wrong in it."
POLICY = (
    "Guests may cancel free of charge until six in the evening of the day before they arrive, and after that the first "
    "night is charged in full to the card that they left with us when they made the booking by telephone or online."
)


def documents(*texts: str) -> tuple[Document, ...]:
    """Return documents d0, d1 ..."""
    return tuple(Document(id=f"d{i}", text=text) for i, text in enumerate(texts))


def look(name: str, *texts: str) -> list[Finding]:
    """Apply one rule to documents."""
    return list(RULES[name].check(Subject(golden=GoldenSet(documents=documents(*texts)))))


def check(name: str, golden: GoldenSet, chunks: tuple[Document, ...] = ()) -> list[Finding]:
    """Apply one rule to a set, and to chunks."""
    return list(RULES[name].check(Subject(golden=golden, chunks=chunks)))


def test_texts_that_are_fine() -> None:
    """No rule says anything on plain texts, accents, tabs, ends of lines or an empty set."""
    texts = [PLAIN, "Caf\u00e9 \u00e0 la carte,\tNiet \u00abCAF\u00c9\u00bb, no\u00ebl\r\nund Stra\u00dfe", POLICY]
    for name in RULE_NAMES:
        assert look(name) == []
        assert look(name, *texts) == []


def test_empty() -> None:
    """White space is not text; a title is."""
    assert [finding.where for finding in look("empty-text", PLAIN, "", " \n")] == [("d1", "d2")]
    titled = GoldenSet(documents=(Document(id="d", title="Pool rules for guests"),))
    assert check("empty-text", titled) == []


def test_tiny() -> None:
    """Nineteen characters are too few, twenty are not, none is another rule's."""
    assert [finding.where for finding in look("tiny-text", "x" * 19, "x" * 20, "", f"  {'x' * 19}  ")] == [("d0", "d3")]


def test_giant() -> None:
    """A chunk has another limit than a document, and words count, not characters."""
    long = documents("word " * 6_001, "word " * 6_000, "character" * 6_000)
    assert [finding.where for finding in check("giant-text", GoldenSet(), long)] == [("d0",)]
    assert check("giant-text", GoldenSet(documents=long)) == []
    assert [finding.where for finding in look("giant-text", "word " * 20_001, "word " * 20_000)] == [("d0",)]


def test_chunks_are_looked_at_where_they_are_known() -> None:
    """Then the documents are left alone, and the message says what was looked at."""
    golden = GoldenSet(documents=documents("", PLAIN))
    (finding,) = check("empty-text", golden, (Document(id="c1", text=""), Document(id="c2", text=PLAIN)))
    assert (finding.where, finding.message) == (("c1",), "1 of 2 chunks without text")


def test_missing_ids_are_told_by_their_place() -> None:
    """A text without a name is named by where it stands."""
    golden = GoldenSet(documents=(Document(id="a", text=PLAIN), Document(id=" ", text=PLAIN)))
    assert [finding.where for finding in check("missing-id", golden)] == [("document 2",)]


@each("character", ["\x00", "\x0c", "\x1b", "\x7f", "\x85", "\x96", "\u200b"])
def test_control_characters(character: str) -> None:
    """Control characters of ASCII and Latin-1, and the space of no width."""
    (finding,) = look("control-character", PLAIN, f"pool{character}side")
    assert finding.where == ("d1",)
    assert f"U+{ord(character):04X}" in finding.message


def test_byte_order_marks() -> None:
    """At the beginning or in the middle."""
    assert look("byte-order-mark", "\ufeffpool", PLAIN, "pool\ufeffbar")[0].where == ("d0", "d2")


@each(
    "text",
    ["café", "naïve", "the guest\u2019s room", "10 €", "Größe", "à la", "™", "\ufeffBOM", "¿qué?", "Österreich", "sûr"],
)
@each("encoding", ["cp1252", "latin-1"])
def test_every_text_that_was_decoded_wrongly_is_found(text: str, encoding: str) -> None:
    """UTF-8 taken for Windows-1252 or Latin-1, and then written as if it were right."""
    try:
        broken = text.encode().decode(encoding)
    except UnicodeDecodeError:
        broken = text.encode().decode(encoding, errors="replace")
    assert [finding.where for finding in look("broken-character", text, f"see {broken} here")] == [("d1",)]


@each(
    "text",
    [
        "«CAFÉ» und «ÊTRE»",
        "MANHÃ «Ã»",
        "\u201cAMANHÃ\u201d, Ã\u2026",
        "Ångström Â",
        "São João, AÇÃO!",
        "Ất nước",
        "5 °C ± 1 €",
        "日本語",
        "Ää Öö",
    ],
)
def test_right_text_is_not_broken(text: str) -> None:
    """Capitals with accents, quotation marks and signs stand side by side in sound text too."""
    assert look("broken-character", text) == []


def test_lost_characters_are_shown() -> None:
    """The replacement character is reported with the text around it."""
    assert "'Met\ufffdio'" in look("broken-character", "Met\ufffdio")[0].message


@each(
    ("text", "expected"),
    [
        ("check-in 15:00", "Latin"),
        ("Größe, ça va", "Latin"),
        ("Заезд", "Cyrillic"),
        ("Ώρα άφιξης", "Greek"),
        ("時間は15時です", "Han and Kana"),
        ("체크인 시간", "Hangul"),
        ("وقت الوصول", "Arabic"),
        ("שעת כניסה", "Hebrew"),
        ("เวลาเช็คอิน", "Thai"),
        ("चेक-इन समय", "Devanagari"),
        ("", ""),
        ("15:00 - 16:30 €", ""),
        ("Sie sagen «да»", "Latin"),
        ("abжд", "Latin"),  # of equally many, the first
        ("ждab", "Cyrillic"),
    ],
)
def test_scripts(text: str, expected: str) -> None:
    """The script of most letters."""
    assert script(text) == expected


def test_stray_scripts() -> None:
    """Documents in a script that no query has are reported; once a query has it they belong to the set."""
    golden = GoldenSet(
        documents=documents(PLAIN, "Заезд после пятнадцати часов", POLICY, "15:00"),
        queries=(Query(id="q", text="check-in?"),),
    )
    (finding,) = check("stray-script", golden)
    assert finding.where == ("d1",)
    assert "Cyrillic 1" in finding.message
    golden_set = replace(golden, queries=(*golden.queries, Query(id="q2", text="когда заезд?")))
    assert check("stray-script", golden_set) == []
    assert check("stray-script", replace(golden, queries=())) == []


def test_a_collection_in_another_script_than_its_queries_is_no_stray() -> None:
    """Where most documents are Russian and the queries English, that is what the set is about."""
    golden = GoldenSet(documents=documents("Заезд", "Выезд"), queries=(Query(id="q", text="check-in?"),))
    assert check("stray-script", golden) == []


def test_duplicates() -> None:
    """The same text under two ids, but for white space around it; empty ones are another rule's."""
    (finding,) = look("duplicate-text", PLAIN, POLICY, f"{PLAIN}\n", "", "", PLAIN.upper())
    assert finding.where == ("d0 = d2",)
    (finding,) = check("duplicate-text", GoldenSet(documents=documents(PLAIN)), documents(POLICY, PLAIN, POLICY))
    assert (finding.where, finding.message) == (("d0 = d2",), "1 of 3 chunks with the text of another")


def near(text: str) -> str:
    """Change one word of the text."""
    return text.replace("telephone", "phone")


def test_near_duplicates_and_their_judgments() -> None:
    """By hand: of 42 runs of three words one change leaves 39, of 45; q1 has one of the two, q2 both, q3 none."""
    golden = GoldenSet(
        documents=documents(POLICY, PLAIN, near(POLICY)),
        judgments=tuple(
            Judgment(query=query, target=Target(document=name), grade=grade)
            for query, name, grade in [
                ("q1", "d0", 3),
                ("q1", "d2", 1),
                ("q2", "d0", 2),
                ("q2", "d2", 3),
                ("q3", "d1", 3),
            ]
        ),
    )
    (finding,) = check("near-duplicate-document", golden)
    assert finding.where == ("d0 = d2",)
    assert finding.message == (
        "2 of 3 documents nearly the same as another, in 1 group, the closest 87 % alike; "
        "for 1 query only one of the two is relevant"
    )
    (finding,) = check("near-duplicate-document", replace(golden, judgments=golden.judgments[2:]))
    assert finding.message.endswith("alike")


def test_documents_that_belong_together_are_not_told() -> None:
    """Of one class, of one line of versions, or the same text, which is another rule's."""
    texts = documents(POLICY, near(POLICY), near(POLICY).replace("card", "bank card"))
    assert len(check("near-duplicate-document", GoldenSet(documents=texts))) == 1
    classed = GoldenSet(documents=texts, classes={"cancellation": ("d0", "d1", "d2")})
    versions = GoldenSet(documents=tuple(replace(d, superseded_by=f"d{i + 1}") for i, d in enumerate(texts)))
    for golden in (classed, versions, GoldenSet(documents=documents(POLICY, PLAIN, POLICY))):
        assert check("near-duplicate-document", golden) == []
    for golden in (classed, versions):
        same = replace(golden, documents=tuple(replace(d, text=POLICY) for d in golden.documents))
        assert check("duplicate-text", same) == []


def test_near_duplicate_chunks() -> None:
    """Chunks are compared only where they are given; half of the words in common is an overlap, not a copy."""
    words = POLICY.split()
    chunks = documents(POLICY, near(POLICY), " ".join(words[20:] + ["then"] * 20))
    assert [finding.where for finding in check("near-duplicate-chunk", GoldenSet(), chunks)] == [("d0 = d1",)]
    assert check("near-duplicate-chunk", GoldenSet(documents=chunks)) == []


@pytest.mark.slow
def test_a_thousand_fillings_of_a_template_are_one_group() -> None:
    """They are reported as a group, with five pairs to look at and the number of all."""
    rng = random.Random(1)
    golden = GoldenSet(documents=documents(*(f"{POLICY * 3} House {rng.random()}" for _ in range(1_000))))
    (finding,) = check("near-duplicate-document", golden)
    assert finding.message.startswith("1,000 of 1,000 documents nearly the same as another, in 1 group")
    assert len(finding.where) == 5
    assert 999 <= finding.count < 17_000


def test_every_rule_has_a_reference() -> None:
    """A sentence, then why, an example and the fix, from which the reference page is made."""
    assert len(RULE_NAMES) == 11
    for name in RULE_NAMES:
        rule = RULES[name]
        assert rule.severity == "warning"
        assert rule.text.split("\n")[0].endswith(".")
        assert [rule.text.count(f"\n{part}: ") for part in ("Why", "Example", "Fix")] == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.public_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scifact", {"control-character": 4, "broken-character": 5}),
        ("cranfield", {"empty-text": 2, "near-duplicate-document": 1}),
    ],
)
def test_public_sets_have_few_findings(name: str, expected: dict[str, int]) -> None:
    """SciFact's damaged abstracts and Cranfield's two empty documents are reported, and little else."""
    golden = read(find_collection(name))
    assert {finding.rule: finding.count for rule in RULE_NAMES for finding in check(rule, golden)} == expected
