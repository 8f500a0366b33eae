"""``karat compare``: runs side by side, and how sure the difference is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import Progress, say
from karat.cli._table import bold, emit, escaped, number, printable, render

if TYPE_CHECKING:
    from karat.core import GoldenSet
    from karat.evaluation import Evaluation

_SHOWN = 5
_NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "BH", "none": ""}


@click.command("compare", short_help="Compare runs: what changed, and how sure that is.")
@click.argument("runs", metavar="RUN_A RUN_B...", nargs=-1, required=True)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; repeat."
)
@click.option(
    "--by", type=click.Choice(["category", "type", "intent", "tier", "block"]), help="Compare by a field, too."
)
@click.option("--per-query", is_flag=True, help="Show every query, those first that changed most.")
@click.option("--golden", "folder", metavar="DIR", help="The project.  [default: the folder that RUN_A lies in]")
@click.option(
    "--correction",
    type=click.Choice(list(_NAMES)),
    default="holm",
    show_default=True,
    help="How p is corrected for the number of tests; bh is Benjamini and Hochberg's.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed, the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(runs: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Compare runs that karat eval wrote, or any answers that it reads, or baseline files; RUN_A is the baseline.

    Of two runs every measure is shown with its interval and tests, which queries lost and won most, how far the lists
    differ, and what the systems differ in. More runs give a matrix of differences for each measure.

    Example: karat compare examples/hotel/baseline.json examples/hotel/runs/new.jsonl -m nDCG@10 --by category
    """
    from karat.core import InputError, UsageError
    from karat.evaluation import segment_queries
    from karat.projects import read_evaluations

    if len(runs) < 2:
        raise UsageError("one run: name two or more to compare")
    if len(runs) > 2 and (options["by"] or options["per_query"]):
        raise UsageError("--by and --per-query are for two runs; compare two at a time")
    subjects = read_evaluations(runs, options["measures"], project=options["folder"], say=say)
    golden = subjects.project.golden
    segments = segment_queries(golden, [options["by"]]) if options["by"] else None
    if segments is not None and not segments:
        raise InputError(f"no query has a {options['by']}", source=golden.name or "the golden set")
    with Progress() as progress:
        document = comparison_document(
            subjects.evaluations, golden, measures=subjects.measures, segments=segments,
            correction=options["correction"], seed=options["seed"],
            per_query=options["per_query"], progress=lambda done, all_: progress("comparing", done, all_),
        )  # fmt: skip
    emit(json.dumps(document, allow_nan=False) if as_json else document_text(document))


def comparison_document(evaluations: Sequence[Evaluation], golden: GoldenSet, **options: Any) -> dict[str, Any]:
    """Give a comparison as JSON has it; the first run is the baseline. Options: see ``compare_document``."""
    from karat.gate import compare_document

    return compare_document(evaluations, golden, **options)


def comparison_text(evaluations: Sequence[Evaluation], golden: GoldenSet, **options: Any) -> str:
    """Give a comparison as a terminal shows it."""
    return document_text(comparison_document(evaluations, golden, **options))


def document_text(document: dict[str, Any]) -> str:
    """Render a comparison: of two runs all that is known, of more a matrix for each measure."""
    runs, pairs = document["runs"], document["pairs"]
    parts = ["\n".join(f"{run['label']}  {printable(run['name'], 80)}" for run in runs)]
    if len(runs) == 2:
        (pair,) = pairs
        parts += [
            _measures(pair, document["correction"]), _verdict(pair, document), _segments(pair, document["correction"]),
            _per_query(pair), _movers(pair), _lists(pair),
        ]  # fmt: skip
    else:
        parts += [_matrix(document, name) for name in document["measures"]]
        parts += [_legend(document), _list_matrix(document)]
    parts += [_systems(document), _latency(runs), _notes(pairs)]
    return "\n\n".join(part for part in parts if part)


def _p_names(correction: str) -> list[str]:
    return ["p", *([f"p {_NAMES[correction]}"] if _NAMES[correction] else []), "p t"]


def _p_values(one: dict[str, Any], correction: str) -> list[str]:
    return [_p(one["p"]), *([_p(one["p_corrected"])] if _NAMES[correction] else []), _p(one["p_t"])]


def _measures(pair: dict[str, Any], correction: str) -> str:
    a, b = pair["baseline"], pair["candidate"]
    head = [a, b, f"{b} - {a}", "95 % interval", *_p_names(correction), "d_z", "won/tied/lost", "queries"]
    rows = [["measure", *head], *([one["measure"], *_row(one, correction)] for one in pair["measures"])]
    return render(rows)


