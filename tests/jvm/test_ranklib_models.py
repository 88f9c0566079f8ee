"""Models that RankLib trains are read as RankLib scores them."""

import os

import numpy as np
import pytest

import directrank
from jvm.engines import JVM, NotHereError, program, ran, scores
from unit.apps.engines.rankers_of_every_kind import N_FEATURES, rows

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
#: RankLib's numbers of the methods that are read.
METHODS = {
    "MART": 0, "RankBoost": 2, "AdaRank": 3, "Coordinate Ascent": 4, "LambdaMART": 6, "Random Forests": 8,
    "Linear Regression": 9,
}  # fmt: skip
SMALL = "-tree 20 -leaf 6 -bag 4 -round 30 -r 2 -i 5 -metric2t NDCG@10"


def test_each_model_of_ranklib_is_scored_as_ranklib_does(tmp_path):
    """On documents at thresholds and their neighbours, without features and with numbers of float64."""
    groups = directrank.make_ranking(30, 15, N_FEATURES, random_state=0)
    # Thresholds of few digits, which are values of documents, and values that are left out.
    X = np.round(groups.X * 8) / 8 + np.float32(0.1)
    directrank.write_letor(directrank.QueryGroups(X, groups.relevance, groups.qid), tmp_path / "train.txt")
    try:
        path = program("ranklib")
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    names, cases, expected = [f"f{at + 1}" for at in range(N_FEATURES)], {}, {}
    for method, number in METHODS.items():
        model = tmp_path / f"{number}.txt"
        words = f"-train {tmp_path / 'train.txt'} -ranker {number} -save {model} {SMALL}"
        ran(["java", *JVM, "-cp", path, "ciir.umass.edu.eval.Evaluator", *words.split()], timeout=300)
        ranker = directrank.load(model)
        assert ranker.library_ == "RankLib"
        asked = np.concatenate((rows(ranker.scorer_), X[:100]))
        asked = asked[(np.abs(np.nan_to_num(asked)) < 1e6).all(axis=1)]
        # RankLib ends at a document without the last feature.
        asked[:, -1] = np.nan_to_num(asked[:, -1])
        cases[method] = model.read_bytes(), tuple(names), asked
        expected[method] = ranker.predict(asked[:, : ranker.n_features_in_])
    found = scores("ranklib", cases)
    for method, ours in expected.items():
        assert len(np.unique(ours)) > 5, method
        # RankLib adds the trees of an ensemble in float32.
        np.testing.assert_allclose(ours, found[method], rtol=2e-6, atol=2e-6, err_msg=method)
