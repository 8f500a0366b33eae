"""Dotted overrides of a configuration: one option at a time, checked like the file itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from each import each
from karat.config import ALIASES, Config, EvalConfig, override, read_config, resolve_key
from karat.core import InputError

CONFIG = Config(
    folder=Path("p"),
    golden=Path("p/set"),
    pipeline={"chunk": {"name": "fixed", "size": 512}, "lexical": True, "dense": False, "embedder": "granite"},
    eval=EvalConfig(settings={"k": 10}),
)


def test_one_option_changes_and_the_rest_stays() -> None:
    """The argument is not changed, and neither is any table in it."""
    config = override(CONFIG, {"pipeline.chunk.size": 128, "eval.repeat": 3})
    assert config.pipeline["chunk"] == {"name": "fixed", "size": 128}
    assert config.eval.settings == {"k": 10, "repeat": 3}
    assert CONFIG.pipeline["chunk"] == {"name": "fixed", "size": 512}
    assert (config.folder, config.golden) == (CONFIG.folder, CONFIG.golden)


def test_a_stage_that_is_on_off_or_not_there_becomes_a_table() -> None:
    """An option of a stage says that the stage is on."""
    config = override(CONFIG, {"pipeline.lexical.k1": 0.9, "pipeline.dense.method": "exact", "pipeline.mmr.depth": 5})
    assert config.pipeline["lexical"] == {"k1": 0.9}
    assert config.pipeline["dense"] == {"method": "exact"}
    assert config.pipeline["mmr"] == {"depth": 5}


def test_a_whole_stage_can_be_replaced() -> None:
    """A table as the value takes the place of the old one, and a later option goes inside it."""
    config = override(CONFIG, {"pipeline.chunk": {"name": "whole"}, "pipeline.chunk.context": "none"})
    assert config.pipeline["chunk"] == {"name": "whole", "context": "none"}


def test_the_keys_of_fit_are_understood() -> None:
    """Chunk size, overlap and threshold go by the names that its experiments.json has."""
    config = override(CONFIG, {"chunking.max_tokens": 256, "reranking.threshold": 0.6})
    assert config.pipeline["chunk"]["size"] == 256
    assert config.pipeline["rerank"] == {"threshold": 0.6}
    assert {resolve_key(alias) for alias in ALIASES} == set(ALIASES.values())


@each(
    ("key", "value", "message"),
    [
        ("pipelin.depth", 5, "there is no table 'pipelin', did you mean 'pipeline'?"),
        ("eval.kk", 5, "[eval] has no key 'kk'"),
        ("eval.k", "ten", "[eval] k is 'ten', which is of the wrong type"),
        ("golden.path", "x", "'golden.path': another golden set is another project"),
        ("pipeline", {}, "'pipeline' does not name a key"),
        ("pipeline.", 1, "'pipeline.' does not name a key"),
        ("", 1, "there is no table ''"),
        ("chunking.max_token", 1, "there is no key 'chunking.max_token', did you mean 'chunking.max_tokens'"),
        ("pipeline.embedder.runtime", "numpy", "because embedder is 'granite', not a table"),
    ],
)
def test_a_mistake_is_told_with_the_file_it_is_in(key: str, value: object, message: str) -> None:
    """Unknown tables and keys, wrong types, and what cannot be changed."""
    with pytest.raises(InputError) as caught:
        override(CONFIG, {key: value}, source="sweep.toml")
    assert str(caught.value).startswith("sweep.toml: ")
    assert message in str(caught.value)


def test_two_systems_at_once_are_refused() -> None:
    """The configuration is checked as a whole, as when it is read."""
    with pytest.raises(InputError, match=r"has both \[system\] and \[eval\] system"):
        override(CONFIG, {"system.url": "http://localhost", "eval.system": "mine:find"})


def test_a_key_of_thousands_of_parts_is_no_key() -> None:
    """A sweep file may have any text as a key; a table for each part would be deeper than Python goes."""
    with pytest.raises(InputError, match="does not name a key"):
        resolve_key("pipeline." + "a." * 3000 + "b")


@each("text", ["tool = 1", "[tool]\nkarat = 1", "[tool]\nkarat = [1]", "[[tool]]\na = 1"])
def test_a_pyproject_without_tables_is_one_message(tmp_path: Path, text: str) -> None:
    """Whatever stands in the place of [tool.karat]."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InputError, match=r"pyproject.toml: \[tool.karat\] is .*, not a table"):
        read_config(tmp_path)


def test_a_number_that_toml_cannot_hold_is_refused(tmp_path: Path) -> None:
    """TOML has 64 bits for it; Python reads more, and floats hold less."""
    (tmp_path / "karat.toml").write_text(f"[pipeline.lexical]\nk1 = [[{10**400}]]\n")
    with pytest.raises(InputError, match=r"karat.toml: holds 1000.*, a number of more than 64 bits"):
        read_config(tmp_path)
    (tmp_path / "karat.toml").write_text(f"[pipeline]\ndepth = {2**63 - 1}\n")
    assert read_config(tmp_path).pipeline == {"depth": 2**63 - 1}
