"""The linter's list of languages."""

from __future__ import annotations

from typing import Any

from each import each
from karat.core import Document, GoldenSet
from karat.golden import check


def document(id: str, text: str = "Open all day.", **metadata: Any) -> Document:
    return Document(id=id, text=text, metadata=metadata)


DOCUMENTS = (
    document("tagged", language="en-GB"),
    document("german", "Der Empfang ist offen.", lang="de"),
    document("french", "Toujours ouvert.", language="fr"),
    document("russian", "Открыто круглые сутки."),
    document("silent"),
    document("number", "15:00"),
)


@each(
    ("languages", "strays", "names"),
    [
        (["en", "de"], ("french", "russian"), "fr 1, Cyrillic 1"),
        (["EN"], ("german", "french", "russian"), "de 1, fr 1, Cyrillic 1"),
        (["en", "de", "fr", "ru"], (), ""),
        (["ru"], ("tagged", "german", "french", "silent"), "en-GB 1, de 1, fr 1, Latin 1"),
    ],
)
def test_texts_in_other_languages_are_found(languages: list[str], strays: tuple[str, ...], names: str) -> None:
    """By what their metadata says, or else by their script; a text without letters has none."""
    report = check(GoldenSet(documents=DOCUMENTS), languages=languages)
    findings = [finding for finding in report.findings if finding.rule == "unlisted-language"]
    assert [finding.where for finding in findings] == ([strays] if strays else [])
    if strays:
        count = len(strays)
        message = f"{count} of 6 documents in a language that is not on the list: {names}"
        assert (findings[0].message, findings[0].count) == (message, count)


def test_without_a_list_every_language_is_fine() -> None:
    """The rule looks only where a list is given."""
    assert not any(finding.rule == "unlisted-language" for finding in check(GoldenSet(documents=DOCUMENTS)).findings)


def test_chunks_are_looked_at_where_they_are_known() -> None:
    """They are what is embedded."""
    report = check(GoldenSet(documents=DOCUMENTS), chunks=(document("c1", lang="it"),), languages=["en"])
    (finding,) = (finding for finding in report.findings if finding.rule == "unlisted-language")
    assert (finding.where, finding.message) == (("c1",), "1 of 1 chunk in a language that is not on the list: it 1")
