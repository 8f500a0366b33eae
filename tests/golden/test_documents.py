"""Documents as people have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from each import each
from karat.core import Document, InputError
from karat.files import Reading
from karat.golden import read_documents


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    """The id is the path without its ending; other files and hidden ones are left out."""
    for name in ("a.md", "sub/b.txt", "c.json", "picture.png", ".hidden.md", ".git/d.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    documents = read_documents(tmp_path, Reading())
    assert [(d.id, d.format, d.text) for d in documents] == [
        ("a", "markdown", "text of a.md"),
        ("c", "json", "text of c.json"),
        ("sub/b", "text", "text of sub/b.txt"),
    ]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """What leads out is left out, and told."""
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("mine")
    (tmp_path / "docs" / "b.md").symlink_to(tmp_path / "secret.md")
    reading = Reading()
    assert [d.id for d in read_documents(tmp_path / "docs", reading)] == ["a"]
    assert "leads out of" in reading.notes()[0]


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    """Nothing to read is a mistake, not an empty collection."""
    with pytest.raises(InputError, match=r"holds no \.md, \.txt or \.json file"):
        read_documents(tmp_path, Reading())


FRONT = "---\ntitle: Payroll\nupdated: 2026-10-01\ntags:\n  - pay\n---\n"


@each(
    ("text", "wanted", "title"),
    [
        (f"{FRONT}Paid monthly.\n", "# Payroll\n\nPaid monthly.\n", "Payroll"),
        (f"\ufeff{FRONT}\nPaid monthly.\n", "# Payroll\n\nPaid monthly.\n", "Payroll"),
        (f"{FRONT}\n# Pay day\n", "\n# Pay day\n", "Payroll"),
        (FRONT.replace("\n", "\r\n") + "Paid.", "# Payroll\n\nPaid.", "Payroll"),
        ("---\ntitle: 'Pay: when?'\n---\nPaid.", "# Pay: when?\n\nPaid.", "Pay: when?"),
        ("---\ntitle: >\n  Long\n---\nPaid.", "Paid.", ""),
        ("---\nupdated: 2026\n...\nPaid.", "Paid.", ""),
        ("---\ntitle: Alone\n---", "# Alone\n\n", "Alone"),
    ],
)
def test_front_matter_is_a_title(tmp_path: Path, text: str, wanted: str, title: str) -> None:
    """It is no text then: only its title is, as the heading that a page without one lacks. All of it is metadata."""
    (tmp_path / "pay.md").write_bytes(text.encode())
    (document,) = read_documents(tmp_path, Reading(), front_matter="title")
    assert (document.text, document.title) == (wanted, title)
    assert str(document.metadata["front_matter"]) in text


@each(
    "text",
    [
        "---\n\nA break.\n\n---\nMore.",
        "---\ntitle: open\nno end\n",
        "Text.\n---\ntitle: x\n---\n",
        "--- title: x ---\nText.",
    ],
)
def test_what_is_no_front_matter_stays(tmp_path: Path, text: str) -> None:
    """A thematic break, a block without an end, and what comes later are text."""
    (tmp_path / "pay.md").write_text(text)
    assert read_documents(tmp_path, Reading(), front_matter="title")[0] == Document(
        id="pay", text=text, format="markdown"
    )


def test_front_matter_is_text_by_default(tmp_path: Path) -> None:
    """The spans of existing sets count its bytes. In files that are not Markdown it always is."""
    for name in ("pay.md", "pay.txt"):
        (tmp_path / name).write_text(f"{FRONT}Paid.")
    assert {document.text for document in read_documents(tmp_path, Reading())} == {f"{FRONT}Paid."}
    texts = [document.text for document in read_documents(tmp_path, Reading(), front_matter="title")]
    assert texts == ["# Payroll\n\nPaid.", f"{FRONT}Paid."]
