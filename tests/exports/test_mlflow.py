"""Export to MLflow: names and values that it takes, records, and a real store that MLflow's own client reads back."""

from __future__ import annotations

import json
import math
import os
import posixpath
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import validate

from each import each
from karat.core import MEASURES, GoldenSet, Hit, InputError, Provenance, Trace, UsageError
from karat.exports._mlflow import check_mlflow, describe_failure, export_mlflow, mlflow_key, mlflow_name
from karat.exports._records import experiment_records, read_records
from karat.golden import fingerprint
from karat.runs import RunWriter
from karat.schema import ExportedRun, json_schema
from warm import Warm

Play = Callable[..., Any]
SYSTEM = {"chunk": {"chunker": "sentence", "max_tokens": 256}, "embedder": None, "stop words": ["a", "b"], "empty": {}}


# --- names and values


@each(
    ("name", "key"),
    [
        ("nDCG@10", "nDCG_at_10"),
        ("R(rel=2)@5", "R_x28_rel_x3d_2_x29__at_5"),
        ("nDCG(gain='exp')@10", "nDCG_x28_gain_x3d__x27_exp_x27__x29__at_10"),
        ("chunk.max_tokens", "chunk.max_tokens"),
        ("latency.p95", "latency.p95"),
        ("R_cap@5", "R_cap_at_5"),
        ("hit_rate_at_5", "hit_x5f_rate_x5f_at_x5f_5"),  # not hit_rate@5
        ("_at@", "_x5f_at_at_"),
        ("../x", "_x2e_._x2f_x"),
        ("Größe", "Gr_xf6__xdf_e"),
        ("", "_x_"),
    ],
)
def test_names_become_keys_by_hand(name: str, key: str) -> None:
    """Common names stay readable, and the key can always be read back."""
    assert mlflow_key(name) == key
    assert mlflow_name(key) == name


@given(st.text(max_size=40) | st.text("_at@x5f.", max_size=12))
@example("_xffffff_")
@example("_x_")
@example("\ud800")
def test_every_name_has_a_key_of_its_own_that_mlflow_takes(name: str) -> None:
    """Whatever the name, its key has only letters, digits, ``_``, ``-`` and ``.``, is no way to another file, and leads
    back to the name."""
    key = mlflow_key(name)
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", key)
    assert posixpath.normpath(key) == key
    assert not key.startswith(("/", "."))
    assert mlflow_name(key) == name


def test_long_names_are_cut_and_stay_different() -> None:
    """A key has at most 250 characters; names that differ only at their ends have different keys."""
    keys = {mlflow_key("x" * 300 + end) for end in "ab"}
    assert [len(key) for key in keys] == [250, 250]


# --- records


@pytest.fixture
def run_path(folder: Path, letters: GoldenSet) -> Path:
    """A run: ``a`` first, ``b`` second, then an error, and for the last three nothing relevant."""
    lists = {"qa": ["a", "b"], "qb": ["a", "b"], "qd": ["a"], "qe": ["a"], "qf": ["a"]}
    times = {"qa": 10.0, "qb": 20.0, "qd": 30.0, "qe": 40.0, "qf": 50.0}
    provenance = Provenance(
        name="mine",
        golden={"name": "letters", "version": "1.0.0", "fingerprint": fingerprint(letters)},
        system=SYSTEM,
        fingerprint="sha256:abc",
        settings={"k": 10, "paraphrases": False, "repeat": 1, "sample": None, "seed": 0},
        versions={"karat": "0.0.9"},
    )
    with RunWriter(folder / "runs" / "mine-1.jsonl", provenance) as writer:
        for query in letters.queries:
            hits = tuple(Hit(name, 1.0 / (i + 1)) for i, name in enumerate(lists.get(query.id, ())))
            timings = {"total": times[query.id], "embed": 1.0} if query.id in times else {}
            error = "" if query.id in times else "timed out"
            writer.write(Trace(query=query.id, text=query.text, hits=hits, timings=timings, error=error))
    return folder / "runs" / "mine-1.jsonl"


