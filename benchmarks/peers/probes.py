"""What one tool does with the workload, in an environment of its own: ``python probes.py TOOL TASK FOLDER``.

Prints one line of JSON. ``score`` has the values of each measure that the tool computes, ``lost`` what it makes of a
run that lost a fifth of its queries, ``gate`` in which of the worlds its gate fires. ``hosts`` are the names and
addresses that the process asked for meanwhile. Nothing here imports karat but the probe of karat.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

Graded = dict[str, dict[str, Any]]
HOSTS: set[str] = set()
THRESHOLD = 0.5
"""What a row has to reach in deepeval and promptfoo; deepeval's own default."""


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    """Note whom the process wants to reach."""
    if event == "socket.getaddrinfo":
        HOSTS.add(str(arguments[0]))
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        HOSTS.add(str(arguments[1][0]))


def read(path: Path, column: int) -> Graded:
    """Return a TREC file: by query and document, the grade or the score."""
    table: Graded = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = line.split()
        table.setdefault(row[0], {})[row[2]] = float(row[column]) if column == 4 else int(row[column])
    return table


def list_rows(qrels: Graded, run: Graded) -> list[tuple[str, list[str], list[str]]]:
    """Return queries with what came back, best first, and what is relevant."""
    return [(q, [*run.get(q, {})], [d for d, grade in graded.items() if grade]) for q, graded in qrels.items()]


class Karat:
    names = ("R@5", "P@5", "RR@10", "nDCG@10")

    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        import karat

        table = karat.score(qrels, run, self.names)
        return {
            m: dict(zip(table.queries, table.values[:, j].tolist(), strict=True)) for j, m in enumerate(table.measures)
        }

    def gate(self, worlds: list[dict[str, Any]]) -> list[str]:
        from karat.core import Provenance, Scores
        from karat.evaluation import Evaluation
        from karat.gate import decide, named_policy

        policy = named_policy("default", self.names)

        def evaluate(world: dict[str, Any], side: int) -> Evaluation:
            columns = {m: dict(zip(world["queries"], world["values"][m][side], strict=True)) for m in self.names}
            scores = Scores.from_columns("run", columns)
            lists = {query: tuple(world["runs"][side][query]) for query in scores.queries}
            return Evaluation(
                provenance=Provenance(name="run"), scores=scores, means=scores.mean(), queries=scores.queries,
                total=len(scores.queries), lists=lists,
                latency={"total": {"n": 1.0, "mean": 10.0, "p50": 10.0, "p95": 10.0, "p99": 10.0}},
            )  # fmt: skip

        return [str(decide(evaluate(world, 1), evaluate(world, 0), policy).outcome) for world in worlds]


class PytrecEval:
    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        import pytrec_eval

        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recall.5", "P.5", "recip_rank", "ndcg_cut.10"})
        values = evaluator.evaluate(run)
        names = {"R@5": "recall_5", "P@5": "P_5", "RR@10": "recip_rank", "nDCG@10": "ndcg_cut_10"}
        return {m: {q: row[theirs] for q, row in values.items()} for m, theirs in names.items()}


class Ranx:
    names: ClassVar = {"R@5": "recall@5", "P@5": "precision@5", "RR@10": "mrr@10", "nDCG@10": "ndcg@10"}

    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        from ranx import Qrels, Run, evaluate

        judged, scored = Qrels(qrels), Run(run)
        evaluate(judged, scored, [*self.names.values()], return_mean=False)
        return {m: {q: float(value) for q, value in scored.scores[theirs].items()} for m, theirs in self.names.items()}

    def gate(self, worlds: list[dict[str, Any]]) -> list[str]:
        """Its comparison with its own defaults: Student's t test, two-sided, at 0.01, for each measure by itself."""
        from ranx import Qrels, Run, compare

        outcomes = []
        for world in worlds:
            runs = [Run(run, name=name) for run, name in zip(world["runs"], ("before", "after"), strict=True)]
            report = compare(Qrels(world["qrels"]), runs, [*self.names.values()])
            means = {run.name: run.mean_scores for run in runs}
            worse = [
                m for m in self.names.values()
                if report.comparisons["before", "after"][m]["significant"] and means["after"][m] < means["before"][m]
            ]  # fmt: skip
            outcomes.append("fail" if worse else "pass")
        return outcomes


