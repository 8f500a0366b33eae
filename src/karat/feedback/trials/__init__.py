"""From the log to a trial: sessions that are over, what each came to, and how the two systems differ in them."""

from karat.feedback.trials._collect import collect_trial
from karat.feedback.trials._holdout import hold_out, read_holdout
from karat.feedback.trials._planning import plan_from_log

__all__ = ["collect_trial", "hold_out", "plan_from_log", "read_holdout"]
