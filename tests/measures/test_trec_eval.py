"""What trec_eval prints: names, parameters, averages and quirks, by hand and against the compiled trec_eval."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from karat.core import InputError, UsageError
from karat.measures import _files, trec_eval

# Ranked a x c b, with x unjudged; d is relevant and not retrieved. Query 2 finds nothing, query 3 is not in the run.
QRELS = {"1": {"a": 1, "b": 2, "c": 0, "d": 3}, "2": {"e": 1, "f": 0}, "3": {"g": 2, "h": 1}}
RUN = {"1": {"a": 4.0, "x": 3.0, "c": 2.0, "b": 1.0}, "2": {"f": 2.0, "y": 1.0}, "9": {"a": 1.0}}


def table(*measures: str, qrels: Any = QRELS, run: Any = RUN, **options: Any) -> dict[tuple[str, str], str]:
    """Evaluate, and give {(measure, query): text}."""
    lines = trec_eval(qrels, run, measures, **options).splitlines()
    return {(name.rstrip(), query): value for name, query, value in (line.split("\t") for line in lines)}


def row(*measures: str, **options: Any) -> dict[str, str]:
    """Evaluate, and give {measure: text of all queries}."""
    return {name: value for (name, query), value in table(*measures, **options).items() if query == "all"}


def test_the_lines_have_trec_eval_s_layout() -> None:
    """A line is the name in 22 columns, a tab, the query, a tab, and the value with four decimals or as a count."""
    text = trec_eval(QRELS, RUN, ["map", "num_ret"], per_query=True)
    assert text == (
        "num_ret               \t1\t4\n"
        "map                   \t1\t0.5000\n"
        "num_ret               \t2\t2\n"
        "map                   \t2\t0.0000\n"
        "num_ret               \tall\t6\n"
        "map                   \tall\t0.2500\n"
    )


def test_official_is_the_default() -> None:
    """Without a measure the official ones are printed, in trec_eval's order."""
    text = trec_eval(QRELS, RUN)
    assert text == trec_eval(QRELS, RUN, "official")
    names = [line.split()[0] for line in text.splitlines()]
    assert names[:10] == ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
                          "recip_rank"]  # fmt: skip
    assert names[10:21] == [f"iprec_at_recall_{i / 10:.2f}" for i in range(11)]
    assert names[21:] == [f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]


def test_the_nickname_set_names_the_unranked_measures() -> None:
    """The nickname ``set`` gives the counts and the measures of sets, in the order of the table."""
    names = list(row("set"))
    assert names == ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_relative_P",
                     "set_recall", "set_map", "set_F"]  # fmt: skip


def test_the_order_is_that_of_the_table() -> None:
    """Measures come in trec_eval's order and once, however they are asked for."""
    assert list(row("set_F", "P.5", "map", "set_F", "runid")) == ["runid", "map", "P_5", "set_F"]


def test_the_first_parameters_count() -> None:
    """Of several parameters for one measure trec_eval takes the first; a bare name or a nickname gives none."""
    assert list(row("P", "P.10,5", "P.7")) == ["P_5", "P_10"]
    assert [name for name in row("official", "P.3") if name.startswith("P")] == ["P_3"]
    assert row("official.3") == row("official")


def test_a_measure_without_parameters_ignores_them() -> None:
    """A parameter that a measure does not take changes neither its name nor its value, as in trec_eval."""
    assert row("map.10") == row("map") == {"map": "0.2500"}


def test_measures_printed_only_for_all_or_only_for_queries() -> None:
    """The run's tag, the number of queries and geometric means stand in the summary only, relstring never does."""
    values = table("runid", "num_q", "gm_map", "gm_bpref", "relstring", per_query=True)
    assert {name for name, query in values if query == "all"} == {"runid", "num_q", "gm_map", "gm_bpref"}
    assert {name for name, query in values if query != "all"} == {"relstring"}


