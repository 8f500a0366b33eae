"""One fixture under every preset: the values by hand, and with them every difference X-01 to X-07, X-12 and X-13."""

from __future__ import annotations

from math import log2

import polars as pl
import pytest

import karat
from each import each
from karat import InputError, UsageError
from karat.core import MEASURES, Measure
from karat.measures import CONVENTIONS, Conventions

# full     rank   1   2   3   4   5   6      a, b, c and m are relevant; a and b from grade 2 up; m was not returned;
#                 x   c   a   n   y   b      x and y are unjudged (X-06: they gain nothing, and hit nothing)
#          grade  -   1   3   0   -   2
# short    rank   1   2                      only two documents for five ranks; f was not returned
#                 e   d
#          grade  1   2
# nothing  two documents, both judged not relevant: there is nothing to find
# absent   judged, and not in the run
QRELS = {
    "full": {"a": 3, "b": 2, "c": 1, "m": 1, "n": 0},
    "short": {"d": 2, "e": 1, "f": 1},
    "nothing": {"n": 0, "o": 0},
    "absent": {"g": 3},
}
RUN = {"full": ["x", "c", "a", "n", "y", "b"], "short": ["e", "d"], "nothing": ["n", "z"], "unasked": ["a"]}
QUERIES = ("full", "short", "nothing", "absent")

LINEAR_FULL = (1 / log2(3) + 3 / log2(4)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5))
LINEAR_SHORT = (1 / log2(2) + 2 / log2(3)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4))
# the gains of the grades 1, 2 and 3 are 1, 3 and 7.
EXPONENTIAL_FULL = (1 / log2(3) + 7 / log2(4)) / (7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 1 / log2(5))
EXPONENTIAL_SHORT = (1 / log2(2) + 3 / log2(3)) / (3 / log2(2) + 1 / log2(3) + 1 / log2(4))
# the ideal list is cut where the returned list ends, which leaves the grades 2 and 1.
RETURNED_SHORT = (1 / log2(2) + 2 / log2(3)) / (2 / log2(2) + 1 / log2(3))

