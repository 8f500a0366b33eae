"""Two or more systems in one list: people choose between their results, and do not know whose they are."""

from karat.online.interleaving._credit import compare_session
from karat.online.interleaving._draft import Interleaved, interleave

__all__ = ["Interleaved", "compare_session", "interleave"]
