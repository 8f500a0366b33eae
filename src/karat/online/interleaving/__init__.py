"""Two or more systems in one list: people choose between their results, and do not know whose they are."""

from karat.online.interleaving._credit import compare_session
from karat.online.interleaving._draft import Interleaved, interleave
from karat.online.interleaving._logging import TEAMS, log_interleaved

__all__ = ["TEAMS", "Interleaved", "compare_session", "interleave", "log_interleaved"]