# Values of full, short, nothing and absent; None: no value, left out of the mean.
Row = tuple[float | None, float | None, float | None, float | None]
EXPECTED: dict[str, dict[str, Row]] = {
    # Undefined is undefined, and an absent query has an empty list.
    "karat": {
        "P@5": (2 / 5, 2 / 5, 0, 0),
        "R@5": (2 / 4, 2 / 3, None, 0),
        "RR@10": (1 / 2, 1 / 1, None, 0),
        "nDCG@5": (LINEAR_FULL, LINEAR_SHORT, None, 0),
    },
    # 0. X-13: left out.
    "trec": {
        "P@5": (2 / 5, 2 / 5, 0, None),
        "R@5": (2 / 4, 2 / 3, 0, None),
        "RR@10": (1 / 2, 1 / 1, 0, None),
        "nDCG@5": (LINEAR_FULL, LINEAR_SHORT, 0, None),
    },
    # precision counts a and d only. X-04: recall is 0/0, the rest is 0.
    "fit": {
        "P@5": (1 / 5, 1 / 5, 0, 0),
        "R@5": (2 / 4, 2 / 3, None, 0),
        "RR@10": (1 / 2, 1 / 1, 0, 0),
        "nDCG@5": (LINEAR_FULL, LINEAR_SHORT, 0, 0),
    },
    # divided by the five and two documents returned. X-02: the short ideal list. X-13: left out.
    "beluga": {
        "P@5": (2 / 5, 2 / 2, 0 / 2, None),
        "R@5": (2 / 4, 2 / 3, 0, None),
        "RR@10": (1 / 2, 1 / 1, 0, None),
        "nDCG@5": (LINEAR_FULL, RETURNED_SHORT, 0, None),
    },
    # relevant are a and b, and d: the first hit of full is a at rank 3. X-04: recall of nothing is 1.
    "agent": {
        "P@5": (1 / 5, 1 / 5, 0, 0),
        "R@5": (1 / 2, 1 / 1, 1, 0),
        "RR@10": (1 / 3, 1 / 2, 0, 0),
        "nDCG@5": (EXPONENTIAL_FULL, EXPONENTIAL_SHORT, 0, 0),
    },
    # 1 for everything but precision.
    "rig": {
        "P@5": (2 / 5, 2 / 5, 0, 0),
        "R@5": (2 / 4, 2 / 3, 1, 0),
        "RR@10": (1 / 2, 1 / 1, 1, 0),
        "nDCG@5": (EXPONENTIAL_FULL, EXPONENTIAL_SHORT, 1, 0),
        "AP@10": ((1 / 2 + 2 / 3 + 3 / 6) / 4, (1 / 1 + 2 / 2) / 3, 1, 0),
        "Success@10": (1, 1, 1, 0),
    },
    # divided by what was returned, which for the absent query is nothing, and counts as 0.
    "blocks": {
        "P@5": (2 / 5, 2 / 2, 0 / 2, 0),
        "R@5": (2 / 4, 2 / 3, 0, 0),
        "RR@10": (1 / 2, 1 / 1, 0, 0),
        "nDCG@5": (LINEAR_FULL, LINEAR_SHORT, 0, 0),
    },
}
COMPUTED_AS: dict[str, dict[str, str]] = {
    "karat": {},
    "trec": {"IPrec@0.1": "IPrec(rounding='trec')@0.1", "Rprec": "Rprec(rounding='trec')"},
    "fit": {"P@5": "P(rel=2)@5"},
    "beluga": {"P@5": "SetP@5", "nDCG@5": "nDCG(ideal='returned')@5"},
    "agent": {
        "P@5": "P(rel=2)@5",
        "R@5": "R(rel=2)@5",
        "RR@10": "RR(rel=2)@10",
        "nDCG@5": "nDCG(gain='exp')@5",
        "DCG@5": "DCG(gain='exp')@5",
        "IPrec@0.1": "IPrec(rel=2)@0.1",
        "Rprec": "Rprec(rel=2)",
    },
    "rig": {"nDCG@5": "nDCG(gain='exp')@5", "DCG@5": "DCG(gain='exp')@5"},
    "blocks": {"P@5": "SetP@5"},
}
PRESETS = list(EXPECTED)
CELLS = [(preset, measure) for preset, rows in EXPECTED.items() for measure in rows]


def test_every_preset_is_computed_by_hand() -> None:
    """A preset cannot be added without values in this file."""
    assert set(CONVENTIONS) == set(EXPECTED) == set(COMPUTED_AS)


@each(("preset", "measure"), CELLS)
def test_values_by_hand(preset: str, measure: str) -> None:
    """The four queries have the values that the preset's source would give them."""
    scores = karat.score(QRELS, RUN, [measure], conventions=preset)
    assert [scores.value(query, measure) for query in QUERIES] == [
        None if value is None else pytest.approx(value, rel=1e-14) for value in EXPECTED[preset][measure]
    ]


@each(("preset", "measure"), CELLS)
def test_means_by_hand(preset: str, measure: str) -> None:
    """The mean is over the queries that have a value, and no others."""
    values = [value for value in EXPECTED[preset][measure] if value is not None]
    scores = karat.score(QRELS, RUN, [measure], conventions=preset)
    assert scores.mean()[measure] == pytest.approx(sum(values) / len(values), rel=1e-14)
    assert scores.count(measure) == len(values)


@each("preset", PRESETS)
def test_definitions_say_what_was_computed(preset: str) -> None:
    """Where a preset fills in parameters, the scores name the measure that was computed in full."""
    names = ["P@5", "R@5", "RR@10", "nDCG@5", "DCG@5", "IPrec@0.1", "Rprec"]
    scores = karat.score(QRELS, RUN, names, conventions=preset)
    assert scores.measures == tuple(names)
    assert dict(scores.definitions) == {name: COMPUTED_AS[preset].get(name, name) for name in names}


