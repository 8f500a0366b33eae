"""Where each block of a document went when the document was edited or cut anew.

Blocks with the same words are found first. Any other block is looked for by its shingles (:mod:`_matching`). The new
blocks that hold its words decide what became of it:

- **shift**: one new block holds at least 85 % of it;
- **merge**: the same, and that new block holds other old blocks, too;
- **split**: several new blocks hold 85 % of it together;
- **unmapped**: none of these, or the words in the new place are others: a Jaccard index of shingles below 0.60.

What is compared is the stretch of new text from the first to the last word found, not whole blocks: half of a block
that was cut in two equal halves would otherwise have an index of 0.5 with either of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple, get_args

from karat.migration._edition import Block, Edition
from karat.migration._keys import local_key
from karat.migration._matching import Pair, match_words
from karat.migration._words import SHINGLE, Places

Kind = Literal["shift", "split", "merge", "unmapped"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LEAST_SCORE = 0.60
LEAST_COVERAGE = 0.85
_MOST_PARTS = 16
_LEAST_WORDS = 5
"""Of a block whose beginning shows where it is: the name below a letter stands below the next one, too."""
_LEAST_PART = 0.02
"""The share of a block below which a new block is not one of its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A new block that holds an old one, or a part of it."""

    block: Block
    old_start: int
    """The byte of the old text where the part begins."""
    new_start: int
    """The byte of the new text where it begins now."""
    new_end: int
    share: float
    """The share of the old block's bytes in words that it holds."""


