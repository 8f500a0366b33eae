"""Judges of answers: what is supported, relevant and right, and how far that can be trusted."""

from karat.chat import (
    Asker,
    Budget,
    BudgetSpent,
    Chat,
    Dialogue,
    Model,
    NotMeasurable,
    Pace,
    Prompt,
    Replies,
    Rung,
    Spending,
    Usage,
    clean,
    fence,
)
from karat.judges._claims import MISQUOTED
from karat.judges._grades import HIGHEST, grade_by_model, grade_by_overlap, score_pairs
from karat.judges._items import Item, make_item
from karat.judges._judging import JUDGES, PREFERENCE, Judge, find_judge, judge_items
from karat.judges._lexical import Source, Support, lexical_support
from karat.judges._measures import Bench
from karat.judges._opinions import Finding, Opinion, bound_mean
from karat.judges._preference import Duel, Preferred, prefer
from karat.judges._prompts import ask_in, list_prompts, load_prompt, load_prompts
from karat.judges._rehearsal import PlannedRequest, Rehearsal
from karat.judges._rubric import make_rubric_judge

__all__ = [
    "HIGHEST",
    "JUDGES",
    "MISQUOTED",
    "PREFERENCE",
    "Asker",
    "Bench",
    "Budget",
    "BudgetSpent",
    "Chat",
    "Dialogue",
    "Duel",
    "Finding",
    "Item",
    "Judge",
    "Model",
    "NotMeasurable",
    "Opinion",
    "Pace",
    "PlannedRequest",
    "Preferred",
    "Prompt",
    "Rehearsal",
    "Replies",
    "Rung",
    "Source",
    "Spending",
    "Support",
    "Usage",
    "ask_in",
    "bound_mean",
    "clean",
    "fence",
    "find_judge",
    "grade_by_model",
    "grade_by_overlap",
    "judge_items",
    "lexical_support",
    "list_prompts",
    "load_prompt",
    "load_prompts",
    "make_item",
    "make_rubric_judge",
    "prefer",
    "score_pairs",
]
