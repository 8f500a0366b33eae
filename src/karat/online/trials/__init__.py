"""Trials: a feature on live traffic, from its start to a decision that stays right however often one looks."""

from karat.online.trials._batch_file import plan_trial, record_file
from karat.online.trials._judgment import judge_trial
from karat.online.trials._observations import Observations
from karat.online.trials._plan import Source, TrialPlan
from karat.online.trials._trial import (
    decide_trial,
    list_trials,
    look_at_trial,
    read_transitions,
    record_batch,
    reopen_trial,
    start_trial,
    stop_trial,
)

__all__ = [
    "Observations",
    "Source",
    "TrialPlan",
    "decide_trial",
    "judge_trial",
    "list_trials",
    "look_at_trial",
    "plan_trial",
    "read_transitions",
    "record_batch",
    "record_file",
    "reopen_trial",
    "start_trial",
    "stop_trial",
]
