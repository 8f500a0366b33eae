"""Cross-encoders and embedding models through the real sentence-transformers, in an environment that has torch."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from karat.core import Span, UsageError
from karat.systems._chunk import Chunk
from karat.systems.rerank import CrossEncoder

ROOT = Path(__file__).resolve().parents[2]
HINT = "karat downloads nothing: name a folder, or fetch the model with 'hf download' first"
slow = pytest.mark.slow


@pytest.fixture(scope="session")
def printed(
    python_of: Callable[[str], Path], environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What local_models.py printed, with a cache of Hugging Face that is empty."""
    folder = tmp_path_factory.mktemp("models")
    script = Path(__file__).with_name("local_models.py")
    kept = {name: value for name, value in environment.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    process = subprocess.run(
        [python_of("torch"), script, folder],
        env=kept | {"PYTHONPATH": str(ROOT / "src"), "HF_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stderr
    document: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return document


@slow
def test_a_cross_encoder_gives_the_sigmoid_of_what_its_model_says(printed: dict[str, Any]) -> None:
    """Each chunk gets the score that transformers alone gives, between 0 and 1, the same in any batch."""
    assert printed["scores"] == pytest.approx(printed["scores by transformers"], abs=1e-5)
    assert printed["scores one by one"] == pytest.approx(printed["scores"], abs=1e-5)
    assert len(set(printed["scores"])) == 4
    assert all(0 < score < 1 for score in printed["scores"])
    assert printed["no chunks"] == []
    assert printed["cross-encoder"]["model"].endswith("pairs")
    assert re.fullmatch(r"\d+\.\d+\.\d+", printed["cross-encoder"]["sentence-transformers"])


@slow
def test_a_model_of_classes_is_no_cross_encoder(printed: dict[str, Any]) -> None:
    """Two scores a pair are no score, and are refused with what would do."""
    kind, words = printed["two labels"]
    assert kind == "SystemFailed"
    assert words.endswith("returns 2 scores for each pair; choose a model with one")


@slow
def test_an_embedder_gives_the_means_of_its_model(printed: dict[str, Any]) -> None:
    """Each text gets the vector of length 1 that transformers alone gives, the same in any batch."""
    vectors = np.array(printed["vectors"])
    assert vectors == pytest.approx(np.array(printed["vectors by transformers"]), abs=1e-5)
    assert vectors == pytest.approx(np.array(printed["vectors one by one"]), abs=1e-5)
    assert [math.hypot(*row) for row in vectors] == pytest.approx([1, 1, 1, 1])
    assert printed["kind of vectors"] == ["float32", [0, 16], 16]
    version = printed["embedder"]["version"]
    assert printed["embedder"]["name"] == f"sentence-transformers:{printed['embedder']['model']}@{version}"
    assert printed["embedder"]["tokens"] == 512


@slow
def test_a_model_that_is_not_here_is_told_alike(printed: dict[str, Any]) -> None:
    """A name in no cache, a folder without a model, and one that is not there: both say it in the same words."""
    for model, (rerank, embed) in printed["absent"].items():
        assert (rerank[0], embed[0]) == ("UsageError", "UsageError")
        assert rerank[1].startswith(f"the cross-encoder {model} cannot be loaded (")
        assert embed[1].partition(" cannot ")[2] == rerank[1].partition(" cannot ")[2]
        assert embed[1].startswith(f"the embedder sentence-transformers:{model} cannot be loaded (")
        assert rerank[1].endswith(f"); {HINT}")
        assert "\n" not in rerank[1]
    assert len(printed["absent"]) == 3


@slow
def test_the_network_is_left_alone(printed: dict[str, Any]) -> None:
    """From the first import to the last error nobody asks for an address: not for a model, and not to be counted."""
    assert printed["touched"] == []


def test_a_cross_encoder_without_its_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sentence-transformers is not installed, the message names it; no model at all is told before."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    chunk = Chunk(id="d:chunk:0", document="d", span=Span(0, 1), text="a")
    with pytest.raises(
        UsageError, match=r"the cross-encoder some/model needs karat's extra .*; pip install 'karat\[sen.* @ "
    ):
        CrossEncoder("some/model")("q", [chunk])
    with pytest.raises(UsageError, match="name a model"):
        CrossEncoder("")
