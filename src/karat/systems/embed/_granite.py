"""The default embedder: granite-embedding-30m-english, without a download, on NumPy or onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from karat.core import UsageError, did_you_mean
from karat.net import format_pip_line
from karat.systems.embed._embedder import Matrix, ModelMissing, check_texts
from karat.systems.embed._forward import WIDTH, Forward, Ids
from karat.systems.embed._pack import EXTRA, SHA256, Pack, find_pack, read_pack
from karat.systems.embed._workers import spread

Runtime = Literal["auto", "numpy", "onnx"]
Run: TypeAlias = "Callable[[Sequence[Ids]], Iterable[Matrix]]"

MODEL = "granite-embedding-30m-english"
REVISION = "9b5b096411652ec1189c68fcfb90d0a82c5b45af"
TOKENS = 512

_WINDOW = 1024  # texts that are sorted by length at once: little memory, and batches of nearly equal lengths
_BATCH = 1024  # tokens: enough for fast products, few enough for the CPU cache
_CHARACTERS = 1 << 17
"""Characters beyond these cannot be among the first 512 tokens: the longest token has 128 characters."""


class Granite:
    """Embeds with granite-embedding-30m-english: English, 384 dimensions, the first 512 tokens of a text.

    ``runtime`` changes the speed only: the vectors of NumPy and onnxruntime are equal to five digits, so both have the
    same name. ``auto`` is onnxruntime if it is installed. ModelMissing is raised if the model is not installed.
    """

    size = WIDTH
    name = f"{MODEL}@{REVISION[:8]}/{SHA256[:8]}/cls/{TOKENS}/float32"

    def __init__(self, *, runtime: Runtime = "auto") -> None:
        if runtime not in get_args(Runtime):
            hint = did_you_mean(runtime, get_args(Runtime)) or f"; known: {', '.join(get_args(Runtime))}"
            raise UsageError(f"unknown runtime {runtime!r} of the embedder granite{hint}")
        if runtime == "auto":
            runtime = "onnx" if find_spec("onnxruntime") else "numpy"
        self.runtime = runtime
        self._path = find_pack()
        self._require_packages()

    def __repr__(self) -> str:
        return f"Granite(runtime={self.runtime!r})"

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the vectors are."""
        return {
            "kind": "granite",
            "model": f"ibm-granite/{MODEL}",
            "revision": REVISION,
            "sha256": SHA256,
            "pooling": "cls",
            "tokens": TOKENS,
            "dtype": "float32",
        }

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Return one row of length 1 for each text; the other texts change its sixth digit at most."""
        vectors = np.empty((len(texts), self.size), np.float32)
        for place, vector in self._each(texts, self._run):
            vectors[place] = vector
        return vectors

    def too_long(self, texts: Sequence[str]) -> int:
        """Return how many texts are longer than the model reads."""
        checked = check_texts(texts)
        windows = (checked[start : start + _WINDOW] for start in range(0, len(checked), _WINDOW))
        encodings = (text for window in windows for text in self._tokenizer.encode_batch_fast(window))
        return sum(bool(encoding.overflowing) for encoding in encodings)

    def _encode(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the encodings of texts; a single text, such as a query, need not wake the tokenizer's threads."""
        if len(texts) == 1:
            return [self._tokenizer.encode(texts[0])]
        encodings: Sequence[Any] = self._tokenizer.encode_batch_fast(texts)
        return encodings

    def _require_packages(self) -> None:
        """Refuse now what is not installed; the packages are imported when the first text is embedded."""
        if find_spec("tokenizers") is None:
            raise ModelMissing("the embedder granite needs the package tokenizers", hint=format_pip_line(EXTRA))
        if self.runtime == "onnx" and find_spec("onnxruntime") is None:
            line = format_pip_line("onnx")
            raise UsageError(f"the runtime onnx of the embedder granite needs karat's extra onnx; {line}")

    @cached_property
    def _pack(self) -> Pack:
        """The model, which is read when the first text is embedded: kept vectors do not need it."""
        return read_pack(self._path)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self._pack.tokenizer)
        tokenizer.enable_truncation(TOKENS)
        return tokenizer

    @cached_property
    def _run(self) -> Run:
        return _onnx(self._pack) if self.runtime == "onnx" else self._forward

    @cached_property
    def _forward(self) -> Forward:
        return Forward(self._pack)

    def _each(self, texts: Sequence[str], run: Run) -> Iterator[tuple[int, Matrix]]:
        """Run batches of texts of similar length, and yield the number and the vector of each text."""
        checked = check_texts(texts)
        for start in range(0, len(checked), _WINDOW):
            window = [text[:_CHARACTERS] for text in checked[start : start + _WINDOW]]
            ids = [np.array(encoding.ids, np.uint16) for encoding in self._encode(window)]
            batches = list(_batches([len(text) for text in ids]))
            tokens = [[ids[place] for place in batch] for batch in batches]
            vectors = spread(run, tokens, uses_blas=self.runtime == "numpy")
            for batch, results in zip(batches, vectors, strict=True):
                yield from ((start + place, result) for place, result in zip(batch, results, strict=True))


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of texts, longest first, in batches of at most 1,024 tokens; no text is longer.

    >>> list(_batches([400, 20, 512, 30, 512]))
    [[2, 4], [0, 3, 1]]
    """
    batch: list[int] = []
    room = _BATCH
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if lengths[place] > room:
            yield batch
            batch, room = [], _BATCH
        batch.append(place)
        room -= lengths[place]
    if batch:
        yield batch


def _onnx(pack: Pack) -> Run:
    from karat.systems.embed._onnx import OnnxForward

    return OnnxForward(pack)
