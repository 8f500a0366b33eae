"""What people do without saying so: they ask again, pass something over, use the words of a document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from karat.text import content, folded, words

Similarity = Callable[[str, str], float]
"""From two queries to a number between 0 and 1."""
SIMILAR = 0.5
"""Two queries with more than this ask the same."""
REPEAT_SECONDS = 600.0
"""A query asks another one again within ten minutes."""
LOOK_BACK = 5
"""With how many queries before it one is compared."""
REUSED_WORDS = 8
"""So many words in a row that a document and a text share are no coincidence."""


def compare_words(first: str, second: str) -> float:
    """Return how many words two queries share, from 0 to 1 (Dice's coefficient, without words that say little).

    >>> compare_words("wifi password", "the wifi password of the lobby"), compare_words("pool hours", "bar hours")
    (0.8, 0.5)
    """
    if folded(first) == folded(second):
        return 1.0
    return share_words(frozenset(content(first)), frozenset(content(second)))


def share_words(words: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient of two sets of words; 0 if both are empty."""
    return 2 * len(words & other) / (len(words) + len(other)) if words or other else 0.0


def find_repeats(
    queries: Sequence[tuple[str, float]], *, similarity: Similarity = compare_words, seconds: float = REPEAT_SECONDS
) -> list[int | None]:
    """Return for each query, a text and a time, the place of the one before it that it asks again.

    It is the latest of the five before it, within ``seconds``, that is similar enough.

    >>> find_repeats([("wifi password", 0), ("pool hours", 9), ("wifi password please", 20), ("wifi password", 9999)])
    [None, None, 0, None]
    """
    repeats: list[int | None] = []
    for place, (text, time) in enumerate(queries):
        before = range(place - 1, max(place - 1 - LOOK_BACK, -1), -1)
        near = (i for i in before if 0 <= time - queries[i][1] <= seconds)
        repeats.append(next((i for i in near if similarity(queries[i][0], text) > SIMILAR), None))
    return repeats


def find_passed(ranking: Iterable[str], chosen: Collection[str]) -> tuple[str, ...]:
    """Return the documents above the last one that was chosen that were not chosen themselves.

    Documents below it tell nothing: perhaps nobody looked.

    Joachims et al., Accurately interpreting clickthrough data as implicit feedback, SIGIR 2005.

    >>> find_passed(["a", "b", "c", "d"], {"c"})
    ('a', 'b')
    """
    passed: list[str] = []
    waiting: list[str] = []
    for document in dict.fromkeys(ranking):
        if document in chosen:
            passed.extend(waiting)
            waiting.clear()
        else:
            waiting.append(document)
    return tuple(passed)


def find_reused(text: str, documents: Mapping[str, str], *, least: int = REUSED_WORDS) -> tuple[str, ...]:
    """Return the documents of which a text has ``least`` words in a row.

    >>> find_reused("Now the code of the door is 4711 at night.", {"a": "The code of the door is 4711 at night"})
    ('a',)
    """
    said = words(text)
    runs = {tuple(said[i : i + least]) for i in range(len(said) - least + 1)}
    if not runs:
        return ()
    return tuple(name for name, document in documents.items() if _shares_run(words(document), runs, least))


def _shares_run(own: Sequence[str], runs: Collection[tuple[str, ...]], least: int) -> bool:
    return any(tuple(own[i : i + least]) in runs for i in range(len(own) - least + 1))
