"""Every registered scorer: rows by themselves, the forward pass in both types, its derivative."""

import numpy as np
import pytest

from directrank.contracts import DifferentiableScorer
from directrank.scorers import SCORERS, Additive, Linear, Trees, single_feature, stump, tree_of
from directrank.scorers.trees import NODES
from oracles import slope


def trained_linear(n_features, rng):
    return Linear(rng.normal(size=n_features))


def grown(n_features, rng):
    """Stumps both ways, single features, and a tree of two levels."""
    k = rng.integers(0, n_features, 8)
    t = rng.normal(size=8)
    weak = [stump(int(k[0]), t[0]), stump(int(k[1]), t[1], above=False)]
    weak += [single_feature(int(k[2]), slope=-0.7, offset=0.3), single_feature(int(k[3]))]
    weak.append(tree_of([k[4], k[5], 0, 0, 0], [t[4], t[5], 0, 0, 0], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1],
                        [0, 0, 1.0, 0.25, -2.0]))  # fmt: skip
    return Additive.of(rng.normal(size=len(weak)), weak)


def stumps(n_features, rng):
    """Trees of one split each, with every direction of missing values."""
    pieces = []
    for missing in (0, 1, 2, 3):
        k, t, values = rng.integers(0, n_features), rng.normal(), rng.normal(size=2)
        nodes = ([k, 0, 0], [t, 0, 0], [missing, 0, 0], [1, -1, -1], [2, -1, -1], [0, *values], [1, 0, 0])
        arrays = (np.array(each, kind) for each, kind in zip(nodes, NODES.values(), strict=True))
        pieces.append(Trees(np.zeros(1, np.int64), *arrays))
    return Trees.concatenate(pieces)


#: How to construct each scorer for some features: class name → function (n_features, rng) → scorer.
EXAMPLES = {"Linear": trained_linear, "Additive": grown, "Trees": stumps}

SHAPES = [(1, 1), (3, 2), (4, 5), (5, 7), (17, 33), (300, 64)]


@pytest.fixture(params=SCORERS, ids=lambda cls: cls.__name__)
def make(request):
    name = request.param.__name__
    assert name in EXAMPLES, f"{name} is registered but never tested: add to EXAMPLES how to construct it"
    return EXAMPLES[name]


def features_of(rng, shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_is_scored_by_itself(make, shape):
    rng = np.random.default_rng(1)
    scorer, features = make(shape[1], rng), features_of(rng, shape)
    features[-1] = features[0]
    scores = scorer.scores(features)
    assert scores.dtype == np.float64
    assert scores.shape == (shape[0],)
    assert scores[-1] == scores[0]
    for row in range(0, shape[0], 7):
        assert scorer.scores(features[row : row + 1])[0] == scores[row]
    order = rng.permutation(shape[0])
    np.testing.assert_array_equal(scorer.scores(np.ascontiguousarray(features[order])), scores[order])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_forward_pass_is_the_score(make, shape):
    rng = np.random.default_rng(3)
    scorer, features = make(shape[1], rng), features_of(rng, shape)
    if not isinstance(scorer, DifferentiableScorer):
        return
    parameters = rng.normal(size=len(scorer.initial(shape[1])))
    scores = scorer.at(parameters).scores(features)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        forward = scorer.forward(parameters, features, dtype)
        assert forward.dtype == dtype
        np.testing.assert_allclose(forward, scores, rtol=0, atol=tolerance * np.abs(scores).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_backward_pass_is_the_derivative(make, shape):
    rng = np.random.default_rng(4)
    scorer, features = make(shape[1], rng), features_of(rng, shape)
    if not isinstance(scorer, DifferentiableScorer):
        return
    parameters = rng.normal(size=len(scorer.initial(shape[1])))
    weights = rng.normal(size=shape[0])
    by_differences = slope(lambda p: weights @ scorer.forward(p, features, np.float64), parameters)
    for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 1e-5)):
        backward = scorer.backward(features, weights.astype(dtype))
        assert backward.dtype == np.float64
        size = np.abs(by_differences).max() + 1.0
        np.testing.assert_allclose(backward, by_differences, rtol=0, atol=tolerance * size)


def test_training_starts_from_what_the_scorer_has(make):
    scorer = make(3, np.random.default_rng(5))
    if isinstance(scorer, DifferentiableScorer):
        start = scorer.initial(3)
        start[:] = -1.0  # a copy: the scorer keeps its own
        assert (scorer.initial(3) != -1.0).all()
        assert (type(scorer)().initial(3) == 0).all()
        given = np.ones(3)
        at = scorer.at(given)
        given[:] = 5.0
        assert (at.initial(3) == 1.0).all()
