"""Every format: importing one registers it."""

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
    _table,
    _trec,
)

__all__: list[str] = []

del _agent, _attack, _beir, _beluga, _blocks, _chroma, _deepeval, _fit, _karat, _ragas, _rig, _smart, _table, _trec
