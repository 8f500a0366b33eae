"""Watching live traffic: windows of the log, alerts that open and close, and canaries that go on or back."""

from karat.monitoring._alerts import OpenAlert, list_open_alerts
from karat.monitoring._canary import CANARY_AUTHOR, canary_exit_code, decide_canary
from karat.monitoring._project import Watched, open_watched
from karat.monitoring._rules import RULES, AlertRule
from karat.monitoring._snapshot import SPANS, Traffic, find_span, take_snapshot
from karat.monitoring._times import parse_time
from karat.monitoring._watch import add_notes, exit_code, watch
from karat.monitoring._webhook import name_webhook, send_notices
from karat.monitoring._windows import Window, count_cells, partition

__all__ = [
    "CANARY_AUTHOR",
    "RULES",
    "SPANS",
    "AlertRule",
    "OpenAlert",
    "Traffic",
    "Watched",
    "Window",
    "add_notes",
    "canary_exit_code",
    "count_cells",
    "decide_canary",
    "exit_code",
    "find_span",
    "list_open_alerts",
    "name_webhook",
    "open_watched",
    "parse_time",
    "partition",
    "send_notices",
    "take_snapshot",
    "watch",
]
