"""Long work: a verb of the command line in a process that outlives whoever started it."""

from karat.work._files import FOLDER, write_progress
from karat.work._listing import find_work, list_work, read_output
from karat.work._running import run_work
from karat.work._starting import start_work, stop_work

__all__ = ["FOLDER", "find_work", "list_work", "read_output", "run_work", "start_work", "stop_work", "write_progress"]
