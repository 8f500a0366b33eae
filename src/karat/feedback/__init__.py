"""What people did with what came back: sessions from the log, judgments from behaviour, golden sets from traffic."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.feedback._agent_grades import grade_like_agent
from karat.feedback._detectors import compare_words, find_passed, find_repeats, find_reused
from karat.feedback._harvest import Harvest, harvest
from karat.feedback._judgments import BehaviourJudgment, judge_behaviour
from karat.feedback._learning import (
    DocumentConfidence,
    TriggerPhrase,
    Validation,
    learn_trigger_phrases,
    list_validations,
    track_confidence,
)
from karat.feedback._pairs import PairCounts, count_pairs
from karat.feedback._reading import harvest_log, report_log
from karat.feedback._rebuild import read_sessions, rebuild_sessions
from karat.feedback._recording import Recorded, record_judgments
from karat.feedback._report import report_sessions
from karat.feedback._sampling import MOST_QUERIES
from karat.feedback._sessions import MOST_PER_SESSION, OUTCOMES, AskedQuery, Oddities, Outcome, Session
from karat.feedback._summary import summarise_sessions
from karat.feedback._timeline import SessionRecords, describe_line, find_session, name_key
from karat.feedback._told import find_told
from karat.feedback._uses import UseCounter

if TYPE_CHECKING:
    from karat.feedback import trials as trials
    from karat.feedback._estimating import estimate_log, report_clicks

__all__ = [
    "MOST_PER_SESSION",
    "MOST_QUERIES",
    "OUTCOMES",
    "AskedQuery",
    "BehaviourJudgment",
    "DocumentConfidence",
    "Harvest",
    "Oddities",
    "Outcome",
    "PairCounts",
    "Recorded",
    "Session",
    "SessionRecords",
    "TriggerPhrase",
    "UseCounter",
    "Validation",
    "compare_words",
    "count_pairs",
    "describe_line",
    "estimate_log",
    "find_passed",
    "find_repeats",
    "find_reused",
    "find_session",
    "find_told",
    "grade_like_agent",
    "harvest",
    "harvest_log",
    "judge_behaviour",
    "learn_trigger_phrases",
    "list_validations",
    "name_key",
    "read_sessions",
    "rebuild_sessions",
    "record_judgments",
    "report_clicks",
    "report_log",
    "report_sessions",
    "summarise_sessions",
    "track_confidence",
]

# Imported at first use: it needs Polars.
if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, {"estimate_log": "_estimating", "report_clicks": "_estimating"})