class IrMeasures:
    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        import ir_measures
        from ir_measures import RR, P, R, nDCG

        names = {R @ 5: "R@5", P @ 5: "P@5", RR @ 10: "RR@10", nDCG @ 10: "nDCG@10"}
        values: dict[str, dict[str, float]] = {name: {} for name in names.values()}
        for metric in ir_measures.iter_calc([*names], qrels, run):
            values[names[metric.measure]][metric.query_id] = metric.value
        self.mean = ir_measures.calc_aggregate([P @ 5], qrels, run)[P @ 5]
        return values


class Ragas:
    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        import warnings

        warnings.simplefilter("ignore")
        from ragas import EvaluationDataset, SingleTurnSample, evaluate
        from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

        rows = list_rows(qrels, run)
        samples = [
            SingleTurnSample(retrieved_context_ids=hits[:5], reference_context_ids=good) for _, hits, good in rows
        ]
        metrics = [IDBasedContextPrecision(), IDBasedContextRecall()]
        result = evaluate(EvaluationDataset(samples), metrics, show_progress=False)
        self.mean = float(result._repr_dict["id_based_context_precision"])  # what it prints
        names = {"P@5": "id_based_context_precision", "R@5": "id_based_context_recall"}
        return {m: {row[0]: v for row, v in zip(rows, result[theirs], strict=True)} for m, theirs in names.items()}


class Deepeval:
    own = ("P@5",)

    def make_metric(self) -> Any:
        from deepeval.metrics import BaseMetric

        class Precision(BaseMetric):
            """It has no measure that needs no model, so that a team writes its own."""

            threshold, async_mode, error, reason, evaluation_model = THRESHOLD, False, None, None, None

            def measure(self, case: Any, *_: Any, **__: Any) -> float:
                hits, good = case.retrieval_context or [], set(case.context or [])
                if hits == ["failed"]:
                    raise RuntimeError("the system failed")
                self.score = (
                    float(case.expected_output) if case.expected_output else sum(d in good for d in hits[:5]) / 5
                )
                self.success = self.score >= self.threshold
                return self.score

            async def a_measure(self, case: Any, *_: Any, **__: Any) -> float:
                return self.measure(case)

            def is_successful(self) -> bool:
                return bool(self.success)

            @property
            def __name__(self) -> str:
                return "P@5"

        return Precision()

    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        from deepeval import evaluate
        from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
        from deepeval.test_case import LLMTestCase

        rows = list_rows(qrels, run)
        cases = [
            LLMTestCase(input=q, actual_output="-", retrieval_context=hits or ["failed"], context=good)
            for q, hits, good in rows
        ]
        display = DisplayConfig(show_indicator=False, print_results=False)
        result = evaluate(
            cases, [self.make_metric()], async_config=AsyncConfig(run_async=False), display_config=display
        )
        return {"P@5": {test.input: test.metrics_data[0].score for test in result.test_results}}

    def gate(self, worlds: list[dict[str, Any]]) -> list[str]:
        """``assert_test`` for each row that was green before, as its docs have it in a pull request."""
        from deepeval import assert_test
        from deepeval.test_case import LLMTestCase

        outcomes = []
        for world in worlds:
            outcome = "pass"
            for before, after in zip(*world["values"]["nDCG@10"], strict=True):
                if before < THRESHOLD or outcome == "fail":
                    continue
                case = LLMTestCase(input="q", actual_output="-", expected_output=str(after), retrieval_context=["-"])
                try:
                    assert_test(case, [self.make_metric()], run_async=False)
                except AssertionError:
                    outcome = "fail"
            outcomes.append(outcome)
        return outcomes