class Stretch(NamedTuple):
    """Bytes that moved together: where they begin in the old text, and where in the new one."""

    old: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What became of a block."""

    block: Block
    kind: Kind
    parts: tuple[Part, ...] = ()
    """The new blocks that hold it, in reading order; empty if it is unmapped."""
    score: float = 0.0
    """The Jaccard index of the shingles in its old and its new place; 1 if the words are the same."""
    coverage: float = 0.0
    """The share of its bytes in words that the parts hold."""
    runs: tuple[Stretch, ...] = ()
    """Where its bytes went, in the order of the old text: a new run begins where something was put in or taken out."""


def align(old: Edition, new: Edition) -> tuple[Move, ...]:
    """Return what became of each block of an edition.

    >>> from karat.core import Span
    >>> text = "The pool opens at seven and closes at ten."
    >>> old = Edition(document="pool", text=text, blocks=(Block(id="b1", span=Span(0, 42)),))
    >>> longer = Edition(document="pool", text="News! " + text, blocks=(Block(id="b1", span=Span(6, 48)),))
    >>> (move,) = align(old, longer)
    >>> move.kind, move.parts[0].new_start, move.score
    ('shift', 6, 1.0)
    """
    return _Alignment(old, new).moves()


class _Alignment:
    """Two editions of a document that are being aligned."""

    def __init__(self, old: Edition, new: Edition) -> None:
        self.old, self.new = old, new
        self.places = Places(new.words)
        self.same_text = old.words.keys == new.words.keys

    def moves(self) -> tuple[Move, ...]:
        same = dict(self._same_words())
        moves = [
            self._shift(at, same[at]) if at in same else self._look_for(at, self._expect(at))
            for at in range(len(self.old.blocks))
        ]
        return tuple(_name_merges(moves))

    # Blocks with the same words

    @cached_property
    def _alike(self) -> list[tuple[list[int], list[int]]]:
        """The positions of old and of new blocks that have the same words."""
        old, new = _group(self.old), _group(self.new)
        return [(positions, new[words]) for words, positions in old.items() if words in new]

    @cached_property
    def _anchors(self) -> tuple[list[int], list[int]]:
        """The first words of blocks whose words occur in one block of either edition, old ones rising, and new ones."""
        pairs = sorted(
            (self.old.ranges[old[0]][0], self.new.ranges[new[0]][0])
            for old, new in self._alike
            if len(old) == len(new) == 1
        )
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def _expect(self, at: int) -> int:
        """Return the word of the new text at which an old block is expected: as far from an anchor as it was."""
        first, stop = self.old.ranges[at]
        if self.same_text:
            return first
        places = self._by_key.get(local_key(self.old, at), ()) if stop - first >= _LEAST_WORDS else ()
        if len(places) == 1:
            return self.new.ranges[places[0]][0]
        olds, news = self._anchors
        if not olds:
            return first
        anchor = max(0, bisect_right(olds, first) - 1)
        return max(0, news[anchor] + first - olds[anchor])

    @cached_property
    def _by_key(self) -> Mapping[str, Sequence[int]]:
        keys: dict[str, list[int]] = defaultdict(list)
        for at in range(len(self.new.blocks)):
            keys[local_key(self.new, at)].append(at)
        return keys

    def _same_words(self) -> Iterator[tuple[int, int]]:
        """Yield old and new blocks with the same words: in order, or the nearest ones if their numbers differ."""
        for old, new in self._alike:
            if len(old) == len(new):
                yield from zip(old, new, strict=True)
                continue
            free = sorted(new, key=lambda at: self.new.ranges[at])
            starts = [self.new.ranges[at][0] for at in free]
            expected = {at: self._expect(at) for at in old}
            distance = {at: abs(starts[_nearest(starts, place)] - place) for at, place in expected.items()}
            for at in sorted(old, key=distance.__getitem__)[: len(new)]:
                there = _nearest(starts, expected[at])
                del starts[there]
                yield at, free.pop(there)

    def _shift(self, at: int, there: int) -> Move:
        block, target = self.old.blocks[at], self.new.blocks[there]
        span = target.span
        part = Part(block=target, old_start=block.span.start, new_start=span.start, new_end=span.end, share=1.0)
        (first, stop), (there_first, _) = self.old.ranges[at], self.new.ranges[there]
        pairs = [Pair(word, word - first + there_first) for word in range(first, stop)]
        runs = self._runs(pairs, Stretch(block.span.start, span.start))
        return Move(block=block, kind="shift", parts=(part,), score=1.0, coverage=1.0, runs=runs)

    # Blocks that were edited, cut or joined

    def _look_for(self, at: int, expected: int) -> Move:
        block, (first, stop) = self.old.blocks[at], self.old.ranges[at]
        if first == stop:
            return self._look_for_signs(block, first)
        if self.same_text:
            pairs = [Pair(word, word) for word in range(first, stop)]
        else:
            pairs = match_words(self.old.words, first, stop, self.new.words, self.places, expected)
        parts = self._parts(at, pairs)
        coverage = min(1.0, sum(part.share for part, _ in parts))
        score = self._score(at, [(inside[0].new, inside[-1].new + 1) for _, inside in parts])
        if coverage < LEAST_COVERAGE or score < LEAST_SCORE:
            return Move(block=block, kind="unmapped", score=score, coverage=coverage)
        chosen = tuple(sorted((part for part, _ in parts), key=lambda part: part.old_start))
        kind: Kind = "shift" if len(chosen) == 1 else "split"
        held = sorted(pair for _, inside in parts for pair in inside)
        runs = self._runs(held, Stretch(chosen[0].old_start, chosen[0].new_start))
        return Move(block=block, kind=kind, parts=chosen, score=score, coverage=coverage, runs=runs)

    def _runs(self, pairs: Sequence[Pair], first: Stretch) -> tuple[Stretch, ...]:
        """Return the runs of a block whose beginning is known."""
        runs = [first]
        for pair in pairs:
            old, new = self.old.words.starts[pair.old], self.new.words.starts[pair.new]
            if new - old != runs[-1].new - runs[-1].old:
                runs.append(Stretch(old, new))
        return tuple(runs)

    def _look_for_signs(self, block: Block, word: int) -> Move:
        """Return the move of a block without words, which can be found only if the text is the same."""
        around = self.new.blocks_at(max(0, word - 1), word + 1) if self.old.text == self.new.text else []
        for target in (self.new.blocks[position] for position in around):
            if block.span and block.span.overlap(target.span) == len(block.span):
                start, end = block.span.start, block.span.end
                part = Part(block=target, old_start=start, new_start=start, new_end=end, share=1.0)
                runs = (Stretch(start, start),)
                return Move(block=block, kind="shift", parts=(part,), score=1.0, coverage=1.0, runs=runs)
        return Move(block=block, kind="unmapped")

    def _parts(self, at: int, pairs: Sequence[Pair]) -> list[tuple[Part, Sequence[Pair]]]:
        """Return the new block that holds enough of an old one, or all that hold some, and the words found in each."""
        whole = self._bytes_of_words(self.old.ranges[at])
        left, parts = list(pairs), list[tuple[Part, Sequence[Pair]]]()
        while left and len(parts) < _MOST_PARTS:
            position, inside = self._fullest(left)
            share = sum(self._length(pair.old) for pair in inside) / whole
            if share < _LEAST_PART:
                break
            parts.append((self._part(at, position, inside, share), inside))
            if len(parts) == 1 and share >= LEAST_COVERAGE:
                break
            taken = {pair.old for pair in inside}
            left = [pair for pair in left if pair.old not in taken]
        return parts

    def _fullest(self, pairs: Sequence[Pair]) -> tuple[int, Sequence[Pair]]:
        """Return the new block that holds most of some words, and those words."""
        news = [pair.new for pair in pairs]
        sums = [0, *accumulate(self._length(pair.old) for pair in pairs)]
        best, chosen, inside = 0, -1, pairs[:0]
        for position in self.new.blocks_at(news[0], news[-1] + 1):
            first, stop = self.new.ranges[position]
            low, high = bisect_left(news, first), bisect_left(news, stop)
            if sums[high] - sums[low] > best:
                best, chosen, inside = sums[high] - sums[low], position, pairs[low:high]
        return chosen, inside

    def _part(self, at: int, position: int, inside: Sequence[Pair], share: float) -> Part:
        """Return a part, which begins before its first word as far as that word was from the block's beginning."""
        old, new, target = self.old.words, self.new.words, self.new.blocks[position]
        head, tail, span = inside[0], inside[-1], self.old.blocks[at].span
        is_first, is_last = head.old == self.old.ranges[at][0], tail.old == self.old.ranges[at][1] - 1
        before = old.starts[head.old] - span.start if is_first else 0
        after = span.end - old.ends[tail.old] if is_last else 0
        return Part(
            block=target,
            old_start=old.starts[head.old] - before,
            new_start=max(target.span.start, new.starts[head.new] - before),
            new_end=min(target.span.end, new.ends[tail.new] + after),
            share=share,
        )

    def _score(self, at: int, stretches: Sequence[tuple[int, int]]) -> float:
        first, stop = self.old.ranges[at]
        length = min(SHINGLE, stop - first)
        old = self.old.words.shingles(first, stop, length)
        new = set().union(*(self.new.words.shingles(*stretch, length) for stretch in stretches))
        return len(old & new) / len(old | new)

    def _bytes_of_words(self, words: tuple[int, int]) -> int:
        return sum(self._length(word) for word in range(*words))

    def _length(self, word: int) -> int:
        return self.old.words.ends[word] - self.old.words.starts[word]


