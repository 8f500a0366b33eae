"""The command line: one file per verb, which parses the arguments, calls a function of the library, and prints."""

from karat.cli._main import main

__all__ = ["main"]