def test_complete_averages_over_the_judged_queries() -> None:
    """With -c a judged query that the run lacks counts as 0 in means, and as the floor in geometric means."""
    assert row("num_q", "num_ret", "map") == {"num_q": "2", "num_ret": "6", "map": "0.2500"}
    assert row("num_q", "num_ret", "map", complete=True) == {"num_q": "3", "num_ret": "6", "map": "0.1667"}
    assert row("gm_map") == {"gm_map": f"{math.sqrt(0.5 * 0.00001):6.4f}"}
    assert row("gm_map", complete=True) == {"gm_map": f"{(0.5 * 0.00001**2) ** (1 / 3):6.4f}"}


def test_complete_prints_no_lines_for_missing_queries() -> None:
    """With -c trec_eval 9 averages over missing queries, and does not print them."""
    assert {query for _, query in table("map", per_query=True, complete=True)} == {"1", "2", "all"}


def test_complete_counts_every_positive_grade_as_relevant() -> None:
    """With -c trec_eval counts num_rel over all queries, and forgets the level."""
    assert row("num_rel", level=2) == {"num_rel": "2"}
    assert row("num_rel", level=2, complete=True) == {"num_rel": "6"}


def test_means_are_added_up_in_the_order_of_the_queries() -> None:
    """The last bit of a sum decides how a mean of 0.30625 is rounded: trec_eval adds from the first query on."""
    counts = [7, 1, 0, 0, 6, 7, 0, 0, 0, 6, 0, 2, 10, 10, 0, 0]
    qrels = {f"{i:02}": dict.fromkeys("abcdefghij", 1) for i in range(16)}
    run = {f"{i:02}": dict.fromkeys("abcdefghij"[:n], 1.0) | {"x": 0.0} for i, n in enumerate(counts)}
    forwards = backwards = 0.0
    for n in counts:
        forwards += n / 10
    for n in reversed(counts):
        backwards += n / 10
    assert f"{backwards / 16:.4f}" != f"{forwards / 16:.4f}"
    assert row("P.10", qrels=qrels, run=run) == {"P_10": f"{forwards / 16:.4f}"}


def test_no_summary() -> None:
    """With -n only the lines of queries are left, and without -q nothing."""
    assert trec_eval(QRELS, RUN, "map", summary=False) == ""
    assert set(table("map", summary=False, per_query=True)) == {("map", "1"), ("map", "2")}


def test_the_level_decides_what_is_relevant() -> None:
    """With -l 2 a document of grade 1 is not relevant; gains are not touched."""
    values = table("num_rel", "num_rel_ret", "map", "recip_rank", "Rndcg", per_query=True, level=2)
    assert values["num_rel", "1"] == "2"
    assert values["num_rel_ret", "1"] == "1"
    assert values["map", "1"] == "0.1250"
    assert values["recip_rank", "1"] == "0.2500"
    assert table("ndcg", per_query=True, level=2) == table("ndcg", per_query=True)
    run = {"2": {"e": 1.0}}
    assert row("Rndcg", run=run, level=1) == {"Rndcg": "1.0000"}
    assert row("Rndcg", run=run, level=2) == {"Rndcg": "0.0000"}


def test_only_the_top_documents_count() -> None:
    """With -M 2 the ranking ends after two documents."""
    values = table("num_ret", "num_rel_ret", "set_P", "P.5", per_query=True, max_docs=2)
    assert [values[name, "1"] for name in ("num_ret", "num_rel_ret", "set_P", "P_5")] == ["2", "1", "0.5000", "0.2000"]


def test_unjudged_documents_can_be_removed() -> None:
    """With -J the unjudged document at rank 2 is gone, and -M has cut the ranking before that."""
    assert table("relstring", per_query=True, judged_only=True)["relstring", "1"] == "'102'"
    assert table("relstring", per_query=True, judged_only=True, max_docs=3)["relstring", "1"] == "'10'"


