"""Numbers of cards and telephones among the digits of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

LEAST_NUMBER = 7
"""The digits that a text needs to have a number in it."""
_UUID = r"(?<!\w)[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?!\w)"
_GAP = r"[\s().\-/_+,\u00b7\u2010-\u2015\u2212\uff0b\uff0d\uff0e]{1,5}"
_RUN = rf"[+(\uff0b\d]\d*(?:{_GAP}\d+)*"
_DIGITS, _UUID_OR_DIGITS = re.compile(_RUN), re.compile(f"({_UUID})|{_RUN}")  # the first is faster
_GROUP = re.compile(r"\d+")
_CLOSE = re.compile(rf"\d(?:(?:{_GAP})?\d){{{LEAST_NUMBER - 1}}}")
_DATE = re.compile(
    r"(?<!\d)(?<!\d[-./])(?:(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d)"
    r"(?!\d|[-./]\d{3})"
)
_LEAST_PHONE, _MOST_PHONE, _LEAST_CARD, _MOST_CARD = 9, 15, 13, 19
_MOST_BESIDE, _LEAST_BEFORE = 3, 3  # groups beside a card's number that are hidden with it; the digits of one before
_PLUS = "+\uff0b"
_MARKS = f"{_PLUS}("

_MOMENT, _MOMENT_IN_MILLISECONDS = re.compile("1[0-9]{9}"), re.compile("1[0-9]{12}")
_TELEPHONE = re.compile(
    r"tel|phone|fon|call|mobil|handy|cell|fax|whats|signal|sms|ring|dial|contact|number|nummer|reach|\u260e|\u2706",
    re.IGNORECASE,
)
_LOOK_BACK = 40  # letters before a number that may say that it is a telephone's

_Span = tuple[int, int]


def hide_numbers(text: str) -> str:
    """Return a text without numbers of cards and telephones; dates, prices and short numbers stay.

    >>> hide_numbers("4111 1111 1111 1111 12/27 123 on 2026-11-17 0151 23456789, room 4111")
    '[card] on 2026-11-17 [phone], room 4111'
    """
    if text.count("-") < 4:
        return _DIGITS.sub(_hide, text)
    return _UUID_OR_DIGITS.sub(lambda match: _hide(match) if match[1] is None else match[0], text)


def have_number(text: str) -> bool:
    """Return whether enough digits are close together; if not, :func:`hide_numbers` leaves a text as it is.

    >>> have_number("room 4111, query 12345"), have_number("call 0151 234567")
    (False, True)
    """
    return _CLOSE.search(text) is not None


def _is_moment(text: str, groups: list[_Span], before: str) -> bool:
    """Return whether digits are seconds or milliseconds since 1970, and nothing before them speaks of telephones."""
    first = text[groups[0][0] : groups[0][1]]
    if not (_MOMENT.fullmatch(first) or _MOMENT_IN_MILLISECONDS.fullmatch(first)):
        return False
    if len(groups) > 2 or (len(groups) == 2 and text[groups[0][1] : groups[1][0]] != "."):
        return False
    return _TELEPHONE.search((before + text[: groups[0][0]])[-_LOOK_BACK:]) is None


def _hide(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) < LEAST_NUMBER:
        return text
    count = len("".join(_GROUP.findall(text)))
    if count < LEAST_NUMBER or (count < _LEAST_PHONE and "+" not in text and "(" not in text and "\uff0b" not in text):
        return text  # as nearly always: a date, a price, the number of an order
    groups = [group.span() for group in _GROUP.finditer(text)]
    around = match.string[max(0, match.start() - 1) : match.start()], match.string[match.end() : match.end() + 1]
    inside = (
        (groups[0] if around[0].isalpha() and text[0].isdigit() else None),
        (groups[-1] if around[1].isalpha() else None),
    )
    before = match.string[max(0, match.start() - _LOOK_BACK) : match.start()]
    parts, last = list[str](), 0
    for row in _split(text, groups):
        for start, end, mark in _find_numbers(text, row, inside, before):
            parts += (text[last:start], mark)
            last = end
    return "".join(parts) + text[last:]


def _split(text: str, groups: list[_Span]) -> Iterator[list[_Span]]:
    """Yield rows of groups between dates; a plus begins a new one."""
    dates = iter([date.span() for date in _DATE.finditer(text)])
    date = next(dates, None)
    row = list[_Span]()
    for start, end in groups:
        while date is not None and date[1] <= start:
            date = next(dates, None)
        is_date = date is not None and date[0] <= start
        if row and (is_date or text[start - 1] in _PLUS):
            yield row
            row = []
        if not is_date:
            row.append((start, end))
    if row:
        yield row


def _find_numbers(
    text: str, row: list[_Span], inside: tuple[_Span | None, ...], before: str
) -> Iterator[tuple[int, int, str]]:
    """Yield what to hide in a row of groups. Groups that are part of a word with letters are no telephone's."""
    phone = list[_Span]()
    cards = iter(_find_cards(text, row))
    card = next(cards, None)
    for index, (start, end) in enumerate(row):
        while card is not None and card[1] <= index:
            card = next(cards, None)
        is_card = card is not None and card[0] <= index
        alone = is_card or (start, end) in inside or end - start > _MOST_PHONE
        if phone and (alone or any(sign in text[phone[-1][1] : start] for sign in ",_")):
            yield from _find_phone(text, phone, before)
            phone = []
        if card is not None and index == card[0]:
            yield start, row[card[1] - 1][1], "[card]"
        elif not alone:
            phone.append((start, end))
    if phone:
        yield from _find_phone(text, phone, before)


