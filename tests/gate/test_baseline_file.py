"""The baseline as a file: read as it was written, whole or not at all, and left alone when it is something else."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from gating import run_of
from hypothesis import given
from hypothesis import strategies as st

from each import each
from evaluations import make_evaluation, mean
from karat.core import InputError, Scores
from karat.evaluation import Evaluation, system_changes
from karat.gate import Baseline, decide, named_policy, read_baseline, write_baseline, write_fit
from karat.golden import Question
from strategies import quick

NOT_MEASURES = ("text", "judgments", "documents", "hits", "missing")
FULL = Baseline(
    evaluation=run_of(
        {"RR": [1.0, 0.5], "nDCG@5": [0.9, math.nan]},
        system={"kind": "pipeline", "chunk": {"chunker": "sentence", "size": 256, "overlap": 32}, "rerank": None},
        versions={"karat": "0.1.0"},
        definitions={"RR": "RR(rel=2)"},
        latency={"total": {"n": 2.0, "mean": 1.5, "p50": 1.5, "p95": 2.0, "p99": 2.0}},
        lists={"q1": ("pool", "wifi"), "q2": ()},
        depth=100,
        questions={"q1": Question(text="Pool?", judgments="0a1b", documents="2c3d")},
        failures={"q2": "TimeoutError: 60 s"},
        unfound=frozenset({"q2"}),
        total=2,
    ),
    recorded="2026-11-16",
    forced="the first one",
)
FIT_FILE = {
    "version": "1.0.0",
    "embedding_model": "text-embedding-3-large",
    "chunking_strategy": "semantic_512_overlap_50",
    "reranking_model": "cross-encoder-ms-marco",
    "recorded_at": "2026-01-04T12:00:00Z",
    "metrics": {
        "recall_at_5": 0.82,
        "precision_at_5": 0.68,
        "mrr": 0.74,
        "ndcg_at_5": 0.78,
        "latency": {"p50": 180, "p95": 420, "p99": 850},
    },
}


def same(first: Baseline, other: Baseline) -> bool:
    """Return whether two evaluations are equal, with NaN equal to NaN."""
    return repr(_plain(first)) == repr(_plain(other))


def _plain(baseline: Baseline) -> dict[str, Any]:
    result: dict[str, Any] = {"recorded": baseline.recorded, "forced": baseline.forced, "rebased": baseline.rebased}
    for field in fields(Evaluation):
        value = getattr(baseline.evaluation, field.name)
        result[field.name] = sorted(value) if isinstance(value, frozenset) else value
    result["lists"] = sorted(result["lists"].items())
    result["scores"] = _table(baseline.evaluation.scores)
    result["repeats"] = [_table(table) for table in baseline.evaluation.repeats]
    return result


def _table(scores: Scores) -> list[Any]:
    columns = sorted((measure, sorted(scores.column(measure).items())) for measure in scores.measures)
    reasons = [(query, name, scores.reason(query, name)) for query in scores.queries for name in scores.measures]
    return [columns, sorted(row for row in reasons if row[2]), sorted(scores.definitions.items())]


def written(path: Path) -> Path:
    """Write the baseline, and give its path."""
    write_baseline(FULL, path)
    return path


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Scores of every query and repeat, means, latency, what it was made of, why it was forced."""
    assert same(read_baseline(written(tmp_path / "baseline.json")), FULL)


def test_format_1_is_still_read(tmp_path: Path) -> None:
    """It has bare nulls: what is missing is missing for an unknown reason."""
    path = written(tmp_path / "baseline.json")
    record = json.loads(path.read_text())
    record["format"] = 1
    del record["digest"], record["depth"]
    for row in record["queries"].values():
        row.pop("missing", None)
    path.write_text(json.dumps(record))
    scores = read_baseline(path).evaluation.scores
    assert scores.value("q1", "nDCG@5") == 0.9
    assert scores.reason("q2", "nDCG@5") == "unknown"