@each("preset", PRESETS)
def test_what_was_computed_can_be_asked_for_by_its_own_name(preset: str) -> None:
    """The definition that a preset shows gives the same values without the preset."""
    by_preset = karat.score(QRELS, RUN, ["P@5", "nDCG@5"], conventions=preset)
    for name, definition in by_preset.definitions.items():
        by_name = karat.score(QRELS, RUN, [definition])
        assert by_name.value("full", definition) == by_preset.value("full", name)
        assert by_name.value("short", definition) == by_preset.value("short", name)


@each("preset", PRESETS)
def test_the_default_measures_can_be_computed(preset: str) -> None:
    """Without measures, those that the source reports are computed."""
    scores = karat.score(QRELS, RUN, conventions=preset)
    assert scores.measures == CONVENTIONS[preset].measures
    assert scores.measures == tuple(str(Measure.parse(name)) for name in scores.measures)


def test_every_binary_measure_of_agent_has_one_threshold() -> None:
    """X-05: under agent relevant means grade 2 or more, for every measure that has a threshold."""
    thresholds = {
        definition.name: dict(CONVENTIONS["agent"].resolve(_any(definition.name)).params).get("rel")
        for definition in MEASURES
        if any(parameter.name == "rel" and parameter.default == 1 for parameter in definition.parameters)
    }
    assert {name for name, rel in thresholds.items() if rel != 2} == set()
    assert len(thresholds) > 20


@each(
    ("preset", "name", "computed"),
    [
        ("fit", "P(rel=3)@5", "P(rel=3)@5"),
        ("agent", "R(rel=3)@5", "R(rel=3)@5"),
        ("agent", "P(judged_only=True)@5", "P(rel=2,judged_only=True)@5"),
        ("rig", "nDCG(ideal='returned')@5", "nDCG(gain='exp',ideal='returned')@5"),
        ("rig", "nDCG(gains={1: 2})@5", "nDCG(gain='exp',gains={1:2})@5"),
        ("beluga", "P(rel=2)@5", "SetP(rel=2)@5"),
    ],
)
def test_a_written_parameter_wins(preset: str, name: str, computed: str) -> None:
    """What is written stays; the preset fills in the rest."""
    key = str(Measure.parse(name))
    assert karat.score(QRELS, RUN, [name], conventions=preset).definitions == {key: computed}


def test_a_written_default_is_the_same_measure_and_means_the_same() -> None:
    """nDCG(gain='linear') is nDCG, one key and one meaning; linear gain with rig's rules is asked for without rig."""
    plain, written = Measure.parse("nDCG@5"), Measure.parse("nDCG(gain='linear')@5")
    assert plain == written
    scores = karat.score(QRELS, RUN, [plain, written], conventions="rig")
    assert scores.measures == ("nDCG@5",)
    assert scores.definitions == {"nDCG@5": "nDCG(gain='exp')@5"}
    linear = karat.score(QRELS, RUN, ["nDCG@5"], conventions="karat", undefined="one")
    assert [linear.value(query, "nDCG@5") for query in QUERIES] == pytest.approx([LINEAR_FULL, LINEAR_SHORT, 1, 0])


@each("preset", PRESETS)
@each(("policy", "value"), [("zero", 0.0), ("one", 1.0), ("exclude", None)])
def test_the_option_undefined_wins_over_every_preset(preset: str, policy: str, value: float | None) -> None:
    """X-04 can be decided by hand, whatever the preset says, for each measure alike."""
    scores = karat.score(QRELS, RUN, ["R@5", "nDCG@5"], conventions=preset, undefined=policy)
    assert scores.value("nothing", "R@5") == value
    assert scores.value("nothing", "nDCG@5") == value
    assert scores.reason("nothing", "R@5") == (None if value is not None else "no relevant documents")