def _row(one: dict[str, Any], correction: str) -> list[str]:
    return [
        number(one["baseline"]),
        number(one["candidate"]),
        _signed(one["difference"]),
        "-" if one["low"] is None else f"{round(one['low'], 3) + 0.0:+.3f} to {round(one['high'], 3) + 0.0:+.3f}",
        *_p_values(one, correction),
        "-" if one["effect"] is None else f"{round(one['effect'], 2) + 0.0:+.2f}",
        f"{one['wins']}/{one['ties']}/{one['losses']}" if one["n"] else "-",
        f"{one['n']:,}" if one["n"] else "-",
    ]


def _verdict(pair: dict[str, Any], document: dict[str, Any]) -> str:
    """Say in words what the tests found, and that finding nothing is not finding that nothing is there."""
    tested = [one for one in pair["measures"] if one["p"] is not None]
    if not tested:
        return ""
    a, b = pair["baseline"], pair["candidate"]
    if not any(one["wins"] or one["losses"] for one in tested):
        return f"{a} and {b} score the same on every query"
    found: dict[str, list[str]] = {"better": [], "worse": [], "different": [], "": []}
    for one in tested:
        found[_direction(one) if one["significant"] else ""].append(one["measure"])
    name = _NAMES[document["correction"]]
    level = f"p{' ' + name if name else ''} at most {document['alpha']:g}"
    parts = [
        f"{b} is {word} {'from' if word == 'different' else 'than'} {a} in {', '.join(names)} ({level})"
        for word, names in found.items()
        if word and names
    ]
    if found[""]:
        rest = ", ".join(found[""]) if parts else "any measure" if len(tested) > 1 else found[""][0]
        parts.append(
            f"{'no difference is shown in' if parts else f'no difference of {a} and {b} is shown in'} {rest}, "
            "which is not to say that there is none: see karat power"
        )
    return "; ".join(parts)


def _direction(one: dict[str, Any]) -> str:
    from karat.core import Measure

    higher = Measure.parse(one["measure"]).definition.higher_is_better
    return "different" if higher is None else "better" if (one["difference"] > 0) == higher else "worse"


def _segments(pair: dict[str, Any], correction: str) -> str:
    found = pair["segments"]
    if not found:
        return ""
    a, b = pair["baseline"], pair["candidate"]
    ((name, _),) = found[0]["segment"].items()
    head = [a, b, f"{b} - {a}", "95 % interval", *_p_names(correction), "d_z", "won/tied/lost", "queries"]
    rows = [[name, "measure", *head]]
    for one in found:
        (value,) = one["segment"].values()
        rows.append([printable(value), one["measure"], *_row(one, correction)])
    return render(rows, left=2)


def _per_query(pair: dict[str, Any]) -> str:
    if not pair.get("queries"):
        return ""
    a, b = pair["baseline"], pair["candidate"]
    measures = [one["measure"] for one in pair["measures"]]
    alone = len(measures) == 1
    rows = [["query", *([a, b, f"{b} - {a}"] if alone else measures), "lists"]]
    for row in pair["queries"]:
        cells = [
            row["measures"].get(name, {"baseline": None, "candidate": None, "difference": None}) for name in measures
        ]
        values = [number(cells[0]["baseline"]), number(cells[0]["candidate"])] if alone else []
        values += [_signed(cell["difference"]) for cell in cells]
        rows.append([printable(row["query"]), *values, row["list"]["class"] if row["list"] else "-"])
    title = f"{b} - {a}, query by query" if not alone else f"{measures[0]}, query by query"
    return f"{bold(title)}\n{render(rows)}"


def _movers(pair: dict[str, Any]) -> str:
    found = pair["movers"]
    lost, won = [one for one in found if one["gain"] < 0], [one for one in reversed(found) if one["gain"] > 0]
    lines = []
    for title, ones in (("lost most", lost), ("won most", won)):
        if ones:
            lines += [bold(f"{title} ({len(ones):,} in all)"), *(_mover(one) for one in ones[:_SHOWN])]
    return "\n".join(lines)


