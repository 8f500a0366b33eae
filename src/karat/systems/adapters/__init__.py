"""Adapters for systems that run elsewhere."""

from karat.systems.adapters._http import HttpSystem

__all__ = ["HttpSystem"]
