"""The small project that the tests of runs use."""

from runs.conftest import folder, letters

__all__ = ["folder", "letters"]
