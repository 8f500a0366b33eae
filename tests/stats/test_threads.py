"""The same bytes, however many threads the linear algebra of NumPy has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import dataclasses, json
import numpy as np
from karat.stats import *

def rng():
    return np.random.default_rng(7)

n = 30_000
draw = rng()
before = draw.random(n)
d = np.where(draw.random(n) < 0.5, 0.0, draw.normal(-0.01, 0.3, n))
labels = np.repeat(np.arange(n // 5), 5)
results = []
for clusters in (None, labels):
    for method in ("percentile", "bca"):
        results.append(bootstrap(d, rng=rng(), resamples=300, method=method, clusters=clusters))
    results.append(permutation(d, rng=rng(), resamples=999, clusters=clusters))
    results.append(paired_t(d, clusters=clusters))
    results.append(non_inferior(d, 0.01, clusters=clusters))
    results += decide([(before, before + d), (before, before)], rng=rng(), clusters=clusters)
results.append(effect_size(d))
print(json.dumps([dataclasses.asdict(result) for result in results], allow_nan=False))
print(json.dumps([power(n, 0.005, 0.3), holm(np.linspace(0, 1, n)).tolist()]))
"""


def run(threads: int) -> bytes:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    process = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
    return process.stdout


@pytest.mark.slow
def test_one_thread_and_four_give_the_same_bytes() -> None:
    """Every statistic, written as JSON, is the same with one thread and with four, and holds no NaN."""
    first, four = run(1), run(4)
    assert len(first) > 1_000
    assert first == four
