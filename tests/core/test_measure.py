"""The measure language: what parses, what it prints as, and what is refused."""

from __future__ import annotations

import contextlib
import doctest
import math
import re

import ir_measures.measures
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import karat
from each import each
from karat.core import MEASURES, Definition, KaratError, Measure, MeasureError, Parameter
from karat.core._measure import Value
from strategies import every_measure, quick, thorough

DEFINITIONS = list(MEASURES)
BUILT_IN = [definition for definition in DEFINITIONS if definition.kernel.__module__.startswith("karat.measures.")]
NAMES = [name for definition in DEFINITIONS for name in (definition.name, *definition.aliases)]


def _values(parameter: Parameter) -> st.SearchStrategy[Value | dict[int, float]]:
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    low, high = parameter.low, parameter.high
    match parameter.kind:
        case "bool":
            return st.booleans()
        case "int":
            return st.integers(-(10**15) if low is None else int(low), 10**15 if high is None else int(high))
        case "float":
            return st.floats(low, high, allow_nan=False, allow_infinity=False)
        case "gains":
            finite = st.floats(allow_nan=False, allow_infinity=False)
            return st.dictionaries(st.integers(-(10**15), 10**15), st.one_of(st.integers(-99, 99), finite), min_size=1)
        case "str":
            return st.text("abcXYZ-_ ,()@'\"", max_size=5)


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    """Any measure that can be written."""
    definition = draw(st.sampled_from(DEFINITIONS))
    ranks, levels = st.integers(1, 10**15), st.floats(0, 1)
    cutoff = draw(
        {"none": st.none(), "optional": st.none() | ranks, "required": ranks, "recall": levels}[definition.cutoff]
    )
    chosen = [parameter for parameter in definition.parameters if draw(st.booleans())]
    return Measure.of(definition.name, cutoff, {parameter.name: draw(_values(parameter)) for parameter in chosen})


# --- Round trips ------------------------------------------------------------------------------------------------------


