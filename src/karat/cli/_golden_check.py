"""``karat golden check``: what is wrong with a golden set, and what it can decide."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.core import GoldenSet
    from karat.golden.lint import Report
    from karat.schema import GoldenCeiling, GoldenDetectable, GoldenFinding, GoldenReport, GoldenResolution

_SINGULAR = {"documents": "document", "queries": "query", "judgments": "judgment"}
_LARGE = 100_000  # documents and judgments; checking fewer takes no time worth mentioning


@click.command("check", short_help="Show what is wrong with a golden set, and what it can decide.")
@click.argument("path", metavar="[SET]", required=False)
@click.option(
    "--profile",
    type=click.Choice(["small", "agent", "structured"]),
    help="Purpose of the set, which decides its size and coverage.",
)
@click.option("--format", "format", metavar="FORMAT", help="Format of SET, if karat should not guess it.")
@click.option("--documents", metavar="PATH", help="Folder or JSONL of documents, for a format that holds none.")
@click.option("--index", metavar="FILE", help="Ids in the index under test: one per line, or JSONL with id.")
@click.option("--chunks", metavar="FILE", help="JSONL of the chunks that the index was built from, with id and text.")
@click.option("--languages", metavar="LIST", help="Languages that texts may have, such as en,de; others are reported.")
@click.option("--gate", "gates", multiple=True, metavar="FLOOR", help="A floor such as 'P@5>=0.60'; can be repeated.")
@click.option("--sd", type=float, help="Standard deviation of per-query differences between two systems.")
@click.option("--strict", is_flag=True, help="Exit with 2 on warnings too.")
@click.option("--explain", metavar="RULE", help="Explain a rule, and check nothing.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Leave out the findings of a rule; can be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, /, path: str | None, **options: Any) -> None:
    """Check the golden set SET: errors, warnings with a fix, and what the set can decide.

    SET may be a project, which stands for the set that karat.toml names, with its documents and its profile, as karat
    check reads it.

    The ceiling is the best mean that any ranking can reach, for each gated measure: those of the set and of --gate, or
    else R@5, P@5, RR@10 and nDCG@5. The resolution is the smallest drop that the set can tell from chance. The exit
    code is 0, or 2 if there is an error.

    Example: karat golden check examples/hotel --profile small --ignore one-annotator
    """
    from karat.core import UsageError
    from karat.schema import to_json

    if options["explain"]:
        _explain(options["explain"], options["as_json"])
        return
    if path is None:
        raise UsageError("which golden set? karat golden check SET, or --explain RULE")
    report = _report(path, options).document()
    emit(to_json(report) if options["as_json"] else _text(report, options["strict"]))
    if report.errors or (options["strict"] and report.warnings):
        context.exit(2)


def _report(path: str, options: dict[str, Any]) -> Report:
    """Return the linter's report on a set; that of a set that cannot be read has the mistakes."""
    from pathlib import Path

    from karat.config import read_config
    from karat.core import InputError
    from karat.golden import open_set
    from karat.golden.lint import check_configured, find_rule, read_gate, read_index, unread

    chosen: dict[str, Any] = {name: options[name] for name in ("profile", "sd", "ignore")}
    chosen["gate"] = read_gate(options["gates"])
    chosen["languages"] = [name for name in (options["languages"] or "").split(",") if name.strip()]
    for rule in options["ignore"]:
        find_rule(rule)  # before anything is read
    chosen["index"] = read_index(options["index"]) if options["index"] else None
    chosen["chunks"] = _chunks(options["chunks"]) if options["chunks"] else ()
    config = read_config(Path(path))
    try:
        golden = open_set(config, options["format"], documents=options["documents"])
    except InputError as error:
        return unread(error, str(config.golden))
    _progress(golden)
    return check_configured(golden, config, **chosen)


def _chunks(path: str) -> Any:
    from pathlib import Path

    from karat.files import Reading
    from karat.golden import read_documents

    reading = Reading()
    chunks = read_documents(Path(path), reading)
    reading.finish()
    return chunks


def _progress(golden: GoldenSet) -> None:
    large = len(golden.documents) + len(golden.judgments) > _LARGE
    if large and sys.stderr is not None and sys.stderr.isatty():
        counts = (
            f"{count_things(len(golden.documents), 'document')} and {count_things(len(golden.judgments), 'judgment')}"
        )
        say(f"checking {counts}")


def _explain(name: str, as_json: bool) -> None:
    from karat.golden.lint import explain, find_rule
    from karat.schema import to_json

    rule = find_rule(name)
    emit(to_json(explain(name)) if as_json else f"{bold(rule.name)} ({rule.severity})\n\n{rule.text}")


