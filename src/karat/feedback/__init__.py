"""What people did with what came back: sessions from the log, judgments from behaviour, golden sets from traffic."""

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
from karat.feedback._reading import harvest_log
from karat.feedback._rebuild import read_sessions, rebuild_sessions
from karat.feedback._recording import Recorded, record_judgments
from karat.feedback._report import report_log, report_sessions
from karat.feedback._sampling import MOST_QUERIES
from karat.feedback._sessions import MOST_PER_SESSION, OUTCOMES, AskedQuery, Oddities, Outcome, Session
from karat.feedback._summary import summarise_sessions

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
    "TriggerPhrase",
    "Validation",
    "compare_words",
    "count_pairs",
    "find_passed",
    "find_repeats",
    "find_reused",
    "grade_like_agent",
    "harvest",
    "harvest_log",
    "judge_behaviour",
    "learn_trigger_phrases",
    "list_validations",
    "read_sessions",
    "rebuild_sessions",
    "record_judgments",
    "report_log",
    "report_sessions",
    "summarise_sessions",
    "track_confidence",
]
