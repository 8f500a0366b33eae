"""What ``karat init`` adds to .gitignore."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.init_repository import Run, enter_shop, ignored, states

VERB = "init"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two pages."""
    return enter_shop(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"/.karat/\n/runs/\n/reports/\n/karat-report/\n/karat.db*\n"),
        (b"*.pyc\n/runs/\n", b"*.pyc\n/runs/\n/.karat/\n/reports/\n/karat-report/\n/karat.db*\n"),
        (b"*.pyc", b"*.pyc\n/.karat/\n/runs/\n/reports/\n/karat-report/\n/karat.db*\n"),
        (b"*.pyc\r\nruns\r\n", b"*.pyc\r\nruns\r\n/.karat/\r\n/reports/\r\n/karat-report/\r\n/karat.db*\r\n"),
        (
            b"# caf\xc3\xa9\nruns/\n.karat\nreports\n",
            b"# caf\xc3\xa9\nruns/\n.karat\nreports\n/karat-report/\n/karat.db*\n",
        ),
    ],
)
def test_gitignore_gets_the_lines_that_it_lacks_once(run: Run, repository: Path, before: bytes, after: bytes) -> None:
    """What is in it stays byte for byte, its line ends are followed, and a second time nothing is added."""
    (repository / ".gitignore").write_bytes(before)
    assert states(run, "--ci", "none")[".gitignore"] == "extended"
    assert (repository / ".gitignore").read_bytes() == after
    assert states(run, "--ci", "none")[".gitignore"] == "same"
    assert (repository / ".gitignore").read_bytes() == after
    log = ["karat.db", "karat.db.key", "karat.db.journal/x"]
    ours = ["runs/x", ".karat/x", "reports/x", "karat-report/x", *log]
    assert ignored(repository, *ours, "golden/x") == ours


def test_gitignore_of_a_project_in_a_folder(run: Run, repository: Path) -> None:
    """A line for the root does not ignore a folder of the project."""
    (repository / ".gitignore").write_text("/runs/\n/karat-report/\n")
    run("inner", "--ci", "none", "--yes")
    lines = (repository / ".gitignore").read_text().splitlines()
    assert lines == [
        "/runs/",
        "/karat-report/",
        "/inner/.karat/",
        "/inner/runs/",
        "/inner/reports/",
        "/inner/karat.db*",
    ]


def test_a_link_to_a_gitignore_stays_a_link(run: Run, repository: Path) -> None:
    """The lines go to the file that it leads to."""
    (repository / "shared").write_text("*.pyc\n")
    (repository / ".gitignore").symlink_to("shared")
    run("--ci", "none", "--yes")
    assert (repository / ".gitignore").is_symlink()
    assert "/runs/" in (repository / "shared").read_text().splitlines()


def test_what_to_add_to_a_gitignore_that_is_not_text(run: Run, repository: Path) -> None:
    """It is left alone, and the lines are printed."""
    (repository / ".gitignore").write_bytes(b"\xff\xfe\x00")
    out, _ = run("--yes", "--karat", "1")
    assert (
        "next: add to .gitignore, each on a line of its own: /.karat/ /runs/ /reports/ /karat-report/ /karat.db*\n"
        in out
    )


def test_only_its_own_folders_are_ignored(run: Run, repository: Path) -> None:
    """A folder of the same name elsewhere is somebody's code; and what is ignored already is not said again."""
    run("--yes")
    assert ignored(repository, "app/reports/x.py", "reports/x.md") == ["reports/x.md"]
    (repository / ".gitignore").write_text("runs\n.karat/\n/reports\n/karat-report/\nkarat.db*")
    assert states(run)[".gitignore"] == "same"
