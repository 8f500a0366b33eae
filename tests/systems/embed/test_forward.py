"""The steps of the forward pass, each against a plain formula; and the threads that share its batches."""

from __future__ import annotations

import math
import sys
import threading

import numpy as np
import pytest

from karat.systems.embed import _workers
from karat.systems.embed._forward import Affine, gelu, layer_norm
from karat.systems.embed._workers import spread


def test_gelu_by_hand():
    """At 0 it is 0, far right the number itself, far left nothing, at 1 it is Phi(1) = 0.8413447."""
    x = np.array([[0, 1, -1, 40, -40, 1e6, -1e6]], np.float32)
    gelu(x, np.zeros(7, np.float32))
    assert x[0].tolist() == pytest.approx([0, 0.8413447, -0.1586553, 40, 0, 1e6, 0], abs=1e-6)


def test_gelu_equals_the_error_function():
    """Over all that can come, it errs by less than a millionth; the bias is added before."""
    x = np.linspace(-12, 12, 100_001, dtype=np.float32)
    wanted = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in x.tolist()]
    shifted = (x - np.float32(0.5)).reshape(-1, 1)
    gelu(shifted, np.full(1, 0.5, np.float32))
    assert np.abs(shifted[:, 0] - wanted).max() < 1.5e-6  # of which 1e-6 is what single precision does to 12


def test_layer_norm_by_hand():
    """Rows get mean 0 and variance 1, then the weight and the bias; more rows than a block are all reached."""
    x = np.tile(np.array([1, 3], np.float32), (100, 1)) + np.arange(100, dtype=np.float32)[:, None]
    layer_norm(x, Affine(weight=np.array([2, 1], np.float32), bias=np.array([0, 5], np.float32)))
    assert np.abs(x - [-2, 6]).max() < 1e-4


def test_spread_keeps_the_order():
    """Results come in the order of the items, whichever thread had which."""
    assert spread(lambda number: number * number, range(100)) == [number * number for number in range(100)]


def test_spread_stops_at_an_error():
    """The first error is raised, and what had not begun is not done."""
    numbers = []

    def work(number):
        if number == 0:
            raise KeyError("broken")
        numbers.append(number)
        threading.Event().wait(0.01)

    with pytest.raises(KeyError, match="broken"):
        spread(work, range(200))
    assert len(numbers) < 150


def test_spread_without_threadpoolctl(monkeypatch):
    """Without the package that tells BLAS to keep to one thread, one thread does all."""
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    _workers._blas.cache_clear()
    try:
        assert spread(lambda _: threading.current_thread(), range(5)) == [threading.main_thread()] * 5
    finally:
        _workers._blas.cache_clear()
