"""One tool a process: reads files, computes five measures per query and their means, writes them as JSON.

``python tools.py TOOL FOLDER OUTPUT`` for whole processes, ``python tools.py TOOL FOLDER OUTPUT memory`` for scoring
alone: then the JSON also holds the CPU seconds of the scoring, with the data in the tool's own form in memory and the
judgments prepared as each tool lets one prepare them.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEASURES = {
    "nDCG@10": ("ndcg_cut_10", "ndcg@10"),
    "RR@10": ("recip_rank", "mrr@10"),
    "R@100": ("recall_100", "recall@100"),
    "P@5": ("P_5", "precision@5"),
    "AP@1000": ("map_cut_1000", "map@1000"),
}
Values = dict[str, dict[str, float]]
"""``{measure: {query: value}}``"""


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Return the result and the CPU seconds of the quickest of some repeats."""
    best = float("inf")
    result = None
    for _ in range(repeats):
        start = cpu()
        result = work()
        best = min(best, cpu() - start)
    return result, best


def pytrec_eval(folder: Path, repeats: int) -> tuple[Values, float]:
    import pytrec_eval as tool

    with (folder / "qrels.txt").open() as qrels, (folder / "run.txt").open() as run:
        judged, scored = tool.parse_qrel(qrels), tool.parse_run(run)
    # It has no RR@10; recip_rank is the same work, and is compared as such.
    evaluator = tool.RelevanceEvaluator(judged, {"ndcg_cut.10", "recip_rank", "recall.100", "P.5", "map_cut.1000"})
    scores, seconds = timed(lambda: evaluator.evaluate(scored), repeats)
    return {m: {q: values[theirs] for q, values in scores.items()} for m, (theirs, _) in MEASURES.items()}, seconds


def ranx(folder: Path, repeats: int) -> tuple[Values, float]:
    from ranx import Qrels, Run, evaluate

    judged = Qrels.from_file(str(folder / "qrels.txt"), kind="trec")
    scored = Run.from_file(str(folder / "run.txt"), kind="trec")
    names = [name for _, name in MEASURES.values()]
    values, seconds = timed(lambda: evaluate(judged, scored, names, return_mean=False, make_comparable=True), repeats)
    queries = list(scored.keys())
    return {m: dict(zip(queries, values[name].tolist(), strict=True)) for m, (_, name) in MEASURES.items()}, seconds


def ir_measures(folder: Path, repeats: int) -> tuple[Values, float]:
    import ir_measures as tool

    wanted = [tool.parse_measure(m) for m in MEASURES]
    judged = list(tool.read_trec_qrels(str(folder / "qrels.txt")))
    scored = list(tool.read_trec_run(str(folder / "run.txt")))
    evaluator = tool.evaluator(wanted, judged)
    scores, seconds = timed(lambda: list(evaluator.iter_calc(scored)), repeats)
    values: Values = {m: {} for m in MEASURES}
    for metric in scores:
        values[str(metric.measure)][metric.query_id] = metric.value
    return values, seconds


def karat_frames(folder: Path, repeats: int) -> tuple[Values, float]:
    import polars

    import karat

    judged = karat.read_judgments(polars.read_parquet(folder / "qrels.parquet"))
    scored = polars.read_parquet(folder / "run.parquet")
    return _karat(judged, scored, repeats)


def karat_prepared(folder: Path, repeats: int) -> tuple[Values, float]:
    import karat

    judged = karat.read_judgments(folder / "qrels.parquet")
    return _karat(judged, karat.read_run(folder / "run.parquet"), repeats)


def karat_dicts(folder: Path, repeats: int) -> tuple[Values, float]:
    import pytrec_eval as tool

    import karat

    with (folder / "qrels.txt").open() as qrels, (folder / "run.txt").open() as run:
        judged, scored = karat.read_judgments(tool.parse_qrel(qrels)), tool.parse_run(run)
    return _karat(judged, scored, repeats)


def _karat(judged: Any, scored: Any, repeats: int) -> tuple[Values, float]:
    import karat

    values, seconds = timed(lambda: karat.score(judged, scored, MEASURES), repeats)
    columns = zip(MEASURES, values.values.T.tolist(), strict=True)
    return {measure: dict(zip(values.queries, column, strict=True)) for measure, column in columns}, seconds


def main() -> None:
    tool, folder, output = globals()[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    in_memory = sys.argv[4:] == ["memory"]
    values, seconds = tool(folder, 3 if in_memory else 1)
    means = {measure: sum(column.values()) / len(column) for measure, column in values.items()}
    result = {"means": means, "values": values}
    if in_memory:
        result["seconds"] = seconds
    output.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
