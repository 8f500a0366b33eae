"""What a worker of Spark runs: the kernel of an operation over one part, from Arrow to Polars and back.

Results go back as they are: frames in the format of Arrow files, each in a cell of a table with two columns. So no
type is converted, and an error that the user can mend travels as what it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import polars as pl

from karat import core
from karat.core import KaratError
from karat.engine._groups import cut_groups
from karat.engine._operation import Operation, require_schema
from karat.net import require_package

SCHEMA = "problem string, frame binary"
"""The columns that come back: an error, or else a frame of results."""


def run_task(batches: Iterator[Any], *, operation: Operation, version: str) -> Iterator[Any]:
    """Yield what the kernel makes of a part, whose rows are sorted."""
    if core.__version__ != version:
        problem = f"the workers have karat {core.__version__}, and this is {version}; install the same version on both"
        yield _pack(problem=json.dumps(["SystemFailed", problem]))
        return
    frames = (_unpack(batch, operation) for batch in batches)
    first = next((frame for frame in frames if len(frame)), None)
    if first is None:
        return
    try:
        for frame in operation.kernel(cut_groups(chain([first], frames), operation.key)):
            yield _pack(frame=require_schema(frame, operation))
    except KaratError as error:
        yield _pack(problem=json.dumps([type(error).__name__, str(error)]))


def read_result(problem: str | None, frame: bytes | None) -> pl.DataFrame:
    """Return the frame of a row of results, or raise the error that it holds."""
    if problem is None:
        return pl.read_ipc(io.BytesIO(frame or b""))
    name, text = json.loads(problem)
    kind: type[KaratError] = getattr(core, name, KaratError)
    raise kind(text)


def _unpack(batch: Any, operation: Operation) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame.cast(pl.Schema(operation.columns))


def _pack(**cells: Any) -> Any:
    pa = require_package("pyarrow", purpose="a Spark engine", extra="spark")
    content = None
    if "frame" in cells:
        file = io.BytesIO()
        cells["frame"].write_ipc(file, compression="lz4")
        content = file.getvalue()
    types = {"problem": pa.string(), "frame": pa.binary()}
    values = {"problem": cells.get("problem"), "frame": content}
    return pa.RecordBatch.from_arrays([pa.array([values[name]], types[name]) for name in types], names=list(types))
