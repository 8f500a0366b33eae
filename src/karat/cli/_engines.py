"""The option that says where work runs."""

from __future__ import annotations

import click

engine_option = click.option(
    "--engine",
    "address",
    metavar="ADDRESS",
    default="local",
    show_default=True,
    help="Where to read an exported folder: local is this process; or the address of a Spark cluster.",
)
