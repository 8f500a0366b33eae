"""``karat trial``: a feature on live traffic, from its start to a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from karat.cli._days import parse_day
from karat.cli._pairs import find_user, split_pairs
from karat.cli._progress import say
from karat.cli._table import emit, escaped
from karat.cli._verbs import HintingGroup

if TYPE_CHECKING:
    from karat.schema.trials import TrialForecast

_STORE = click.option("--store", metavar="FILE", default="karat.db", show_default=True, help="The store of the log.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_AUTHOR = click.option("--author", help="Who, for the history.  [default: the user of this machine]")
_REASON = click.option("--reason", required=True, help="Why, for the history.")
_GOLDEN = click.option("--golden", metavar="SET", help="Golden set or project with judgments.")
_IDLE = "Seconds without a record after which a session is over."
_MEASURE = click.option(
    "-m",
    "--measure",
    metavar="MEASURE",
    default="",
    help="The measure that decides.  [default: RR@10; choices, with interleaved lists]",
)
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


_SHARES = click.option(
    "--share", "shares", multiple=True, metavar="VARIANT=NUMBER", help="The planned share of units; can be repeated."
)


@click.group("trial", cls=HintingGroup)
def command() -> None:
    """Trials stay valid however often you look, and graduate only if every condition is met.

    Example: karat trial list
    """


@command.command("plan", short_help="Estimate how many sessions a trial needs.")
@click.argument("file", metavar="[FILE]", required=False)
@_MEASURE
@click.option("--effect", type=_SHARE, default=0.05, show_default=True, help="The effect to find.")
@click.option("--alpha", type=_SHARE, default=0.05, show_default=True, help="How often a useless feature may graduate.")
@click.option(
    "--most",
    type=click.IntRange(1, 1_000_000),
    default=20_000,
    show_default=True,
    help="Give up after this many sessions.",
)
@click.option(
    "--feature",
    metavar="NAME",
    default="feature",
    show_default=True,
    help="The feature whose shadow runs are in the log.",
)
@click.option("--source", type=click.Choice(["judgments", "interleaving", "sessions"]), default="sessions",
              show_default=True, help="The kind of trial, if there is no FILE.")  # fmt: skip
@_GOLDEN
@_SHARES
@click.option("--since", metavar="DAY", help="Only use queries from this day on, such as 2026-11-01, or 7d.")
@click.option("--idle", type=click.FloatRange(min=0, min_open=True), default=3600.0, show_default=True, help=_IDLE)
@_STORE
@_JSON
def plan(
    file: str | None, measure: str, effect: float, alpha: float, most: int, store: str, as_json: bool, **options: Any
) -> None:
    """Simulate trials in which sessions differ as much as those of the log did, or those of the batch in FILE.

    Example: karat trial plan --measure Success --effect 0.02
    """
    from karat.cli._trial_text import forecast_text
    from karat.online.trials import plan_trial
    from karat.schema import to_json

    if file is not None:
        forecast = plan_trial(file, effect, measure=measure or "RR@10", alpha=alpha, most=most)
    else:
        forecast = _plan_from_log(store, measure, effect, alpha, most, **options)
    emit(to_json(forecast) if as_json else forecast_text(forecast))


def _plan_from_log(
    store: str, measure: str, effect: float, alpha: float, most: int, *, golden: str | None, since: str | None,
    shares: tuple[str, ...], **options: Any,
) -> TrialForecast:  # fmt: skip
    from karat import golden as sets
    from karat.feedback.trials import plan_from_log
    from karat.online.trials import TrialPlan
    from karat.stats.sequential import StoppingRule

    rule = StoppingRule(alpha=alpha, effect=effect)
    return plan_from_log(
        store,
        TrialPlan(measure=measure, rule=rule, must_show="", shares=_parse_shares(shares), **options),
        golden=sets.open_set(golden) if golden else None,
        since=parse_day(since, "--since"),
        most=most,
    )


@command.command("start", short_help="Start a trial of a feature.")
@click.argument("feature")
@_MEASURE
@click.option("--source", type=click.Choice(["judgments", "interleaving", "sessions", "clicks"]), default="judgments",
              show_default=True, help="Where differences come from.")  # fmt: skip
@click.option("--alpha", type=_SHARE, default=0.05, show_default=True, help="How often a useless feature may graduate.")
@click.option("--beta", type=_SHARE, default=0.2, show_default=True, help="How often a good one may be futile.")
@click.option("--effect", type=_SHARE, default=0.05, show_default=True, help="The smallest effect worth shipping.")
@click.option(
    "--least",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="The least number of differences before it graduates.",
)
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="MEASURE",
    help="A measure that may stop the trial; can be repeated.",
)
@click.option(
    "--must-show",
    metavar="MEASURE",
    default="MustShowAll@10",
    show_default=True,
    help="The measure that must not drop; empty for none.",
)
@click.option(
    "--latency-ratio", type=float, default=1.2, show_default=True, help="The highest ratio of the p95 of both."
)
@click.option(
    "--unjudged-margin", type=float, default=0.05, show_default=True, help="How many more unjudged results are allowed."
)
@_SHARES
@click.option(
    "--sigma", type=click.FloatRange(min=0, min_open=True), help="Also show Wald's test with this standard deviation."
)
@click.option("--corpus-measure", default="", metavar="MEASURE", help="What has to improve on the golden set.")
@click.option("--idle", type=click.FloatRange(min=0, min_open=True), default=3600.0, show_default=True, help=_IDLE)
@_STORE
@_JSON
def start(
    feature: str,
    alpha: float,
    beta: float,
    effect: float,
    shares: tuple[str, ...],
    store: str,
    as_json: bool,
    **fields: Any,
) -> None:
    """Start a trial of FEATURE, which is the key of its flag. The plan cannot be changed later.

    Example: karat trial start rerank --measure nDCG@10 --guardrail R@5
    """
    from karat.cli._trial_text import status_text
    from karat.online.trials import TrialPlan, start_trial
    from karat.schema import to_json
    from karat.stats.sequential import StoppingRule

    rule = StoppingRule(alpha=alpha, beta=beta, effect=effect)
    plan = TrialPlan(feature=feature, rule=rule, shares=_parse_shares(shares), **fields)
    status = start_trial(store, plan)
    if plan.must_show and plan.source in ("sessions", "interleaving"):
        say(
            f"{plan.must_show} is known only of golden queries, and the feature cannot graduate without it: give "
            "karat trial collect a --golden set, or start with --must-show ''"
        )
    emit(to_json(status) if as_json else status_text(status))


@command.command("record", short_help="Add a batch of measured sessions.")
@click.argument("feature")
@click.argument("file", metavar="FILE")
@_STORE
@_JSON
def record(feature: str, file: str, store: str, as_json: bool) -> None:
    """Add the batch of FILE, or of standard input (-), to the running trial of FEATURE.

    A batch that is sent again counts once. Nothing checks it against the log, and the status says so.

    Example: karat trial record rerank monday.json
    """
    from karat.online.trials import record_file
    from karat.schema import to_json

    done = record_file(store, feature, file)
    text = f"{escaped(done.batch)}: {'recorded' if done.new else 'was recorded before, and counts once'}"
    emit(to_json(done) if as_json else text)


@command.command("collect", short_help="Measure the sessions of a log that have ended.")
@click.argument("feature")
@click.option("--log", metavar="FILE", help="The store of the log, if it is not that of the trial.")
@_GOLDEN
@_STORE
@_JSON
def collect(feature: str, log: str | None, golden: str | None, store: str, as_json: bool) -> None:
    """Measure the running trial of FEATURE in the sessions of the log that have ended.

    Each session counts once, whoever collects and however often.

    Example: karat trial collect rerank --golden examples/hotel
    """
    from karat import golden as sets
    from karat.cli._trial_text import collected_text
    from karat.feedback.trials import collect_trial
    from karat.schema import to_json

    seen = collect_trial(store, feature, log=log, golden=sets.open_set(golden) if golden else None)
    emit(to_json(seen) if as_json else collected_text(seen))


@command.command("status", short_help="Show what is known about the latest trial of a feature.")
@click.argument("feature")
@_STORE
@_JSON
def status(feature: str, store: str, as_json: bool) -> None:
    """Show what is known about the latest trial of FEATURE. Looking is free, and counted.

    Example: karat trial status rerank
    """
    from karat.cli._trial_text import status_text
    from karat.online.trials import look_at_trial
    from karat.schema import to_json

    known = look_at_trial(store, feature)
    emit(to_json(known) if as_json else status_text(known))


@command.command("report", short_help="Draw a trial over time.")
@click.argument("feature")
@click.option("--html", metavar="FILE", help="Write one HTML page.")
@click.option("--svg", metavar="FILE", help="Write the picture.")
@_STORE
@_JSON
def report(feature: str, html: str | None, svg: str | None, store: str, as_json: bool) -> None:
    """Show the latest trial of FEATURE over time: its mean difference with the interval, and the evidence.

    Example: karat trial report rerank --html trial.html
    """
    from karat.cli._output import write_output
    from karat.cli._trial_text import report_text
    from karat.files import refuse_input
    from karat.online import read_log
    from karat.online.trials import report_trial
    from karat.reports import render_trial_html, render_trial_svg
    from karat.schema import to_json

    outputs = [(html, render_trial_html, "--html"), (svg, render_trial_svg, "--svg")]
    read_log(store).close()  # an output that would overwrite the store is refused before anybody has looked
    for path, _, option in outputs:
        if path is not None:
            refuse_input(path, option)
    document = report_trial(store, feature)
    for path, render, option in outputs:
        if path is not None:
            write_output(path, render(document), option)
    emit(to_json(document) if as_json else report_text(document))


@command.command("holdout", short_help="Show the weekly holdout of a feature, which never decides.")
@click.argument("feature")
@click.option("--golden", metavar="SET", required=True, help="Golden set or project with judgments.")
@click.option("-m", "--measure", metavar="MEASURE", default="nDCG@10", show_default=True, help="What must not be lost.")
@click.option("--stratify", type=click.Choice(["category", "type", "intent"]), default="category", show_default=True,
              help="The field of whose values each keeps its share.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same holdout.")
@_STORE
@_JSON
def holdout(feature: str, golden: str, store: str, as_json: bool, **options: Any) -> None:
    """Show how the shadow runs of FEATURE did, week by week, on a fifth of the golden set that nobody tunes on.

    Example: karat trial holdout rerank --golden examples/hotel
    """
    from time import time

    from karat import golden as sets
    from karat.cli._trial_text import holdout_text
    from karat.feedback.trials import read_holdout
    from karat.schema import to_json

    shown = read_holdout(store, feature, sets.open_set(golden), now=time(), **options)
    emit(to_json(shown) if as_json else holdout_text(shown))


@command.command("decide", short_help="Carry out what the evidence allows.")
@click.argument("feature")
@_AUTHOR
@click.option("--reason", default="the evidence is enough", show_default=True, help="Why, for the history.")
@_STORE
@_JSON
@click.pass_context
def decide(context: click.Context, feature: str, author: str | None, reason: str, store: str, as_json: bool) -> None:
    """Carry out what the evidence on FEATURE allows, on its trial and its flag.

    The exit code is 0 if it graduated, 1 if it was rejected, and 4 if it continues or a person has to decide.

    Example: karat trial decide rerank
    """
    from karat.cli._trial_text import outcome_text
    from karat.online.trials import decide_trial
    from karat.schema import to_json

    outcome = decide_trial(store, feature, author=author or find_user(), reason=reason)
    emit(to_json(outcome) if as_json else outcome_text(outcome))
    context.exit(outcome.exit_code)


@command.command("stop", short_help="Reject a trial by hand.")
@click.argument("feature")
@_AUTHOR
@_REASON
@_STORE
@_JSON
def stop(feature: str, author: str | None, reason: str, store: str, as_json: bool) -> None:
    """Reject the trial of FEATURE, whatever the evidence. Its flag stays as it is.

    Example: karat trial stop rerank --reason "the index is replaced next week"
    """
    from karat.cli._trial_text import transition_text
    from karat.online.trials import stop_trial
    from karat.schema import to_json

    done = stop_trial(store, feature, author=author or find_user(), reason=reason)
    emit(to_json(done) if as_json else transition_text(done))


@command.command("reopen", short_help="Let a trial run again.")
@click.argument("feature")
@_AUTHOR
@_REASON
@_STORE
@_JSON
def reopen(feature: str, author: str | None, reason: str, store: str, as_json: bool) -> None:
    """Let the latest trial of FEATURE run again, with everything measured so far. Its flag stays as it is.

    Example: karat trial reopen rerank --reason "the outage is over"
    """
    from karat.cli._trial_text import transition_text
    from karat.online.trials import reopen_trial
    from karat.schema import to_json

    done = reopen_trial(store, feature, author=author or find_user(), reason=reason)
    emit(to_json(done) if as_json else transition_text(done))


@command.command("list", short_help="List all trials.")
@_STORE
@_JSON
def list_(store: str, as_json: bool) -> None:
    """List all trials of a store, the oldest first.

    Example: karat trial list
    """
    from karat.cli._trial_text import list_text
    from karat.online.trials import list_trials
    from karat.schema import to_json

    document = list_trials(store)
    emit(to_json(document) if as_json else list_text(document))


def _parse_shares(shares: tuple[str, ...]) -> dict[str, float] | None:
    return {name: _parse_share(name, number) for name, number in split_pairs("--share", shares)} or None


def _parse_share(name: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise click.BadParameter(f"{number!r} of {name!r} is not a number", param_hint="--share") from None