def test_a_missing_value_keeps_its_reason(tmp_path: Path) -> None:
    """A query without a relevant document says so in the file, and again when it is read."""
    scores = Scores.from_columns("mine", {"RR": {"q1": 1.0, "q2": math.nan}}, reasons={("q2", "RR"): "no gold"})
    evaluation = replace(run_of({"RR": [1.0, math.nan]}), scores=scores)
    write_baseline(Baseline(evaluation=evaluation), tmp_path / "baseline.json")
    row = json.loads((tmp_path / "baseline.json").read_text())["queries"]["q2"]
    assert row == {"RR": [None], "missing": {"RR": "no gold"}}
    assert read_baseline(tmp_path / "baseline.json").evaluation.scores.reason("q2", "RR") == "no gold"


@each(
    ("damage", "message"),
    [
        (lambda record: record.pop("total"), "it lacks 'total'"),
        (lambda record: record["means"].clear(), "the mean of RR is nan, and that of its queries 0.75"),
        (lambda record: record["queries"]["q2"].pop("missing"), "query 'q2' has no value of nDCG@5, and no reason why"),
        (lambda record: record["queries"]["q1"].clear(), "the mean of RR is 0.75, and that of its queries 0.5"),
    ],
)
def test_what_was_lost_is_damage(tmp_path: Path, damage: Callable[[Any], object], message: str) -> None:
    """A count, a mean, a reason or a row that is gone must not make the baseline easier to reach."""
    path = written(tmp_path / "baseline.json")
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=f"is a damaged baseline: {re.escape(message)}"):
        read_baseline(path)


def test_a_diff_shows_one_line_for_each_query(tmp_path: Path) -> None:
    """Readable JSON with a line for each query: another score of one changes its line, the mean and the digest."""
    path = written(tmp_path / "baseline.json")
    before = path.read_text().split("\n")
    assert json.loads(path.read_text())["queries"]["q1"] == {
        "text": "Pool?", "judgments": "0a1b", "documents": "2c3d", "RR": [1.0], "nDCG@5": [0.9],
        "hits": ["pool", "wifi"],
    }  # fmt: skip
    assert '    "q2": {"RR": [0.5], "nDCG@5": [null], "missing": {"nDCG@5": "unknown"}, "hits": []}' in before
    scores = run_of({"RR": [1.0, 0.25], "nDCG@5": [0.9, math.nan]}, definitions={"RR": "RR(rel=2)"}).scores
    changed = replace(FULL.evaluation, scores=scores, means={**FULL.evaluation.means, "RR": 0.625})
    write_baseline(replace(FULL, evaluation=changed), path)
    after = path.read_text().split("\n")
    assert len(before) == len(after)
    assert [line.split(":")[0].strip() for line, was in zip(after, before, strict=True) if line != was] == [
        '"digest"',
        '"RR"',
        '"q2"',
    ]


def test_the_same_baseline_is_the_same_bytes(tmp_path: Path) -> None:
    """In whatever order its sets are."""
    first, other = tmp_path / "a.json", tmp_path / "b.json"
    ids = [f"query {i}" for i in range(50)]
    write_baseline(Baseline(evaluation=replace(FULL.evaluation, unfound=frozenset(ids))), first)
    write_baseline(Baseline(evaluation=replace(FULL.evaluation, unfound=frozenset(reversed(ids)))), other)
    assert first.read_bytes() == other.read_bytes()


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ids = st.one_of(
    texts,
    st.sampled_from(
        ["q", "Q", " ", "0", "\u2028", "\x85", "\x1b[31m", '"', "\\", "\x00", "a\nb", "e\u0301", "\u00e9", "x" * 5000]
    ),
)
numbers = st.one_of(st.just(math.nan), st.floats(-1e15, 1e15))
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
tables = st.dictionaries(texts, json_values, max_size=3)