LOG: dict[str, list[dict[str, Any]]] = {
    "experiments": [
        {
            "id": "exp-001",
            "date": "2026-01-15",
            "description": "larger chunks",
            "config_changes": {"chunking.max_tokens": 512, "pipeline.fuse": {"k": 20}},
            "results": {"recall_at_5": 0.82, "mrr": 0.75, "latency": {"p95": 120}, "judged": None, "huge": 10**400},
            "verdict": "REJECTED (precision fell)",
        },
        {"id": "exp-002", "golden": {"name": "hotel"}, "variant": "a", "fingerprint": "sha256:def", "run": 7},
    ]
}


@pytest.fixture
def log(folder: Path) -> Path:
    """A log of two experiments, the second of which says next to nothing."""
    (folder / "experiments.json").write_text(json.dumps(LOG))
    return folder / "experiments.json"


def test_a_run_by_hand(run_path: Path) -> None:
    """Params are the flat system and the settings, metrics the means, latency, coverage and counts."""
    (record,) = read_records([run_path], measures=["RR@10"])
    assert (record.kind, record.name, record.source, record.file) == ("run", "mine-1", str(run_path), run_path)
    assert record.params == {
        "system.chunk.chunker": "sentence",
        "system.chunk.max_tokens": 256,
        "system.embedder": None,
        "system.stop words": ["a", "b"],
        "settings.k": 10,
        "settings.paraphrases": False,
        "settings.repeat": 1,
        "settings.sample": None,
        "settings.seed": 0,
        "settings.unit": "document",
        "settings.normaliser": record.params["settings.normaliser"],
    }
    assert record.metrics == pytest.approx(
        {
            "RR@10": (1 + 1 / 2) / 6,
            "latency.mean": 200 / 6,  # the failed query counts as the slowest
            "latency.p50": 35,
            "latency.p95": 50,
            "latency.p99": 50,
            **{f"latency.embed.{name}": 1 for name in ("mean", "p50", "p95", "p99")},
            "coverage": 5 / 6,
            "queries": 6,
            "failed": 1,
            "unfound": 4,
        }
    )
    assert record.tags["karat.golden.name"] == "letters"
    assert record.tags["karat.golden.version"] == "1.0.0"
    assert record.tags["karat.golden.fingerprint"].startswith("sha256:")
    assert (record.tags["karat.system.fingerprint"], record.tags["karat.version"]) == ("sha256:abc", "0.0.9")


def test_what_has_no_value_is_no_metric(run_path: Path, folder: Path, letters: GoldenSet) -> None:
    """A mean over nothing is named in a tag, and null in the document."""
    from karat import golden

    nothing = replace(letters, judgments=tuple(replace(judgment, grade=0) for judgment in letters.judgments))
    golden.write(nothing, folder / "other")
    (folder / "karat.toml").write_text('[golden]\npath = "other"\n')
    lines = run_path.read_text().replace(fingerprint(letters), fingerprint(nothing))
    run_path.write_text(lines)
    (record,) = read_records([run_path], measures=["RR@10"])
    assert "RR@10" not in record.metrics
    assert record.tags["karat.without_value"] == "RR@10"
    assert isinstance(record.document, ExportedRun)
    assert record.document.means == {"RR@10": None}


