"""``karat doctor``: what is installed, what is missing, and where files lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, render

if TYPE_CHECKING:
    from karat.schema.installation import InstallationReport, InstalledExtra, InstalledPackage, InstalledPlace


@click.command("doctor")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, /, folder: str, as_json: bool) -> None:
    """Show what is installed, what is missing, and where files are: caches, configuration and project DIR.

    karat uses no network and writes nothing. The exit code is 3 if something that karat or the project needs is
    missing.

    Example: karat doctor examples/hotel
    """
    from karat.schema import to_json
    from karat.start import examine_installation

    report = examine_installation(folder)
    emit(to_json(report) if as_json else _text(report))
    context.exit(0 if report.ready else 3)


def _text(report: InstallationReport) -> str:
    parts = [
        f"karat {report.karat} in {escaped(report.code)}",
        f"Python {report.python} ({escaped(report.executable)}) on {escaped(report.platform)}",
        f"project {escaped(report.project)}" if report.project else "no project",
        "",
        render([["package", "asked", "installed"], *map(_package_row, report.packages)], left=3),
        "",
        render([["extra", "state", "for"], *([e.name, _state(e), e.purpose] for e in report.extras)], left=3),
        "",
        render([["place", "size", "path"], *map(_place_row, report.places)], left=3),
    ]
    missing = [extra for extra in report.extras if not extra.ready]
    if missing:
        parts += ["", f"To install an extra, such as {missing[0].name}:", f"  {escaped(missing[0].install)}"]
    parts += ["", *(f"note: {escaped(note)}" for note in report.notes)] if report.notes else []
    parts += ["", *(f"problem: {escaped(problem)}" for problem in report.problems)] if report.problems else []
    return "\n".join([*parts, "", "karat can work here" if report.ready else "karat cannot work here as it is"])


def _package_row(package: InstalledPackage) -> list[str]:
    installed = package.version or "missing"
    return [package.name, package.asked, installed if package.ready or not package.version else f"{installed}, not fit"]


def _state(extra: InstalledExtra) -> str:
    return "installed" if extra.ready else "needed" if extra.needed else "-"


def _place_row(place: InstalledPlace) -> list[str]:
    size = "off" if not place.path else "-" if place.bytes is None else _size(place.bytes)
    return [place.name, size, escaped(place.path) + ("" if place.writable or not place.path else " (read-only)")]


def _size(count: int) -> str:
    """Return a number of bytes for people.

    >>> _size(999), _size(1234), _size(56_789_000)
    ('999 B', '1.2 kB', '56.8 MB')
    """
    for unit, divisor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= divisor:
            return f"{count / divisor:.1f} {unit}"
    return f"{count} B"
