"""Proximity: how near to each other the terms of the query are in the document.

A place is counted in terms of the field: stop words have none. Neighbours are two terms side by side in the
query. Two occurrences are in a window of w terms if their places differ by less than w. The sequential
dependence model (Metzler and Croft 2005) has the windows of `phrases`, 2, and of `unordered_pairs`, 8.
"""

import numpy as np

from directrank.text.features.definitions.definition import Definition
from directrank.text.features.matches import Matches

WINDOW = {"window": 8}


def smallest_window(m: Matches) -> np.ndarray:
    """Return the size of the smallest window that has all terms that query and document share; 0 for none."""
    found = m.positions
    # Places of all pairs on one axis, on which those of a pair begin at `first`.
    first = found.pair * (int(m.length.max(initial=0)) + 1)
    place = first + found.place
    begin, held = place.copy(), np.zeros(len(place), np.int64)
    for number in range(found.number.max(initial=-1) + 1):
        latest = np.maximum.accumulate(np.where(found.number == number, place, -1))
        inside = latest >= first
        held += inside
        begin = np.where(inside, np.minimum(begin, latest), begin)
    whole = held == np.bincount(m.pair, minlength=len(m.length))[found.pair]
    sizes = np.full(len(m.length), np.inf)
    np.minimum.at(sizes, found.pair[whole], (place - begin + 1)[whole])
    return np.where(np.isfinite(sizes), sizes, 0.0)


def window_share(m: Matches) -> np.ndarray:
    """Return the share of the smallest window that its different terms of the query make; 0 for none."""
    return m.plain_sum(np.ones(len(m.pair))) / np.maximum(smallest_window(m), 1.0)


def ordered_pairs(m: Matches, window: float = 8) -> np.ndarray:
    """Return how often neighbours are in a window in the order of the query."""
    return _counted(m, window, either_order=False)


def unordered_pairs(m: Matches, window: float = 8) -> np.ndarray:
    """Return how often neighbours are in a window in either order."""
    return _counted(m, window, either_order=True)


def _counted(m: Matches, window: float, *, either_order: bool) -> np.ndarray:
    """Return the number of pairs of occurrences of neighbours in a window, as often as the query has them."""
    found, counts = m.positions, np.zeros(len(m.length))
    earlier = np.arange(len(found.pair))
    for step in range(1, len(earlier)):
        earlier = earlier[earlier + step < len(found.pair)]
        later = earlier + step
        near = (found.pair[earlier] == found.pair[later]) & (
            found.place[later] - found.place[earlier] < window
        )
        # What is too far away stays so at the next step.
        earlier, later = earlier[near], later[near]
        if not len(earlier):
            break
        one, other = found.term[earlier], found.term[later]
        times = found.times_in_query(one, other)
        if either_order:
            times = times + np.where(one == other, 0, found.times_in_query(other, one))
        counts += np.bincount(found.pair[earlier], times, len(counts))
    return counts


PROXIMITY = (
    Definition("window", "terms in the smallest window of d that has all terms that q and d share",
               smallest_window),
    Definition("window_share", "different terms that q and d share / window", window_share),
    Definition("phrases", "how often neighbours in q are neighbours in d, in the same order",
               lambda m: ordered_pairs(m, 2)),
    Definition("ordered_pairs", "how often neighbours in q are within a window of d, in the same order",
               ordered_pairs, WINDOW),
    Definition("unordered_pairs", "how often neighbours in q are within a window of d, in either order",
               unordered_pairs, WINDOW),
)  # fmt: skip
