"""What is known about a trial, and each decision on it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class TrialMeasure(Struct, frozen=True, kw_only=True):
    """What the sessions say about one measure; all of it is valid at any number of looks."""

    measure: str
    guardrail: bool
    """Whether it can only stop the trial."""
    n: int
    mean: float | None
    """The mean difference of treatment and control; null without sessions."""
    low: float
    high: float
    """The confidence sequence."""
    log_better: float
    """The logarithm of the evidence that the treatment is better; log(1 / alpha) is enough."""
    log_worse: float
    log_below_effect: float
    decision: str
    treatment: str = ""
    """Which of several treatments it is about; empty if there is one."""
    alpha: float | None = None
    """1 / alpha is the evidence that is enough for better or worse, and 1 - alpha the level of the interval; null in
    older documents."""
    beta: float | None = None
    """1 / beta is the evidence that is enough for not better by the effect."""
    effect: float | None = None
    """The smallest effect worth shipping."""


class TrialCondition(Struct, frozen=True, kw_only=True):
    """Something that has to be true before a treatment graduates."""

    name: str
    met: bool
    detail: str


class TrialReadOut(Struct, frozen=True, kw_only=True):
    """Numbers that are shown and never decide."""

    bootstrap_low: float | None
    bootstrap_high: float | None
    probability_better: float
    """That it wins more of the units that differ; where ``wins`` is null, that its mean is higher."""
    wins: int | None
    """Null, as ties and losses, if variants get unequal numbers of sessions: a difference is of one and several."""
    ties: int | None
    losses: int | None
    wald: float | None = None
    """The log-likelihood ratio of Wald's test; null unless the plan states a standard deviation."""
    wald_says: str | None = None
    """What that test would decide: continue, graduate or futile."""


class TrialLog(Struct, frozen=True, kw_only=True):
    """What a trial has taken from a log."""

    log: str
    """The id of the store."""
    until: str
    """Sessions that were over by then are measured, in UTC."""
    over: int
    """Sessions that were measured."""
    late: int
    """Those of which more was recorded after they had been measured; it is left out."""
    mixed: int
    """Sessions that got more than one variant; they count for the one that they got first."""
    before: int
    """Sessions that had begun before the trial; they are left out."""
    unreadable: int
    """Sessions whose variants cannot be read or are not in the plan, or, if ``Success`` is measured, whose task outcome
    is not from 0 to 1; they are left out."""
    waiting: Mapping[str, int]
    """By variant, sessions that are not compared with any of the other variant yet."""
    repeated: int = 0
    """Sessions that were measured in another log, by the same records; they are left out."""


class TrialStatus(Struct, frozen=True, kw_only=True):
    """A look at a trial."""

    feature: str
    number: int
    """Of the feature's trials, from 1."""
    status: str
    """running, graduated, rejected or paused."""
    version: int
    looks: int
    decision: str
    """What the evidence allows now: continue, graduate, harm-stop, futile or below-smallest-effect."""
    reason: str
    samples: int
    measures: tuple[TrialMeasure, ...]
    conditions: tuple[TrialCondition, ...]
    units: Mapping[str, int]
    read_out: TrialReadOut | None
    """Null without sessions."""
    not_from_log: int = 0
    """How many of the samples are from files, and not from a log: nothing has checked them."""
    logs: tuple[TrialLog, ...] = ()
    """What was taken from logs."""
    treatment: str = ""
    """Of several treatments the one that graduates, or for which there is most evidence; empty if there is one."""
    flag_version: int = 0
    """The version of the feature's flag at this look; 0 if it has none."""


class TrialTransition(Struct, frozen=True, kw_only=True):
    """A decision on a trial that was carried out."""

    feature: str
    number: int
    version: int
    time: str
    author: str
    reason: str
    before: str
    after: str
    evidence: TrialStatus | None
    """What was known; null where a person decided without looking."""


class TrialPoint(Struct, frozen=True, kw_only=True):
    """What was known of a measure when an hour was over."""

    time: str
    """The end of the hour, in UTC; of the last one, when somebody looked."""
    n: int
    mean: float
    low: float
    high: float
    """The confidence sequence."""
    log_better: float
    log_worse: float
    log_below_effect: float


