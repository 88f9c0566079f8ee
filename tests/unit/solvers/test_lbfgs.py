"""L-BFGS: where it begins."""

import numpy as np
import pytest

from directrank import SoftRank


@pytest.mark.parametrize("start", ["zero", "regression"])
def test_a_flat_start_is_no_minimum(start):
    """Of 120 tied documents each is likely near rank 60: the first ten have no slope."""
    rng = np.random.default_rng(0)
    relevance = (rng.random(360) < 0.2).astype(float)
    X = np.column_stack((relevance + 0.5 * rng.normal(size=360), rng.normal(size=360)))
    ranker = SoftRank(measure="nDCG@10", start=start).fit(X, relevance, qid=np.repeat(np.arange(3), 120))
    if start == "regression":
        assert (ranker.status_, ranker.coef_[0] > 1.0) == ("converged", True)
        assert ranker.certificate_["objective"] < 0.1
    else:
        assert ranker.status_ == "complete"
        assert ranker.message_.endswith("; the loss is flat where scores are equal: begin elsewhere")