def test_an_empty_ranking_has_no_interpolated_precision() -> None:
    """Where -J leaves nothing trec_eval divides 0 by 0 at the levels that need no relevant document, and prints it."""
    values = table("iprec_at_recall", "11pt_avg", "map", qrels={"1": {"a": 1}}, run={"1": {"x": 1}}, judged_only=True)
    assert values["iprec_at_recall_0.00", "all"] == "  -nan"
    assert values["iprec_at_recall_0.10", "all"] == "0.0000"
    assert values["11pt_avg", "all"] == "  -nan"
    assert values["map", "all"] == "0.0000"


def test_relstring_shows_the_grades() -> None:
    """One character for each of the top documents: its grade, > above 9, - outside the pool, . in it and unjudged."""
    qrels = {"1": {"a": 1, "b": 10, "c": -1, "d": 0}}
    run = {"1": {"a": 5, "x": 4, "b": 3, "c": 2, "d": 1}}
    assert table("relstring", qrels=qrels, run=run, per_query=True) == {("relstring", "1"): "'1->.0'"}
    assert table("relstring.3", qrels=qrels, run=run, per_query=True) == {("relstring_3", "1"): "'1->'"}
    assert table("relstring.0", qrels=qrels, run=run, per_query=True) == {("relstring_0", "1"): "''"}


def test_cut_offs_are_sorted_and_whole() -> None:
    """Ranks are printed in ascending order; what follows a decimal point is dropped, as C's atol does."""
    assert list(row("ndcg_cut.23.4,7, 3")) == ["ndcg_cut_3", "ndcg_cut_7", "ndcg_cut_23"]


def test_recall_levels_and_multiples_are_printed_with_two_decimals() -> None:
    """Levels and multiples are sorted and become part of the name, cut to eight characters."""
    assert list(row("iprec_at_recall..25,0.1,1.5")) == [f"iprec_at_recall_{x}" for x in ("0.10", "0.25", "1.50")]
    assert list(row("Rprec_mult.1000000,0.5,0")) == [f"Rprec_mult_{x}" for x in ("0.00", "0.50", "1000000.")]


def test_recall_levels_beyond_one_are_never_reached() -> None:
    """A level of recall above 1 and a multiple of 0 give 0, as in trec_eval."""
    assert row("iprec_at_recall.1.5", "Rprec_mult.0") == {"iprec_at_recall_1.50": "0.0000", "Rprec_mult_0.00": "0.0000"}


def test_shares_of_the_relevant_documents() -> None:
    """Of three, recall 0.3 needs one, 0.4 two, 0.8 three, and 0.7 by trec_eval's rounding only two; half is two."""
    values = table("iprec_at_recall.0.3,0.4,0.7,0.8", "Rprec_mult.0.5", per_query=True)
    levels = [values[f"iprec_at_recall_{level}", "1"] for level in ("0.30", "0.40", "0.70", "0.80")]
    assert levels == ["1.0000", "0.5000", "0.5000", "0.0000"]
    assert values["Rprec_mult_0.50", "1"] == "0.5000"


def test_eleven_points_average_the_levels_that_are_given() -> None:
    """The measure keeps its name, followed by the text of the parameters."""
    assert table("11pt_avg.0.3,.4", per_query=True)["11pt_avg_0.3,.4", "1"] == "0.7500"


def test_eleven_points_out_of_order() -> None:
    """trec_eval walks up the ranking once: a level above the one after it gets the precision of recall 0."""
    assert table("11pt_avg..4,.3", per_query=True)["11pt_avg_.4,.3", "1"] == "1.0000"
    assert table("11pt_avg..8,.4", per_query=True)["11pt_avg_.8,.4", "1"] == "0.7500"


def test_set_measures_take_their_weights() -> None:
    """Two of four are found, of three: F with weight 2 is 3 P R / (2 P + R); utility adds up four worths."""
    values = table("set_F.2.0", "utility.1,-2,0.5,0.25", per_query=True, docs=100)
    assert values["set_F_2.0", "1"] == "0.6000"
    assert values["utility_1,-2,0.5,0.25", "1"] == f"{2 - 2 * 2 + 0.5 * 1 + 0.25 * (100 + 2 - 4 - 3):6.4f}"


