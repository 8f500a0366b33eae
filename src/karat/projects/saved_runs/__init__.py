"""The run files of a project: find, choose, list, describe and remove them."""

from karat.projects.saved_runs._choice import ChosenRun, choose_run
from karat.projects.saved_runs._configured import describe_outdated
from karat.projects.saved_runs._files import (
    RunFile,
    find_runs,
    find_variants,
    leave_out_variants,
    list_run_files,
    name_file,
    newest_run,
    read_saved_run,
)
from karat.projects.saved_runs._listing import (
    ListedRun,
    describe_saved_run,
    list_runs,
    prune_runs,
    read_listed_run,
)
from karat.projects.saved_runs._names import describe_namesakes, find_run

__all__ = [
    "ChosenRun",
    "ListedRun",
    "RunFile",
    "choose_run",
    "describe_namesakes",
    "describe_outdated",
    "describe_saved_run",
    "find_run",
    "find_runs",
    "find_variants",
    "leave_out_variants",
    "list_run_files",
    "list_runs",
    "name_file",
    "newest_run",
    "prune_runs",
    "read_listed_run",
    "read_saved_run",
]