class TrialReport(Struct, frozen=True, kw_only=True):
    """A trial over time, for a picture."""

    status: TrialStatus
    measure: str
    effect: float
    """The smallest effect worth shipping."""
    enough: float
    """The logarithm of the evidence that is enough to graduate, or to stop for harm."""
    futile: float
    """That of the evidence that is enough to give up."""
    points: tuple[TrialPoint, ...]
    """The oldest first; some stand for all if there are very many."""
    transitions: tuple[TrialTransition, ...]
    guardrails: Mapping[str, tuple[TrialPoint, ...]] = {}
    """The same of each guardrail, by its measure: evidence that it is worse stops the trial."""


class TrialList(Struct, frozen=True, kw_only=True):
    """All trials of a store, the oldest first."""

    store: str
    trials: tuple[TrialStatus, ...]


class TrialOutcome(Struct, frozen=True, kw_only=True):
    """What ``karat trial decide`` did."""

    status: TrialStatus
    """The trial as it is now."""
    transition: TrialTransition | None
    """The decision that was carried out; null if the trial goes on."""
    exit_code: int
    """0 if it graduated, 1 if it was rejected, 4 if it goes on or a person has to decide."""


class TrialObservations(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A batch of what was measured in sessions that are over."""

    batch: str
    """An id of the writer's: a batch that is sent again counts once."""
    differences: Mapping[str, tuple[tuple[float, int], ...]] = {}
    """By measure, pairs of a difference of treatment and control, one for each session, and its count."""
    latencies: Mapping[str, tuple[tuple[float, int], ...]] = {}
    """By variant, pairs of a latency in milliseconds and its count."""
    units: Mapping[str, int] = {}
    """By variant, how many units were assigned to it."""


class TrialRecorded(Struct, frozen=True, kw_only=True):
    """What became of a batch."""

    feature: str
    batch: str
    new: bool
    """False if it had been recorded before."""


class TrialCollected(Struct, frozen=True, kw_only=True):
    """What was taken from a log just now."""

    feature: str
    log: str
    """The id of the store of the log."""
    since: str
    """When the trial started, in UTC: sessions that began before do not count."""
    until: str
    """Sessions that were over by then are measured, in UTC."""
    sessions: int
    """The sessions that were measured just now."""
    differences: Mapping[str, int]
    """By measure, how many differences of treatment and control they came to."""
    open: int
    """Sessions that may go on, and wait."""
    late: int
    """Sessions of which more was recorded after they had been measured; it is left out."""
    repeated: int = 0
    """Sessions that were measured in another log, by the same records; they are left out."""
    unreadable: int = 0
    """Sessions, beside those measured, whose variants or task outcome cannot be read; they are left out."""


class HoldoutWeek(Struct, frozen=True, kw_only=True):
    """A week on the holdout."""

    week: str
    """Its Monday, in UTC."""
    start: float
    """The same in seconds since 1970."""
    sessions: int
    """The sessions that asked something of the holdout."""
    mean: float | None
    """The mean difference of treatment and control; null if nothing was measured."""


class TrialHoldout(Struct, frozen=True, kw_only=True):
    """The weekly holdout of a feature: a read-out, which never decides."""

    feature: str
    measure: str
    queries: int
    """The queries that are held out."""
    of: int
    seed: int
    weeks: tuple[HoldoutWeek, ...]
    """Those that are over and have shadow runs, the oldest first."""
    cycles: int
    """How many weeks in a row have to be without a loss."""
    promote: bool


class TrialForecast(Struct, frozen=True, kw_only=True):
    """How many sessions a trial will need. A number is null if fewer trials find the effect within ``most``."""

    measure: str
    sessions: int
    """The earlier sessions whose differences were used."""
    effect: float
    sd: float
    """The standard deviation of the difference of a session."""
    half: int | None
    """The sessions after which half of the simulated trials have found the effect."""
    most_of_them: int | None
    """Those after which 80 % have."""
    nearly_all: int | None
    """Those after which 95 % have."""
    found: float
    """The share that finds it within ``most`` sessions."""
    most: int
    runs: int
    source: str = "file"
    """Where the earlier sessions come from: a file, or the log, as a trial by ``sessions``, ``judgments`` or
    ``interleaving`` would have taken them."""
    replayed: float | None = None
    """The mean difference of the earlier sessions, which is no part of the forecast; null from a file."""
    block: int = 1
    """How many sessions of both variants make a difference; ``half`` and the others count differences."""