def test_yaap() -> None:
    """The sum of precisions is 1 + 2/4, of three relevant documents: log((1 + 1.5) / (1 + 3 - 1.5)) is 0."""
    assert table("yaap", per_query=True) == {
        ("yaap", "1"): "0.0000",
        ("yaap", "2"): f"{math.log(1 / 2):6.4f}",
        ("yaap", "all"): f"{math.log(1 / 2) / 2:6.4f}",
    }


# The gains of a x c b are 2 0 0 6; the ideal list is 6 3 2, because grade 3 keeps its own.
DCG, IDEAL = 2 + 6 / math.log2(5), 6 + 3 / math.log2(3) + 2 / 2


@each(
    ("measure", "expected"),
    [
        ("ndcg", DCG / IDEAL),
        ("ndcg_rel", (2 / 6 + DCG / IDEAL + DCG / IDEAL) / 3),
        ("Rndcg", (2 / 6 + 2 / (6 + 3 / math.log2(3)) + 2 / IDEAL) / 3),
        ("G", (2 / math.log2(2 + 6 - 2) + 6 / math.log2(2 + 6 + 3 + 2 + 1 - 8)) / 11),
    ],
)
def test_gains_are_parameters(measure: str, expected: float) -> None:
    """A grade that is named gets its gain, all others keep their own, and the name ends in the text."""
    values = table(f"{measure}.1=2,2=6", per_query=True)
    assert values[f"{measure}_1=2,2=6", "1"] == f"{expected:6.4f}"


@each("measure", ["ndcg", "ndcg_rel", "Rndcg", "G"])
def test_gains_that_change_nothing(measure: str) -> None:
    """With the gains that grades have anyway, the formulas agree with karat's kernels."""
    with_gains, own = table(f"{measure}.1=1,2=2,3=3", per_query=True), table(measure, per_query=True)
    assert list(with_gains.values()) == list(own.values())


def test_gains_less_than_one_apart_are_sorted_wrong() -> None:
    """trec_eval compares gains by the whole part of their difference, and so loses them from its ideal list."""
    qrels, run = {"1": {"a": 1, "b": 2, "c": 0}}, {"1": {"a": 2.0, "b": 1.0}}
    assert row("ndcg.1=0.5", qrels={"1": {"a": 1, "b": 0}}, run=run) == {"ndcg_1=0.5": "0.0000"}
    assert row("ndcg.1=0.5", qrels=qrels, run=run) == {"ndcg_1=0.5": f"{(0.5 + 2 / math.log2(3)) / 2:6.4f}"}
    assert row("ndcg.1=1,2=1.5", qrels=qrels, run=run) == {
        "ndcg_1=1,2=1.5": f"{(1 + 1.5 / math.log2(3)) / (1.5 + 1 / math.log2(3)):6.4f}"
    }


def test_a_grade_that_nobody_gave_does_not_end_the_ideal_list() -> None:
    """Grade 0 is sorted between 0.5 and 2 but has no documents: the ideal list goes on, unless it begins there."""
    run = {"1": {"a": 2.0, "b": 1.0}}
    expected = (0.5 / math.log2(2 + 2 - 0.5) + 2 / math.log2(2 + 3 - 2.5)) / 2.5
    assert row("G.1=0.5,2=2", qrels={"1": {"a": 1, "b": 2}}, run=run) == {"G_1=0.5,2=2": f"{expected:6.4f}"}
    assert row("ndcg.1=0.5", qrels={"1": {"a": 1}}, run=run) == {"ndcg_1=0.5": "0.0000"}


def test_negative_gains() -> None:
    """A negative gain lowers what follows; nDCG is averaged over gains above 0, and is never below 0."""
    qrels, run = {"1": {"a": 1, "b": 1, "c": 0}}, {"1": {"a": 3.0, "c": 2.0, "b": 1.0}}
    expected = (1 + (1 - 0.5 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3))) / 2
    assert row("ndcg_rel.0=-0.5", qrels=qrels, run=run) == {"ndcg_rel_0=-0.5": f"{expected:6.4f}"}
    assert row("ndcg_rel.0=-5", qrels=qrels, run=run) == {"ndcg_rel_0=-5": "0.0000"}


