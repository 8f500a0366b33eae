"""The default model's forward pass, in onnxruntime.

The graph is written at run time, which takes a few milliseconds and 8 KB; the weights are passed in memory. So neither
the package ``onnx`` nor a file on disk is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from karat.net import require_package
from karat.systems.embed._embedder import Matrix, normalise
from karat.systems.embed._forward import EPSILON, HEADS, LAYERS, WIDTH, Affine, Embedding, Ids, layer_of
from karat.systems.embed._pack import Pack
from karat.systems.embed._protobuf import Value, encode

_FLOAT, _INT64 = 1, 7  # TensorProto.DataType


class OnnxForward:
    """The model in a session of onnxruntime; called once for each batch, from any thread."""

    def __init__(self, pack: Pack) -> None:
        ort = require_package("onnxruntime", extra="onnx", purpose="the runtime onnx of the embedder granite")
        graph = Graph(pack)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # batches are spread over threads already
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        # The session may keep pointers to these values, so they must live as long as it does.
        self._weights = {name: ort.OrtValue.ortvalue_from_numpy(weight) for name, weight in graph.weights.items()}
        options.add_external_initializers(list(self._weights), list(self._weights.values()))
        self._session = ort.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
        self._embed = Embedding(pack)

    def __call__(self, batch: Sequence[Ids]) -> Matrix:
        """Return the vector of each text, in order; neighbours of equal length run as one batch."""
        return np.concatenate([self._run(list(texts)) for _, texts in groupby(batch, len)])

    def _run(self, texts: list[Ids]) -> Matrix:
        x, _ = self._embed(texts)
        (first,) = self._session.run(None, {"tokens": x.reshape(len(texts), -1, WIDTH)})
        return normalise(first.reshape(-1, WIDTH))


class Graph:
    """The nodes of a model, and the weights that they refer to by name.

    The numbers of fields are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto. Attention is
    onnxruntime's own operator, which is faster than its parts.
    """

    def __init__(self, pack: Pack) -> None:
        self.weights: dict[str, Matrix] = {}
        self._nodes: list[bytes] = []
        self._output = "tokens"
        for number in range(LAYERS):
            self._output = self._layer(pack, number, self._output)

    def model(self) -> bytes:
        """Return the ModelProto."""
        first = encode((8, "first"), (1, 1), (2, _INT64), (9, bytes(8)))  # the position 0, in a list of one
        graph = encode(
            *((1, node) for node in self._nodes),
            (2, "granite"),
            (5, first),
            *((5, _declare(name, weight)) for name, weight in self.weights.items()),
            (11, _shaped("tokens", "texts", "length", WIDTH)),
            (12, _shaped(self._output, "texts", 1, WIDTH)),
        )
        operators = encode((1, ""), (2, 20)), encode((1, "com.microsoft"), (2, 1))
        return encode((1, 10), (7, graph), *((8, version) for version in operators))

    def _layer(self, pack: Pack, number: int, x: str) -> str:
        layer = layer_of(pack, number)
        at = f"layer{number}"
        keys = self._affine(f"{at}.keys", x, _part(layer.key_value, slice(WIDTH)))
        values = self._affine(f"{at}.values", x, _part(layer.key_value, slice(WIDTH, None)))
        if number == LAYERS - 1:  # only the first token of each text is needed
            x = self._node("Gather", f"{at}.first", x, "first", axis=1)
        queries = self._affine(f"{at}.queries", x, layer.query)
        seen = self._node("MultiHeadAttention", f"{at}.seen", queries, keys, values, num_heads=HEADS, scale=1.0)
        y = self._norm(f"{at}.attended", x, self._affine(f"{at}.mixed", seen, layer.attended), layer.attended_norm)
        wide = self._node("Gelu", f"{at}.gelu", self._affine(f"{at}.wide", y, layer.widen))
        return self._norm(f"{at}.out", y, self._affine(f"{at}.narrow", wide, layer.narrow), layer.norm)

    def _affine(self, name: str, x: str, affine: Affine) -> str:
        weight, bias = self._named(name, affine)
        return self._node("Add", name, self._node("MatMul", f"{name}.product", x, weight), bias)

    def _norm(self, name: str, x: str, y: str, norm: Affine) -> str:
        weight, bias = self._named(name, norm)
        total = self._node("Add", f"{name}.sum", x, y)
        return self._node("LayerNormalization", name, total, weight, bias, epsilon=EPSILON)

    def _named(self, name: str, affine: Affine) -> tuple[str, str]:
        names = f"{name}.weight", f"{name}.bias"
        self.weights.update(zip(names, map(np.ascontiguousarray, (affine.weight, affine.bias)), strict=True))
        return names

    def _node(self, operator: str, output: str, *inputs: str, **attributes: int | float) -> str:
        domain = "com.microsoft" if operator == "MultiHeadAttention" else ""
        self._nodes.append(
            encode(
                *((1, name) for name in inputs),
                (2, output),
                (4, operator),
                *((5, _attribute(name, value)) for name, value in attributes.items()),
                (7, domain),
            )
        )
        return output


def _attribute(name: str, value: int | float) -> bytes:
    typed: tuple[tuple[int, Value], ...] = ((2, value), (20, 1)) if isinstance(value, float) else ((3, value), (20, 2))
    return encode((1, name), *typed)


def _declare(name: str, weight: Matrix) -> bytes:
    """Return the declaration of a weight that is passed in memory."""
    location = encode((1, "location"), (2, "memory"))
    return encode(*((1, length) for length in weight.shape), (2, _FLOAT), (8, name), (13, location), (14, 1))


def _shaped(name: str, *dimensions: str | int) -> bytes:
    shape = encode(*((1, encode((2 if isinstance(size, str) else 1, size))) for size in dimensions))
    return encode((1, name), (2, encode((1, encode((1, _FLOAT), (2, shape))))))


def _part(affine: Affine, columns: slice) -> Affine:
    return Affine(weight=affine.weight[:, columns], bias=affine.bias[columns])