class Mlflow:
    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        import mlflow
        import pandas as pd

        mlflow.set_tracking_uri(f"sqlite:///{Path.cwd()}/mlflow.db")
        rows = list_rows(qrels, run)
        frame = pd.DataFrame(
            {"inputs": [r[0] for r in rows], "hits": [r[1] for r in rows], "good": [r[2] for r in rows]}
        )
        metrics = [mlflow.metrics.precision_at_k(5), mlflow.metrics.recall_at_k(5), mlflow.metrics.ndcg_at_k(10)]
        result = mlflow.models.evaluate(data=frame, predictions="hits", targets="good", extra_metrics=metrics)
        self.mean = float(result.metrics["precision_at_5/mean"])
        table = result.tables["eval_results_table"]
        names = {"P@5": "precision_at_5/score", "R@5": "recall_at_5/score", "nDCG@10": "ndcg_at_10/score"}
        return {m: dict(zip(table["inputs"], map(float, table[theirs]), strict=True)) for m, theirs in names.items()}

    def gate(self, worlds: list[dict[str, Any]]) -> list[str]:
        """Its validation with a threshold for each measure, 5 % below the mean of the run before."""
        from mlflow.models import MetricThreshold
        from mlflow.models.evaluation import EvaluationResult
        from mlflow.models.evaluation.validation import ModelValidationFailedException, validate_evaluation_results

        outcomes = []
        for world in worlds:
            means = {m: [sum(side) / len(side) for side in sides] for m, sides in world["values"].items()}
            limits = {
                m: MetricThreshold(threshold=0.95 * before, greater_is_better=True) for m, (before, _) in means.items()
            }
            try:
                result = EvaluationResult(metrics={m: after for m, (_, after) in means.items()}, artifacts={})
                validate_evaluation_results(validation_thresholds=limits, candidate_result=result, baseline_result=None)
                outcomes.append("pass")
            except ModelValidationFailedException:
                outcomes.append("fail")
        return outcomes


class Phoenix:
    single = True
    """It scores one query at a time, and whoever calls it makes the mean."""

    def score(self, qrels: Graded, run: Graded) -> dict[str, dict[str, float]]:
        from phoenix.metrics.retrieval_metrics import RetrievalMetrics

        values: dict[str, dict[str, float]] = {"P@5": {}, "RR@10": {}, "nDCG@10": {}}
        for query, hits in run.items():
            metrics = RetrievalMetrics([qrels[query].get(name, 0) for name in hits])
            values["P@5"][query] = float(metrics.precision(5))
            values["RR@10"][query] = float(metrics.reciprocal_rank())
            values["nDCG@10"][query] = float(metrics.ndcg(10))
        return values


TOOLS = {
    "karat": Karat, "pytrec_eval": PytrecEval, "ranx": Ranx, "ir-measures": IrMeasures, "ragas": Ragas,
    "deepeval": Deepeval, "MLflow": Mlflow, "Phoenix": Phoenix,
}  # fmt: skip


def work(name: str, task: str, folder: Path) -> dict[str, Any]:
    tool = TOOLS[name]()
    qrels = read(folder / "qrels.txt", 3)
    if task == "gate":
        worlds = json.loads((folder / "worlds.json").read_text(encoding="utf-8"))
        few = int(os.environ.get("WORLDS", "0"))
        return {kind: tool.gate(drawn[: few or None]) for kind, drawn in worlds.items()}
    run = read(folder / ("lost.txt" if task == "lost" else "run.txt"), 4)
    if task == "small":
        qrels = {query: qrels[query] for query in [*qrels][:2]}
        run = {query: run[query] for query in qrels}
    values = tool.score(qrels, run)
    return {
        "values": values,
        "mean": getattr(tool, "mean", None),
        "own": getattr(tool, "own", ()),
        "single": getattr(tool, "single", False),
    }


def main() -> None:
    name, task, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    sys.addaudithook(listen)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = work(name, task, folder)
    except Exception as error:  # what a tool does where it cannot go on is what is looked at
        result = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(result | {"hosts": sorted(HOSTS)}))


if __name__ == "__main__":
    main()
