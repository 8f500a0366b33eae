"""The pictures of the pages."""

from __future__ import annotations

from karat.pages import link_run
from karat.schema import MeasureRow
from karat.schema.pages import ComparisonPage, GatedMeasure, OverviewPage, QueryPage, RankingsPage, TrendPoint
from karat.server._differences import rate_difference
from karat.server._svg import Chart, scale, spread
from karat.server._text import clip, format_change, format_number, format_time, strip_markup

_WAYS = 6  # documents whose ranks are drawn
_LIMITS = {"floor": "floor", "ceiling": "best"}
"""What limits are called beside a picture; the page says that the best is that of this golden set."""
_SHAPES = {"pass": "circle", "fail": "cross", "error": "cross", "inconclusive": "diamond"}


def draw_trend(page: OverviewPage, name: str) -> Chart:
    """Draw a measure from run to run: means with intervals, a sign for each verdict, floor and ceiling."""
    points = [point for point in page.trend if point.means.get(name) is not None]
    measure = next((measure for measure in page.measures if measure.name == name), None)
    chart = Chart(width=420, height=190, title=f"{name} from run to run")
    low, high = _find_range(points, measure, name)
    names = (("floor", measure.floor), ("ceiling", measure.ceiling)) if measure else ()
    limits = {kind: limit for kind, limit in names if limit is not None and low <= limit <= high}
    # Names of limits stand beside the picture, where no mark can be in their way.
    left, right, top, bottom = 40.0, 366.0 if limits else 412.0, 14.0, 160.0

    def y(value: float) -> float:
        return scale(low, high, bottom, top, value)

    def x(place: int) -> float:
        return (
            scale(0, max(1, len(points) - 1), left + 10, right - 10, place) if len(points) > 1 else (left + right) / 2
        )

    for tick in _ticks(low, high):
        chart.line(left, y(tick), right, y(tick), "grid")
        chart.text(left - 6, y(tick) + 4, f"{tick:g}", anchor="end")
    for kind, limit in limits.items():
        chart.line(left, y(limit), right, y(limit), kind)
    for kind, height in spread({kind: y(limit) - 2 for kind, limit in limits.items()}, top, bottom - 8, 32).items():
        chart.text(right + 4, height, _LIMITS[kind])
        chart.text(right + 4, height + 15, format_number(limits[kind]))
    marks = [(x(place), y(float(point.means[name] or 0))) for place, point in enumerate(points)]
    spans = [(place, point.low.get(name), point.high.get(name)) for place, point in enumerate(points)]
    for place, least, most in spans:
        if least is not None and most is not None:
            chart.line(x(place), y(least), x(place), y(most), "interval")
    chart.path(marks, "path")
    for place, point in enumerate(points):
        mean = float(point.means[name] or 0)
        when, outcome = format_time(point.date), point.outcome or "not decided"
        tip = f"{point.title}, {when}: {format_number(mean)}, {outcome}"
        shape, kind = _SHAPES.get(point.outcome or "", "ring"), point.outcome or "none"
        kind = "fail" if kind == "error" else kind
        chart.sign(x(place), y(mean), shape, kind, tip, link_run(point.run))
    first, last = name_ends([point.date for point in points])
    chart.text(x(0), 182, first, anchor="start" if len(points) > 1 else "middle")
    chart.text(x(max(0, len(points) - 1)), 182, last, anchor="end")
    return chart


def name_ends(dates: list[str]) -> tuple[str, str]:
    """Return what stands below the first and the last place of an axis of time; on one day the times tell them apart.

    >>> name_ends(["2026-11-16", "2026-11-18T09:30:00Z"])
    ('2026-11-16', '2026-11-18')
    >>> name_ends(["2026-11-18T09:30:00Z", "2026-11-18T15:00:00Z"])
    ('2026-11-18 09:30', '15:00')
    >>> name_ends(["2026-11-18", "2026-11-18"]), name_ends([])
    (('2026-11-18', ''), ('', ''))
    """
    if not dates:
        return "", ""
    first, last = format_time(dates[0]), format_time(dates[-1])
    if len(dates) == 1 or first == last:
        return first[:10], ""
    return (first, last[11:]) if first[:10] == last[:10] else (first[:10], last[:10])


def draw_mean(row: MeasureRow) -> Chart:
    """Draw a measure of a report."""
    low, high = row.interval or (None, None)
    return _draw_dot(row.name, row.mean, low, high, row.baseline, row.floor, None)


