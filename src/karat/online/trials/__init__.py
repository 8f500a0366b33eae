"""Trials: a feature on live traffic, from its start to a decision that stays right however often one looks."""

from karat.online.trials._batch_file import plan_trial, record_file
from karat.online.trials._behaviour import (
    ASKED_ONCE,
    BEHAVIOUR,
    CLICK_RR,
    FOUND,
    IN_TIME,
    SUCCESS,
    find_limit,
    is_behavioural,
)
from karat.online.trials._dealing import list_deals_since
from karat.online.trials._judgment import judge_trial
from karat.online.trials._log import LogTask, add_from_log, find_measured, forget_in_trials, open_task
from karat.online.trials._log_rows import LogSessions
from karat.online.trials._observations import UNJUDGED, Observations
from karat.online.trials._plan import Source, TrialPlan
from karat.online.trials._position import LogPosition
from karat.online.trials._sessions import SessionMark, mark_session
from karat.online.trials._showing import (
    accepts_feature,
    count_trials,
    list_trials,
    page_trials,
    read_transitions,
    report_trial,
    show_trial,
)
from karat.online.trials._trial import (
    decide_trial,
    describe_position,
    look_at_trial,
    record_batch,
    reopen_trial,
    start_trial,
    stop_trial,
)
from karat.online.trials._variants import judge_variants

__all__ = [
    "ASKED_ONCE",
    "BEHAVIOUR",
    "CLICK_RR",
    "FOUND",
    "IN_TIME",
    "SUCCESS",
    "UNJUDGED",
    "LogPosition",
    "LogSessions",
    "LogTask",
    "Observations",
    "SessionMark",
    "Source",
    "TrialPlan",
    "accepts_feature",
    "add_from_log",
    "count_trials",
    "decide_trial",
    "describe_position",
    "find_limit",
    "find_measured",
    "forget_in_trials",
    "is_behavioural",
    "judge_trial",
    "judge_variants",
    "list_deals_since",
    "list_trials",
    "look_at_trial",
    "mark_session",
    "open_task",
    "page_trials",
    "plan_trial",
    "read_transitions",
    "record_batch",
    "record_file",
    "reopen_trial",
    "report_trial",
    "show_trial",
    "start_trial",
    "stop_trial",
]
