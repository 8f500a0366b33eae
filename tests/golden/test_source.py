"""A golden set, or the project that names one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from karat.config import read_config
from karat.core import GoldenSet, InputError, Judgment, Query, Target
from karat.golden import check, merge_in_place, open_set, write
from karat.golden.lint import check_configured
from karat.projects import open_project

GOLDEN = GoldenSet(
    name="set",
    version="1.0.0",
    queries=(Query(id="q", text="when can I swim?"),),
    judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a project whose set lies in a folder of its own, and its documents in another."""
    write(GOLDEN, tmp_path / "gold")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "pool.md").write_text("Opens at six.\n")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "gold"\ndocuments = "pages"\nprofile = "small"\n')
    return tmp_path


def test_a_project_opens_the_set_that_it_names(project: Path) -> None:
    """The set comes with the documents that karat.toml names; the set alone has none."""
    assert [document.text for document in open_set(project).documents] == ["Opens at six.\n"]
    assert open_set(read_config(project)) == open_set(project)
    assert open_set(project / "gold").documents == ()
    assert open_set(project / "gold", documents=project / "pages") == open_set(project)


def test_a_table_in_pyproject_is_a_project_too(project: Path) -> None:
    """[tool.karat] of pyproject.toml says the same as karat.toml."""
    (project / "pyproject.toml").write_text('[tool.karat.golden]\npath = "gold"\ndocuments = "pages"\n')
    whole = open_set(project)
    (project / "karat.toml").unlink()
    assert open_set(project) == whole


def test_a_project_says_what_front_matter_is(project: Path) -> None:
    """Without the key it is text, as before; another word is an error."""
    (project / "pages" / "pool.md").write_text("---\ntitle: Pool\n---\nOpens at six.\n")
    assert open_set(project).documents[0].text.startswith("---\ntitle: Pool")
    config = project / "karat.toml"
    config.write_text(config.read_text() + 'front_matter = "title"\n')
    assert open_set(project).documents[0].text == "# Pool\n\nOpens at six.\n"
    config.write_text(config.read_text().replace('"title"', '"yaml"'))
    with pytest.raises(InputError, match=r"\[golden\] front_matter is 'yaml'; choose text or title"):
        open_set(project)


def test_a_folder_inside_of_a_project_names_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who is in a folder of it is told where karat.toml is, and not to name a format."""
    monkeypatch.chdir(project / "pages")
    for call in (open_set, open_project):
        with pytest.raises(InputError) as raised:
            call(".")
        assert str(raised.value) == (
            f".: is not a golden set that karat recognises; there is no karat.toml in it; name the project, {project}"
        )
    (project / "karat.toml").write_text('[golden]\npath = "pages"\n')
    with pytest.raises(InputError, match="pages: is not a golden set that karat recognises; name its format: "):
        open_project(project)


def test_a_missing_set_is_named(project: Path) -> None:
    """The message has the path at which the project says its set is."""
    (project / "karat.toml").write_text('[golden]\npath = "nowhere"\n')
    with pytest.raises(InputError, match="nowhere: no such file or folder"):
        open_set(project)


def test_judgments_are_merged_into_the_set_of_a_project(project: Path) -> None:
    """The judgments go to the set's own folder, and are checked against the project's documents."""
    (project / "new.jsonl").write_text('{"query": "q", "document": "pool", "grade": 2, "annotator": "bo"}\n')
    merge_in_place(project, [project / "new.jsonl"])
    assert [judgment.annotator for judgment in open_set(project / "gold").judgments] == ["", "bo"]
    (project / "wrong.jsonl").write_text('{"query": "q", "document": "spa", "grade": 2}\n')
    with pytest.raises(InputError, match="the set has no document 'spa'"):
        merge_in_place(project, [project / "wrong.jsonl"])


def test_the_profile_of_a_project_is_applied(project: Path) -> None:
    """The findings are those of the profile in karat.toml; another one can be chosen, and an unknown one is refused."""
    golden, config = open_set(project), read_config(project)
    assert check_configured(golden, config) == check(golden, profile="small")
    assert "set-size" in {finding.rule for finding in check_configured(golden, config).warnings}
    assert check_configured(golden, config, profile="agent", ignore=["set-size"]).ignored == {"set-size": 1}
    assert check_configured(golden, read_config(project / "gold")) == check(golden)
    with pytest.raises(InputError, match="profile is 'smal', did you mean 'small'"):
        check_configured(golden, replace(config, profile="smal"))