@st.composite
def baselines(draw: st.DrawFn) -> Baseline:
    """Any baseline: odd ids, several repeats, values that are missing, queries without a score."""
    queries = draw(st.lists(ids, max_size=4, unique=True))
    measures = (
        draw(st.lists(texts.filter(lambda name: name not in NOT_MEASURES), max_size=3, unique=True)) if queries else []
    )
    count = draw(st.integers(1, 3))  # of repeats; a query that was not asked in each of them has its mean
    sizes = {query: draw(st.sampled_from([1, count])) for query in queries}
    values = {
        measure: {query: tuple(draw(numbers) for _ in range(size)) for query, size in sizes.items()}
        for measure in measures
    }
    some = st.lists(st.sampled_from(queries), unique=True) if queries else st.just([])
    return Baseline(
        evaluation=make_evaluation(
            name=draw(texts), golden=draw(tables), system=draw(tables), fingerprint=draw(texts), settings=draw(tables),
            versions=draw(st.dictionaries(texts, texts, max_size=2)), values=values,
            definitions=draw(st.dictionaries(texts, texts, max_size=2)),
            means=draw(st.dictionaries(texts.filter(lambda name: name not in measures), numbers, max_size=3))
            | {name: mean([mean(value) for value in column.values()]) for name, column in values.items()},
            latency=draw(st.dictionaries(texts, st.dictionaries(texts, numbers, max_size=3), max_size=2)),
            queries=tuple(queries), total=draw(st.integers(0, len(queries))),
            lists={query: tuple(draw(st.lists(ids, max_size=3))) for query in draw(some)}, depth=10,
            failures={query: draw(texts) for query in draw(some)},
            unfound=frozenset(draw(some)),
        ),
        recorded=draw(texts | st.just("")),
        forced=draw(texts | st.just("")),
    )  # fmt: skip


@pytest.mark.slow
@quick
@given(baselines())
def test_any_baseline_is_read_as_it_was_written(baseline: Baseline) -> None:
    """To the last bit, and on one line for each query, so that a line end in an id breaks nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "baseline.json")
        write_baseline(baseline, path)
        assert same(read_baseline(path), baseline)
        text = path.read_bytes().decode()
        rows = text[text.index('\n  "queries": {') :].strip("\n").split("\n")
        assert len(rows) == len(baseline.evaluation.queries) + 3
        path.write_text(json.dumps(json.loads(text)))  # another layout is read row by row
        assert same(read_baseline(path), baseline)


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    """A file name or a reason with bytes that are no UTF-8 is kept as Python holds it."""
    odd = replace(FULL, evaluation=FULL.evaluation.renamed("run\udcff"), forced="caf\udce9")
    write_baseline(odd, tmp_path / "b.json")
    assert same(read_baseline(tmp_path / "b.json"), odd)


class TestWriting:
    """The file is written whole or not at all."""

    @pytest.mark.slow
    def test_a_write_that_fails_leaves_the_old_one(self, tmp_path: Path) -> None:
        """The disk is full, in the middle of the new file (as a limit to the size of files): the old one stays."""
        self._interrupted(tmp_path, "signal.SIG_IGN", code=7)

    @pytest.mark.slow
    def test_a_process_that_is_killed_leaves_the_old_one(self, tmp_path: Path) -> None:
        """The kernel ends the process in the middle of the new file."""
        self._interrupted(tmp_path, "signal.SIG_DFL", code=-signal.SIGXFSZ)

    def _interrupted(self, folder: Path, handler: str, code: int) -> None:
        path = written(folder / "baseline.json")
        before = path.read_bytes()
        script = f"""
import resource, signal, sys
sys.path[:0] = {[str(Path(__file__).parents[i]) for i in (0, 1)]!r}
from karat.core import InputError, Scores
from karat.gate import Baseline, write_baseline
from gating import run_of
signal.signal(signal.SIGXFSZ, {handler})
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
try:
    write_baseline(Baseline(evaluation=run_of({{"RR": [0.5] * 10_000}})), {str(path)!r})
except InputError as error:
    assert "cannot be written: File too large" in str(error), error
    sys.exit(7)
