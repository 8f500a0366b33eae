"""The code of a user's system is part of its fingerprint, with everything that it imports from the user's files."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from karat.systems import load_system
from karat.systems._code import hash_code

FILES = {
    "whence_search.py": "import json\nfrom whence_lib import words\n\ndef find(query, k):\n"
    "    from whence_lazy import order\n    import importlib\n    importlib.import_module('whence_named')\n"
    "    return []\n",
    "whence_lib/__init__.py": "",
    "whence_lib/words.py": "from . import stems\nfrom .stems import stem\n",
    "whence_lib/stems.py": "def stem(word): return word\n",
    "whence_lazy.py": "order = 1\n",
    "whence_named.py": "name = 1\n",
    "whence_unused.py": "x = 1\n",
    "whence_alone.py": "import os\n\ndef find(query, k):\n    return []\n",
    "whence_factory.py": "from whence_alone import find\n\ndef make():\n    return find\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules on the path, which are forgotten afterwards."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("whence_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "changed", ["whence_search.py", "whence_lib/__init__.py", "whence_lib/words.py", "whence_lib/stems.py",
                "whence_lazy.py", "whence_named.py"]
)  # fmt: skip
def test_a_change_of_anything_that_it_imports_is_another_code(folder: Path, changed: str) -> None:
    """Whether it was imported already or not, at the top of a file or in a function."""
    before = hash_code(["whence_search"])
    assert before == hash_code(["whence_search"])
    (folder / changed).write_text(FILES[changed] + "# changed\n")
    assert hash_code(["whence_search"]) != before
    (folder / changed).write_bytes(FILES[changed].replace("\n", "\r\n").encode())
    assert hash_code(["whence_search"]) == before, "a checkout with other line ends is the same code"


def test_other_files_and_installed_packages_do_not_count(folder: Path) -> None:
    """Of a module that imports nothing of the user's, the hash is that of its file, as it always was."""
    before = hash_code(["whence_search"])
    (folder / "whence_unused.py").write_text("x = 2\n")
    assert hash_code(["whence_search"]) == before
    assert (
        hash_code(["whence_alone"]) == f"sha256:{hashlib.sha256((folder / 'whence_alone.py').read_bytes()).hexdigest()}"
    )
    assert hash_code(["numpy"]) == hash_code(["json"]) == hash_code(["karat.systems"]) == hash_code(["no_such"]) == ""


def test_the_module_that_makes_a_system_counts_too(folder: Path) -> None:
    """A factory in one module that returns what another one defines."""
    before = load_system("whence_factory:make").description["source"]
    (folder / "whence_factory.py").write_text(FILES["whence_factory.py"] + "# changed\n")
    assert load_system("whence_factory:make").description["source"] != before


def test_broken_source_is_hashed_too(folder: Path) -> None:
    """What imports it reports the error."""
    (folder / "whence_alone.py").write_text("def (:\n")
    assert hash_code(["whence_alone"]).startswith("sha256:")
