"""The default model's forward pass, in NumPy.

The tokens of all texts of a batch are rows of one matrix, so that nothing is computed for padding; only attention looks
at each text alone. The model is a BERT of six layers: Devlin et al. 2019, arXiv:1810.04805.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.systems.embed._embedder import Matrix, normalise
from karat.systems.embed._pack import Pack

WIDTH = 384
HEADS = 12
LAYERS = 6
EPSILON = 1e-12

Ids = NDArray[np.uint16]
"""The tokens of a text."""

_HEAD = WIDTH // HEADS
_FIRST_POSITION = 2  # RoBERTa's rows 0 and 1 belong to padding
_ROWS = 32  # of a block that stays in the CPU cache during many small steps
_SMALL = 1 << 18
"""OpenBLAS computes a product of fewer multiplications in one thread. For a larger one it wakes all threads, thousands
of times in a batch; when a thread had to wait for a core, that took a hundred times as long."""

_TAIL = (-0.00032807302, 0.0049106410, -0.035924005, -0.31884246, -0.79766536, -0.69317326)
"""The polynomial p, highest power first, with exp(p(x)) = 1 - Phi(x) for x >= 0, fitted so that x exp(p(x)) errs by
at most 4.4e-7. It decreases for all x, so that no cut-off is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Affine:
    """``x @ weight + bias``; for a norm, ``x * weight + bias``."""

    weight: Matrix
    bias: Matrix

    def __call__(self, x: Matrix) -> Matrix:
        y = x @ self.weight
        y += self.bias
        return y


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The weights of one layer; those of the queries include the factor of attention."""

    query: Affine
    key_value: Affine
    attended: Affine
    attended_norm: Affine
    widen: Affine
    narrow: Affine
    norm: Affine


class Forward:
    """The model with unpacked weights; called once for each batch, from any thread."""

    def __init__(self, pack: Pack) -> None:
        self._embed = Embedding(pack)
        self._layers = [layer_of(pack, number) for number in range(LAYERS)]

    def __call__(self, batch: Sequence[Ids]) -> Matrix:
        """Return the vector of each text: that of its first token, after the last layer."""
        x, starts = self._embed(batch)
        for layer in self._layers[:-1]:
            x = _apply(layer, x, starts, starts)
        # Only the first tokens of the last layer are needed, which saves most of its work.
        firsts = np.arange(len(batch) + 1)
        return normalise(_apply(self._layers[-1], x, starts, firsts))


class Embedding:
    """The embedding before the layers: a vector for each token and its position."""

    def __init__(self, pack: Pack) -> None:
        self._words = pack.tensors["word_emb"]
        self._places = pack.tensors["pos_emb"].unpack()[_FIRST_POSITION:] + pack.tensors["type_emb"].unpack()[0]
        self._norm = _affine(pack, "emb_ln")

    def __call__(self, batch: Sequence[Ids]) -> tuple[Matrix, NDArray[Any]]:
        """Return a row for each token of all texts, and the rows at which the texts begin, followed by the end."""
        lengths = [len(ids) for ids in batch]
        x = self._words.rows(np.concatenate(batch))
        x += np.concatenate([self._places[:length] for length in lengths])
        layer_norm(x, self._norm)
        return x, np.cumsum([0, *lengths])


def layer_of(pack: Pack, number: int) -> Layer:
    """Return an unpacked layer."""
    both = _affine(pack, f"l{number}.qkv")
    factor = np.float32(1 / math.sqrt(_HEAD))
    return Layer(
        query=Affine(weight=both.weight[:, :WIDTH] * factor, bias=both.bias[:WIDTH] * factor),
        key_value=Affine(weight=np.ascontiguousarray(both.weight[:, WIDTH:]), bias=both.bias[WIDTH:]),
        attended=_affine(pack, f"l{number}.ao"),
        attended_norm=_affine(pack, f"l{number}.aln"),
        widen=_affine(pack, f"l{number}.f1"),
        narrow=_affine(pack, f"l{number}.f2"),
        norm=_affine(pack, f"l{number}.fln"),
    )


def _affine(pack: Pack, name: str) -> Affine:
    return Affine(weight=pack.tensors[f"{name}.w"].unpack_transposed(), bias=pack.tensors[f"{name}.b"].unpack())


def _apply(layer: Layer, x: Matrix, starts: NDArray[Any], outputs: NDArray[Any]) -> Matrix:
    """Return the tokens after a layer: all, or only the first of each text if ``outputs`` counts the texts."""
    keys_values = layer.key_value(x)
    if len(x) != outputs[-1]:
        x = x[starts[:-1]]
    queries, attended = layer.query(x), np.empty_like(x)
    for text in range(len(starts) - 1):
        rows = slice(outputs[text], outputs[text + 1])
        own = keys_values[starts[text] : starts[text + 1]]
        _attend(queries[rows], own[:, :WIDTH], own[:, WIDTH:], attended[rows])
    y = layer.attended(attended)
    y += x
    layer_norm(y, layer.attended_norm)
    z = y @ layer.widen.weight
    gelu(z, layer.widen.bias)
    z = layer.narrow(z)
    z += y
    layer_norm(z, layer.norm)
    return z


def _attend(queries: Matrix, keys: Matrix, values: Matrix, out: Matrix) -> None:
    """Write the attention of one text to ``out``, head by head (Vaswani et al. 2017)."""

    def heads(x: Matrix) -> Matrix:
        return x.reshape(-1, HEADS, _HEAD).transpose(1, 0, 2)

    # Contiguous copies make the many small products below a third faster.
    k, v = np.ascontiguousarray(heads(keys).transpose(0, 2, 1)), np.ascontiguousarray(heads(values))
    q, seen = np.ascontiguousarray(heads(queries)), heads(out)
    step = max(1, _SMALL // (len(keys) * _HEAD))
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        weights = q[:, part] @ k
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        mixed = weights @ v
        mixed /= weights.sum(axis=-1, keepdims=True)
        seen[:, part] = mixed


def layer_norm(x: Matrix, norm: Affine) -> None:
    """Normalise every row, in place, to mean 0 and variance 1, then scale and shift it (Ba et al. 2016)."""
    for block in _blocks(x):
        block -= block.mean(axis=1, keepdims=True)
        spread = np.einsum("ij,ij->i", block, block)[:, None] / np.float32(x.shape[1])
        spread += np.float32(EPSILON)
        block /= np.sqrt(spread, out=spread)
        block *= norm.weight
        block += norm.bias


def gelu(x: Matrix, bias: Matrix) -> None:
    """Add the bias, then multiply by the normal distribution function, in place (Hendrycks & Gimpel 2016).

    With Q(x) = 1 - Phi(x), x Phi(x) is max(x, 0) - abs(x) Q(abs(x)), and the logarithm of Q is nearly a parabola.
    """
    size, tail = np.empty((2, _ROWS, x.shape[1]), np.float32)
    for block in _blocks(x):
        block += bias
        a, p = np.abs(block, out=size[: len(block)]), tail[: len(block)]
        np.multiply(a, np.float32(_TAIL[0]), out=p)
        for coefficient in _TAIL[1:-1]:
            p += np.float32(coefficient)
            p *= a
        p += np.float32(_TAIL[-1])
        np.exp(p, out=p)
        p *= a
        np.maximum(block, 0, out=block)
        block -= p


def _blocks(x: Matrix) -> list[Matrix]:
    return [x[start : start + _ROWS] for start in range(0, len(x), _ROWS)]
