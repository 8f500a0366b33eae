"""From the log to a trial: sessions that are over, what each came to, and how the two systems differ in them."""

from karat.feedback.trials._collect import collect_trial
from karat.feedback.trials._planning import plan_from_log

__all__ = ["collect_trial", "plan_from_log"]
