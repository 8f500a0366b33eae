"""What an ablation says about a part: the verdicts of ``agent``."""

from __future__ import annotations

import math

from karat.schema import PartVerdict

LEAST_CHANGES = 5
"""With fewer changed queries no sign test can be below 0.05: 2 * 0.5^4 is 0.125."""
ALPHA = 0.05
LARGE = 0.05
SMALL = 0.01


def sign_test(wins: int, losses: int) -> float | None:
    """Return the exact two-sided p of the sign test, or None for fewer than five queries that changed.

    >>> sign_test(0, 6), sign_test(3, 3), sign_test(0, 4)
    (0.03125, 1.0, None)
    """
    n = wins + losses
    if n < LEAST_CHANGES:
        return None
    tail = sum(math.comb(n, i) for i in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def judge(gain: float, p_sign: float | None, p_corrected: float | None, *, changed: int) -> PartVerdict:
    """Return the verdict on a part from how much better a measure is without it.

    A verdict in capitals, and ``important``, needs both tests: the sign test, and the corrected sign-flip test.

    >>> judge(-0.2, 0.01, 0.02, changed=40), judge(-0.02, 0.3, 0.4, changed=40), judge(0.0, None, 1.0, changed=2)
    ('CRITICAL', 'likely useful', 'likely redundant')
    """
    shown = p_sign is not None and p_sign <= ALPHA and p_corrected is not None and p_corrected <= ALPHA
    if shown and gain < 0:
        return "CRITICAL" if gain <= -LARGE else "important"
    if shown and gain > 0:
        return "HARMFUL"
    if gain <= -SMALL:
        return "likely useful"
    if gain >= SMALL:
        return "possibly harmful"
    return "negligible" if changed >= LEAST_CHANGES else "likely redundant"