def test_measures_are_those_of_the_project_unless_others_are_given(run_path: Path, folder: Path) -> None:
    """The project is the one that the run lies in, or the one that is given."""
    (folder / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["P@1"]\n')
    assert "P@1" in read_records([run_path])[0].metrics
    assert "P@1" not in read_records([run_path], measures=["R@5"])[0].metrics
    assert "nDCG@10" in read_records([run_path], project=folder / "set")[0].metrics


def test_the_same_run_has_the_same_id_wherever_it_lies(run_path: Path, folder: Path) -> None:
    """The name of the file, its age and the measures do not count; what is in it and how it is scored does."""
    copy = folder / "elsewhere.jsonl"
    copy.write_bytes(run_path.read_bytes())
    os.utime(copy, (0, 0))
    first, other = read_records([run_path, copy])
    assert first.id == other.id == read_records([run_path], measures=["P@1"])[0].id
    assert (other.name, other.created) == ("elsewhere", 0)
    run_path.write_text(run_path.read_text().replace("timed out", "refused"))
    assert read_records([run_path])[0].id != first.id
    (folder / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nunit = "target"\n')
    assert read_records([copy])[0].id != first.id


def test_a_log_by_hand(log: Path) -> None:
    """Changes are params and numbers metrics, under karat's names; verdict, reason and the rest are tags."""
    first, two = read_records([log])
    assert (first.kind, first.name, first.note, first.file) == ("experiment", "exp-001", "larger chunks", None)
    assert first.params == {"pipeline.chunk.size": 512, "pipeline.fuse.k": 20}
    assert first.metrics == {"R@5": 0.82, "RR": 0.75, "latency.p95": 120.0}
    assert first.created == 1_768_435_200_000
    assert {key: value for key, value in first.tags.items() if value} == {
        "karat.experiment": "exp-001",
        "karat.date": "2026-01-15",
        "karat.verdict": "REJECTED",
        "karat.reason": "precision fell",
        "karat.without_value": "judged, huge",
    }
    assert (two.params, two.metrics) == ({}, {})
    assert {key: value for key, value in two.tags.items() if value} == {
        "karat.experiment": "exp-002",
        "karat.golden.name": "hotel",
        "karat.variant": "a",
        "karat.system.fingerprint": "sha256:def",
    }


def test_an_entry_stays_the_same_when_its_verdict_changes(log: Path) -> None:
    """Results, verdict and description may change; id, date and changes make an experiment another one."""
    (before, _), changed = experiment_records(log), json.loads(json.dumps(LOG))
    changed["experiments"][0] |= {"verdict": "ACCEPTED", "results": {}, "description": ""}
    log.write_text(json.dumps(changed))
    assert experiment_records(log)[0].id == before.id
    for key, value in (("id", "exp-003"), ("date", "2026-01-16"), ("config_changes", {"chunking.max_tokens": 384})):
        log.write_text(json.dumps({"experiments": [LOG["experiments"][0] | {key: value}]}))
        assert experiment_records(log)[0].id != before.id


@pytest.mark.parametrize("date", ["", "last week", "0001-01-01", "1969-12-31"])
def test_a_date_that_mlflow_cannot_hold_is_now(log: Path, date: str) -> None:
    """An experiment without a usable day begins when it is exported."""
    log.write_text(json.dumps({"experiments": [LOG["experiments"][0] | {"date": date}]}))
    assert experiment_records(log)[0].created > 1_768_435_200_000


def test_two_experiments_with_one_id_are_refused(log: Path) -> None:
    """One would overwrite the other."""
    log.write_text(json.dumps({"experiments": [LOG["experiments"][0]] * 2}))
    with pytest.raises(InputError, match=r"experiments.json: 2 experiments are called 'exp-001'; rename all but one"):
        experiment_records(log)


def test_a_log_is_known_by_its_name_or_by_what_it_holds(log: Path, folder: Path) -> None:
    """Under another name it is a log still; a damaged one is refused as the log it is called."""
    log.rename(folder / "tried.json")
    assert [record.name for record in read_records([folder / "tried.json"])] == ["exp-001", "exp-002"]
    log.write_text("{")
    with pytest.raises(InputError, match=r"experiments\.json"):
        read_records([log])


def test_a_file_that_is_not_there(folder: Path) -> None:
    """It is named."""
    with pytest.raises(InputError, match="no such file"):
        read_records([folder / "runs" / "none.jsonl"])


# --- without MLflow


def test_without_mlflow_there_is_one_message() -> None:
    """What is needed and how to get it; the environment is as it was."""
    before = dict(os.environ)
    with pytest.raises(UsageError, match=r"No module named 'mlflow'.*; pip install mlflow-skinny SQLAlchemy alembic"):
        check_mlflow()
    assert dict(os.environ) == before


@pytest.mark.parametrize(("uri", "error"), [(" ", UsageError), ("sqlite:///set", InputError)])
def test_a_uri_that_cannot_be_opened_is_refused_at_once(folder: Path, uri: str, error: type[Exception]) -> None:
    """MLflow would take an empty one for its default, and try a database that is a folder for minutes."""
    with pytest.raises(error, match=r"empty URI|set: cannot be opened as a database"):
        export_mlflow((), uri)


def test_a_file_that_is_no_database_is_refused_and_left_alone(folder: Path) -> None:
    """Nothing is written into it."""
    (folder / "notes.txt").write_text("not a database, but long enough to be read as the head of one" * 10)
    with pytest.raises(InputError, match=r"notes.txt: cannot be opened as a database: file is not a database"):
        export_mlflow((), "sqlite:///notes.txt")
    assert (folder / "notes.txt").read_text().startswith("not a database")


# --- a real store


_TOOLS = """
import json, os, sys
from pathlib import Path

TOUCHED = []
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
sys.addaudithook(lambda event, given: TOUCHED.append(f"{event} {given}") if event in _NETWORK else None)

from karat.core import KaratError
from karat.exports._mlflow import check_mlflow, export_mlflow
from karat.exports._records import Record, read_records

def client(uri):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from mlflow.tracking import MlflowClient
    return MlflowClient(tracking_uri=uri)

def export(uri, *paths, measures=("RR@10",), **options):
    exports = export_mlflow(read_records(paths, measures=measures), uri, **options)
    os.environ.pop("MLFLOW_ALLOW_FILE_STORE", None)
    return [record.outcome for record in exports]

def mistake(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except KaratError as error:
        return [type(error).__name__, error.exit_code, str(error)]

def runs(uri, experiment="karat"):
    server = client(uri)
    logged = server.search_runs([server.get_experiment_by_name(experiment).experiment_id], order_by=["attributes.start_time"])
    del os.environ["MLFLOW_ALLOW_FILE_STORE"]
    return [
        {
            "name": run.info.run_name, "status": run.info.status, "start": run.info.start_time, "end": run.info.end_time,
            "params": run.data.params, "metrics": run.data.metrics, "tags": run.data.tags,
            "history": {key: len(server.get_metric_history(run.info.run_id, key)) for key in run.data.metrics},
            "files": {file.path: Path(server.download_artifacts(run.info.run_id, file.path)).read_text()
                      for file in server.list_artifacts(run.info.run_id)},
            "place": run.info.artifact_uri,
        }
        for run in logged
    ]
"""  # noqa: E501 (a script)


@pytest.fixture
def play(
    python_of: Callable[[str], Path], warm_mlflow: Warm, environment: dict[str, str], folder: Path, tmp_path: Path
) -> Play:
    """Run code in an environment with a real MLflow, in the project; give what it leaves in ``output``."""
    program = warm_mlflow.write_program(tmp_path.with_name(f"{tmp_path.name}-python"), "standard_input")

    def played(code: str, *, cold: bool = False, **variables: str) -> Any:
        kept = {name: value for name, value in environment.items() if name != "CI" and not name.startswith("MLFLOW_")}
        kept |= {"PYTHONPATH": str(Path(__file__).parent)}
        process = subprocess.run(
            [python_of("mlflow"), "-"] if cold else [program],
            input=f"{_TOOLS}\n{dedent(code)}\nprint(json.dumps(output))",
            cwd=folder,
            env=kept | {"HOME": str(folder / "home"), "DO_NOT_TRACK": "true"} | variables,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout.splitlines()[-1])

    return played


def test_a_run_in_a_database(run_path: Path, play: Play, folder: Path) -> None:
    """MLflow's own client finds one finished run with all of it; a second export leaves it alone.

    The artefacts lie beside the database, wherever the export was called.
    """
    output = play(f"""
        os.makedirs("deep"), os.chdir("deep")
        uri = "sqlite:///{folder}/kept/mlflow.db"
        output = [export(uri, {str(run_path)!r}), export(uri, {str(run_path)!r}), runs(uri), os.listdir(".")]
    """)
    first, second, (run,), here = output
    assert (first, second, here) == (["created"], ["unchanged"], [])
    (record,) = read_records([run_path], measures=["RR@10"])
    assert run["metrics"] == {mlflow_key(name): value for name, value in record.metrics.items()}
    assert run["params"].keys() == {mlflow_key(name) for name in record.params}
    assert run["params"]["system.chunk.max_tokens"] == "256"
    assert run["params"]["system.stop_x20_words"] == '["a", "b"]'
    assert (run["params"]["system.embedder"], run["params"]["settings.paraphrases"]) == ("null", "false")
    assert run["tags"] == {
        **{name: value for name, value in record.tags.items() if value},
        "karat.kind": "run",
        "karat.id": record.id,
        "karat.digest": run["tags"]["karat.digest"],
        "karat.names": '{"RR_at_10": "RR@10", "system.stop_x20_words": "system.stop words"}',
        "mlflow.runName": "mine-1",
    }
    assert (run["status"], run["start"], run["end"]) == ("FINISHED", record.created, record.created)
    assert set(run["history"].values()) == {1}
    assert run["files"].keys() == {"karat.json", "mine-1.jsonl"}
    assert run["files"]["mine-1.jsonl"] == run_path.read_text()
    document = json.loads(run["files"]["karat.json"])
    validate(document, json_schema("exported-run"))
    assert (document["system"], document["failed"]) == (SYSTEM, {"qc": "timed out"})
    assert run["place"].startswith((folder / "kept" / "mlruns").as_uri())


def test_another_measure_is_added_to_the_same_run(run_path: Path, play: Play) -> None:
    """The run is brought up to date; what did not change is not logged again."""
    output = play(f"""
        path = {str(run_path)!r}
        more = ["RR@10", "nDCG(gain='exp')@10"]
        output = [export("./mlruns", path), export("./mlruns", path, measures=more), runs("./mlruns")]
    """)
    first, second, (run,) = output
    assert (first, second) == (["created"], ["updated"])
    key = "nDCG_x28_gain_x3d__x27_exp_x27__x29__at_10"
    assert run["metrics"][key] == pytest.approx((1 + 1 / math.log2(3)) / 6)
    assert json.loads(run["tags"]["karat.names"])[key] == "nDCG(gain='exp')@10"
    assert set(run["history"].values()) == {1}


def test_experiments_in_a_folder(log: Path, play: Play) -> None:
    """Each entry is one run; when a verdict and a result change, that run alone is brought up to date."""
    changed = json.loads(json.dumps(LOG))
    changed["experiments"][0] |= {"verdict": "ACCEPTED", "results": {"mrr": 0.8, "judged": 1.0}, "description": ""}
    output = play(f"""
        log = Path("experiments.json")
        output = [export("mlruns", log, experiment="tuning"), runs("mlruns", "tuning")]
        log.write_text({json.dumps(changed)!r})
        output += [export("mlruns", log, experiment="tuning"), runs("mlruns", "tuning")]
    """)
    first, before, second, after = output
    assert (first, second) == (["created", "created"], ["updated", "unchanged"])
    assert [run["name"] for run in before] == [run["name"] for run in after] == ["exp-001", "exp-002"]
    record = before[0]
    assert record["params"] == {"pipeline.chunk.size": "512", "pipeline.fuse.k": "20"}
    assert record["metrics"] == {"R_at_5": 0.82, "RR": 0.75, "latency.p95": 120.0}
    assert (record["tags"]["karat.verdict"], record["tags"]["karat.reason"]) == ("REJECTED", "precision fell")
    assert record["tags"]["mlflow.note.content"] == "larger chunks"
    document = json.loads(record["files"]["karat.json"])
    validate(document, json_schema("exported-experiment"))
    assert document["experiment"] == LOG["experiments"][0]
    other = after[0]
    assert other["metrics"] == {"R_at_5": 0.82, "RR": 0.8, "latency.p95": 120.0, "judged": 1.0}
    assert (other["tags"]["karat.verdict"], other["tags"]["karat.reason"]) == ("ACCEPTED", "")
    assert (other["tags"]["mlflow.note.content"], other["tags"]["karat.without_value"]) == ("", "")
    assert other["history"] == {"R_at_5": 1, "RR": 2, "latency.p95": 1, "judged": 1}
    assert json.loads(other["files"]["karat.json"])["experiment"] == changed["experiments"][0]
    assert before[1] == after[1]


def test_an_export_that_was_killed_is_finished_by_the_next(run_path: Path, play: Play) -> None:
    """A run that was begun and has not all is taken up, and there is no second one."""
    output = play(f"""
        record, = read_records([{str(run_path)!r}], measures=["RR@10"])
        asked = client("mlruns")
        begun = asked.create_run(asked.create_experiment("karat"), tags={{"karat.id": record.id}}, run_name="mine-1")
        asked.log_param(begun.info.run_id, "settings.k", "10")
        output = [export("mlruns", {str(run_path)!r})]
        asked.update_run(begun.info.run_id, status="RUNNING")  # as when only the artefacts are missing
        output += [export("mlruns", {str(run_path)!r}), runs("mlruns")]
    """)
    first, second, (run,) = output
    assert (first, second, run["status"]) == (["updated"], ["updated"], "FINISHED")
    assert "RR_at_10" in run["metrics"]
    assert run["params"].keys() > {"settings.k"}
    assert run["files"].keys() == {"karat.json", "mine-1.jsonl"}


def test_many_records_are_found_again_page_by_page(log: Path, run_path: Path, play: Play) -> None:
    """However many there are, and if one is given twice, each of them is there once."""
    log.write_text(json.dumps({"experiments": [{"id": f"exp-{i:03}", "results": {"mrr": i}} for i in range(25)]}))
    output = play(f"""
        import karat.exports._mlflow as module
        module._PAGE = 10
        files = ["experiments.json", {str(run_path)!r}, {str(run_path)!r}]
        output = [export("mlruns", *files), export("mlruns", *files), len(runs("mlruns"))]
    """)
    assert output == [[*["created"] * 26, "unchanged"], ["unchanged"] * 27, 26]


def test_whatever_a_name_or_a_value_is_mlflow_takes_it(folder: Path, play: Play) -> None:
    """Names of every measure, hostile names, long values, more params than a request may have: all is found again."""
    names = [
        f"{measure.name}({measure.parameters[0].name}=2)@5" if measure.parameters else f"{measure.name}@5"
        for measure in MEASURES
    ]
    odd = ["../../x", "/etc", ".", "a//b", "a b ", "x" * 400, "ключ", "", "\ud800", "tab\tnew\nline", "a:b", "_x41_"]
    changes: dict[str, Any] = dict.fromkeys(odd, "x") | {f"p{i}": i for i in range(250)}
    changes |= {"long": "y" * 9000, "lines": "one\r\ntwo\n", "nothing": "", "nul": "a\0b", "half": "\udc00"}
    entry = {"id": "exp '; drop", "config_changes": changes, "results": dict.fromkeys([*names, *odd], 0.5)}
    entry |= {"description": "z" * 9000, "verdict": "ACCEPTED"}
    (folder / "experiments.json").write_text(json.dumps({"experiments": [entry]}))
    output = play("""
        output = [export("mlruns", "experiments.json"), export("mlruns", "experiments.json"), runs("mlruns")]
    """)
    first, second, (run,) = output
    assert (first, second) == (["created"], ["unchanged"])
    known = json.loads(run["files"]["karat.json"])["names"]
    assert {known.get(key, key) for key in run["metrics"]} == {*names, *odd}
    assert {known.get(key, key) for key in run["params"]} == changes.keys()
    assert (len(run["params"]["long"]), run["params"]["long"][-4:]) == (500, "y...")
    assert (run["params"]["nothing"], run["params"]["nul"], run["params"]["half"]) == ("", "a\\0b", "\\udc00")
    assert len(run["tags"]["mlflow.note.content"]) == 5000
    assert json.loads(run["files"]["karat.json"])["experiment"] == entry


def test_nobody_else_is_spoken_to_and_telemetry_is_off(run_path: Path, play: Play, folder: Path) -> None:
    """Where the environment asks for telemetry, MLflow has no client for it, looks up no host, and leaves nothing in
    the user's home; afterwards the environment is as it was."""
    output = play(
        f"""
        ours = lambda: {{name: value for name, value in os.environ.items() if "MLFLOW" in name or "TRACK" in name}}
        before = ours()
        output = [export("./mlruns", {str(run_path)!r}), TOUCHED, ours() == before]
        from mlflow.telemetry import get_telemetry_client
        output.append(get_telemetry_client() is None)
        """,
        cold=True,
        DO_NOT_TRACK="false",
        MLFLOW_DISABLE_TELEMETRY="false",
    )
    assert output == [["created"], [], True, True]
    assert not (folder / "home").exists()


def test_what_mlflow_refuses_is_told(run_path: Path, play: Play) -> None:
    """A server that is not there is told without the password; wrong names are the user's mistake."""
    output = play(f"""
        path = {str(run_path)!r}
        output = [mistake(export, "http://me:secret@127.0.0.1:9", path, experiment="x")]
        output.append(mistake(export, "mlruns", path, experiment=""))
        output.append(mistake(export, "gopher://nowhere", path))
        asked = client("mlruns")
        asked.delete_experiment(asked.create_experiment("gone"))
        output.append(mistake(export, "mlruns", path, experiment="gone"))
        output.append(mistake(export, "postgresql://me:secret@127.0.0.1:9/x", path))
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "false"
        output.append(mistake(export, "elsewhere", path))
    """)
    away, unnamed, unknown, gone, driver, folder = output
    assert away[:2] == ["SystemFailed", 3]
    assert away[2].startswith("MLflow at http://127.0.0.1:9: MlflowException: API request to http://127.0.0.1:9/api/")
    assert "secret" not in away[2] + driver[2]
    assert unnamed[:2] == ["InputError", 2]
    assert "experiment name" in unnamed[2].lower()
    assert unknown[:2] == ["InputError", 2]
    assert gone[:2] == ["InputError", 2]
    assert gone[2] == "MLflow: experiment 'gone' was deleted; restore it, or choose another --experiment"
    assert driver[:2] == ["UsageError", 2]
    assert driver[2].endswith("pip install psycopg")
    assert folder[:2] == ["InputError", 2]
    assert "MLFLOW_ALLOW_FILE_STORE" in folder[2]


# --- secrets


def test_an_error_of_mlflow_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those of the URI, together or apart, nor those of the variables that MLflow reads."""
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken-of-Mine")
    uri = "https://ana:pa55Word77@host/mlflow?token=qu3ryT0ken"
    error = ValueError(f"cannot open {uri} with pa55Word77, qu3ryT0ken, t0ken-of-Mine")
    assert describe_failure(error, uri) == "cannot open https://host/mlflow?token=*** with ***, ***, ***"
    assert describe_failure(ValueError("no host"), "http://[broken") == "no host"
