"""The part of a text that has most of the terms of a query, with these marked."""

from collections.abc import Callable
from typing import NamedTuple

from directrank.text.index.analysis import LONGEST, WORDS, Analysis

#: Words of a snippet.
WIDTH = 30


class Piece(NamedTuple):
    """A piece of text, and whether it is a term of the query."""

    text: str
    marked: bool


class Marker:
    """Marks the terms of a query in texts.

    Parameters
    ----------
    terms : set of str
        The terms of the query.
    analysis : Analysis
        That of the index.
    """

    def __init__(self, terms: set[str], analysis: Analysis):
        self._terms, self._stop_words = terms, analysis.stop_words()
        self._stem: Callable[[str], str] = analysis.stem()

    def marked(self, text: str) -> list[Piece]:
        """Return a whole text in pieces."""
        return self._pieces(text, 0, len(text))

    def snippet(self, text: str, width: int = WIDTH) -> list[Piece]:
        """Return the `width` words of a text that have most different terms, the first of equal ones."""
        spans = [match.span() for match in WORDS.finditer(text)]
        if len(spans) <= width:
            return self.marked(text)
        found = [self._term(text[first:last]) for first, last in spans]
        hits = [place for place, term in enumerate(found) if term is not None]
        starts = [min(place, len(spans) - width) for place in hits] or [0]
        start = max(starts, key=lambda place: (len({*found[place : place + width], None}), -place))
        # Some words before the first term make it readable.
        start = max(0, min(start - 3, len(spans) - width))
        first, last = spans[start][0], spans[start + width - 1][1]
        pieces = self._pieces(text, first, last)
        before, after = [Piece("… ", False)] * (start > 0), [Piece(" …", False)] * (last < len(text))
        return [*before, *pieces, *after]

    def _term(self, word: str) -> str | None:
        word = word.lower()
        stem = "" if word in self._stop_words else self._stem(word[:LONGEST])
        return stem if stem in self._terms else None

    def _pieces(self, text: str, first: int, last: int) -> list[Piece]:
        pieces, end = [], first
        for match in WORDS.finditer(text, first, last):
            if self._term(match[0]) is not None:
                pieces += [Piece(text[end : match.start()], False), Piece(match[0], True)]
                end = match.end()
        pieces.append(Piece(text[end:last], False))
        return [piece for piece in pieces if piece.text]
