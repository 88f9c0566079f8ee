"""The table of methods: names, aliases, and the algorithms that they train."""

import numpy as np
import pytest

from directrank import AdaRank, RankSVM, make_ranking
from directrank.estimators.methods import METHODS, configured
from directrank.measures import parse_measure
from directrank.solvers import LBFGS
from directrank.surrogates import Pairwise


def test_every_name_is_one_method():
    names = [name for method in METHODS for name in (method.name, *method.aliases)]
    assert len(names) == len(set(names))
    assert [each.method for each in configured("all")] == [each for each in METHODS if each.in_all]
    assert {each.name for each in METHODS if not each.in_all} == {
        "yetiloss", "plrank", "svm-exponential", "svm-logistic", "perceptron", "adarank-type-two",
        "linear-wpd", "consistent-ndcg-sgd", "trees-ndcgboost",
    }  # fmt: skip


@pytest.mark.parametrize("normalise", [False, True])
def test_the_methods_of_an_alias_minimise_one_objective(normalise):
    """Newton's optimum of RankSVM is that of L-BFGS on the preorder loss, which had a row of its own."""
    from directrank import Ranker

    groups = make_ranking(30, 10, 5, random_state=0)
    ranker = RankSVM(normalise=normalise, penalty=0.03).fit(groups)
    loss = Pairwise(margin="squared_hinge", normalise=normalise)
    preorder = Ranker(loss, LBFGS(penalty=0.03, max_iterations=200)).fit(groups)
    np.testing.assert_allclose(preorder.coef_, ranker.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("bound", False, np.inf, False)),
        ({"variant": "paper"}, ("bound", False, 0.0, True)),
        ({"variant": "ranklib"}, ("product", True, 0.002, True)),
        ({"repeat": True}, ("bound", False, 0.0, True)),
        ({"variant": "paper", "repeat": False}, ("bound", False, np.inf, False)),
        ({"variant": "ranklib", "repeat": False}, ("product", True, np.inf, False)),
        ({"variant": "ranklib", "repeat": False, "tolerance": 0.1}, ("product", True, 0.1, False)),
        ({"variant": "paper", "bound": "type-two"}, ("bound", False, np.inf, True)),
    ],
)
def test_adarank_takes_weak_rankers_once_and_the_published_loops_are_variants(options, expected):
    solver = AdaRank("AP", **options).components()[1]
    assert (solver.weights, solver.queue, solver.tolerance, solver.repeat) == expected


def test_a_comparison_chooses_the_loop_of_adarank_and_its_directions():
    (adarank,) = configured("adarank(AP)")
    loops = [(point["variant"], point["signed"]) for point in adarank.points()]
    assert loops == [("once", False), ("once", True), ("paper", False), ("paper", True)]
    (published,) = configured("adarank-type-two")
    assert published.build().components()[1].repeat


@pytest.mark.parametrize(
    ("name", "keep", "parameter", "values"),
    [
        ("trees-lambdarank(AP)", "best", "truncation", (30, None)),
        ("trees-lambdarank(nDCG@40)", "best", "truncation", (30, 10)),
        ("trees-listnet", "best", "distance", (False, True)),
        ("trees-listnet", "last", "patience", (1, 2)),
        ("rankboost", "best", "depth", (1, 3)),
    ],
)
def test_points_of_a_grid_that_differ_without_effect_are_one(name, keep, parameter, values):
    (method,) = configured(name)
    leaves = {"leaves": (3, 4)} if "trees" in name else {}
    method = method.changed({**method.method.fixed, "keep": keep}, {**leaves, parameter: values})
    assert [point[parameter] for point in method.points()] == [values[0]] * (2 if leaves else 1)
    data = make_ranking(8, 50, 3)
    one, other = (method.build({parameter: value}).set_params(rounds=3).fit(data) for value in values)
    np.testing.assert_array_equal(one.predict(data), other.predict(data))


#: The measure that a name on the command line fixes, as its paper does, where its class has another default.
FIXED_BY_THE_NAME = {
    "approxap": "AP", "approxp": "P@5", "consistent-dcg": "DCG", "consistent-norm-dcg": "DCG",
    "linear-wpd": "WPD", "svmmap": "AP", "svmndcg": "nDCG", "svmmrr": "RR", "svmp": "P@5",
    "svm-exponential": "AP", "svm-logistic": "AP", "perceptron": "AP", "adarank-type-two": "AP",
    "trees-approxndcg": "nDCG", "trees-approxap": "AP", "trees-consistent-ndcg": "nDCG",
}  # fmt: skip
#: The measure that both the name and the class fix.
FIXED_BY_THE_PAPER = {
    "approxndcg": "nDCG", "consistent-ndcg": "nDCG", "consistent-ndcg-sgd": "nDCG", "ndcgboost": "nDCG",
    "trees-ndcgboost": "nDCG",
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_command_line_and_the_class_have_one_default(method):
    """`fit lambdarank` trains what ``LambdaRank()`` trains."""
    (named,) = configured(method.name)
    by_name = named.build().get_params(deep=False)
    by_class = method.estimator(**method.fixed).get_params(deep=False)
    default = by_class.pop("measure", None)
    trained = by_name.pop("measure", None)
    for parameters in (by_name, by_class):
        parameters.pop("select_by", None)
    assert by_name == by_class
    if method.name in FIXED_BY_THE_NAME:
        assert parse_measure(trained).name == FIXED_BY_THE_NAME[method.name]
    elif trained is not None:
        expected = FIXED_BY_THE_PAPER.get(method.name, "nDCG@10")
        assert [parse_measure(measure).name for measure in (trained, default)] == [expected, expected]
