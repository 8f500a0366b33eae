"""The table from names to values, and how another package adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

import karat
from karat import MeasureError
from karat.core import MEASURES, KaratError, Registry

PLUGIN = """
from karat.core import MEASURES, Definition
import numpy as np

def rank_one(a, k):
    return a.hits.top(1).count().astype(np.float64)

MEASURES.add("TopJudged", Definition(name="TopJudged", kernel=rank_one, cutoff="none"), ("top_judged",))
"""


@pytest.fixture
def table() -> Registry[int]:
    """A table of its own; the group is a module that registers nothing in it."""
    registry: Registry[int] = Registry("string", "number", MeasureError)
    registry.add("One", 1, ("uno", "eins"))
    registry.add("two", 2)
    return registry


@pytest.fixture
def fresh_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the table of measures look for plug-ins again, and forget afterwards what it found."""
    list(MEASURES)
    monkeypatch.setattr(MEASURES, "_values", dict(MEASURES._values))
    monkeypatch.setattr(MEASURES, "_folded", dict(MEASURES._folded))
    monkeypatch.setattr(MEASURES, "_plugins_loaded", False)


def install(folder: Path, source: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package as pip does: a module, and metadata that names its entry point."""
    (folder / f"{name}.py").write_text(source)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[karat.measures]\n{name} = {name}\n")
    monkeypatch.syspath_prepend(str(folder))


def test_names_and_aliases_are_found_in_any_case(table: Registry[int]) -> None:
    """A value is found by its name and by each alias, whatever the capitals."""
    assert [table.get(name) for name in ("One", "one", "ONE", "uno", "Eins", "TWO")] == [1, 1, 1, 1, 1, 2]


def test_values_come_in_the_order_of_their_names(table: Registry[int]) -> None:
    """Iteration gives each value once, sorted by name without regard to case."""
    table.add("alpha", 3)
    assert list(table) == [3, 1, 2]


def test_an_unknown_name_is_an_error_with_near_misses(table: Registry[int]) -> None:
    """The error is of the table's own kind, and suggests what is near, aliases included."""
    with pytest.raises(MeasureError, match=r"^unknown number 'tow', did you mean 'two'\?$"):
        table.get("tow")
    with pytest.raises(MeasureError, match=r"unknown number 'ein', did you mean 'eins'"):
        table.get("ein")


def test_an_unknown_name_far_from_all_lists_what_there_is(table: Registry[int]) -> None:
    """Where nothing is near, the canonical names are listed."""
    with pytest.raises(MeasureError, match=r"^unknown number 'xyzzy'; known: One, two$"):
        table.get("xyzzy")


@pytest.mark.parametrize(("name", "aliases"), [("one", ()), ("UNO", ()), ("three", ("EINS",)), ("three", ("two",))])
def test_a_name_is_taken_only_once(table: Registry[int], name: str, aliases: tuple[str, ...]) -> None:
    """A second owner of a name or alias, in any case, is refused, and leaves nothing behind."""
    with pytest.raises(ValueError, match=r"there is a number '(One|two)' already; choose another"):
        table.add(name, 3, aliases)
    assert list(table) == [1, 2]
    with pytest.raises(MeasureError, match="unknown number 'three'"):
        table.get("three")


def test_an_alias_may_repeat_the_name_in_another_case(table: Registry[int]) -> None:
    """A name and an alias that differ only in capitals are no conflict."""
    table.add("Three", 3, ("three", "THREE"))
    assert table.get("tHREE") == 3


def test_the_error_is_a_karat_error_by_default() -> None:
    """A table that names no error of its own raises the root of the tree."""
    registry: Registry[int] = Registry("string", "thing")
    with pytest.raises(KaratError, match=r"unknown thing 'x'; known: $"):
        registry.get("x")


@pytest.mark.usefixtures("fresh_measures")
def test_an_installed_package_adds_a_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with an entry point of the group karat.measures is found, and its measure works like any other."""
    install(tmp_path, PLUGIN, "karat_plugin_top", monkeypatch)
    scores = karat.score({"q": {"a": 1}}, {"q": ["a"]}, ["topjudged", "P@1"])
    assert scores.mean() == {"TopJudged": 1.0, "P@1": 1.0}
    assert str(karat.Measure.parse("top_judged")) == "TopJudged"
    assert "TopJudged" in [definition.name for definition in MEASURES]


@pytest.mark.usefixtures("fresh_measures")
def test_an_unknown_name_still_suggests_after_plug_ins_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near misses come from the built-in names and from the plug-ins' names."""
    install(
        tmp_path, PLUGIN.replace("TopJudged", "LastJudged").replace("top_j", "last_j"), "karat_plugin_last", monkeypatch
    )
    with pytest.raises(MeasureError, match=r"unknown measure 'lastjugded', did you mean 'lastjudged'"):
        karat.Measure.parse("lastjugded")
    with pytest.raises(MeasureError, match=r"unknown measure 'ncdg', did you mean 'ndcg'"):
        karat.Measure.parse("ncdg@10")


@pytest.mark.usefixtures("fresh_measures")
def test_known_names_need_no_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A built-in measure is found without reading what is installed, which takes longer than scoring."""
    install(tmp_path, "raise SystemError('loaded')", "karat_plugin_never", monkeypatch)
    assert karat.score({"q": {"a": 1}}, {"q": ["a"]}, ["nDCG@10"]).mean() == {"nDCG@10": 1.0}


@pytest.mark.usefixtures("fresh_measures")
def test_a_broken_plug_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in that cannot be imported is the user's to mend: the error says which, and comes again."""
    install(tmp_path, "import no_such_module_anywhere", "karat_plugin_broken", monkeypatch)
    for _ in range(2):
        with pytest.raises(
            MeasureError, match=r"plug-in 'karat_plugin_broken' .* cannot be loaded: ModuleNotFoundError"
        ):
            karat.Measure.parse("unheard_of@10")


@pytest.mark.usefixtures("fresh_measures")
def test_a_plug_in_cannot_take_a_built_in_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in that calls its measure nDCG is refused, and nDCG stays what it was."""
    install(tmp_path, PLUGIN.replace("top_judged", "ndcg"), "karat_plugin_thief", monkeypatch)
    with pytest.raises(MeasureError, match="there is a measure 'nDCG' already; choose another"):
        karat.Measure.parse("TopJudged")
    assert MEASURES.get("ndcg").name == "nDCG"


def test_a_value_with_a_home_is_imported_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module with all values is imported when another one is asked for."""
    (tmp_path / "homes_of_one.py").write_text("from homes_table import TABLE\nTABLE.add('one', 1)\n")
    (tmp_path / "homes_of_all.py").write_text("import homes_of_one\nhomes_of_one.TABLE.add('two', 2)\n")
    (tmp_path / "homes_table.py").write_text(
        "from karat.core import Registry\n"
        "TABLE = Registry('homes', 'number', module='homes_of_all', homes={'one': 'homes_of_one'})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from homes_table import TABLE

    assert TABLE.get("one") == 1
    assert TABLE.list_added() == [1]
    assert (TABLE.get("TWO"), TABLE.list_added()) == (2, [1, 2])
