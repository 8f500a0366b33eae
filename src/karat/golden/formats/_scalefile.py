"""The scale of a folder whose files only number the grades: ``scale.toml``, which is karat's extension.

::

    relevant = 2
    grades = ["no", "perhaps", "yes"]

It is written only if the scale cannot be inferred from the grades, so that converting a set does not change a score.
"""

from __future__ import annotations

import json
from pathlib import Path

from karat.core import GoldenSet
from karat.files import Reading, Row, parse_toml
from karat.golden.formats._listing import declare_scale, read_scale
from karat.golden.formats._qrels import Qrels
from karat.golden.formats._scale import Scale, find_scale, guess_scale, guess_scale_of

SCALE_FILE = "scale.toml"


def read_scale_file(folder: Path, qrels: Qrels, reading: Reading) -> Scale:
    """Return the scale that a folder declares, or else the one that its judgments suggest, with a note."""
    file, best = folder / SCALE_FILE, qrels.best_grades()
    if not file.is_file():
        return find_scale(best, reading, qrels.source, f"{SCALE_FILE} beside it or [golden] of karat.toml")
    inferred = guess_scale(best, qrels.source)
    top = len(inferred["grades"]) - 1
    values = parse_toml(reading.text(file), str(file))
    scale = inferred
    with Row(reading, values, str(file)) as row:
        scale = read_scale(row, inferred)
        if top > 1 and len(scale["grades"]) <= top:
            raise row.error(f"'grades' ends at {len(scale['grades']) - 1}, and there are grades up to {top}")
    return scale


def write_scale_file(golden: GoldenSet, folder: Path) -> None:
    """Write the scale of a set, unless it is the one that is inferred from the grades."""
    declared = declare_scale(golden, guess_scale_of(golden))
    if declared:
        grades = ", ".join(json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f") for text in golden.grades)
        text = f"relevant = {golden.relevant}\ngrades = [{grades}]\n"
        (folder / SCALE_FILE).write_text(text, encoding="utf-8", newline="")
