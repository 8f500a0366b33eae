"""A project from nothing: configuration, a golden set to start with, and CI."""

from karat.start._project import CI, Made, Start, start_project

__all__ = ["CI", "Made", "Start", "start_project"]
