"""What may be spent: calls and money, reserved before a call and settled after it, so that it is never exceeded."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace

from karat.chat._model import Model, Usage
from karat.core import KaratError, UsageError


class BudgetSpent(KaratError):
    """The next call could cost more than is left."""

    exit_code = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Calls, tokens and money of a run so far."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    money: float = 0.0
    cached: int = 0
    """Replies that were in the cache, and cost nothing."""
    unmetered: int = 0
    """Calls of which the server did not say, or not believably, how many tokens they took. They count as the most that
    they may have cost."""


class Budget:
    """Counts what is spent, and refuses what would exceed a limit; from any number of threads.

    The tokens of a message are not known before a server has counted them, but there are never more than its bytes.
    That many are reserved, with the most that a reply may have, and what was not needed is given back.

    >>> budget = Budget(Model(url="http://localhost/v1", model="m"), most_calls=1)
    >>> budget.settle(budget.reserve(100), Usage(20, 5))
    >>> budget.spending.usage
    Usage(sent=20, received=5)
    """

    def __init__(self, model: Model, *, most_calls: int | None = None, most_money: float | None = None) -> None:
        if (most_calls is not None and most_calls < 0) or (most_money is not None and not 0 <= most_money < math.inf):
            raise UsageError(f"a budget of {most_calls} calls and {most_money} of money; choose 0 or more")
        if most_money is not None and not (model.input_price or model.output_price):
            raise UsageError("a budget of money needs prices; set input_price and output_price, per million tokens")
        self._model, self._most_calls, self._most_money = model, most_calls, most_money
        self._lock = threading.Lock()
        self._reserved = 0.0
        self._spending = Spending()

    @property
    def spending(self) -> Spending:
        """What has been spent."""
        return self._spending

    def reserve(self, size: int) -> float:
        """Reserve a call whose messages have ``size`` bytes, and return the money that it may cost at most."""
        most = self._model.price(Usage(size, self._model.max_tokens))
        with self._lock:
            if self._most_calls is not None and self._spending.calls >= self._most_calls:
                calls = "1 call" if self._most_calls == 1 else f"{self._most_calls:,} calls"
                raise BudgetSpent(f"the budget of {calls} is spent; raise it to continue from here")
            if self._most_money is not None and self._spending.money + self._reserved + most > self._most_money:
                left = self._most_money - self._spending.money
                raise BudgetSpent(
                    f"{left:.4f} of the budget of {self._most_money:g} is left, and the next call may cost {most:.4f}; "
                    "raise it to continue from here"
                )
            self._reserved += most
            self._spending = replace(self._spending, calls=self._spending.calls + 1)
        return most

    def settle(self, reserved: float, usage: Usage | None) -> None:
        """Count what a call has cost; all that was reserved if nobody knows, as when a call failed half-way."""
        with self._lock:
            self._reserved -= reserved
            spent = self._spending
            if usage is None:
                self._spending = replace(spent, money=spent.money + reserved, unmetered=spent.unmetered + 1)
            else:
                cost = self._model.price(usage)
                self._spending = replace(spent, usage=spent.usage + usage, money=spent.money + cost)

    def count_cached(self) -> None:
        """Count a reply that was in the cache."""
        with self._lock:
            self._spending = replace(self._spending, cached=self._spending.cached + 1)
