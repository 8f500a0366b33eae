"""The command line: one file per verb, each of which parses, calls one library function, and prints."""

from karat.cli._main import main

__all__ = ["main"]
