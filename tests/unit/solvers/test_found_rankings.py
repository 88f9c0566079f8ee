"""The store of rankings equals a list of rankings for each query."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from directrank.solvers.working_sets import FoundRankings

N_QUERIES = 3
#: Of each query in a round: the perfect ranking, the imperfect one, its loss, and whether it is offered.
OFFERS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 9), st.booleans()),
    min_size=N_QUERIES, max_size=N_QUERIES,
)  # fmt: skip


@settings(deadline=None)  # the first example compiles
@given(st.lists(OFFERS, min_size=1, max_size=6))
def test_rankings_are_kept_query_by_query_with_the_weights_of_their_pairs(rounds):
    found = FoundRankings(N_QUERIES, 2)
    perfect, imperfect = ([[] for _ in range(N_QUERIES)] for _ in range(2))
    weights = {}
    for offers in rounds:
        right, wrong, losses = (np.array([offer[k] for offer in offers], float) for k in range(3))
        which = np.array([offer[3] for offer in offers])
        rights, wrongs = np.stack((right, -right), axis=1), np.stack((wrong, wrong**2), axis=1)
        grown = 0
        for query in np.flatnonzero(which):
            before = len(perfect[query]) + len(imperfect[query])
            if right[query] not in perfect[query]:
                perfect[query].append(right[query])
            if wrong[query] not in [known for known, _ in imperfect[query]]:
                imperfect[query].append((wrong[query], losses[query]))
            grown += len(perfect[query]) + len(imperfect[query]) > before
        assert found.add(rights, wrongs, losses, which) == grown
        pairs = [(q, p, i, delta) for q in range(N_QUERIES) for p in perfect[q] for i, delta in imperfect[q]]
        assert found.alpha.tolist() == [weights.get(pair[:3], 0.0) for pair in pairs]
        assert found.pair_losses().tolist() == [delta for *_, delta in pairs]
        expected = [[7 * (p - i), 7 * (-p - i**2)] for _, p, i, _ in pairs]
        assert found.vectors(np.full(len(pairs), 7.0)).tolist() == expected
        found.alpha = np.arange(1.0, len(pairs) + 1)
        weights = {pair[:3]: float(weight) for pair, weight in zip(pairs, found.alpha, strict=True)}


def test_rankings_that_differ_by_rounding_are_one():
    found, one, which = FoundRankings(1, 2), np.array([[1e6, 1.0]]), np.ones(1, bool)
    assert found.add(one, -one, np.ones(1), which) == 1
    assert found.add(one * (1 + 1e-12), -one * (1 + 1e-12), np.ones(1), which) == 0
    assert found.add(one * (1 + 1e-6), -one, np.ones(1), which) == 1