def draw_measure(measure: GatedMeasure) -> Chart:
    """Draw a measure that the gate looks at, with the best that it could be."""
    return _draw_dot(
        measure.name, measure.mean, measure.low, measure.high, measure.baseline, measure.floor, measure.ceiling
    )


def _draw_dot(
    name: str,
    mean: float | None,
    least: float | None,
    most: float | None,
    baseline: float | None,
    floor: float | None,
    ceiling: float | None,
) -> Chart:
    """Draw a mean as a dot with its interval, beside baseline, floor and ceiling, between 0 and the best."""
    width = 280
    chart = Chart(width=width, height=44, title=f"{name}: {format_number(mean)}")
    values = [mean, least, most, baseline, floor, ceiling, 0.0]
    top = max(1.0, *(float(value) for value in values if value is not None))
    bottom = min(float(value) for value in values if value is not None)

    def x(value: float) -> float:
        return scale(bottom, top, 6, width - 6, value)

    chart.line(6, 18, width - 6, 18, "axis")
    if least is not None and most is not None:
        chart.line(x(least), 18, x(most), 18, "interval")
    if floor is not None:
        chart.line(x(floor), 9, x(floor), 27, "floor")
    if ceiling is not None:
        chart.line(x(ceiling), 9, x(ceiling), 27, "ceiling")
    if baseline is not None:
        chart.line(x(baseline), 9, x(baseline), 27, "before")
    if mean is not None:
        chart.circle(x(mean), 18, 5.5, "now")
    chart.text(6, 41, f"{bottom:g}")
    chart.text(width - 6, 41, f"{top:g}", anchor="end")
    return chart


def _find_range(points: list[TrendPoint], measure: GatedMeasure | None, name: str) -> tuple[float, float]:
    values = [value for point in points for value in (point.means[name], point.low.get(name), point.high.get(name))]
    values += [measure.floor, measure.ceiling] if measure else []
    known = [float(value) for value in values if value is not None]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    room = (high - low) * 0.06 or 0.05
    low, high = (0.0 if low >= 0 and low - room < 0 else low - room), high + room
    return low, high


def _ticks(low: float, high: float) -> list[float]:
    span = high - low
    step = next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10) if span / step <= 5), span / 4)
    first = int(low / step) if low >= 0 else int(low / step) - 1
    return [round(n * step, 6) for n in range(first, first + 8) if low <= n * step <= high]


