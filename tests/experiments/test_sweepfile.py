"""Sweep files: grids, lists, names, limits, and every mistake told."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import InputError, KaratError
from karat.experiments import Sweep, Variant, objective_name, read_sweep


def read(folder: Path, text: str, **options: int) -> Sweep:
    """Read a sweep file with this text."""
    path = folder / "sweep.toml"
    path.write_text(text)
    return read_sweep(path, **options)


def test_a_grid_is_every_combination_and_the_last_key_turns_fastest(tmp_path: Path) -> None:
    """Two values by three give six variants, named by what they change."""
    plan = read(tmp_path, '[grid]\n"pipeline.chunk.size" = [128, 256]\n"pipeline.lexical.k1" = [0.9, 1.2, 1.6]\n')
    assert [variant.name for variant in plan.variants] == [
        f"size={size} k1={k1}" for size in (128, 256) for k1 in (0.9, 1.2, 1.6)
    ]
    assert plan.variants[0].changes == {"pipeline.chunk.size": 128, "pipeline.lexical.k1": 0.9}
    assert (plan.grid, plan.project, plan.objective, plan.require_gain) == (True, tmp_path, None, False)


@each(
    "text",
    [
        '[grid]\n"pipeline.chunk.size" = [128]\n',
        "[grid]\npipeline.chunk.size = [128]\n",
        "[grid.pipeline.chunk]\nsize = [128]\n",
        '[grid]\n"chunking.max_tokens" = [128]\n',
        "[grid]\nchunking.max_tokens = [128]\n",
    ],
)
def test_a_key_can_be_written_in_every_way_that_toml_has(tmp_path: Path, text: str) -> None:
    """Quoted, dotted, as a table, and by the name that fit has."""
    assert read(tmp_path, text).variants == (Variant(name="size=128", changes={"pipeline.chunk.size": 128}),)


def test_a_list_has_names_or_gets_them(tmp_path: Path) -> None:
    """A key in quotes takes a table whole; a variant without keys is the configuration as it is."""
    plan = read(
        tmp_path,
        '[[variant]]\nname = "whole"\ndescription = "no cutting"\n"pipeline.chunk" = { name = "whole" }\n'
        "[[variant]]\npipeline.lexical.k1 = 0.9\n[[variant]]\n",
    )
    assert plan.variants == (
        Variant(name="whole", description="no cutting", changes={"pipeline.chunk": {"name": "whole"}}),
        Variant(name="k1=0.9", changes={"pipeline.lexical.k1": 0.9}),
        Variant(name="as it is", changes={}),
    )
    assert not plan.grid


def test_an_objective_asks_for_a_gain_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    """The measure gets its canonical name, and the paths are those of the file's folder."""
    grid = '[grid]\n"pipeline.depth" = [1]\n'
    plan = read(tmp_path, f'objective = "ndcg@5"\nproject = "sub"\npolicy = "strict.toml"\n{grid}')
    assert (plan.objective, plan.require_gain) == ("nDCG@5", True)
    assert (plan.project, plan.policy) == (tmp_path / "sub", f"{tmp_path}/strict.toml")
    assert not read(tmp_path, f'objective = "RR"\nrequire_gain = false\n{grid}').require_gain
    assert read(tmp_path, f'require_gain = true\npolicy = "rig"\n{grid}').policy == "rig"


def test_a_huge_grid_is_counted_and_refused_at_once(tmp_path: Path) -> None:
    """Ten keys with ten values are ten billion variants; the limit can be raised."""
    grid = "[grid]\n" + "".join(f'"pipeline.x{i}" = {list(range(10))}\n' for i in range(10))
    with pytest.raises(InputError, match=r"10,000,000,000 variants to try, and the limit is 100; .* --limit"):
        read(tmp_path, grid)
    small = '[grid]\n"pipeline.depth" = [1, 2, 3]\n'
    with pytest.raises(InputError, match="3 variants to try, and the limit is 2"):
        read(tmp_path, small, limit=2)
    assert len(read(tmp_path, small, limit=3).variants) == 3


MISTAKES = [
    ("[grid\n", "is not valid TOML"),
    ("", "has neither [grid] nor [[variant]]"),
    ("[grid]\n", "[grid] is empty"),
    ("grid = 3\n", "grid is 3, not a table"),
    ("variant = []\n", "variant = []"),
    ("[variant]\n", "write [[variant]] for each"),
    ('[grid]\n"pipeline.depth" = [1]\n[[variant]]\n', "has both [grid] and [[variant]]"),
    ('[grid]\n"pipeline.depth" = 5\n', "[grid] pipeline.depth = 5; write a list of the values to try"),
    ('[grid]\n"pipeline.depth" = []\n', "[grid] pipeline.depth = []"),
    ('[grid]\n"pipeline.depth" = [5, 5]\n', "[grid] pipeline.depth has '5' twice"),
    ('[grid]\n"pipelne.depth" = [5]\n', "there is no table 'pipelne', did you mean 'pipeline'?"),
    ('[grid]\n"golden.path" = ["a"]\n', "another golden set is another project"),
    ('[grid]\n"pipeline" = [5]\n', "'pipeline' does not name a key"),
    ('[grid]\n"pipeline.depth" = [inf]\n', "pipeline.depth = [inf]; write texts, numbers"),
    ('[grid]\n"pipeline.depth" = [2026-11-16]\n', "write texts, numbers"),
    ('[grid]\n"eval.k" = [5]\n', "eval.k has to be the same for all variants; in [eval] they may differ in system"),
    ('[[variant]]\n"gate.alpha" = 0.1\n', "gate.alpha has to be the same for all variants; [base] sets it"),
    ('[grid]\n"pipeline.chunk.size" = [1]\nchunking.max_tokens = [2]\n', "'pipeline.chunk.size' is set twice"),
    ('[[variant]]\nname = ""\n', "[[variant]] name = ''; write a text"),
    ('[[variant]]\nname = "a"\n[[variant]]\nname = "a"\npipeline.depth = 5\n', "two variants are called 'a'"),
    ('[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n', "two variants have the same keys"),
    ('objectiv = "RR"\n', "has no key 'objectiv', did you mean 'objective'"),
    ('objective = "ncdg"\n[grid]\n"pipeline.depth" = [1]\n', "objective: unknown measure 'ncdg', did you mean"),
    ('objective = "NumQ"\n[grid]\n"pipeline.depth" = [1]\n', "neither more nor less of it is better"),
    ("project = 3\n", "project = 3; write a text"),
    ('require_gain = "yes"\n', "require_gain = 'yes'; write true or false"),
    ('base = 3\n[grid]\n"pipeline.depth" = [1]\n', "base is 3, not a table"),
]


@each(("text", "message"), MISTAKES)
def test_a_mistake_is_told_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong, where, and what to do."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/sweep.toml: ")
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    """The same errors as for any other file."""
    with pytest.raises(InputError, match="no such file"):
        read_sweep(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_sweep(tmp_path / "bytes.toml")


@given(st.text(alphabet='[]{}"=.,\n#abgrid variantpelos0123', max_size=60))
def test_whatever_stands_in_the_file_is_a_sweep_or_one_message(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """No text ends in a traceback."""
    folder = tmp_path_factory.getbasetemp()
    with suppress(KaratError):
        assert read(folder, text).variants


def test_objectives_are_named_as_measures_are() -> None:
    """An alias becomes the one name that is a key everywhere."""
    assert objective_name("mrr") == "RR"
