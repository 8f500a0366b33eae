"""Documents as people have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from karat.core import InputError
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
