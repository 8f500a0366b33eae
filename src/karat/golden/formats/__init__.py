"""The formats of golden sets, one module each."""

# Importing a format registers it.
from karat.golden.formats import (
    _agent,
    _attack,
    _beir,
    _beluga,
    _blocks,
    _chroma,
    _deepeval,
    _fit,
    _karat,
    _ragas,
    _rig,
    _smart,
    _trec,
)
from karat.golden.formats._karat import encode_judgment, encode_line, encode_query, read_judgment

__all__ = ["encode_judgment", "encode_line", "encode_query", "read_judgment"]

del _agent, _attack, _beir, _beluga, _blocks, _chroma, _deepeval, _fit, _karat, _ragas, _rig, _smart, _trec