def draw_differences(page: ComparisonPage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw the difference of each measure with its interval, around zero."""
    rows = [row for row in page.comparison.pairs[0].measures if row.difference is not None]
    width, bottom = 560, 34 * len(rows) + 10
    chart = Chart(width=width, height=bottom + 26, title="Differences with 95 % intervals")
    ends = [abs(end) for row in rows for end in (row.low, row.high, row.difference) if end is not None]
    most = max(ends, default=0.0) * 1.1 or 1.0

    def x(value: float) -> float:
        return scale(-most, most, 150, width - 70, value)

    for tick in _ticks(-most, most):
        chart.line(x(tick), 8, x(tick), bottom, "grid" if tick else "zero")
        chart.text(x(tick), bottom + 18, f"{tick:+g}" if tick else "0", anchor="middle")
    for place, row in enumerate(rows):
        middle, difference = 24 + 34 * place, float(row.difference or 0)
        rated = rate_difference(page, row)
        kind = rated if rated in ("better", "worse") else "same"
        chart.text(4, middle + 4, row.measure, "name")
        if row.low is not None and row.high is not None:
            chart.line(x(row.low), middle, x(row.high), middle, f"change {kind}")
        chart.sign(x(difference), middle, {"better": "circle", "worse": "cross"}.get(kind, "diamond"), kind)
        chart.text(width - 4, middle + 4, format_change(difference), "name", "end")
    return chart


def draw_pairs(page: ComparisonPage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw each query as a dot: its score in A along, in B up; the size is the number of queries."""
    size, left, bottom = 360, 40.0, 320.0
    chart = Chart(width=size, height=size, title=f"{page.measure} of each query in both runs")
    values = [value for dot in page.dots for value in (dot.first, dot.second)]
    low, high = min(values, default=0.0), max(values, default=1.0)

    def x(value: float) -> float:
        return scale(low, high, left + 12, size - 20, value)

    def y(value: float) -> float:
        return scale(low, high, bottom - 12, 20, value)

    for tick in _ticks(low, high):
        chart.line(left, y(tick), size - 8, y(tick), "grid")
        chart.text(left - 6, y(tick) + 4, f"{tick:g}", anchor="end")
        chart.text(x(tick), bottom + 16, f"{tick:g}", anchor="middle")
    chart.line(x(low), y(low), x(high), y(high), "diagonal")
    most = max((dot.count for dot in page.dots), default=1)
    for dot in page.dots:
        gain = (dot.first - dot.second) if page.lower_is_better else (dot.second - dot.first)
        kind = "better" if gain > 1e-9 else "worse" if gain < -1e-9 else "same"
        radius = 3 + 11 * (dot.count / most) ** 0.5
        tip = f"{dot.count:,} queries: {format_number(dot.first)} in A, {format_number(dot.second)} in B"
        chart.circle(x(dot.first), y(dot.second), radius, f"spot {kind}", tip)
    chart.text(size / 2 + 16, size - 6, "A", "name", "middle")
    chart.text(8, bottom / 2, "B", "name")
    return chart


def draw_slopes(page: RankingsPage) -> Chart:
    """Draw a line between the places of the same document in both rankings."""
    height = 48 * max(len(page.first.hits), len(page.second.hits), 1)
    chart = Chart(width=64, height=height, title="Lines between the same documents", stretches=True)
    places: dict[str, int] = {}
    for hit in page.second.hits:
        places.setdefault(hit.document, hit.rank)
    seen = set()
    for hit in page.first.hits:
        if hit.document in places and hit.document not in seen:
            kind = "slope relevant" if hit.relevant else "slope"
            chart.line(0, 48 * hit.rank - 24, 64, 48 * places[hit.document] - 24, kind)
        seen.add(hit.document)
    return chart


def name_documents(page: QueryPage) -> dict[str, str]:
    """Return the titles of the documents whose ranks are shown, by their ids; the id of one that has none."""
    titles = {judgment.document: strip_markup(judgment.title) for judgment in page.judgments}
    return {id_: titles.get(id_) or id_ for id_ in page.relevant}


def draw_ranks(page: QueryPage, name: str = "") -> Chart:  # noqa: ARG001 (as of all pictures)
    """Draw the ranks of the relevant documents from run to run, the oldest on the left; rank 1 is on top."""
    runs, documents = page.runs[::-1], page.relevant[:_WAYS]
    ranks = [rank for run in runs for id_ in documents if (rank := run.ranks.get(id_)) is not None]
    deepest = max(ranks, default=1)
    left, right, top, bottom = 40.0, 560.0, 18.0, 168.0
    names = name_documents(page)
    chart = Chart(width=900, height=214, title="Ranks of the relevant documents from run to run")

    def y(rank: int | None) -> float:
        if rank is None:
            return bottom + 18
        return scale(1, deepest, top, bottom, rank) if deepest > 1 else top

    def x(place: int) -> float:
        return scale(0, len(runs) - 1, left + 12, right - 12, place) if len(runs) > 1 else (left + right) / 2

    for tick in sorted({1, (1 + deepest) // 2, deepest}):
        chart.line(left, y(tick), right, y(tick), "grid")
        chart.text(left - 6, y(tick) + 4, str(tick), anchor="end")
    chart.line(left, y(None), right, y(None), "grid")
    chart.text(left - 6, y(None) + 4, "none", anchor="end")
    heights = spread({id_: y(runs[-1].ranks.get(id_)) for id_ in documents} if runs else {}, top, bottom + 18, 15.0)
    for number, id_ in enumerate(documents):
        chart.path([(x(place), y(run.ranks.get(id_))) for place, run in enumerate(runs)], f"rank way-{number}")
        for place, run in enumerate(runs):
            rank = run.ranks.get(id_)
            tip = f"{names[id_]} in {run.title}: {'not found' if rank is None else f'rank {rank}'}"
            chart.circle(x(place), y(rank), 4, f"rank-dot way-{number}", tip)
        if id_ in heights:
            chart.text(right + 4, heights[id_] + 4, clip(names[id_], 44), f"name way-text-{number}")
    first, last = name_ends([run.date for run in runs])
    chart.text(x(0), 208, first, anchor="start" if len(runs) > 1 else "middle")
    chart.text(x(max(0, len(runs) - 1)), 208, last, anchor="end")
    return chart


DRAWN = {
    "draw_differences": draw_differences,
    "draw_pairs": draw_pairs,
    "draw_slopes": draw_slopes,
    "draw_ranks": draw_ranks,
    "draw_mean": draw_mean,
    "draw_measure": draw_measure,
    "draw_trend": draw_trend,
    "name_documents": name_documents,
}
"""What templates can draw, and how they name what is drawn."""
