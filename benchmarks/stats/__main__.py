"""karat's bootstrap and sign-flip test beside SciPy's and ranx's, in one process: CPU seconds, and what came out.

``./scripts/bench stats`` compares them at 50, 300 and 6,980 queries; SciPy and ranx need two CPU minutes for the last.
``./scripts/bench stats --quick`` draws a hundredth as often, once, and leaves 6,980 out. Times are CPU seconds of all
threads, the median of some rounds in which the tools take turns. SciPy's bootstrap runs twice: as one calls it, with
memory for all resamples at once, and in batches of 200, the fastest of the sizes tried.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from karat.stats import bootstrap, permutation

BATCH = 200
BOOTSTRAP_LIMIT, PERMUTATION_LIMIT = 1.0, 40.0
Tool = Callable[[], tuple[float, ...]]


def workload(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return reciprocal ranks of two runs on n queries; the second moved about half of the answers."""
    rng = np.random.default_rng(n)
    ranks = rng.geometric(0.5, n)
    moved = np.where(rng.random(n) < 0.5, rng.geometric(0.5, n), ranks)
    noise = rng.normal(0, 0.02, (2, n))  # graded measures take more values than ranks do
    before, after = 1 / ranks, 1 / moved
    return before.clip(0, 1), np.where(moved == ranks, before, after + noise[1]).clip(0, 1)


def bootstraps(d: np.ndarray[Any, Any], resamples: int, method: str) -> dict[str, Tool]:
    def theirs(batch: int | None) -> tuple[float, ...]:
        interval = stats.bootstrap(
            (d,),
            np.mean,
            n_resamples=resamples,
            method=method,
            vectorized=True,
            batch=batch,
            rng=np.random.default_rng(1),
        ).confidence_interval
        return float(interval.low), float(interval.high)

    def ours() -> tuple[float, ...]:
        interval = bootstrap(d, rng=np.random.default_rng(1), resamples=resamples, method=method)  # type: ignore[arg-type]
        return interval.low, interval.high

    tools: dict[str, Tool] = {"karat": ours, "scipy, batches of 200": lambda: theirs(BATCH)}
    if len(d) * resamples <= 100_000_000:
        tools["scipy"] = lambda: theirs(None)
    return tools


def permutations(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any], resamples: int) -> dict[str, Tool]:
    from ranx.statistical_tests import fisher_randomization_test

    d = after - before

    def ours() -> tuple[float, ...]:
        return (permutation(d, rng=np.random.default_rng(1), resamples=resamples).p,)

    def scipy() -> tuple[float, ...]:
        result = stats.permutation_test(
            (d,),
            lambda values, axis: values.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            batch=BATCH,
            rng=np.random.default_rng(1),
        )
        return (float(result.pvalue),)

    def ranx() -> tuple[float, ...]:
        return (float(fisher_randomization_test(before, after, resamples)[0]),)

    fisher_randomization_test(before[:20], after[:20], 10)  # compiles, which is not what is measured
    return {"karat": ours, "ranx": ranx, "scipy, batches of 200": scipy}


def compare(title: str, tools: dict[str, Tool], rounds: int) -> dict[str, float]:
    """Run the tools in turn; print medians and how many times as long as karat each takes."""
    print(f"\n## {title}\n\n| tool | CPU s | of karat | found |\n|---|---|---|---|")
    seconds: dict[str, list[float]] = {name: [] for name in tools}
    results = {"karat": tools["karat"]()}  # imports what it needs
    for turn in range(rounds):
        for name, tool in tools.items():
            if turn and seconds[name][0] > 10:  # the slow ones once: they are not near any limit
                continue
            start = time.process_time()
            results[name] = tool()
            seconds[name].append(time.process_time() - start)
    medians = {name: sorted(values)[len(values) // 2] for name, values in seconds.items()}
    ratios = {name: value / medians["karat"] for name, value in medians.items()}
    for name, value in medians.items():
        numbers = ", ".join(f"{number:.4f}" for number in results[name])
        print(f"| {name} | {value:.4f} | {ratios[name]:.1f}x | {numbers} |", flush=True)
    return {name: ratio for name, ratio in ratios.items() if name != "karat"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the resamples, one round, not for 6,980")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    share, rounds, sizes = (100, 1, (50, 300)) if options.quick else (1, options.rounds, (50, 300, 6_980))
    slowest: dict[str, float] = {"bootstrap": np.inf, "permutation": np.inf}
    for n in sizes:
        before, after = workload(n)
        for method in ("percentile", "BCa"):
            tools = bootstraps(after - before, 10_000 // share, method.lower())
            ratios = compare(f"Bootstrap, {method}, {10_000 // share:,} resamples of {n:,}", tools, rounds)
            slowest["bootstrap"] = min(slowest["bootstrap"], *ratios.values())
        tools = permutations(before, after, 100_000 // share)
        ratios = compare(f"Sign-flip test, {100_000 // share:,} flips of {n:,}", tools, rounds)
        slowest["permutation"] = min(slowest["permutation"], *ratios.values())
    kept = slowest["bootstrap"] >= BOOTSTRAP_LIMIT and slowest["permutation"] >= PERMUTATION_LIMIT
    promised = f"bootstrap at least {BOOTSTRAP_LIMIT:g}x, sign-flip test at least {PERMUTATION_LIMIT:g}x as fast"
    kept_by = f"{slowest['bootstrap']:.1f}x and {slowest['permutation']:.0f}x"
    print(f"\npromise ({promised}): {kept_by}, {'kept' if kept else 'BROKEN'}")
    raise SystemExit(not kept and not options.quick)  # a millisecond is too short to judge by


if __name__ == "__main__":
    main()
