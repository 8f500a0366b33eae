"""Intervals of shadow runs hold the truth: few texts are asked by many sessions."""

from __future__ import annotations

import numpy as np
import pytest

from karat.stats import crossed_interval, paired_t

SESSIONS, TEXTS, CALLS, WORLDS = 120, 60, 400, 300


@pytest.mark.slow
def test_an_interval_that_knows_texts_holds_the_mean_as_often_as_it_says() -> None:
    """A text does well or badly, whoever asks it: sessions alone hold the mean in two worlds of three."""
    rng = np.random.default_rng(7)
    both = sessions_alone = 0
    for _ in range(WORLDS):
        text, session = rng.integers(TEXTS, size=CALLS), rng.integers(SESSIONS, size=CALLS)
        effects, moods = rng.normal(0, 0.3, TEXTS), rng.normal(0, 0.1, SESSIONS)
        values = effects[text] + moods[session] + rng.normal(0, 0.2, CALLS)  # the mean of all worlds is 0
        interval = crossed_interval(values, session.tolist(), text.tolist())
        assert interval is not None
        both += interval[0] <= 0 <= interval[1]
        plain = paired_t(values, clusters=session)
        sessions_alone += (plain.low or 0) <= 0 <= (plain.high or 0)
    assert 0.92 <= both / WORLDS <= 0.99
    assert sessions_alone / WORLDS < 0.8
