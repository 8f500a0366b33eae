"""Systems that are somewhere else."""

from karat.systems.adapters._http import HttpSystem

__all__ = ["HttpSystem"]
