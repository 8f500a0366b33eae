"""Golden sets as the world writes them: one file per format."""

# Importing a format adds it to the table.
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
from karat.golden.formats._karat import json_line, judgment_of, judgment_row

__all__ = ["json_line", "judgment_of", "judgment_row"]

del _agent, _attack, _beir, _beluga, _blocks, _chroma, _deepeval, _fit, _karat, _ragas, _rig, _smart, _trec
