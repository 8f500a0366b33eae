"""Golden sets: read and written, checked, made, sampled and compared."""

from karat.golden._ceiling import Ceiling, ceiling
from karat.golden._check import Report, check, read_gate, read_index, unread
from karat.golden._diff import Change, Diff, diff, next_version
from karat.golden._documents import read_documents
from karat.golden._fingerprint import fingerprint
from karat.golden._format import FORMATS, Format, read, write
from karat.golden._merge import Agreement, Merged, agreement, merge, pool_lines, replace_judgments
from karat.golden._pool import Pooled, pool, read_runs
from karat.golden._reading import Mistakes, Reading
from karat.golden._resolution import Resolution, resolution
from karat.golden._sample import sample
from karat.golden._synth import needles, sentences, synthesise

__all__ = [
    "FORMATS",
    "Agreement",
    "Ceiling",
    "Change",
    "Diff",
    "Format",
    "Merged",
    "Mistakes",
    "Pooled",
    "Reading",
    "Report",
    "Resolution",
    "agreement",
    "ceiling",
    "check",
    "diff",
    "fingerprint",
    "merge",
    "needles",
    "next_version",
    "pool",
    "pool_lines",
    "read",
    "read_documents",
    "read_gate",
    "read_index",
    "read_runs",
    "replace_judgments",
    "resolution",
    "sample",
    "sentences",
    "synthesise",
    "unread",
    "write",
]
