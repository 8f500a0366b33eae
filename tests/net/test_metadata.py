"""What installers wrote down about packages: found as Python's own importlib.metadata finds it."""

from __future__ import annotations

import re
from importlib.metadata import distributions
from pathlib import Path

import pytest

from karat.net import find_metadata, find_version


def test_versions_and_places_are_those_of_importlib() -> None:
    """Of every distribution that is installed here, however its name is spelt."""
    installed: dict[str, tuple[str, Path]] = {}
    for package in distributions():
        name = re.sub("[-_.]+", "-", package.metadata["Name"]).lower()
        installed.setdefault(name, (package.version, Path(str(package.locate_file("x"))).parent.resolve()))
    assert "numpy" in installed
    for name, (version, folder) in installed.items():
        metadata = find_metadata(name)
        assert metadata is not None, name
        assert (find_version(name.replace("-", ".").upper()), metadata.parent.resolve()) == (version, folder)


@pytest.mark.parametrize(
    "file", ["old_one-1.dist-info/METADATA", "old_two-1.egg-info/PKG-INFO", "old_three-1.egg-info"]
)
def test_metadata_of_older_installers(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder or, as distutils wrote it, a file alone; the version is as it is spelt there."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("Name: x\nversion: 1.0-1\n\nVersion: 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_version(file.partition("-")[0]) == "1.0-1"


def test_metadata_without_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was installed by halves counts as not installed."""
    (tmp_path / "half-1.egg-info").write_text("Name: half\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_version("half") == find_version("no-such-distribution") == ""
