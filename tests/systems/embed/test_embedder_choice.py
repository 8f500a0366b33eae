"""Embedders by name, and what a configuration gets wrong."""

from __future__ import annotations

import sys

import pytest

import karat.systems.embed
from each import each
from karat.core import UsageError
from karat.net import format_pip_line
from karat.systems.embed import Endpoint, Granite, ModelMissing, make_embedder


@pytest.mark.slow
def test_granite_is_the_default():
    """No name, its name, and a table mean the same."""
    try:
        embedders = [
            make_embedder(),
            make_embedder("granite"),
            make_embedder({}),
            make_embedder({"kind": "granite", "runtime": "numpy"}),
        ]
    except ModelMissing as error:
        pytest.skip(str(error))
    assert all(isinstance(embedder, Granite) for embedder in embedders)
    assert embedders[3].runtime == "numpy"


def test_an_endpoint_by_name_or_table():
    """The short form has the model; a table has the rest. A server of one's own needs no key."""
    short = make_embedder("openai:text-embedding-3-small")
    assert isinstance(short, Endpoint)
    assert (short.model, short.url, short.key_variable) == (
        "text-embedding-3-small",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
    )
    table = {
        "kind": "openai",
        "model": "a:b",
        "url": "http://localhost:8080/v1/",
        "timeout": 5,
        "retries": 0,
        "batch": 7,
    }
    long = make_embedder(table)
    assert (long.model, long.url, long.key_variable, long.batch) == ("a:b", "http://localhost:8080/v1", "", 7)
    assert (long.endpoint.timeout, long.endpoint.retries) == (5, 0)
    assert long.describe() == {
        "kind": "openai",
        "model": "a:b",
        "url": "http://localhost:8080/v1",
        "dimensions": None,
    }
    assert make_embedder("openai:a:b").model == "a:b"


@each(
    ("choice", "words"),
    [
        ("bert", "unknown embedder 'bert'; known: granite, openai, sentence-transformers"),
        ("open-ai:x", "unknown embedder 'open-ai', did you mean 'openai'?"),
        ({"kind": 3}, "unknown embedder '3'; known: "),
        ("granite:small", "the embedder granite has no option 'model'; known: runtime"),
        ("openai", "the embedder openai needs a model, as in openai:<model>"),
        ("openai:", "the embedder openai needs a model, as in openai:<model>"),
        ({"kind": "openai", "modell": "x"}, "the embedder openai has no option 'modell', did you mean 'model'?"),
        ({"kind": "openai", "model": 3}, "model=3 of the embedder openai is not text"),
        ({"kind": "openai", "model": "x", "batch": 1.5}, "batch=1.5 of the embedder openai is not a whole number"),
        ({"kind": "openai", "model": "x", "batch": True}, "batch=True of the embedder openai is not a whole number"),
        ({"kind": "openai", "model": "x", "timeout": "1"}, "timeout='1' of the embedder openai is not a number"),
    ],
)
def test_what_a_configuration_gets_wrong_is_named(choice, words):
    """Unknown kinds, unknown options and wrong types each have a message, with near misses."""
    with pytest.raises(UsageError) as e:
        make_embedder(choice)
    assert words in str(e.value)


def test_sentence_transformers_is_an_extra(monkeypatch):
    """Where the package is absent, the error says what needs it and how to get it."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError) as e:
        make_embedder("sentence-transformers:all-MiniLM-L6-v2")
    assert str(e.value).startswith("the embedder sentence-transformers:all-MiniLM-L6-v2 needs karat's extra sentence-")
    assert str(e.value).endswith(f"; {format_pip_line('sentence-transformers')}")


def test_the_door_has_what_it_says():
    """Every name of ``__all__`` is there, in order; what is not raises as usual."""
    names = karat.systems.embed.__all__
    assert names == sorted(names)
    assert all(getattr(karat.systems.embed, name) for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = karat.systems.embed.Nothing