def test_gains_of_nothing() -> None:
    """Without a positive gain trec_eval divides by 0 in Rndcg only."""
    values = row(*(f"{name}.1=0,2=-1,3=0" for name in ("G", "ndcg", "ndcg_rel", "Rndcg")), run={"1": RUN["1"]})
    assert list(values.values()) == ["0.0000", "0.0000", "0.0000", "  -nan"]


@pytest.mark.parametrize(("low", "high"), [("16777216", "16777217"), ("1e39", "1e300"), ("-1e-60", "1e-60")])
@pytest.mark.parametrize("large", [False, True])
def test_scores_are_double_precision(
    low: str, high: str, large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trec_eval 9.0.8 compares scores as doubles: what ties in single precision does not tie, and a comes first."""
    if large:
        monkeypatch.setattr(_files, "_LARGE", 0)
    run = tmp_path / "run"
    run.write_text(f"1 Q0 b 1 {low} t\n1 Q0 a 2 {high} t\n")
    assert row("recip_rank", qrels={"1": {"b": 1}}, run=run) == {"recip_rank": "0.5000"}
    scores = {"1": {"a": float(high), "b": float(low)}}
    assert row("recip_rank", qrels={"1": {"b": 1}}, run=scores) == {"recip_rank": "0.5000"}


def test_the_tag_is_that_of_the_last_line(tmp_path: Path) -> None:
    """The run is called after the last line of its file, plain or gzipped, whatever blank lines follow."""
    text = "2 Q0 e 1 2 first\n1 Q0 a 1 4 l\u00e4st" + "\n" * 70_000
    plain, packed = tmp_path / "run", tmp_path / "run.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    assert row("runid", run=plain) == row("runid", run=str(packed)) == {"runid": "l\u00e4st"}
    assert row("runid") == {"runid": "run"}


@pytest.mark.parametrize("large", [False, True])
def test_text_after_the_sixth_column_is_skipped(large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """trec_eval ignores what follows the tag, on every line, and the tag is the sixth column, not the last."""
    if large:
        monkeypatch.setattr(_files, "_LARGE", 0)
    run = tmp_path / "run"
    run.write_text("1 Q0 a 1 4 tag\n1 Q0 x 2 3 tag # by hand\n1 Q0 c 3 2 tag 7 8\n1 Q0 b 4 1 last and more\n")
    assert row("runid", "map", run=run) == {"runid": "last", "map": "0.5000"}
    run.write_text("1 Q0 a 1 4 tag " + "x" * 70_000)
    assert row("runid", run=run) == {"runid": "tag"}
    run.write_text("1 Q0 a 1 4\n")
    with pytest.raises(InputError, match="line 1: 5 columns instead of 6"):
        row("map", run=run)


@pytest.mark.parametrize("large", [False, True])
def test_a_document_may_be_repeated_where_nothing_is_judged(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trec_eval looks for repeated documents only in queries that have judgments."""
    if large:
        monkeypatch.setattr(_files, "_LARGE", 0)
    run = tmp_path / "run"
    run.write_text("9 Q0 a 1 4 t\n1 Q0 a 1 4 t\n9 Q0 a 2 3 t\n")
    assert row("num_q", "recip_rank", run=run) == {"num_q": "1", "recip_rank": "1.0000"}
    run.write_text("9 Q0 a 1 4 t\n1 Q0 a 1 4 t\n1 Q0 a 2 3 t\n")
    with pytest.raises(InputError, match="line 3: document 'a' appears twice for query '1'"):
        row("map", run=run)


def test_a_cut_off_is_read_as_c_reads_it() -> None:
    """The digits at the beginning count: 1e2 is rank 1, as 23.4 is rank 23."""
    assert row("recall.1e2") == row("recall.1") == {"recall_1": f"{1 / 3 / 2:6.4f}"}
    assert list(row("P.2E1,5")) == ["P_2", "P_5"]


def test_files_are_read_as_trec_whatever_they_are_called(tmp_path: Path) -> None:
    """trec_eval does not look at the endings of names, nor do we."""
    qrels, run = tmp_path / "qrels.csv", tmp_path / "run.json"
    qrels.write_text("1 0 a 1\n1\t0\tb\t0\n")
    run.write_text("1 Q0 a 1 2.5 tag\n")
    assert row("map", qrels=qrels, run=run) == {"map": "1.0000"}


@each(
    ("measure", "message"),
    [
        ("ncdg", "unknown measure 'ncdg', did you mean 'ndcg'"),
        ("Map", "unknown measure 'Map', did you mean 'map'"),
        ("quux", "unknown measure 'quux'; parameters follow a dot, as in P.5,10; known: runid, "),
        ("prefs", "karat reads the qrels format only"),
        ("all_prefs", "karat reads the qrels format only"),
        ("prefs_simp", "karat reads the qrels format only"),
        ("qrels_jg", "karat reads the qrels format only"),
        ("map_avgjg", "karat reads the qrels format only"),
        ("P.", "measure 'P.': parameters should follow the dot"),
        ("P.5x", "measure P.5x: '5x' does not belong there; P takes ranks, as in P.5,10"),
        ("P.5,", "'' does not belong there"),
        ("P.0", "a rank should be 1 or more"),
        ("P.5,5", "a parameter appears twice"),
        ("iprec_at_recall.x", "'x' does not belong there"),
        ("iprec_at_recall.-1", "a number should be from 0 to 1e+09"),
        ("relstring.1e400", "a number should be from 0 to 1e+09"),
        ("ndcg.1=1e400", "a number should be from -1e+09 to 1e+09"),
        ("Rprec_mult.0.5,.5", "a parameter appears twice"),
        ("utility.1,2", "give four numbers"),
        ("ndcg.1", "'1' does not belong there; ndcg takes gains of grades, as in ndcg.1=3.5,2=9"),
        ("ndcg.1=2,1=3", "a parameter appears twice"),
        ("ndcg.-1=2", "'-1=2' does not belong there"),
    ],
)
def test_measures_that_make_no_sense(measure: str, message: str) -> None:
    """A measure that cannot be computed is an error that says what to write instead."""
    with pytest.raises(UsageError) as caught:
        trec_eval(QRELS, RUN, [measure])
    assert message in str(caught.value)


@pytest.mark.parametrize("option", ["level", "max_docs", "docs"])
@pytest.mark.parametrize("number", [-1, 10**30])
def test_options_that_make_no_sense(option: str, number: int) -> None:
    """A number of anything that is negative or beyond counting is refused."""
    with pytest.raises(UsageError, match=f"{option}={number} should be a whole number from 0 to"):
        trec_eval(QRELS, RUN, **{option: number})


def test_no_query_in_common() -> None:
    """Judgments and a run that share no query are an error."""
    with pytest.raises(InputError, match="no query in common"):
        trec_eval(QRELS, {"9": {"a": 1.0}})


# Exact in single precision: pytrec_eval is built on an older trec_eval, which keeps scores as floats and would see ties
# that trec_eval 9.0.8 and karat do not.
SCORES = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from([16777216.0, 16777218.0, 0.125, 2.0**120, -(2.0**120), 2.0**-100]),
    st.floats(-(2.0**100), 2.0**100, width=32),
)
DOCUMENTS = st.sampled_from([*"abcdeABZ019", "aa", "a1", "\u00e9", "\u4e2d", "d10", "d9"])
QUERIES = st.sampled_from(["1", "10", "2", "Q", "\u00e9"])


Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    """Judgments and a run that share a query; every judged query has one judged document, or trec_eval is lost."""
    # Without a judged document trec_eval works with the counts of the query before.
    judged = st.dictionaries(DOCUMENTS, st.integers(-2, 4), min_size=1).filter(lambda grades: max(grades.values()) >= 0)
    qrels = draw(st.dictionaries(QUERIES, judged, min_size=1))
    run = draw(st.dictionaries(QUERIES, st.dictionaries(DOCUMENTS, SCORES, min_size=1)))
    shared = draw(st.sampled_from(sorted(qrels)))
    run.setdefault(shared, draw(st.dictionaries(DOCUMENTS, SCORES, min_size=1)))
    return qrels, run


COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
SUMMARY_ONLY = ("gm_map", "gm_bpref")
# pytrec_eval takes single shares where trec_eval takes several.
PARAMETERS = {
    (): (),
    ("P.1,3,7", "recall.2", "ndcg_cut.1,4", "map_cut.3", "relative_P.2,9", "success.2"): (),
    ("iprec_at_recall.0.25,0.33", "Rprec_mult.0.35,1.7"): (
        "iprec_at_recall.0.25", "iprec_at_recall.0.33", "Rprec_mult.0.35", "Rprec_mult.1.7"
    ),
}  # fmt: skip


def show(name: str, value: float) -> str:
    """Print a value as trec_eval does."""
    if name in COUNTS:
        return str(int(value))
    return "  -nan" if math.isnan(value) else f"{value:6.4f}"


def expected(values: dict[str, dict[str, float]], averaged_over: int) -> dict[tuple[str, str], str]:
    """Return what trec_eval prints for pytrec_eval's values: sums of counts, means, geometric means."""
    totals: dict[str, float] = {}
    results = {}
    for query in sorted(values):
        for name, value in values[query].items():
            totals[name] = totals.get(name, 0.0) + value
            if name not in SUMMARY_ONLY:
                results[name, query] = show(name, value)
    for name, total in totals.items():
        if name in SUMMARY_ONLY:
            total += (averaged_over - len(values)) * math.log(0.00001)
            results[name, "all"] = show(name, math.exp(total / averaged_over))
        else:
            results[name, "all"] = show(name, total if name in COUNTS else total / averaged_over)
    return results


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(collections(), st.sampled_from([1, 2, 3]), st.booleans(), st.booleans(), st.sampled_from(sorted(PARAMETERS)))
def test_every_value_is_that_of_the_compiled_trec_eval(
    collection: Collection, level: int, judged_only: bool, complete: bool, names: tuple[str, ...]
) -> None:
    """All measures, levels and flags that pytrec_eval knows: the printed text of every value and average agrees."""
    qrels, run = collection
    plain = pytrec_eval.supported_measures - {measure.split(".")[0] for measure in names}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels,
        {*(PARAMETERS[names] or names), *(plain - {"runid", "num_q", "relstring"})},
        relevance_level=level,
        judged_docs_only_flag=judged_only,
    )
    values = evaluator.evaluate({query: run[query] for query in run.keys() & qrels.keys()})
    printed = table(
        *names, *plain, qrels=qrels, run=run, per_query=True, level=level, judged_only=judged_only, complete=complete
    )
    compiled = expected(values, len(qrels if complete else values))
    if complete:  # counted over all judgments, which pytrec_eval does not see
        compiled["num_rel", "all"] = str(sum(grade > 0 for grades in qrels.values() for grade in grades.values()))
    ours = {key: value for key, value in printed.items() if key[0] not in ("runid", "num_q", "relstring")}
    assert ours == compiled


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(collections(), st.integers(1, 6), st.integers(0, 3))
def test_cutting_a_run_is_cutting_its_ranking(collection: Collection, depth: int, level: int) -> None:
    """With -M N all that is printed is the same as for a run that holds the top N documents and no others."""
    qrels, run = collection
    cut = {}
    for query, scores in run.items():
        ranked = sorted(sorted(scores, reverse=True), key=lambda document: -scores[document])
        cut[query] = {document: scores[document] for document in ranked[:depth]}
    names = ("all_trec", "yaap", "ndcg.1=2,2=2.5,0=0.5", "G.1=3")
    options = {"per_query": True, "level": level}
    assert trec_eval(qrels, run, names, max_docs=depth, **options) == trec_eval(qrels, cut, names, **options)
