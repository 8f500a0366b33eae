"""Documents as JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from karat.schema._read import plain_value, to_plain

if TYPE_CHECKING:
    from karat.core import Floats

_BEYOND_ASCII = re.compile("[^\x00-\x7e]+")
_SMALL, _LARGE = 1e-4, 1e16
"""Where Python begins to write numbers with an exponent, and other encoders do not, or write it in another way."""


def to_json(document: Any, *, indent: int | None = None) -> str:
    """Return a document as JSON on one line, or indented; NaN and infinity raise ValueError.

    >>> from karat.schema import SystemChange
    >>> to_json(SystemChange(key="chunk.size", now=384, was=512))
    '{"key": "chunk.size", "now": 384, "was": 512}'
    """
    return json.dumps(to_plain(document), allow_nan=False, indent=indent)


def pack_json(value: Any, numbers: Sequence[float] | Floats) -> bytes | None:
    r"""Return what :func:`to_json` does, as bytes and in a tenth of the time, or None where that is not sure.

    ``numbers`` are all the floats of the value: NaN, and those that encoders write in different ways, are not packed.

    >>> pack_json({"RR@10": 0.5, "text": "früh"}, [0.5]), pack_json([0.00001], [0.00001])
    (b'{"RR@10": 0.5, "text": "fr\\u00fch"}', None)
    """
    if not is_plain(numbers):
        return None
    try:
        return to_ascii(msgspec.json.format(msgspec.json.encode(value, enc_hook=plain_value), indent=0))
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):  # half of a surrogate pair, or 65 bits
        return None


def is_plain(numbers: Sequence[float] | Floats) -> bool:
    """Return whether all encoders write these numbers alike: they are finite, and have no exponent.

    >>> is_plain([0.5, 0, -120.0]), is_plain([0.00001]), is_plain([float("nan")])
    (True, False, False)
    """
    import numpy as np  # takes longer to import than some commands

    sizes = np.abs(np.asarray(numbers, np.float64))
    return not ((sizes < _SMALL) & (sizes != 0)).any() and bool((sizes < _LARGE).all())


def to_ascii(packed: bytes) -> bytes:
    """Return JSON with everything beyond ASCII escaped, as :mod:`json` does."""
    if packed.isascii() and b"\x7f" not in packed:
        return packed
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], packed.decode()).encode()
