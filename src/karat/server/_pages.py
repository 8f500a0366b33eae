"""The table of pages and the table of changes: a page is a row here, a template, and a function of the library."""

from __future__ import annotations

from karat.pages import (
    ComparisonRequest,
    ExperimentsRequest,
    OverviewRequest,
    QueryRequest,
    RankingsRequest,
    RunRequest,
    RunsRequest,
    find_desk,
    find_store,
    name_missing_bounds,
    name_traffic,
    show_comparison,
    show_experiments,
    show_overview,
    show_query,
    show_rankings,
    show_run,
    show_runs,
    table_comparison,
    table_experiments,
    table_overview,
    table_query,
    table_rankings,
    table_run,
    table_runs,
)
from karat.schema.pages import OverviewPage
from karat.server._charts import draw_differences, draw_pairs, draw_ranks, draw_trend
from karat.server._labelling import LABEL_ACTIONS, LABEL_PAGES
from karat.server._live import LIVE_ACTIONS, LIVE_PAGES
from karat.server._page import Action, Page, Visit, of_index
from karat.server._parallel import draw_parallel
from karat.server._trials import TRIAL_ACTIONS, TRIAL_PAGES, of_store
from karat.server._work import WORK_ACTIONS, WORK_PAGES


def _show_overview(visit: Visit, request: OverviewRequest) -> OverviewPage:
    return show_overview(visit.index, find_store(visit.folder, visit.store), find_desk(visit.folder), request)


PAGES: tuple[Page, ...] = (
    Page(
        name="overview",
        address="/",
        request=OverviewRequest,
        show=_show_overview,
        document="page-overview",
        template="overview.html",
        about="The project at a glance: is it good, did it get worse, and what is next.",
        table=table_overview,
        charts={"trend": draw_trend},
        label="Overview",
        key="o",
        wants=lambda _: name_traffic(""),
    ),
    Page(
        name="runs",
        address="/runs",
        request=RunsRequest,
        show=of_index(show_runs),
        document="page-runs",
        template="runs.html",
        about="The runs of the project: sorted, filtered, and chosen for a comparison.",
        table=table_runs,
        label="Runs",
        key="r",
    ),
    Page(
        name="run",
        address="/runs/{run}",
        request=RunRequest,
        show=of_index(show_run),
        document="page-run",
        template="run.html",
        about="One run: the report on it, and its queries, the worst first.",
        part_of="runs",
        table=table_run,
    ),
    Page(
        name="comparison",
        address="/compare",
        request=ComparisonRequest,
        show=of_index(show_comparison),
        document="page-comparison",
        template="comparison.html",
        about="Two runs: which is better, how sure that is, and what moved.",
        part_of="runs",
        table=table_comparison,
        charts={"differences": draw_differences, "pairs": draw_pairs},
        otherwise="/runs",
        lacks=name_missing_bounds,
    ),
    Page(
        name="rankings",
        address="/compare/{query:path}",
        request=RankingsRequest,
        show=of_index(show_rankings),
        document="page-rankings",
        template="rankings.html",
        about="One query in two runs: both rankings side by side.",
        part_of="runs",
        table=table_rankings,
    ),
    Page(
        name="query",
        address="/queries/{query:path}",
        request=QueryRequest,
        show=of_store(show_query),
        document="page-query",
        template="query.html",
        about="One query through all runs, with its judgments, and what people who ask it do.",
        part_of="runs",
        table=table_query,
        charts={"ranks": draw_ranks},
        wants=lambda _: name_traffic(""),
    ),
    *LABEL_PAGES,
    *LIVE_PAGES,
    *TRIAL_PAGES,
    Page(
        name="experiments",
        address="/experiments",
        request=ExperimentsRequest,
        show=of_index(show_experiments),
        document="page-experiments",
        template="experiments.html",
        about="What sweeps tried and found: variants with verdicts that are corrected for their number.",
        table=table_experiments,
        charts={"parallel": draw_parallel},
        label="Experiments",
        key="e",
    ),
    *WORK_PAGES,
)
"""All pages, in the order of the bar."""
ACTIONS: tuple[Action, ...] = (*LABEL_ACTIONS, *LIVE_ACTIONS, *TRIAL_ACTIONS, *WORK_ACTIONS)
"""All changes."""