@each("preset", PRESETS)
def test_the_option_missing_wins_over_every_preset(preset: str) -> None:
    """X-13 can be decided by hand, whatever the preset says."""
    excluded = karat.score(QRELS, RUN, ["R@5"], conventions=preset, missing="exclude")
    assert excluded.value("absent", "R@5") is None
    assert excluded.reason("absent", "R@5") == "not in the run"
    counted = karat.score(QRELS, RUN, ["R@5"], conventions=preset, missing="zero")
    assert counted.value("absent", "R@5") == 0.0


@each("preset", PRESETS)
def test_missing_and_extra_queries_are_named_and_counted(preset: str) -> None:
    """Whatever becomes of them, the scores say which queries the run lacks, and how many nobody judged."""
    scores = karat.score(QRELS, RUN, ["R@5"], conventions=preset)
    assert scores.not_in_run == ("absent",)
    assert scores.not_judged == 1
    assert scores.total == 4


@each("preset", PRESETS)
def test_the_same_document_twice_is_refused_under_every_preset(preset: str) -> None:
    """X-09: fit, beluga and rig count each chunk, so that recall can reach 2; karat refuses, in lists and in frames."""
    with pytest.raises(InputError, match="document 'a' appears twice for query 'full'"):
        karat.score(QRELS, {"full": ["a", "x", "a"]}, ["R@5"], conventions=preset)
    rows = pl.DataFrame({"query_id": ["full"] * 2, "doc_id": ["a", "a"], "score": [2.0, 1.0]})
    with pytest.raises(InputError, match="document 'a' appears twice for query 'full'"):
        karat.score(QRELS, rows, ["R@5"], conventions=preset)


@each("preset", PRESETS)
def test_reciprocal_rank_is_per_query_and_its_mean_is_mrr(preset: str) -> None:
    """X-12: MRR is another word for RR, whose values are per query and whose mean is the MRR."""
    rr, mrr = (karat.score(QRELS, RUN, [name], conventions=preset) for name in ("RR@10", "MRR@10"))
    assert mrr.measures == ("RR@10",)
    assert rr.to_dicts() == mrr.to_dicts()


@each("preset", PRESETS)
def test_the_cut_off_of_reciprocal_rank_is_the_one_written(preset: str) -> None:
    """X-07: no preset adds or moves a cut-off."""
    scores = karat.score({"q": {"a": 3}}, {"q": ["x", "y", "a"]}, ["RR", "RR@2", "RR@3"], conventions=preset)
    assert scores.mean() == {"RR": 1 / 3, "RR@2": 0.0, "RR@3": 1 / 3}


def test_own_conventions_can_be_given() -> None:
    """A Conventions value works like a preset."""
    ours = Conventions(name="ours", parameters={"P": {"rel": 3}}, undefined="one")
    scores = karat.score(QRELS, RUN, ["P@5", "R@5"], conventions=ours)
    assert [scores.value(query, "P@5") for query in QUERIES] == [1 / 5, 0, 0, 0]
    assert scores.value("nothing", "R@5") == 1.0


def test_unknown_conventions_are_an_error_with_a_near_miss() -> None:
    """A misspelt preset names the one that was meant."""
    with pytest.raises(UsageError, match=r"unknown conventions 'belugga', did you mean 'beluga'\?"):
        karat.score(QRELS, RUN, conventions="belugga")
    with pytest.raises(UsageError, match="unknown conventions 'zzz'; known: karat, trec, fit"):
        karat.score(QRELS, RUN, conventions="zzz")


@pytest.mark.parametrize(("option", "choices"), [("undefined", "exclude, zero, one"), ("missing", "zero, exclude")])
def test_unknown_choices_are_errors(option: str, choices: str) -> None:
    """An option that takes one of a few words says which."""
    with pytest.raises(UsageError, match=f"{option}='nan'; choose from {choices}"):
        karat.score(QRELS, RUN, ["R@5"], **{option: "nan"})


def _any(name: str) -> Measure:
    """Return a measure of that name, with a cut-off where it needs one."""
    needs = MEASURES.get(name).cutoff
    return Measure.of(name, 10 if needs == "required" else 0.5 if needs == "recall" else None)
