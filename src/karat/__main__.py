"""``python -m karat`` is the CLI."""

from karat.cli import main

main()
