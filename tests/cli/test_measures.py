"""``karat measures``: the list, the explanation of one, and both as JSON."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import karat
from each import each
from karat.cli._main import cli
from karat.core import MEASURES
from karat.schema import json_schema


def printed(*arguments: str) -> str:
    """Return what ``karat measures`` prints."""
    return CliRunner().invoke(cli, ["measures", *arguments], catch_exceptions=False).stdout


def test_every_measure_is_listed_once() -> None:
    """The list has one line for each measure: how it is written, its aliases, and what it is."""
    lines = printed().splitlines()
    assert lines[0].split() == ["measure", "also", "known", "as", "what", "it", "is"]
    names = [line.split()[0].split("[")[0].split("@")[0] for line in lines[1:]]
    assert names == [definition.name for definition in MEASURES]
    for line, definition in zip(lines[1:], MEASURES, strict=True):
        assert definition.doc.split("\n", 1)[0] in line
        assert all(alias in line for alias in definition.aliases)


@each("definition", list(MEASURES), ids=lambda definition: definition.name)
def test_every_measure_is_explained(definition: Any) -> None:
    """The explanation has the summary, every parameter with its default, and the aliases."""
    text = printed(definition.name.lower())
    assert text.startswith(definition.name)
    assert definition.doc.split("\n", 1)[0] in text
    for parameter in definition.parameters:
        assert parameter.name in text
        assert parameter.help in text
    assert all(alias in text for alias in definition.aliases)


def test_an_alias_explains_its_measure() -> None:
    """A measure is found under every name it has."""
    assert printed("mrr") == printed("RR")


def test_json_holds_the_whole_table() -> None:
    """``--json`` gives all measures, or one, with everything that is known of it."""
    document = json.loads(printed("--json"))
    jsonschema.validate(document, json_schema("measures"))
    listed = document["measures"]
    assert [measure["name"] for measure in listed] == [definition.name for definition in MEASURES]
    keys = {"name", "aliases", "cutoff", "parameters", "aggregate", "higher_is_better", "queries", "doc"}
    assert all(set(measure) == keys for measure in listed)
    (first,) = json.loads(printed("ndcg", "--json"))["measures"]
    assert first in listed
    assert {"name": "gain", "type": "str", "default": "linear"}.items() <= first["parameters"][0].items()


def test_an_unknown_measure_names_near_misses() -> None:
    """A misspelt measure is answered with the one that was meant."""
    with pytest.raises(karat.MeasureError, match="unknown measure 'ncdg', did you mean 'ndcg"):
        printed("ncdg")
