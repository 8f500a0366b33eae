"""How people are told to install an extra: from where this karat came, and never by a mere name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from karat.core import UsageError
from karat.net import find_requirement, format_pip_line, require_package

ROOT = Path(__file__).resolve().parents[2]
GIT = {"vcs": "git", "commit_id": "0a1b"}
UNKNOWN = "pip install 'karat[dense] @ PATH_OR_URL'"


@pytest.fixture
def metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which an installer has written down what it knows of karat 9."""
    folder = tmp_path / "site" / "karat-9.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: karat\nVersion: 9\n")
    (folder / "INSTALLER").write_text("pip\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({"url": "https://git.example/k", "vcs_info": GIT}, "pip install 'karat[dense] @ git+https://git.example/k@0a1b'"),
        ({"url": "file:///srv/k", "vcs_info": GIT}, "pip install 'karat[dense] @ git+file:///srv/k@0a1b'"),
        ({"url": "file:///srv/my%20k", "dir_info": {"editable": True}}, "pip install 'karat[dense] @ file:///srv/my%20k'"),
        ({"url": "file:///srv/k-9.whl", "archive_info": {}}, "pip install 'karat[dense] @ file:///srv/k-9.whl'"),
        ({"url": "https://files.example/k-9.whl", "archive_info": {}},
         "pip install 'karat[dense] @ https://files.example/k-9.whl'"),
        ({"url": "https://${TOKEN}@git.example/k", "vcs_info": GIT}, UNKNOWN),
        ({"url": "ftp://files.example/k-9.whl", "archive_info": {}}, UNKNOWN),
        ({"url": "https://files.example/k"}, UNKNOWN),
        ({"url": 3}, UNKNOWN), ([], UNKNOWN),
    ],
)  # fmt: skip
def test_an_extra_comes_from_where_karat_came(metadata: Path, record: object, line: str) -> None:
    """The commit, file or folder that the installer noted; a placeholder where that is no address for pip."""
    (metadata / "direct_url.json").write_text(json.dumps(record))
    assert format_pip_line("dense") == line


def test_an_index_is_asked_only_for_what_came_from_one(metadata: Path) -> None:
    """The version that is installed has been chosen; without a note of an installer nobody has chosen it."""
    assert format_pip_line("dense") == "pip install 'karat[dense]==9'"
    (metadata / "INSTALLER").unlink()
    assert format_pip_line("dense") == f"pip install 'karat[dense] @ {ROOT.as_uri()}'"


def test_a_clone_is_its_own_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the launcher karat is in no list of packages: its folder is the source, which CI cannot reach."""
    monkeypatch.setattr(sys, "path", [])
    assert find_requirement("dense", local=True) == f"karat[dense] @ {ROOT.as_uri()}"
    assert find_requirement("dense") == ""


def test_code_in_another_folder_has_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the code that is in no list of packages and in no clone: the line has a placeholder."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr("karat.net._source._CODE", tmp_path / "src" / "karat")
    assert format_pip_line("dense") == UNKNOWN


def test_a_missing_extra_is_named_with_the_line_that_adds_it() -> None:
    """The message says what needs which extra, why it is not there, and how to get it."""
    with pytest.raises(UsageError) as error:
        require_package("no_such_module", extra="onnx", purpose="the example")
    needs = "the example needs karat's extra onnx (No module named 'no_such_module'); "
    assert str(error.value) == needs + format_pip_line("onnx")


# A name that pip would look up in an index: not a path, an address, a version that somebody has chosen, or an option.
BY_NAME = re.compile(r"pip install (?:-\S+ )*[\"']?karat(?:\[[\w,-]+\])?+[\"']?+(?![\w./=<>~{-]| @)", re.IGNORECASE)


def test_no_text_asks_an_index_for_the_name() -> None:
    """Nobody owns the name karat there: whoever took it would be installed."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    shown = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "action.yml", "docs/", "src/", "examples/")
    names = [name for name in listed.split("\0") if name.startswith(shown) and not name.endswith((".png", ".gz"))]
    assert len(names) > 100
    texts = {name: (ROOT / name).read_text(encoding="utf-8", errors="replace") for name in names}
    assert [(name, match[0]) for name, text in texts.items() for match in BY_NAME.finditer(text)] == []


@pytest.mark.parametrize("text", ["pip install karat", "pip install -U 'karat[dense]'", 'pip install "karat"\n'])
def test_the_search_for_the_name_finds_it(text: str) -> None:
    """The pattern would notice what it is there for, and leaves alone what has an address."""
    assert BY_NAME.search(text)
    assert not BY_NAME.search("pip install 'karat[dense] @ git+https://git.example/k', pip install karat==1")
