"""Pages of a log: how many documents a query's pages show, and what places of a ranking weigh on them.

A ranking is compared with the order shown on the pages that were there: its documents take the places of
those that a page showed, and further ones count nothing. So the order shown, as a ranking, differs by 0.
"""

from dataclasses import dataclass

import numpy as np

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.measures import ClickDCG, ClickP, ClickRBP

#: Shares of pages below it are rounding.
LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Pages:
    """What documents weigh in a measure, as they were shown and in any ranking.

    Attributes
    ----------
    shown : ndarray of shape (n_items,)
        The mean weight of each item over the pages of its query.
    start : ndarray of shape (n_queries + 1,), int64
        Where the weights of each query begin.
    weight : ndarray
        The weights of the first, second, … document of a ranking.
    """

    shown: np.ndarray
    start: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, log: ClickLog, measure: ClickDCG | ClickP | ClickRBP) -> "Pages":
        """Return the weights of a measure on the pages of a log.

        Where the log has no sessions, ranks of adverts are those that are rarer, on pages of one ranker and
        context, than a rank below them.
        """
        query = page = log.query[log.item]
        if log.slot is not None:
            place = log.slot - 1
        else:
            ranks, at = np.unique(query * (log.n_ranks + 1) + log.rank, return_inverse=True)
            place = at - np.searchsorted(ranks, query * (log.n_ranks + 1))
            page = (query * len(log.rankers) + log.ranker) * len(log.contexts) + log.context
        depth = np.zeros(log.n_queries, np.int64)
        np.maximum.at(depth, query, place + 1)
        discounts = discounts_of(measure, int(depth.max(initial=0)))
        share = log.impressions / log.pages()[query]
        _, first, page = np.unique(page, return_index=True, return_inverse=True)
        ends = np.append(0, np.cumsum(depth[query[first]]))
        filled = np.bincount(ends[page] + place, share, ends[-1])
        owner = np.repeat(np.arange(len(first)), np.diff(ends))
        places = np.arange(ends[-1]) - ends[owner]
        weight = filled * discounts[places]
        if log.slot is None:
            rises = (np.diff(filled) > LEAST) & (np.diff(owner) == 0)
            for number in np.unique(owner[1:][rises]).tolist():
                part = slice(ends[number], ends[number + 1])
                weight[part] = _moved_up(filled[part], discounts)
        start = np.append(0, np.cumsum(depth))
        total = np.bincount(start[query[first]][owner] + places, weight, start[-1])
        return cls(log.sums(share * discounts[place]), start, total)

    def depths(self) -> np.ndarray:
        """Return how many documents the fullest pages of each query show, int64 (n_queries,)."""
        return np.diff(self.start)

    def weights(self, query: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the weights of documents of rankings, by the number of the query and the place from 0."""
        at = self.start[query] + place
        on_page = at < self.start[query + 1]
        return np.where(on_page, self.weight[np.where(on_page, at, 0)], 0.0)

    def cut_line(self, measure: ClickDCG | ClickP | ClickRBP) -> str:
        """Return to what documents a measure with a cutoff is cut, empty if pages show as many."""
        low, high = int(self.depths().min()), int(self.depths().max())
        if measure.cutoff is None or low >= measure.cutoff:
            return ""
        range_ = f"{low}" if low == high else f"{low} to {high}, by query"
        return (
            f"{measure.name.removeprefix('Click')} is cut at the documents that pages show ({range_}): what "
            "is below them is not compared"
        )


def discounts_of(measure: ClickDCG | ClickP | ClickRBP, n_ranks: int) -> np.ndarray:
    """Return the weights of the first ranks, 0 below the cutoff."""
    ranks = np.arange(n_ranks)
    return np.where(ranks < (measure.cutoff or n_ranks), measure.discounts(n_ranks), 0.0)


def _moved_up(filled: np.ndarray, discounts: np.ndarray) -> np.ndarray:
    """Return the weights of documents of a ranking that take, in order, the shares of pages at ranks.

    A document is on as many pages as the fullest rank from its first one on.
    """
    rest, most = filled.copy(), np.maximum.accumulate(filled[::-1])[::-1]
    weight, rank = np.zeros(len(filled)), 0
    for place in range(len(filled)):
        while rank < len(rest) and rest[rank] <= LEAST:
            rank += 1
        if rank == len(rest):
            break
        room, at = most[rank], rank
        while room > LEAST and at < len(rest):
            moved = min(room, rest[at])
            weight[place] += moved * discounts[at]
            rest[at] -= moved
            room -= moved
            at += 1
    return weight
