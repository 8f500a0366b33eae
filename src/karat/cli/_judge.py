"""``karat judge``: the verbs that judge answers, and that say how far judges can be trusted."""

from __future__ import annotations

import click

from karat.cli._verbs import Verbs

_VERBS = {
    "bridge": "karat.cli._judge_bridge",
    "calibrate": "karat.cli._judge_calibrate",
    "flakes": "karat.cli._judge_flakes",
    "prefer": "karat.cli._judge_prefer",
    "run": "karat.cli._judge_run",
    "sample": "karat.cli._judge_sample",
    "show": "karat.cli._judge_show",
}


@click.group(
    "judge",
    cls=Verbs,
    verbs=_VERBS,
    default="run",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """Let judges judge the answers of a run, and find out how far you can trust them.

    karat judge RUN is short for karat judge run RUN; see karat judge run --help for the options.

    Example: karat judge examples/hotel
    """