def _text(report: GoldenReport, strict: bool) -> str:
    parts = [_head(report)]
    parts += [_finding(finding) for finding in report.findings]
    if report.ceilings:
        parts.append(_ceilings(report))
    if report.resolution and report.resolution.all.queries:
        parts.append(_resolution(report.resolution, report.queries or 0))
    parts.append(_verdict(report, strict))
    return "\n\n".join(parts)


def _head(report: GoldenReport) -> str:
    name = printable(f"{report.name} {report.version}".strip(), 80)
    counts = {"documents": report.documents, "queries": report.queries, "judgments": report.judgments}
    sizes = [f"{n:,} {_SINGULAR[noun] if n == 1 else noun}" for noun, n in counts.items() if isinstance(n, int)]
    return f"{bold(name)}: {', '.join(sizes)}" if sizes else bold(name)


def _finding(finding: GoldenFinding) -> str:
    lines = [f"{bold(finding.severity)} {finding.rule}: {escaped(finding.message)}"]
    if finding.where:
        more = finding.count - len(finding.where)
        ids = [printable(name, 60) for name in finding.where] + ([f"and {more:,} more"] if more > 0 else [])
        lines.append(f"  where: {', '.join(ids)}")
    if finding.fix:
        lines.append(f"  fix: {escaped(finding.fix)}")
    return "\n".join(lines)


def _ceilings(report: GoldenReport) -> str:
    kind = "declared" if report.gate.declared else "usual"
    rows = [["ceiling", "best mean", f"{kind} floor", "queries", "below 1, and why"]]
    for name, ceiling in report.ceilings.items():
        floor = f"{report.gate.floors[name]:.2f}"
        if not ceiling.computed:
            rows.append([printable(name), "-", floor, "-", escaped(ceiling.because)])
        else:
            best = "-" if ceiling.best is None else f"{ceiling.best:.4f}"
            rows.append([printable(name), best, floor, f"{ceiling.scored:,}/{ceiling.total:,}", _below(ceiling)])
    return _table(rows)


def _below(ceiling: GoldenCeiling) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in (ceiling.below or {}).items()) or "none"


def _resolution(resolution: GoldenResolution, queries: int) -> str:
    spreads = [f"{float(sd):g}" for sd in resolution.all.two_sided]
    head = ["resolution", "queries", *(f"sd {sd}" for sd in spreads), *(f"one-sided {sd}" for sd in spreads)]
    rows = [head, _drops("all queries", resolution.all)]
    rows += [_drops(printable(name) or "(none)", category) for name, category in resolution.categories.items()]
    power, level = (f"{100 * share:.0f} %" for share in (resolution.power, resolution.alpha))
    note = f"the smallest drop that is found with {power} power at the {level} level (paired t-test)"
    if resolution.all.queries < queries:
        note += "; queries without a relevant document do not count, and those worded alike count once"
    return f"{render(rows)}\n{note}"


def _drops(name: str, detectable: GoldenDetectable) -> list[str]:
    drops = [*detectable.two_sided.values(), *detectable.one_sided.values()]
    cells = ["-" if drop is None else ">1" if drop > 1 else f"{drop:.3f}" for drop in drops]
    return [name, f"{detectable.queries:,}", *cells]


def _table(rows: list[list[str]]) -> str:
    """Return a table with aligned columns, the last of which is text."""
    lines = render([row[:-1] for row in rows]).split("\n")
    width = max(len(click.unstyle(line)) for line in lines)
    texts = [row[-1] for row in rows]
    padded = [line + " " * (width - len(click.unstyle(line))) for line in lines]
    return "\n".join(
        [f"{line}  {bold(text) if i == 0 else text}" for i, (line, text) in enumerate(zip(padded, texts, strict=True))]
    )


def _verdict(report: GoldenReport, strict: bool) -> str:
    errors, warnings = report.errors, report.warnings
    counts = f"{_plural(errors, 'error')}, {_plural(warnings, 'warning')}"
    ignored = sum(report.ignored.values())
    if ignored:
        counts += f", {_plural(ignored, 'finding')} ignored ({', '.join(report.ignored)})"
    if errors:
        return bold(f"not usable: {counts}")
    return bold(f"not accepted (--strict): {counts}" if strict and warnings else f"usable: {counts}")


def _plural(n: int, word: str) -> str:
    return f"{n or 'no'} {word}{'' if n == 1 else 's'}"
