"""The perfect and imperfect rankings found so far, of all queries, and the dual weights of their pairs."""

from dataclasses import dataclass

import numpy as np

from directrank.kernels.compile import kernel

# Rankings whose features differ by less, relative to their size, are the same one.
SAME = 1e-9


@dataclass
class Rankings:
    """Rankings as features, those of a query next to each other.

    Attributes
    ----------
    rows : ndarray of shape (n_rankings, n_features), float64
    starts : ndarray of shape (n_queries + 1,), int64
        Query q owns ``rows[starts[q]:starts[q + 1]]``.
    """

    rows: np.ndarray
    starts: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The number of rankings of each query."""
        return np.diff(self.starts)

    def unknown(self, offered: np.ndarray) -> np.ndarray:
        """Return which of the rankings offered, one for each query, are none of the query's own."""
        found = np.zeros(len(offered), np.bool_)
        _find(self.rows, self.starts, offered, found)
        return ~found

    def add(self, offered: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Add the new ones of the rankings offered; return the places before which they are inserted."""
        ends = self.starts[1:][new]
        self.rows = np.insert(self.rows, ends, offered[new], axis=0)
        self.starts = self.starts + np.append(0, np.cumsum(new))
        return ends


class FoundRankings:
    """The working sets of all queries.

    A pair is a perfect and an imperfect ranking of one query; the pairs of a query are next to each other,
    those of one perfect ranking too.
    """

    def __init__(self, n_queries: int, n_features: int):
        self.perfect, self.imperfect = (
            Rankings(np.empty((0, n_features)), np.zeros(n_queries + 1, np.int64)) for _ in range(2)
        )
        self.losses, self.alpha = np.empty((2, 0))

    @property
    def n_pairs(self) -> np.ndarray:
        """The number of pairs of each query."""
        return self.perfect.counts * self.imperfect.counts

    def add(self, right: np.ndarray, wrong: np.ndarray, losses: np.ndarray, which: np.ndarray) -> int:
        """Add a perfect and an imperfect ranking to some queries unless they are known.

        Parameters
        ----------
        right, wrong : ndarray of shape (n_queries, n_features), float64
        losses : ndarray of shape (n_queries,)
            Of the imperfect rankings.
        which : ndarray of shape (n_queries,), bool

        Returns
        -------
        int
            How many sets grew.
        """
        new_right = which & self.perfect.unknown(right)
        new_wrong = which & self.imperfect.unknown(wrong)
        before = self.n_pairs, self.imperfect.counts
        self.perfect.add(right, new_right)
        self.losses = np.insert(self.losses, self.imperfect.add(wrong, new_wrong), losses[new_wrong])
        alpha = np.zeros(self.n_pairs.sum())
        _carry_over(self.alpha, *before, self.n_pairs, self.imperfect.counts, alpha)
        self.alpha = alpha
        return int((new_right | new_wrong).sum())

    def pair_losses(self) -> np.ndarray:
        """Return the loss of each pair."""
        losses = np.empty(self.n_pairs.sum())
        _repeat_losses(self.losses, self.imperfect.starts, self.perfect.counts, losses)
        return losses

    def vectors(self, factors: np.ndarray) -> np.ndarray:
        """Return a factor of each pair times the difference of its features, (n_pairs, n_features)."""
        out = np.empty((len(factors), self.perfect.rows.shape[1]))
        right, wrong = self.perfect, self.imperfect
        _differences(right.rows, right.starts, wrong.rows, wrong.starts, factors, out)
        return out


@kernel
def _find(rows, starts, offered, found):
    for query in range(len(offered)):
        size = 0.0
        for k in range(offered.shape[1]):
            size = max(size, abs(offered[query, k]))
        limit = SAME * (1.0 + size)
        for i in range(starts[query], starts[query + 1]):
            k = 0
            while k < offered.shape[1] and abs(rows[i, k] - offered[query, k]) <= limit:
                k += 1
            if k == offered.shape[1]:
                found[query] = True
                break


@kernel
def _carry_over(alpha, sizes, counts, new_sizes, new_counts, out):
    start, new_start = 0, 0
    for query in range(len(sizes)):
        for pair in range(sizes[query]):
            right, wrong = pair // counts[query], pair % counts[query]
            out[new_start + right * new_counts[query] + wrong] = alpha[start + pair]
        start += sizes[query]
        new_start += new_sizes[query]


@kernel
def _repeat_losses(losses, starts, times, out):
    place = 0
    for query in range(len(times)):
        for _ in range(times[query]):
            for i in range(starts[query], starts[query + 1]):
                out[place] = losses[i]
                place += 1


@kernel
def _differences(right, right_starts, wrong, wrong_starts, factors, out):
    place = 0
    for query in range(len(right_starts) - 1):
        for i in range(right_starts[query], right_starts[query + 1]):
            for j in range(wrong_starts[query], wrong_starts[query + 1]):
                for k in range(out.shape[1]):
                    out[place, k] = factors[place] * (right[i, k] - wrong[j, k])
                place += 1
