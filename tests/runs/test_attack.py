"""The stress run on a real corpus: all of MITRE ATT&CK through the command line, and a backend that breaks on it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import pytrec_eval

from karat import golden
from karat.runs import read_run_file
from public_data import BUNDLE, find_collection

ORACLE = {
    "R@5": "recall_5",
    "R@20": "recall_20",
    "Success@10": "success_10",
    "P@10": "P_10",
    "RR": "recip_rank",
    "nDCG@10": "ndcg_cut_10",
    "AP@20": "map_cut_20",
}
BROKEN = '''
"""A store that writes a log, and breaks on one record as memvid-core 2.0.139 did."""

class Store:
    def ingest(self, documents):
        for number, document in enumerate(d for d in documents if d.type == "mitigation"):
            if document.id == "M1045":
                raise OSError("Embedded WAL is corrupted at offset 78667: wal record checksum mismatch")

    def retrieve(self, query, k):
        return ["T1059"]
'''


def thing(kind: str, name: str, text: str, **more: Any) -> dict[str, Any]:
    """An object of a bundle with an ATT&CK id."""
    reference = {"source_name": "mitre-attack", "external_id": name}
    return {"type": kind, "id": f"{kind}--{name}", "name": name, "description": text, **more} | {
        "external_references": [reference]
    }


def relation(kind: str, source: str, target: str) -> dict[str, Any]:
    ends = {"source_ref": source, "target_ref": f"attack-pattern--{target}"}
    return {"type": "relationship", "id": f"relationship--{source}-{target}", "relationship_type": kind, **ends}


SMALL = [
    thing("attack-pattern", "T1", "Registry run keys start a program when the user logs in."),
    thing("attack-pattern", "T2", "A password is guessed again and again."),
    *(thing("attack-pattern", f"T{n}", f"Number {n} of the beaver family.") for n in range(3, 8)),
    thing("intrusion-set", "G1", "Spies that love the beaver."),
    thing("x-mitre-data-source", "DS1", "What a host writes down."),
    thing("x-mitre-detection-strategy", "DET1", "", x_mitre_analytic_refs=["x-mitre-analytic--1"]),
    {"type": "x-mitre-analytic", "id": "x-mitre-analytic--1", "description": "A program sets registry run keys."},
    *(relation("uses", "intrusion-set--G1", f"T{n}") for n in range(3, 8)),
    relation("detects", "x-mitre-detection-strategy--DET1", "T1"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project on the bundle, with the lexical channel only."""
    folder = tmp_path_factory.mktemp("attack")
    (folder / "karat.toml").write_text(
        f"[golden]\npath = {json.dumps(str(find_collection(BUNDLE)))}\n[pipeline]\ndense = false\n"
    )
    (folder / "broken_store.py").write_text(BROKEN)
    return folder