"""
        process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder)
        assert process.returncode == code, process.stderr
        assert path.read_bytes() == before
        assert same(read_baseline(path), FULL)

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        """What it points to is replaced, and keeps its permissions."""
        (tmp_path / "shared").mkdir()
        target, link = written(tmp_path / "shared" / "accepted.json"), tmp_path / "baseline.json"
        target.chmod(0o640)
        link.symlink_to(Path("shared", "accepted.json"))
        write_baseline(replace(FULL, forced="again"), link)
        assert link.is_symlink()
        assert read_baseline(target).forced == "again"
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        assert [path.name for path in target.parent.iterdir()] == ["accepted.json"]

    def test_a_folder_that_cannot_be_written_to(self) -> None:
        """One clear message, and nothing is left behind."""
        with tempfile.TemporaryDirectory() as name, _read_only(Path(name)) as folder:
            with pytest.raises(InputError, match=r"baseline.json: cannot be written: Permission denied"):
                write_baseline(FULL, folder / "baseline.json")
            assert list(folder.iterdir()) == []

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        """None is made: the path was probably mistyped."""
        with pytest.raises(InputError, match="cannot be written: No such file or directory"):
            write_baseline(FULL, tmp_path / "baslines" / "baseline.json")
        with pytest.raises(InputError, match="cannot be written: Is a directory"):
            write_baseline(FULL, tmp_path)


@contextmanager
def _read_only(folder: Path) -> Iterator[Path]:
    """Make a folder read-only, also for root, who for a while is nobody."""
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


def record() -> dict[str, Any]:
    """Return a baseline as plain data."""
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(written(Path(folder, "b.json")).read_text())  # type: ignore[no-any-return]


class TestWhatIsNone:
    """Files that are no baseline, or were one: a clear message with the name of the file, which is left alone."""

    @each(
        ("data", "message"),
        [
            (b"", "is not valid JSON: Expecting value"),
            (b"\n\n", "is not valid JSON: Expecting value"),
            (b"{}", "is not a baseline; 'karat baseline update RUN' writes one"),
            (b"[]", "is not a baseline"),
            (b"3", "is not a baseline"),
            (b'{"karat": "run", "format": 1}', "is not a baseline"),
            (b'{"karat": "baseline", "karat": "baseline"}', "key 'karat' appears twice"),
            (b'{"karat": "baseline"}', "is a baseline of format None, and this karat reads 1 to 3; read it with"),
            (b'{"karat": "baseline", "format": 4}', "is a baseline of format 4, and this karat reads 1 to 3"),
            (b'{"karat": "baseline", "format": "x"}', "is a baseline of format 'x'"),
            (b'{"karat": "baseline", "format": 1}', "is a damaged baseline: it lacks 'queries'"),
            (b"\xff\xfe{}", "byte 0xff is not UTF-8"),
            ("{}".encode("utf-16"), "is not UTF-8"),
            (b'{"karat": "\x00"}', "a NUL byte"),
            (b'{"a": ' * 100_000, "is nested too deep"),
            (b"\x1f\x8b\x08\x00", "cannot be unpacked"),
            (b"q1 Q0 pool 1 2.5 mine\n", "is not a baseline; 'karat baseline update RUN' writes one"),
            (b'{"metrics": {"mrr": "high"}}', "is a damaged baseline: metrics: 'high' is not a number"),
            (b'{"metrics": {"mrr": NaN}}', "NaN is not a JSON number"),
            (b'{"metrics": {"mrr": true}}', "True is not a number"),
            (b'{"metrics": {"latency": 5}}', "is a damaged baseline: metrics: "),
            (b'{"metrics": []}', "is not a baseline"),
        ],
    )
    def test_other_files(self, tmp_path: Path, data: bytes, message: str) -> None:
        """Empty, of another kind or version, no UTF-8, no JSON."""
        path = tmp_path / "baseline.json"
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"baseline\.json") as caught:
            read_baseline(path)
        assert message in str(caught.value)
        assert path.read_bytes() == data

    def test_every_truncation(self, tmp_path: Path) -> None:
        """Cut off anywhere, it is refused with the line on which it ends."""
        path = written(tmp_path / "baseline.json")
        data = path.read_bytes().rstrip()
        for end in range(0, len(data), 7):
            path.write_bytes(data[:end])
            with pytest.raises(InputError, match=r"baseline\.json, line \d+: "):
                read_baseline(path)
            assert path.read_bytes() == data[:end]

    @pytest.mark.parametrize(
        "value", [None, 3, 0.5, True, "text", [], ["a"], [[]], {}, {"a": 1}, {"a": []}, {"a": {"b": []}}]
    )
    def test_wrong_types(self, tmp_path: Path, value: Any) -> None:
        """Any field with a value of any other type is refused, or read as what it says; nothing else happens."""
        path = tmp_path / "baseline.json"
        for name in record():
            if name in ("karat", "format"):
                continue
            path.write_text(json.dumps({**record(), name: value}))
            data = path.read_bytes()
            accepted = isinstance(value, type(record()[name])) and type(value) is type(record()[name])
            if not accepted:
                with pytest.raises(InputError, match=r"baseline\.json: is a damaged baseline: "):
                    read_baseline(path)
            assert path.read_bytes() == data

    @each(
        ("row", "message"),
        [
            ([], "query 'q1' is [], which is of the wrong type"),
            ("RR", "query 'q1' is 'RR'"),
            ({"RR": 1.0}, "RR is 1.0, which is of the wrong type"),
            ({"RR": "1.0"}, "RR is '1.0'"),
            ({"RR": ["1.0"]}, "'1.0' is not a number"),
            ({"RR": [True]}, "True is not a number"),
            ({"RR": [[1.0]]}, "[1.0] is not a number"),
            ({"RR": [10**400]}, "is not a number"),
            ({"RR": [1e300]}, "1e+300 is not a number"),
            ({"hits": "pool"}, "a list of ids is 'pool'"),
            ({"hits": [{}]}, "id {} is not text"),
            ({"hits": [""]}, "an id is empty"),
        ],
    )
    def test_wrong_rows(self, tmp_path: Path, row: Any, message: str) -> None:
        """The scores of a query are lists of numbers, and its hits ids."""
        path = tmp_path / "baseline.json"
        path.write_text(json.dumps({**record(), "queries": {"q1": row}}))
        with pytest.raises(InputError, match=r"baseline\.json: ") as caught:
            read_baseline(path)
        assert message in str(caught.value)

    def test_lost_rows(self, tmp_path: Path) -> None:
        """A conflict was merged by dropping lines: the queries that are gone could not be lost any more."""
        path = written(tmp_path / "baseline.json")
        lines = path.read_text().splitlines(keepends=True)
        path.write_text(
            "".join(line.replace('["pool", "wifi"]},', '["pool", "wifi"]}') for line in lines if '"q2": {' not in line)
        )
        with pytest.raises(
            InputError, match=r"is a damaged baseline: the mean of RR is 0\.75, and that of its queries 1"
        ):
            read_baseline(path)
        path.write_text(json.dumps({**record(), "total": 9}))
        with pytest.raises(InputError, match="it does not match its digest: it was edited, or lost or gained rows"):
            read_baseline(path)

    def test_lost_rows_of_format_2(self, tmp_path: Path) -> None:
        """It has no digest, and counts its queries."""
        path = tmp_path / "baseline.json"
        older = {key: value for key, value in record().items() if key not in ("digest", "depth")} | {"format": 2}
        path.write_text(json.dumps({**older, "total": 9}))
        with pytest.raises(InputError, match="is a damaged baseline: it holds 2 of 9 queries"):
            read_baseline(path)
        path.write_text(json.dumps({**older, "settings": {"sample": 3}, "total": 9}))
        with pytest.raises(InputError, match="it holds 2 of 3 queries"):
            read_baseline(path)

    @pytest.mark.parametrize("name", ["", "\ud800"])
    def test_wrong_ids(self, tmp_path: Path, name: str) -> None:
        """Of queries, as of everything."""
        path = tmp_path / "baseline.json"
        path.write_text(json.dumps({**record(), "queries": {name: {}}}))
        with pytest.raises(InputError, match=r"baseline\.json: "):
            read_baseline(path)

    def test_each_field_has_to_be_there(self, tmp_path: Path) -> None:
        """But for those that say something only at times."""
        path = tmp_path / "baseline.json"
        for name in record().keys() - {"karat", "format", "recorded", "forced", "total"}:
            path.write_text(json.dumps({key: value for key, value in record().items() if key != name}))
            with pytest.raises(InputError, match=f"is a damaged baseline: it lacks '{name}'"):
                read_baseline(path)

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        """Or a folder."""
        with pytest.raises(InputError, match="no such file"):
            read_baseline(tmp_path / "none.json")
        with pytest.raises(InputError, match="is a folder"):
            read_baseline(tmp_path)


class TestFit:
    """The baseline-metrics.json of fit."""

    def test_it_is_read(self, tmp_path: Path) -> None:
        """The example of the source: means under karat's names, percentiles, and what the system was made of."""
        path = tmp_path / "baseline-metrics.json"
        path.write_text(json.dumps(FIT_FILE))
        baseline = read_baseline(path)
        assert baseline.evaluation.means == {"R@5": 0.82, "P@5": 0.68, "RR@10": 0.74, "RR": 0.74, "nDCG@5": 0.78}
        assert [baseline.evaluation.latency_of(name) for name in ("p50", "p95", "p99")] == [180.0, 420.0, 850.0]
        assert (baseline.recorded, baseline.evaluation.name) == ("2026-01-04T12:00:00Z", "1.0.0")
        assert baseline.evaluation.provenance.system["embedding_model"] == "text-embedding-3-large"

    def test_it_gates(self, tmp_path: Path) -> None:
        """At 5 %: P@5 of 0.68 may fall to 0.646, RR of 0.74 to 0.703; R@5 and nDCG@5 meet their floors first."""
        path = tmp_path / "baseline-metrics.json"
        path.write_text(json.dumps(FIT_FILE))
        old = read_baseline(path).evaluation
        latency = {"total": {"p50": 180.0, "p95": 420.0, "p99": 850.0}}
        new = run_of({"R@5": [0.80], "P@5": [0.646], "RR@10": [0.703], "nDCG@5": [0.75]}, latency=latency)
        assert decide(new, old, named_policy("fit")).outcome.value == "pass"
        new = run_of({"R@5": [0.79], "P@5": [0.645], "RR@10": [0.702], "nDCG@5": [0.74]}, latency=latency)
        assert [f"{check.name} {check.kind}" for check in decide(new, old, named_policy("fit")).failures] == [
            "R@5 min", "P@5 max_drop_rel", "RR@10 max_drop_rel", "nDCG@5 min", "nDCG@5 max_drop_rel",
        ]  # fmt: skip

    def test_it_is_written(self, tmp_path: Path) -> None:
        """Names, types and places as in the source; what karat wrote, karat reads."""
        evaluation = run_of(
            {"R@5": [0.82], "P@5": [0.68], "RR@10": [0.74], "nDCG@5": [0.78]},
            golden={"name": "hotel", "version": "1.0.0", "fingerprint": "sha256:aa"},
            system={
                "embedder": {"model": "text-embedding-3-large"},
                "chunk": {"chunker": "semantic", "size": 512, "overlap": 50},
                "rerank": {"model": "cross-encoder-ms-marco"},
            },
            latency={"total": {"n": 9, "mean": 200.0, "p50": 180, "p95": 420, "p99": 850}},
        )
        path = tmp_path / "baseline-metrics.json"
        write_fit(Baseline(evaluation=evaluation, recorded="2026-01-04T12:00:00Z"), path)
        assert json.loads(path.read_text()) == FIT_FILE
        assert read_baseline(path).evaluation.means == {**evaluation.means, "RR": 0.74}

    def test_what_it_needs_is_named(self, tmp_path: Path) -> None:
        """A run without one of its measures, or without times, is not written."""
        path = tmp_path / "baseline-metrics.json"
        with pytest.raises(
            InputError, match=r"the run has no P@5, nDCG@5, latency.p50, latency.p95, latency.p99, which"
        ):
            write_fit(Baseline(evaluation=run_of({"R@5": [0.8], "RR@10": [0.7], "nDCG@5": [math.nan]})), path)
        assert not path.exists()

    def test_the_parts_are_compared_by_their_names(self, tmp_path: Path) -> None:
        """H19: chunking, embedding and reranking, as the source names them."""
        path = tmp_path / "baseline-metrics.json"
        path.write_text(json.dumps(FIT_FILE))
        new = run_of(
            {"RR": [1.0]},
            system={"embedder": {"model": "text-embedding-3-large"}, "chunk": {"chunker": "sentence", "size": 256},
                    "rerank": None, "lexical": {"k1": 1.2}},
        )  # fmt: skip
        assert system_changes(new.provenance.system, read_baseline(path).evaluation.provenance.system) == [
            ("chunking_strategy", "sentence_256", "semantic_512_overlap_50"),
            ("reranking_model", "none", "cross-encoder-ms-marco"),
        ]
