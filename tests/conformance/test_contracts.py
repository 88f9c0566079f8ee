"""What fits is put together; what does not is refused when it is put together."""

import pytest

from directrank.contracts import (
    Scorer,
    Solver,
    Surrogate,
    check_fit,
)
from directrank.errors import UnfitPairError
from directrank.estimators import Ranker
from directrank.estimators.methods import METHODS, configured
from directrank.measures import AP, NDCG
from directrank.scorers import SCORERS, Additive, Linear, default_scorer
from directrank.solvers import (
    LBFGS,
    ClosedForm,
    CuttingPlane,
    DocumentBoosting,
    QueryBoosting,
)
from directrank.surrogates import (
    ExpectedMeasure,
    SmoothedPositions,
    SquaredError,
    SwapWeighted,
)
from surrogate_examples import SOLVERS, SURROGATES


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_has_a_surrogate_and_a_scorer(solver):
    assert any(solver.needs <= surrogate.offers for surrogate in SURROGATES)
    assert isinstance(default_scorer(solver.trains), solver.trains)


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_every_surrogate_has_a_solver(surrogate):
    assert any(
        solver.needs <= surrogate.offers and surrogate.requires <= solver.needs | solver.uses
        for solver in SOLVERS
    )


@pytest.mark.parametrize(
    ("surrogate", "solver", "message"),
    [
        (
            SwapWeighted(NDCG()),
            LBFGS(),
            r"SwapWeighted\(nDCG, ndcg2\) requires Reweighable; LBFGS uses ApproximationErrors, "
            r"GradientKernel, Staged, ValueAndGradient\. Use Reweighted or TreeBoosting\.",
        ),
        (
            SmoothedPositions(AP()),
            CuttingPlane(),
            r"CuttingPlane needs a convex surrogate; SmoothedPositions\(AP\) is not\. Use LBFGS or SGD or "
            r"TreeBoosting\.",
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_unfit_pair_fails_at_construction(surrogate, solver, message):
    with pytest.raises(UnfitPairError, match=message):
        check_fit(surrogate, solver, SOLVERS)
    with pytest.raises(UnfitPairError, match=message):
        Ranker(surrogate, solver)


def test_an_unfit_scorer_fails_at_construction():
    message = r"LBFGS needs a scorer of type DifferentiableScorer; Additive is none\. Use Linear\."
    with pytest.raises(UnfitPairError, match=message):
        Ranker(SmoothedPositions(NDCG()), LBFGS(), Additive())


def test_a_ranker_without_a_scorer_gets_one_that_its_solver_trains():
    X, y, qid = [[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1]
    grown = Ranker(ExpectedMeasure(NDCG()), DocumentBoosting(rounds=2)).fit(X, y, qid=qid)
    assert isinstance(grown.scorer_, Additive)
    assert isinstance(Ranker(SquaredError(), ClosedForm()).fit(X, y, qid=qid).scorer_, Linear)


def test_a_solver_with_a_part_of_the_choice_of_rounds_is_refused():
    class Partial(ClosedForm):
        def of_rounds(self, rounds):
            return self

    with pytest.raises(UnfitPairError, match=r"Partial has of_rounds, but not all .*: of_all_rounds"):
        check_fit(SquaredError(), Partial())


def test_an_unfit_pair_put_together_later_fails_in_fit():
    ranker = Ranker(SmoothedPositions(AP()), LBFGS()).set_params(solver=QueryBoosting())
    with pytest.raises(UnfitPairError, match="QueryBoosting needs QueryValues"):
        ranker.fit([[0.0], [1.0]], [0, 1], qid=[1, 1])
    ranker = Ranker(SmoothedPositions(AP()), LBFGS()).set_params(scorer=Additive())
    with pytest.raises(
        UnfitPairError, match="LBFGS needs a scorer of type DifferentiableScorer; Additive is none"
    ):
        ranker.fit([[0.0], [1.0]], [0, 1], qid=[1, 1])


@pytest.mark.parametrize(
    "method", [each for each in METHODS if not each.estimator.is_ensemble], ids=lambda each: each.name
)
def test_every_method_is_a_fitting_triple(method):
    for each in configured(method.name, select_by="nDCG@10"):
        surrogate, solver, scorer = each.build().components()
        check_fit(surrogate, solver, SOLVERS, scorer, SCORERS)
        assert isinstance(surrogate, Surrogate)
        assert isinstance(solver, Solver)
        assert isinstance(scorer, Scorer)
        for point in each.points():
            each.build(point).components()
