"""Columns of pandas that are called by whole numbers are matched by them, and features that count from 0."""

import numpy as np
import pandas as pd
import pytest

from directrank import Regression, load, load_data, save
from directrank.files.letor import read_letor

RNG = np.random.default_rng(0)
X, Y, QID = RNG.normal(size=(30, 3)), np.arange(30) % 3, np.repeat([1, 2, 3], 10)


@pytest.mark.parametrize("names", [[10, 11, 12], [2, 1, 0], [0, 1, 2], np.array([7, 3, 5])])
def test_columns_are_matched_by_their_numbers(tmp_path, names):
    table = pd.DataFrame(X, columns=names)
    fitted = Regression().fit(table, Y, qid=QID)
    expected = Regression().fit(X, Y, qid=QID).predict(X)
    save(fitted, tmp_path / "model.dr")
    for ranker in (fitted, load(tmp_path / "model.dr")):
        for order in (list(names), list(names)[::-1], sorted(names)):
            np.testing.assert_allclose(ranker.predict(table[order]), expected, rtol=1e-12)
            assert ranker.score(table[order], Y, qid=QID) == fitted.score(table, Y, qid=QID)


def test_features_that_count_from_0_without_a_feature_0_are_warned_of(tmp_path):
    zero, one = tmp_path / "zero.txt", tmp_path / "one.txt"
    for path, first in ((zero, 0), (one, 1)):
        lines = (
            f"{y} qid:{q} " + " ".join(f"{first + at}:{value:.6f}" for at, value in enumerate(row)) + "\n"
            for y, q, row in zip(Y, QID, X, strict=True)
        )
        path.write_text("".join(lines))
    groups = read_letor(zero, first_feature=0)
    fitted = Regression().fit(groups)
    with pytest.warns(
        UserWarning, match="one.txt: features count from 0 .* no line has a value of feature 0"
    ):
        read_letor(one, first_feature=0)
    one.write_text(one.read_text().replace(" 3:", " #"))  # The last feature is left out.
    with pytest.warns(UserWarning, match="no line has a value of feature 0"):
        load_data(one, ranker=fitted)