def _group(edition: Edition) -> dict[str, list[int]]:
    """Return the positions of the blocks with the same words, or without words the same signs."""
    groups: dict[str, list[int]] = defaultdict(list)
    for at, (first, stop) in enumerate(edition.ranges):
        words = " ".join(edition.words.keys[first:stop])
        signs = edition.bytes_of(edition.blocks[at]).decode(errors="replace")
        groups[words or "\0" + "".join(signs.split())].append(at)
    return groups


def _nearest(places: Sequence[int], expected: int) -> int:
    """Return the position of the number nearest to another one, in a list that rises."""
    at = bisect_left(places, expected)
    around = [position for position in (at - 1, at) if 0 <= position < len(places)]
    return min(around, key=lambda position: abs(places[position] - expected))


def _name_merges(moves: Sequence[Move]) -> Iterator[Move]:
    """Yield the moves; those that end in one new block are merges."""
    held: dict[tuple[str, int], int] = defaultdict(int)
    for move in moves:
        if move.kind == "shift":
            held[_target(move)] += 1
    for move in moves:
        yield replace(move, kind="merge") if move.kind == "shift" and held[_target(move)] > 1 else move


def _target(move: Move) -> tuple[str, int]:
    return move.parts[0].block.id, move.parts[0].block.span.start
