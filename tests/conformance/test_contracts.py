"""What fits is put together; what does not is refused when it is put together, by name."""

import pytest

from directrank.contracts import ORACLES, DifferentiableScorer, Measure, Scorer, Solver, Surrogate, check_fit
from directrank.errors import UnfitPairError
from directrank.estimators import Ranker
from directrank.estimators.methods import METHODS, configured
from directrank.measures import AP, NDCG, RR, WTA
from directrank.measures.capabilities import PositionDifferentiable
from directrank.scorers import SCORERS, Linear
from directrank.solvers import LBFGS, SOLVERS, ClosedForm, QueryBoosting
from directrank.surrogates import SURROGATES, SmoothedPositions, SquaredError, TypeOneBound


class Cuts:
    """A solver that needs what no surrogate here offers."""

    needs = frozenset({"most_violated", "value_and_gradient"})

    def solve(self, objective, scorer, features, monitor, rng):
        raise AssertionError("never reached")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_every_oracle_named_is_one_that_exists(surrogate, solver):
    assert surrogate.offers <= ORACLES.keys()
    assert solver.needs <= ORACLES.keys()
    assert solver.needs
    assert surrogate.offers


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_has_a_surrogate(solver):
    assert any(solver.needs <= surrogate.offers for surrogate in SURROGATES)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_every_surrogate_has_a_solver(surrogate):
    assert any(solver.needs <= surrogate.offers for solver in SOLVERS)


@pytest.mark.parametrize(
    ("surrogate", "solver", "message"),
    [
        (
            TypeOneBound(AP()),
            LBFGS(),
            r"LBFGS needs value_and_gradient; TypeOneBound\(AP, exponential\) offers query_values, "
            r"query_weights\. Use QueryBoosting\.",
        ),
        (
            SmoothedPositions(NDCG(5)),
            ClosedForm(),
            r"ClosedForm needs targets; SmoothedPositions\(nDCG@5\) offers approximation_errors, "
            r"gradient_form, value_and_gradient\. Use LBFGS or SGD",
        ),
        (
            SquaredError(),
            QueryBoosting(),
            r"QueryBoosting needs query_values, query_weights; SquaredError offers targets, "
            r"value_and_gradient\. Use LBFGS or SGD or ClosedForm",
        ),
        (
            SmoothedPositions(AP()),
            Cuts(),
            r"Cuts needs most_violated; SmoothedPositions\(AP\) offers approximation_errors, "
            r"gradient_form, value_and_gradient\. Use LBFGS",
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_unfit_pair_fails_at_construction(surrogate, solver, message):
    with pytest.raises(UnfitPairError, match=message):
        check_fit(surrogate, solver, SOLVERS)
    with pytest.raises(UnfitPairError, match=message):
        Ranker(surrogate, solver)


def test_an_unfit_pair_put_together_later_fails_in_fit():
    ranker = Ranker(SmoothedPositions(AP()), LBFGS()).set_params(solver=QueryBoosting())
    with pytest.raises(UnfitPairError, match="QueryBoosting needs query_values"):
        ranker.fit([[0.0], [1.0]], [0, 1], qid=[1, 1])


def test_no_advice_where_no_solver_fits():
    with pytest.raises(UnfitPairError) as refused:
        check_fit(SquaredError(), Cuts())
    assert str(refused.value) == "Cuts needs most_violated; SquaredError offers targets, value_and_gradient."


def test_a_measure_without_the_view_is_refused_at_construction():
    with pytest.raises(TypeError, match="WTA has none"):
        SmoothedPositions(WTA())


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
def test_every_method_is_a_fitting_triple(method):
    for each in configured(method.name, select_by="nDCG@10"):
        surrogate, solver, scorer = each.build().components()
        check_fit(surrogate, solver, SOLVERS)
        assert isinstance(surrogate, Surrogate)
        assert isinstance(solver, Solver)
        assert isinstance(scorer, Scorer)
        for point in each.points():
            each.build(point).components()


def test_protocols_tell_the_nouns_apart():
    assert isinstance(AP(), Measure)
    assert isinstance(AP(), PositionDifferentiable)
    assert isinstance(RR(), PositionDifferentiable)
    assert not isinstance(WTA(), PositionDifferentiable)
    assert isinstance(SquaredError(), Surrogate)
    assert not isinstance(AP(), Surrogate)
    assert isinstance(Linear(), DifferentiableScorer)
    assert not isinstance(LBFGS(), Scorer)
    assert all(callable(each.scores) for each in SCORERS)
