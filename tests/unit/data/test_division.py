"""A division of queries: both parts, where their features are, and what is left when it ends."""

import numpy as np
import pytest

from directrank import make_ranking
from directrank.data import division
from directrank.data.division import Division

MASKS = [np.arange(12) % 3 == k for k in range(3)]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
def test_a_part_is_what_is_selected_and_all_rows_come_back(in_place, rows_at_once, monkeypatch):
    monkeypatch.setattr(division, "ROWS_AT_ONCE", rows_at_once)
    groups = make_ranking(12, 9, 5, random_state=0)
    features, copy = groups.features, groups.features.copy()
    whole = make_ranking(12, 9, 5, random_state=0)
    parts = Division(groups, in_place)
    for mask in [*MASKS, MASKS[0]]:
        for part, wanted in zip(parts.at(mask), (whole.select(~mask), whole.select(mask)), strict=True):
            assert part.features.tobytes() == wanted.features.tobytes()
            assert (part.X.tobytes(), part.qid.tolist()) == (wanted.X.tobytes(), wanted.qid.tolist())
        assert parts.at(mask)[0] is parts.at(mask)[0]
        assert np.shares_memory(parts.at(mask)[0].features, features) == in_place
    parts.end()
    parts.end()
    assert groups.features is features
    assert features.tobytes() == copy.tobytes()