def karat_eval(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    measures = [part for name in ORACLE for part in ("-m", name)]
    return subprocess.run(
        [sys.executable, "-m", "karat", "eval", ".", "--k", "20", *measures, *options],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def evaluated(project: Path) -> tuple[dict[str, Any], Path]:
    """What the command line prints of a run on all of it, and the run that it keeps."""
    ended = karat_eval(project, "--json", "--per-query")
    assert ended.returncode == 0, ended.stderr
    (kept,) = (project / "runs").iterdir()
    return json.loads(ended.stdout)["runs"][0], kept


@pytest.mark.slow
@pytest.mark.public_data
def test_all_of_attack_is_ingested_and_asked(evaluated: tuple[dict[str, Any], Path]) -> None:
    """Every live node is a document; each group of five techniques or more asks; nothing fails."""
    scored, kept = evaluated
    golden_set = golden.read(find_collection(BUNDLE))
    assert len(golden_set.documents) == 1757
    assert len(golden_set.queries) == 149
    assert Counter(judgment.query.partition("-")[0] for judgment in golden_set.judgments) == {"uses": 4312}
    assert scored["failed"] == []
    assert scored["latency"]["total"]["n"] == 149
    traces = read_run_file(kept).traces
    assert [trace.query for trace in traces] == [query.id for query in golden_set.queries]
    assert all(len({hit.document for hit in trace.hits}) == 20 for trace in traces)
    assert {hit.document for trace in traces for hit in trace.hits} <= golden_set.document_by_id.keys()


@pytest.mark.slow
@pytest.mark.public_data
def test_the_measures_are_those_of_trec_eval(evaluated: tuple[dict[str, Any], Path]) -> None:
    """Every value of every query, computed by trec_eval from the run file and the judgments."""
    scored, kept = evaluated
    lines = [json.loads(line) for line in kept.read_text().splitlines()][1:-1]
    run = {
        line["query"]: {hit["document"]: float(100 - rank) for rank, hit in enumerate(line["hits"])} for line in lines
    }
    qrels: dict[str, dict[str, int]] = {}
    for judgment in golden.read(find_collection(BUNDLE)).judgments:
        qrels.setdefault(judgment.query, {})[judgment.target.document] = judgment.grade
    wanted = {"recall.5,20", "success.10", "P.10", "recip_rank", "ndcg_cut.10", "map_cut.20"}
    oracle = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    assert oracle.keys() == scored["queries"].keys()
    for query, values in scored["queries"].items():
        assert values == {name: pytest.approx(oracle[query][theirs], abs=1e-12) for name, theirs in ORACLE.items()}
    for name, theirs in ORACLE.items():
        assert scored["measures"][name]["mean"] == pytest.approx(mean(value[theirs] for value in oracle.values()))
        assert scored["measures"][name]["n"] == 149


@pytest.mark.slow
@pytest.mark.public_data
def test_the_lexical_channel_reaches_what_it_reached(evaluated: tuple[dict[str, Any], Path]) -> None:
    """Among all nodes a group finds groups, not techniques: the numbers are low, and are what they are."""
    measures = {name: cell["mean"] for name, cell in evaluated[0]["measures"].items()}
    assert measures["R@20"] == pytest.approx(0.0030, abs=0.002)
    assert measures["Success@10"] == pytest.approx(0.0403, abs=0.03)


@pytest.mark.slow
@pytest.mark.public_data
def test_a_store_that_breaks_on_one_record(project: Path) -> None:
    """Exit code 3, the backend's own error word for word, no numbers, and no run, but a note of what failed."""
    ended = karat_eval(project, "--system", "broken_store:Store", "--output", "broken")
    assert ended.returncode == 3
    assert "OSError: Embedded WAL is corrupted at offset 78667: wal record checksum mismatch\n" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert [path.name for path in project.glob("broken/*")] == ["failed.json"]


@pytest.mark.slow
def test_uses_and_detects_are_both_asked(tmp_path: Path) -> None:
    """A bundle with detection strategies, as MITRE publishes it: every kind of node, both kinds of judgments."""
    (tmp_path / "enterprise.json").write_text(json.dumps({"type": "bundle", "id": "bundle--1", "objects": SMALL}))
    (tmp_path / "karat.toml").write_text('[golden]\npath = "enterprise.json"\n[pipeline]\ndense = false\n')
    ended = karat_eval(tmp_path, "--json", "--per-query")
    assert ended.returncode == 0, ended.stderr
    scored = json.loads(ended.stdout)["runs"][0]
    # The strategy finds itself, then T1. The group finds itself, then its five techniques, which are all there are.
    assert scored["queries"]["detects-DET1"] == {
        "R@5": 1.0, "R@20": 1.0, "Success@10": 1.0, "P@10": 0.1, "RR": 0.5,
        "nDCG@10": pytest.approx(0.6309, abs=1e-4), "AP@20": 0.5,
    }  # fmt: skip
    group = scored["queries"]["uses-G1"]
    assert (group["R@5"], group["R@20"], group["P@10"], group["RR"]) == (0.8, 1.0, 0.5, 0.5)
    assert group["AP@20"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 6) / 5)
    assert set(scored["by"]["category"]) == {"detects", "uses"}
