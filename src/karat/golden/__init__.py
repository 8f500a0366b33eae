"""Golden sets: read and written, checked, made, sampled and compared."""

from karat.golden._documents import read_documents
from karat.golden._format import FORMATS, Format, read, write
from karat.golden._reading import Mistakes, Reading

__all__ = ["FORMATS", "Format", "Mistakes", "Reading", "read", "read_documents", "write"]
