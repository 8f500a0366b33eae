"""Flags of karat behind OpenFeature; it needs karat's extra openfeature."""

from karat.online.openfeature._provider import KaratProvider

__all__ = ["KaratProvider"]