def _find_phone(text: str, groups: list[_Span], before: str) -> Iterator[tuple[int, int, str]]:
    start, end = groups[0][0], groups[-1][1]
    marked = start > 0 and text[start - 1] in _MARKS
    if not (marked and text[start - 1] in _PLUS) and _is_moment(text, groups, before):
        return
    if sum(last - first for first, last in groups) >= (LEAST_NUMBER if marked else _LEAST_PHONE):
        yield start - marked, end, "[phone]"


def _find_cards(text: str, row: list[_Span]) -> list[_Span]:
    """Return the groups of cards, each from an index up to another, with what is beside it.

    Several parts of a row may pass by chance: all of them are hidden, so that nothing of the true one is left.
    """
    places = [0, *accumulate(end - start for start, end in row)]
    if places[-1] < _LEAST_CARD:
        return []
    sums = _LuhnSums("".join(text[start:end] for start, end in row))
    cards = list[_Span]()
    is_moment = len(row) == 1 and _MOMENT_IN_MILLISECONDS.fullmatch(text[slice(*row[0])]) is not None
    for first in range(len(row)):
        last = 0
        for stop in range(first + 1, len(row) + 1):
            length = places[stop] - places[first]
            if length > _MOST_CARD:
                break
            if length >= _LEAST_CARD and sums.check(places[first], places[stop]) and not is_moment:
                last = stop
        if last and cards and first < cards[-1][1]:
            cards[-1] = cards[-1][0], max(last, cards[-1][1])
        elif last:
            cards.append((first, last))
    return _extend(cards, places)


def _extend(cards: list[_Span], places: list[int]) -> list[_Span]:
    """Return cards with the groups beside each: the month and the year of its end, and its check number.

    What passes may also be made of two telephone numbers; then the rest of them is beside it.
    """
    whole = list[_Span]()
    for index, (first, last) in enumerate(cards):
        least = max(whole[-1][1] if whole else 0, first - _MOST_BESIDE)
        most = min(cards[index + 1][0] if index + 1 < len(cards) else len(places) - 1, last + _MOST_BESIDE)
        while first > least and places[first] - places[first - 1] >= _LEAST_BEFORE:
            first -= 1
        whole.append((first, most))
    return whole


class _LuhnSums:
    """The sums of a row of digits, by which any part of it is checked in one step."""

    def __init__(self, digits: str) -> None:
        values = [int(digit) for digit in digits]
        doubled = [2 * value - 9 if value > 4 else 2 * value for value in values]
        whole = [values, doubled]
        self._sums = [
            [0, *accumulate(whole[(index + last) % 2][index] for index in range(len(values)))] for last in (0, 1)
        ]
        """Up to each position, for numbers whose last digit is at an even position, and at an odd one."""

    def check(self, start: int, end: int) -> bool:
        """Return whether the digits from a start up to an end pass."""
        sums = self._sums[(end - 1) % 2]
        return (sums[end] - sums[start]) % 10 == 0