@thorough
@given(measure=measures())
def test_a_measure_parses_back_from_what_it_prints(measure: Measure) -> None:
    """Name, cut-off and every parameter survive being printed and read, to the last digit."""
    again = Measure.parse(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert str(again) == str(measure)
    assert Measure.parse(measure) is measure


@quick
@given(number=st.floats(0.01, 0.99))
def test_measures_that_differ_in_the_last_bit_have_different_names(number: float) -> None:
    """No digit of a parameter is dropped, so that two measures never share a key."""
    for text in ("RBP(p={})", "nDCG(gains={{1:{}}})", "IPrec@{}"):
        first, other = (Measure.parse(text.format(repr(x))) for x in (number, math.nextafter(number, 1)))
        assert first != other
        assert str(first) != str(other)


@quick
@given(measure=measures(), blanks=st.sampled_from(["", " ", "\t", " \n "]))
def test_blanks_and_case_do_not_count(measure: Measure, blanks: str) -> None:
    """Blanks around every part, and capitals in the name, make no difference."""
    params = ",".join(f"{blanks}{key}{blanks}={blanks}{_literal(value)}{blanks}" for key, value in measure.params)
    brackets = f"{blanks}({params}){blanks}" if params else ""
    cutoff = "" if measure.cutoff is None else f"{blanks}@{blanks}{measure.cutoff}"
    for name in (measure.name.lower(), measure.name.upper(), measure.name.swapcase()):
        assert Measure.parse(f"{blanks}{name}{brackets}{cutoff}{blanks}") == measure


@each("measure", every_measure(), ids=str)
def test_a_measure_without_parameters_prints_its_name_and_cut_off(measure: Measure) -> None:
    """The canonical form of a plain measure has no brackets."""
    assert re.fullmatch(r"\w+(@[\d.]+)?", str(measure))
    assert repr(measure) == f"Measure('{measure}')"


@each(
    ("written", "canonical"),
    [
        ("ndcg@10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg_cut@10", "nDCG@10"),
        ("recall@5", "R@5"),
        ("mrr@10", "RR@10"),
        ("recip_rank", "RR"),
        ("map@100", "AP@100"),
        ("hit@5", "Success@5"),
        ("hit_rate@5", "Success@5"),
        ("11pt_avg", "IPrec11"),
        ("R(rel=2)@5", "R(rel=2)@5"),
        ("R( rel = 2 , )@5", "R(rel=2)@5"),
        ("P()@5", "P@5"),
        ("P(rel=1)@5", "P@5"),
        ("P(judged_only=True,rel=2)@5", "P(rel=2,judged_only=True)@5"),
        ("nDCG(gain=exp)@10", "nDCG(gain='exp')@10"),
        ('nDCG(gain="exp")@10', "nDCG(gain='exp')@10"),
        ("nDCG(gain='linear')@10", "nDCG@10"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(gain='exp')@10"),
        ("ndcg(dcg='exp-log2')@10", "nDCG(gain='exp')@10"),
        ("nDCG(dcg='log2')@10", "nDCG@10"),
        ("DCG(dcg='exp-log2')@10", "DCG(gain='exp')@10"),
        ("nDCG(gains={2: 5, 1: 0.5})", "nDCG(gains={1:0.5,2:5})"),
        ("nDCG(gains={1: 0.12345678901})", "nDCG(gains={1:0.12345678901})"),
        ("nDCG(gains=((1, 2), (2, 5)))", "nDCG(gains={1:2,2:5})"),
        ("RBP(p=0.5)", "RBP(p=0.5)"),
        ("RBP(p=0)", "RBP(p=0.0)"),
        ("RBP(p=-0.0)", "RBP(p=0.0)"),
        ("RBP(p=8e-1)", "RBP"),
        ("SetF(beta=2)", "SetF(beta=2.0)"),
        ("IPrec@0.1", "IPrec@0.1"),
        ("IPrec@.1", "IPrec@0.1"),
        ("IPrec@1", "IPrec@1.0"),
        ("IPrec@-0.0", "IPrec@0.0"),
        ("P@5.0", "P@5"),
        ("P@1e2", "P@100"),
        ("P(rel=2.0)@5", "P(rel=2)@5"),
        ("NumRet(rel=1)", "NumRet(rel=1)"),
    ],
)
def test_spellings(written: str, canonical: str) -> None:
    """Each way to write a measure has one canonical name."""
    assert str(Measure.parse(written)) == canonical
    assert Measure.parse(written) == Measure.parse(canonical)


def test_of_takes_an_alias_and_the_other_spelling_of_a_gain() -> None:
    """Parts are checked as text is: aliases, case and ir-measures' name for the gain included."""
    expected = Measure.parse("nDCG(gain='exp')@10")
    assert Measure.of("ndcg_cut", 10, {"dcg": "exp-log2"}) == expected
    assert Measure.of("NDCG", 10.0, {"gain": "exp"}) == expected


@each("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_aliases_mean_the_measure(definition: Definition) -> None:
    """Every alias, in any case, finds the definition."""
    for name in (definition.name, *definition.aliases):
        for spelling in (name, name.lower(), name.upper()):
            assert MEASURES.get(spelling) is definition


def test_arguments_hold_every_parameter() -> None:
    """What is not written has its default."""
    assert Measure.parse("nDCG(gain='exp')@10").arguments() == {
        "gain": "exp",
        "gains": None,
        "ideal": "judged",
        "judged_only": False,
    }


def test_different_measures_are_not_equal() -> None:
    """Name, cut-off and parameters all count; a measure is not its text."""
    different = ["P@5", "P@10", "P(rel=2)@5", "R@5", "nDCG@5", "nDCG(gain='exp')@5", "nDCG", "nDCG(gains={1:2})"]
    assert len({Measure.parse(text) for text in different}) == len(different)
    assert Measure.parse("P@5") != "P@5"


# --- ir-measures ------------------------------------------------------------------------------------------------------

DIVERSITY = {"AP_IA", "ERR_IA", "MAP_IA", "NRBP", "P_IA", "StRecall", "alpha_DCG", "alpha_nDCG", "nERR_IA", "nNRBP"}
NOT_SHARED = {
    "Accuracy",
    "BPM",
    "INST",
    "NERR8",
    "NERR9",
    "NERR10",
    "NERR11",
    "SDCG",
    "SetRelP",
    "\u03b1_DCG",
    "\u03b1_nDCG",
}
NOT_SHARED |= DIVERSITY
PRINTED_OTHERWISE = {"NumRelRet": "NumRelRet"}
"""ir-measures prints NumRet(rel=1), which karat reads as well."""
CUTOFFS = {"required": "@10", "recall": "@0.1"}


@each("name", sorted(set(ir_measures.measures.registry) - NOT_SHARED))
def test_names_shared_with_ir_measures_print_the_same(name: str) -> None:
    """A name of ir-measures that karat knows has ir-measures' own canonical form."""
    cutoff = CUTOFFS.get(MEASURES.get(name).cutoff, "")
    theirs = str(ir_measures.parse_measure(name + cutoff))
    assert str(Measure.parse(name + cutoff)) == PRINTED_OTHERWISE.get(name, theirs)
    assert Measure.parse(theirs)


@each("name", sorted(NOT_SHARED))
def test_names_that_are_not_shared_are_refused(name: str) -> None:
    """What karat does not compute is unknown, and never taken for something else."""
    with pytest.raises(MeasureError, match=r"unknown measure|cannot read measure"):
        Measure.parse(name)


@each("text", ["nDCG(dcg='exp-log2')@10", "AP(rel=2)@100", "RBP(p=0.5)", "Judged@10", "Compat(p=0.8)", "P(rel=2)@5"])
def test_ir_measures_reads_what_karat_prints(text: str) -> None:
    """Canonical forms go back and forth, but for the exponential gain, which karat calls by its own name."""
    ours = str(Measure.parse(text))
    assert str(Measure.parse(str(ir_measures.parse_measure(text)))) == ours
    if "dcg" not in text:
        assert str(ir_measures.parse_measure(ours)) == ours


@each(
    ("theirs", "ours"),
    [
        ("ndcg_cut_10", "nDCG@10"),  # pytrec_eval, and what trec_eval prints
        ("ndcg_cut.10", "nDCG@10"),  # what trec_eval is asked
        ("P_10", "P@10"),
        ("P.5", "P@5"),
        ("recall_1000", "R@1000"),
        ("map_cut_10", "AP@10"),
        ("success_1", "Success@1"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("ndcg_at_10", "nDCG@10"),  # MTEB
        ("mrr_at_10", "RR@10"),
        ("map_at_100", "AP@100"),
        ("ndcg@10", "nDCG@10"),  # ranx
        ("r-precision", "Rprec"),
        ("hits@10", "Hits@10"),
        ("hit_rate@10", "Success@10"),
        ("ndcg_burges@10", "nDCG(gain='exp')@10"),
        ("mrr@10-l2", "RR(rel=2)@10"),
        ("map-l2", "AP(rel=2)"),
        ("rbp.95", "RBP(p=0.95)"),
        ("rbp.80", "RBP"),
        ("rbp.5@10", "RBP(p=0.5)@10"),
        ("NDCG@10", "nDCG@10"),  # BEIR
        ("R_cap@100", "R_cap@100"),
        ("Recall@100", "R@100"),
        ("P10", "P@10"),  # people
        ("ndcg_5", "nDCG@5"),
    ],
)
def test_names_of_other_tools_are_known(theirs: str, ours: str) -> None:
    """trec_eval, pytrec_eval, ranx, BEIR and MTEB write the same measures otherwise."""
    assert str(Measure.parse(theirs)) == ours
    assert str(Measure.parse(ours)) == ours


# --- Errors -----------------------------------------------------------------------------------------------------------


@each(
    ("text", "message"),
    [
        ("ncdg@10", r"unknown measure 'ncdg', did you mean 'ndcg'"),
        ("precison_5", r"unknown measure 'precison_5', did you mean 'precision'"),
        ("ndcg@10-l2", r"measure nDCG has no parameter 'rel'; it takes gain"),
        ("map_cut.5,10", r"cannot read measure 'map_cut.5,10'"),
        ("P_10@5", r"unknown measure 'P_10'"),
        ("caps@3-l2", r"unknown measure 'caps'"),
        ("precison@5", r"unknown measure 'precison', did you mean 'precision'"),
        ("zzzzzz", r"unknown measure 'zzzzzz'; 'karat measures' lists them"),
        ("", r"cannot read measure ''; write it like nDCG@10 or R\(rel=2\)@5"),
        ("nDCG@10@5", "cannot read measure 'nDCG@10@5'"),
        ("nDCG 10", "cannot read measure"),
        ("nDCG@", "cannot read measure"),
        ("@10", "cannot read measure"),
        ("\u03b1_nDCG@10", "cannot read measure"),
        ("P(rel=2@5", "cannot read measure"),
        ("P@ten", r"cannot read the cut-off of measure 'P@ten'; write it like @10"),
        ("P@inf", "cannot read the cut-off"),
        ("P@nan", "cannot read the cut-off"),
        ("P@0", r"measure P@0: the cut-off is a rank, a whole number from 1 up"),
        ("P@-5", "the cut-off is a rank"),
        ("P@2.5", "the cut-off is a rank"),
        ("P@1e30", "the cut-off is a rank"),
        ("P@" + "9" * 30, "the cut-off is a rank"),
        ("P@" + "9" * 900, "cannot read the cut-off"),
        ("P", r"measure P needs a cut-off, such as P@10"),
        ("IPrec", r"measure IPrec needs a recall level, such as IPrec@0.1"),
        ("IPrec@1.5", r"measure IPrec@1.5: the recall level lies between 0 and 1"),
        ("IPrec@-0.1", "the recall level lies between 0 and 1"),
        ("Rprec@5", r"measure Rprec takes no cut-off; write Rprec"),
        ("P(level=2)@5", r"measure P has no parameter 'level'; it takes rel, judged_only"),
        ("P(rell=2)@5", r"measure P has no parameter 'rell', did you mean 'rel'"),
        ("NumQ(rel=2)", r"measure NumQ has no parameter 'rel'; it takes none"),
        ("P(rel='x')@5", r"measure P: rel='x' should be a value of type int"),
        ("P(rel=x)@5", "rel='x' should be a value of type int"),
        ("P(rel=1.5)@5", "rel=1.5 should be a value of type int"),
        ("P(rel=True)@5", "rel=True should be a value of type int"),
        ("P(rel=None)@5", "rel=None should be a value of type int"),
        ("P(rel=-1)@5", r"measure P: rel=-1 should be at least 0"),
        ("P(rel=1e400)@5", "should be a value of type int"),
        (f"P(rel={'9' * 400})@5", "should be a value of type int"),
        ("P(judged_only=1)@5", r"judged_only=1 should be a value of type bool"),
        ("nDCG(gain='log')@5", r"measure nDCG: gain='log' should be 'linear' or 'exp'"),
        ("nDCG(gain=2)@5", "gain=2 should be 'linear' or 'exp'"),
        ("nDCG(dcg='exp')@5", "measure nDCG has no parameter 'dcg'"),
        ("nDCG(dcg='log2',gain='exp')@5", "measure nDCG has no parameter 'dcg'"),
        ("P(dcg='log2')@5", "measure P has no parameter 'dcg'"),
        ("RBP(p=1)", r"measure RBP: p=1 should be at least 0 and at most 0.999999"),
        ("RBP(p='0.5')", "should be a value of type float"),
        ("RBP(p=1e999)", "should be a value of type float"),
        (f"RBP(p={'9' * 400})", "should be a value of type float"),
        ("ERR(max_grade=0)", r"measure ERR: max_grade=0 should be at least 1"),
        ("nDCG(gains={})", r"gains=\{\} should be a mapping such as \{1: 1, 2: 5\}"),
        ("nDCG(gains=3)", "should be a mapping"),
        ("nDCG(gains=None)", "should be a mapping"),
        ("nDCG(gains=[1, 2])", "should be a mapping"),
        ("nDCG(gains=(1, 2))", "should be a mapping"),
        ("nDCG(gains=((1, 2, 3),))", "should be a mapping"),
        ("nDCG(gains=((1, 2), (1, 3)))", "should be a mapping"),
        ("nDCG(gains={'1': 2})", "should be a mapping"),
        ("nDCG(gains={1: '2'})", "should be a mapping"),
        ("nDCG(gains={True: 2})", "should be a mapping"),
        ("nDCG(gains={1: 1e999})", "should be a mapping"),
        ("nDCG(gains={1: " + "9" * 400 + "})", "should be a mapping"),
        ("nDCG(gains={" + "9" * 40 + ": 1})", "should be a mapping"),
        ("P(2)@5", r"cannot read the parameters of measure 'P\(2\)@5'; write them like \(rel=2, gain='exp'\)"),
        ("P(rel=1, rel=2)@5", "cannot read the parameters"),
        ("P(**{'rel': 2})@5", "cannot read the parameters"),
        ("P(rel=1)(rel=2)@5", "cannot read the parameters"),
        ("P(rel=1).x(rel=2)@5", "cannot read the parameters"),
        ("P(rel=1) + f(rel=2)@5", "cannot read the parameters"),
        ("P(rel=open('x'))@5", "cannot read the parameters"),
        ("P(rel=(lambda: 2)())@5", "cannot read the parameters"),
        ("P(rel=1+1)@5", "cannot read the parameters"),
        ("P(rel=\0)@5", "cannot read the parameters"),
        ("P(rel=" + "(" * 400 + "1" + ")" * 400 + ")@5", "cannot read the parameters"),
    ],
    ids=lambda value: value[:40],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    """A measure that cannot be is a MeasureError, which says what is wrong and how to write it."""
    with pytest.raises(MeasureError, match=message):
        Measure.parse(text)


@thorough
@given(
    text=st.one_of(
        st.text(),
        st.text("nDCGPR@()=,.'\"{}:10relgain _+-*#\\\0\n", max_size=30),
        st.builds("{}({})@{}".format, st.sampled_from(NAMES), st.text(max_size=12), st.text(max_size=5)),
        st.builds("{}({}={})".format, st.sampled_from(NAMES), st.sampled_from(["rel", "p", "gains", "T"]), st.text()),
    )
)
@example("nDCG(gains=(1,2))")
@example("P(rel=1)(rel=2)@5")
def test_garbage_is_a_measure_error_or_a_measure(text: str) -> None:
    """Whatever is typed, it is a measure that prints and parses back, or a MeasureError, and nothing else."""
    with contextlib.suppress(MeasureError):
        measure = Measure.parse(text)
        assert Measure.parse(str(measure)) == measure


@quick
@given(
    definition=st.sampled_from(DEFINITIONS),
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.binary(max_size=3),
        st.complex_numbers(),
        st.lists(st.integers(), max_size=2),
        st.tuples(st.integers(), st.integers()),
        st.dictionaries(st.integers() | st.text(max_size=1), st.floats() | st.integers(), max_size=2),
    ),
    cutoff=st.none() | st.integers() | st.floats(),
)
def test_bad_parts_are_measure_errors(definition: Definition, value: object, cutoff: float | None) -> None:
    """Measure.of refuses every wrong value of every parameter, and every wrong cut-off, with a MeasureError."""
    for parameter in definition.parameters:
        with contextlib.suppress(MeasureError):
            measure = Measure.of(definition.name, cutoff, {parameter.name: value})
            assert Measure.parse(str(measure)) == measure


def test_a_measure_error_is_a_mistake_that_can_be_mended() -> None:
    """MeasureError belongs to the one tree of errors that the command line prints without a traceback."""
    assert issubclass(MeasureError, KaratError)


def test_the_largest_numbers_can_be_computed_with() -> None:
    """A cut-off or a whole number as large as the language allows makes no kernel overflow."""
    largest = 10**15
    for definition in BUILT_IN:
        cutoff = {"none": None, "optional": largest, "required": largest, "recall": 1.0}[definition.cutoff]
        whole = [p for p in definition.parameters if p.kind == "int" and p.high is None]
        measure = Measure.of(definition.name, cutoff, {p.name: largest for p in whole})
        values = karat.score({"q": {"a": 1, "b": 0}}, {"q": ["a", "b"]}, [measure], undefined="zero").values
        needs_chunks = definition.name.startswith(("Span", "Dup"))  # a plain run has none
        unanswerable = definition.queries == "unanswerable"  # and no query of the kind
        assert math.isnan(values[0, 0]) == (needs_chunks or unanswerable or definition.traced)
        assert not abs(values[0, 0]) > 1e16


# --- The table of measures --------------------------------------------------------------------------------------------


@each("definition", BUILT_IN, ids=lambda definition: definition.name)
def test_every_measure_is_documented(definition: Definition) -> None:
    """A kernel's docstring gives formula, range, convention and citation in this order, and an example that runs."""
    lines = [line.strip() for line in definition.doc.splitlines()]
    headings = [line.split(":")[0] for line in lines if re.match(r"(Formula|Range|Convention|Citation): \S", line)]
    assert headings == ["Formula", "Range", "Convention", "Citation"]
    assert len(lines[0]) > 20
    (test,) = doctest.DocTestFinder(recurse=False).find(definition.kernel, definition.name, globs={})
    assert any(definition.name in example.want or "karat.score" in example.source for example in test.examples)
    result = doctest.DocTestRunner(verbose=False).run(test, out=lambda text: pytest.fail(text))
    assert result.attempted >= 2
    assert result.failed == 0


@each("definition", BUILT_IN, ids=lambda definition: definition.name)
def test_every_parameter_is_explained(definition: Definition) -> None:
    """A parameter has a word of help, and a default that it would itself accept."""
    for parameter in definition.parameters:
        assert parameter.help
        if parameter.default is not None:
            assert parameter.check(parameter.default, "here") == parameter.default


def test_an_unknown_parameter_is_looked_up_in_vain() -> None:
    """Definition.parameter gives the parameter, or says which there are."""
    definition = MEASURES.get("RBP")
    assert definition.parameter("p").default == 0.8
    with pytest.raises(MeasureError, match="measure RBP has no parameter 'q'; it takes p, rel, judged_only"):
        definition.parameter("q")


def _literal(value: Value) -> str:
    return repr(dict(value)) if isinstance(value, tuple) else repr(value)
