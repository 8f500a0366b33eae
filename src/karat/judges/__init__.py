"""Judges of answers: what is supported, relevant and right, and how far that can be trusted."""

from karat.judges._asker import Asker
from karat.judges._budget import Budget, BudgetSpent, Spending
from karat.judges._dialogue import Dialogue, NotMeasurable
from karat.judges._fence import clean, fence
from karat.judges._items import Item, make_item
from karat.judges._judging import JUDGES, Judge, find_judge, judge_items
from karat.judges._lexical import Source, Support, lexical_support
from karat.judges._measures import Bench
from karat.judges._model import Chat, Model, Rung, Usage
from karat.judges._opinions import Finding, Opinion, Summary, summarise
from karat.judges._pace import Pace
from karat.judges._prompts import Prompt, list_prompts, load_prompt, load_prompts
from karat.judges._rehearsal import PlannedRequest, Rehearsal
from karat.judges._reply_file import Replies

__all__ = [
    "JUDGES",
    "Asker",
    "Bench",
    "Budget",
    "BudgetSpent",
    "Chat",
    "Dialogue",
    "Finding",
    "Item",
    "Judge",
    "Model",
    "NotMeasurable",
    "Opinion",
    "Pace",
    "PlannedRequest",
    "Prompt",
    "Rehearsal",
    "Replies",
    "Rung",
    "Source",
    "Spending",
    "Summary",
    "Support",
    "Usage",
    "clean",
    "fence",
    "find_judge",
    "judge_items",
    "lexical_support",
    "list_prompts",
    "load_prompt",
    "load_prompts",
    "make_item",
    "summarise",
]
