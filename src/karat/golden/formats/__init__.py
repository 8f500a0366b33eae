"""The formats of golden sets, one module each. A set of karat's own needs none of the others."""

from karat.golden.formats._karat import encode_judgment, encode_line, encode_query, read_judgment, read_query

__all__ = ["encode_judgment", "encode_line", "encode_query", "read_judgment", "read_query"]
