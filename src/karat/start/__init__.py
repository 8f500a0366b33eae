"""Starting a project: configuration, a golden set to start with, CI, and a look at what is installed."""

from karat.start._doctor import examine_installation
from karat.start._project import CI, Start, name_next_steps, start_project
from karat.start._writing import FileResult, describe_start

__all__ = ["CI", "FileResult", "Start", "describe_start", "examine_installation", "name_next_steps", "start_project"]