def _mover(one: dict[str, Any]) -> str:
    change = f"{one['measure']} {one['baseline']:.3f} to {one['candidate']:.3f}"
    head = f"  {printable(one['query'])}  {change}  {escaped(one['text'])[:80]}".rstrip()
    if one["failed"]:
        return f"{head}\n      failed: {escaped(one['failed'])[:120]}"
    found = one["moved"]
    return f"{head}\n      {escaped('; '.join(found[:4]))}{' ...' if len(found) > 4 else ''}" if found else head


def _lists(pair: dict[str, Any]) -> str:
    found = pair["lists"]
    if not found:
        return ""
    rows = [
        ["lists", "RBO", "tau", "Spearman", "Jaccard", "other on top", "unchanged", *found["classes"]],
        [
            f"{found['queries']:,} queries", *(f"{found[name]:.3f}" for name in _CORRELATIONS),
            f"{found['top1_changed_share']:.1%}", f"{found['unchanged']:,}",
            *(f"{count:,}" for count in found["classes"].values()),
        ],
    ]  # fmt: skip
    empty = f"with hits in one run only: {found['one_empty']:,}" if found["one_empty"] else ""
    return "\n".join(filter(None, [render(rows), empty]))


_CORRELATIONS = ("rbo", "kendall_tau", "spearman", "jaccard")


def _cell(document: dict[str, Any], row: int, column: int) -> dict[str, Any]:
    """Give the pair of two runs, the earlier first."""
    labels = [document["runs"][place]["label"] for place in sorted((row, column))]
    found: dict[str, Any] = next(
        pair for pair in document["pairs"] if [pair["baseline"], pair["candidate"]] == labels
    )  # fmt: skip
    return found


def _matrix(document: dict[str, Any], measure: str) -> str:
    """Show the row's mean minus the column's for all pairs, with a mark where it is significant."""
    runs = document["runs"]
    rows = [[measure, "mean", *(f"- {run['label']} " for run in runs)]]
    for i, run in enumerate(runs):
        cells = []
        for j in range(len(runs)):
            if i == j:
                cells.append(". ")
                continue
            one = next(one for one in _cell(document, i, j)["measures"] if one["measure"] == measure)
            change = one["difference"] if i > j or one["difference"] is None else -one["difference"]
            cells.append(_signed(change) + ("*" if one["significant"] else " "))
        rows.append([run["label"], number(run["means"][measure]), *cells])
    return render(rows)


def _legend(document: dict[str, Any]) -> str:
    name = _NAMES[document["correction"]]
    how = f"corrected by {name} for {document['tests']:,} tests" if name else "not corrected for the number of tests"
    return f"row minus column; * p at most {document['alpha']:g}, {how}"


def _list_matrix(document: dict[str, Any]) -> str:
    """Show how alike the lists of all pairs are."""
    runs = document["runs"]
    if not any(pair["lists"] for pair in document["pairs"]):
        return ""
    rows = [["RBO of the lists", *(run["label"] for run in runs)]]
    for i, run in enumerate(runs):
        found = [None if i == j else _cell(document, i, j)["lists"] for j in range(len(runs))]
        rows.append([run["label"], *("." if one is None else f"{one['rbo']:.3f}" for one in found)])
    return render(rows)


def _systems(document: dict[str, Any]) -> str:
    """Show what the systems are made of, where they differ."""
    runs, values = document["runs"], dict[str, dict[str, Any]]()
    for pair in document["pairs"]:
        for one in pair["changes"]:
            row = values.setdefault(one["key"], {})
            row[pair["baseline"]], row[pair["candidate"]] = one["was"], one["now"]
    rows = [["the systems differ in", *(run["label"] for run in runs)]]
    for key, row in list(values.items())[:20]:
        rows.append([printable(key), *(printable(str(row.get(run["label"], ""))) for run in runs)])
    more = f"\n... and {len(values) - 20:,} more" if len(values) > 20 else ""
    return render(rows) + more if values else ""


def _latency(runs: Sequence[dict[str, Any]]) -> str:
    names = ("p50", "p95", "p99")
    if not all("total" in run["latency"] for run in runs):
        return ""
    rows = [["latency (ms)", *names]]
    rows += [[run["label"], *(_milliseconds(run["latency"]["total"].get(name)) for name in names)] for run in runs]
    return render(rows)


def _notes(pairs: Sequence[dict[str, Any]]) -> str:
    return "\n".join(map(escaped, dict.fromkeys(note for pair in pairs for note in pair["notes"])))


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:+.4f}"  # never -0.0000


def _p(value: float | None) -> str:
    return "-" if value is None else "<.0001" if value < 0.0001 else f"{value:.4f}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
