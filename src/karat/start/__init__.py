"""Starting a project: configuration, a golden set to start with, and CI."""

from karat.start._project import CI, Start, start_project
from karat.start._writing import FileResult

__all__ = ["CI", "FileResult", "Start", "start_project"]
