"""Every registered surrogate is a member of its family: traits, contract, gradients.

A new surrogate earns all of this by one entry in `EXAMPLES` of surrogate_examples.py. The traits of a
surrogate are in its docstring and in its class attributes; both are compared with its numbers.
"""

import re

import numpy as np
import pytest

from directrank.apps.papers import CosineDistance
from directrank.contracts import Curvature, HessianVector, Surrogate, ValueAndGradient
from directrank.surrogates import SquaredError
from directrank.testing import of_surrogates
from directrank.testing.checks import random_scores, some_queries
from directrank.testing.of_surrogates import oracles_of, value
from directrank.testing.suite import checks_of_surrogate
from surrogate_examples import SURROGATES, checks, every, examples_of


def test_a_surrogate_without_examples_fails_and_is_told_where_they_go():
    class Nameless(SURROGATES[0]):
        def __init__(self, depth):
            self.depth = depth

    with pytest.raises(LookupError, match=r"Nameless is registered but never tested.*surrogate_examples\.py"):
        examples_of(Nameless)


@every
def test_speaks_the_contract(surrogate):
    assert isinstance(surrogate, Surrogate)
    assert surrogate.offers <= type(surrogate).offers
    oracles = oracles_of(surrogate, some_queries(0))
    assert all(isinstance(oracles, oracle) for oracle in surrogate.offers)
    assert surrogate.name.startswith(type(surrogate).__name__)
    if surrogate.measure is not None:
        assert surrogate.measure.name in surrogate.name


@pytest.mark.parametrize("cls", SURROGATES)
def test_the_docstring_states_the_traits_of_the_class(cls):
    traits = dict(re.findall(r"(bound|convex|smooth|shift-invariant)[^:.]*:\s+(yes|no)", cls.__doc__))
    assert traits.keys() == {"bound", "convex", "smooth", "shift-invariant"}
    declared = {"bound": cls.is_bound, "convex": cls.is_convex, "smooth": cls.is_smooth}
    assert {name: traits[name] == "yes" for name in declared} == declared


@pytest.mark.share(6)
@checks()
def test_it_passes_every_check(surrogate, check):
    at_zero = check is of_surrogates.gradient_equals_differences_at_zero
    if at_zero and isinstance(surrogate, CosineDistance):
        return  # zero scores have no angle
    assert check(surrogate) is None, "a remark: the surrogate could declare more than it does"


def test_the_suite_checks_what_a_surrogate_offers():
    def names(offers):
        surrogate = SquaredError()
        surrogate.offers = frozenset(offers)
        return [each.__name__ for each in checks_of_surrogate(surrogate)]

    assert names(()) == [each.__name__ for each in of_surrogates.EVERY]
    assert "gradient_equals_differences" in names((ValueAndGradient,))
    assert "hessian_is_the_slope_of_the_gradient" in names((HessianVector,))
    assert "curvature_bounds_the_second_derivative" in names((Curvature,))


@every
def test_shift_invariant(surrogate):
    declared = re.search(r"shift-invariant[^:.]*:\s+(yes|no)", type(surrogate).__doc__)[1] == "yes"
    queries = some_queries(3)
    shift = np.repeat(np.arange(1.0, queries.n_queries + 1), queries.sizes)  # another one for each query
    scores = random_scores(queries, 4)
    before, after = (value(surrogate, queries, moved) for moved in (scores, scores + shift))
    assert (abs(after - before) <= max(1e-11 * abs(before), 1e-12)) == declared
