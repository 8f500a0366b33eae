"""Parameters of a user's own system: handed to what makes it or to retrieve, and refused if nothing reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import UsageError
from karat.systems import load_system

CODE = """
def plain(query, k):
    return ["plain"]

def weighted(query, k, *, alpha=1.0):
    return [f"alpha {alpha}"]

def anything(query, k, **options):
    return [" ".join(sorted(options))]

class Search:
    def __init__(self, alpha=1.0):
        self.alpha = alpha
    def retrieve(self, query, k, boost=0):
        return [f"alpha {self.alpha} boost {boost}"]

class Needs:
    def __init__(self, alpha):
        self.alpha = alpha
    def retrieve(self, query, k):
        return [f"alpha {self.alpha}"]

def make(alpha, beta):
    return lambda query, k: [f"made of {alpha} and {beta}"]

ready = Search(2.0)
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module with systems of every kind."""
    (tmp_path / "whence_systems.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("whence_systems", None)


@each(
    ("name", "parameters", "answer"),
    [
        ("plain", {}, "plain"),
        ("weighted", {}, "alpha 1.0"),
        ("weighted", {"alpha": 0.5}, "alpha 0.5"),
        ("anything", {"a": 1, "b": 2}, "a b"),
        ("Search", {"alpha": 3}, "alpha 3 boost 0"),
        ("Search", {"alpha": 3, "boost": 7}, "alpha 3 boost 7"),
        ("Needs", {"alpha": 3}, "alpha 3"),
        ("make", {"alpha": 1, "beta": 2}, "made of 1 and 2"),
        ("ready", {"boost": 1}, "alpha 2.0 boost 1"),
    ],
)
def test_parameters_reach_what_reads_them(name: str, parameters: dict[str, Any], answer: str) -> None:
    """They are part of the description, and so of the fingerprint."""
    system = load_system(f"whence_systems:{name}", parameters=parameters)
    hits: Any = system.retrieve("q", 5)
    assert list(hits) == [answer]
    assert system.description.get("parameters", {}) == parameters


@each(
    ("name", "parameter", "message"),
    [
        ("plain", "alpha", "does not read the parameter 'alpha'; it reads no parameters"),
        ("weighted", "alpa", "does not read the parameter 'alpa', did you mean 'alpha'?"),
        ("Search", "boots", "does not read the parameter 'boots', did you mean 'boost'?"),
        ("Search", "zzz", "it reads alpha, boost"),
        ("ready", "alpha", "does not read the parameter 'alpha'; it reads boost"),
    ],
)
def test_a_parameter_that_nothing_reads_is_refused(name: str, parameter: str, message: str) -> None:
    """To change it would change nothing."""
    with pytest.raises(UsageError, match="does not read") as raised:
        load_system(f"whence_systems:{name}", parameters={parameter: 1})
    assert message in str(raised.value)


def test_a_class_that_needs_arguments_says_where_to_set_them() -> None:
    """In karat.toml."""
    with pytest.raises(UsageError, match=r"needs arguments; set them in \[eval.parameters\]"):
        load_system("whence_systems:Needs")
