"""A sweep refuses keys that its system does not read, and sweeps the parameters of the user's own retriever."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from karat.core import InputError
from karat.experiments import read_sweep, run_sweep
from sweeping import MODULE, make_project

CODE = """

def mixing(query, k, *, alpha=0.5):
    return _answer("mixing", query, lambda n: n < 24 * alpha)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with retrievers, one of which has a parameter."""
    make_project(tmp_path)
    module = tmp_path / f"{MODULE}.py"
    module.write_text(module.read_text() + CODE)
    sys.modules.pop(MODULE, None)  # another file's tests have one of that name
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop(MODULE, None)


def sweep(text: str) -> dict[str, float | None]:
    """Run a sweep of a text, and return P@1 by variant."""
    Path("sweep.toml").write_text(text)
    result = run_sweep(read_sweep("sweep.toml"))
    return {
        outcome.variant.name: outcome.evaluation.means["P@1"] if outcome.evaluation else None
        for outcome in result.outcomes
    }


def test_a_parameter_of_ones_own_retriever_is_swept(folder: Path) -> None:
    """Each value is a system of its own, with the score that it should have."""
    base = f'[base]\n"eval.system" = "{MODULE}:mixing"\n'
    result = sweep(base + '[grid]\n"eval.parameters.alpha" = [0.25, 0.5, 1.0]\n')
    assert result == {"alpha=0.25": 0.25, "alpha=0.5": 0.5, "alpha=1.0": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'[base]\n"eval.system" = "{MODULE}:mixing"\n[grid]\n"eval.parameters.alfa" = [1, 2]\n',
            "does not read the parameter 'alfa', did you mean 'alpha'?",
        ),
        (
            f'[base]\n"eval.system" = "{MODULE}:mixing"\n[grid]\n"pipeline.chunk.size" = [64, 128]\n',
            f"pipeline.chunk.size is not read: the system is {MODULE}:mixing, not the built-in pipeline",
        ),
        ('[grid]\n"eval.parameters.alpha" = [1, 2]\n', "they are for a retriever of your own"),
        ('[grid]\n"pipeline.fusion.k" = [10, 60]\n', "the dense channel is off, and there is nothing to fuse"),
        ('[grid]\n"pipeline.embedding_cache" = [1.0, 2.0]\n', "pipeline.embedding_cache has no effect"),
        (
            '[[variant]]\nname = "a"\n"pipeline.embedding_cache" = 1.0\n[[variant]]\nname = "b"\n',
            "variants 'a' and 'b' are the same system: what they change is not read",
        ),
    ],
)
def test_what_the_system_does_not_read_is_refused(folder: Path, text: str, message: str) -> None:
    """Before the first question: such variants would all be the same."""
    with pytest.raises(InputError) as raised:
        sweep(text)
    assert message in str(raised.value)
    assert not list((folder / "runs").glob("*.jsonl"))


def test_a_key_that_matters_only_with_another_is_fine(folder: Path) -> None:
    """Without feedback its number of terms has no effect; with it, it has."""
    result = sweep('[grid]\n"pipeline.lexical.k1" = [1.2, 1.6]\n"pipeline.depth" = [5, 100]\n')
    assert len(result) == 4
