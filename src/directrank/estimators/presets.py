"""The field's names for particular triples; no logic."""

import numpy as np

from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS, SGD, ClosedForm, QueryBoosting
from directrank.surrogates import SmoothedPositions, SquaredError, TypeOneBound


class Regression(Ranker):
    """Least squares on relevance, blind to queries: the baseline of the field's tables.

    Parameters
    ----------
    ridge : float, default=0.0
        Penalty ≥ 0 on the squared coefficients of standardised features; 0 is plain least squares.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.
    """

    def __init__(self, *, ridge=0.0, select_by=None, random_state=0, n_jobs=None, strict_qid=False):
        self.ridge = ridge
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        return SquaredError(), ClosedForm(ridge=self.ridge), Linear()


class AdaRank(Ranker):
    """Boosting over queries of the exponential type-one bound, with single features as weak rankers.

    Parameters
    ----------
    measure : str or Measure, default="nDCG@5"
        Any measure with values in [0, 1].
    rounds : int, default=500
    signed : bool, default=False
        Offer each feature turned round as well; else larger features must be better.
    queue : bool, default=True
        Set a feature aside that is chosen twice in a row (RankLib); False is the paper's algorithm.
    weights : {"bound", "product"}, default="product"
        Weights of queries from the bound at the ensemble (the paper), or multiplied each round (RankLib).
    tolerance : float, default=0.002
        Stop when the training measure falls by this much in a round.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] J. Xu, H. Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
    """

    def __init__(
        self, measure="nDCG@5", *, rounds=500, signed=False, queue=True, weights="product", tolerance=0.002,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.rounds, self.signed, self.queue = measure, rounds, signed, queue
        self.weights, self.tolerance = weights, tolerance
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        solver = QueryBoosting(
            rounds=self.rounds, signed=self.signed, queue=self.queue,
            weights=self.weights, tolerance=self.tolerance,
        )  # fmt: skip
        return TypeOneBound(parse_measure(self.measure)), solver, Linear()


class ApproxRank(Ranker):
    """Smoothed positions with an L2 penalty: ApproxAP, ApproxNDCG and their kin.

    Parameters
    ----------
    measure : str or Measure, default="nDCG"
        Any measure with a position gradient: AP, nDCG, P, with or without a cutoff.
    steepness : float, default=10.0
        α > 0, in 1/score.
    truncation : float, default=1.0
        β > 0, in 1/position; read by AP and cutoffs.
    penalty : float, default=1e-3
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    start : {"zero", "regression"}, array of shape (n_features,) or fitted linear ranker, default="zero"
        Where the search starts.
    n_restarts : int, default=0
        Random starts beside it; the selection measure decides among all.
    solver : {"lbfgs", "sgd"}, default="lbfgs"
        SGD is the paper's, query by query.
    max_iterations : int, default=200
        Iterations of each start; epochs for SGD.
    learning_rate : float, default=0.01
        SGD's step.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    def __init__(
        self, measure="nDCG", *, steepness=10.0, truncation=1.0, penalty=1e-3, start="zero", n_restarts=0,
        solver="lbfgs", max_iterations=200, learning_rate=0.01,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.steepness, self.truncation = measure, steepness, truncation
        self.penalty, self.start, self.n_restarts = penalty, start, n_restarts
        self.solver, self.max_iterations, self.learning_rate = solver, max_iterations, learning_rate
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = SmoothedPositions(
            parse_measure(self.measure), steepness=self.steepness, truncation=self.truncation
        )
        solvers = {
            "lbfgs": lambda: LBFGS(
                penalty=self.penalty, n_restarts=self.n_restarts, max_iterations=self.max_iterations
            ),
            "sgd": lambda: SGD(
                penalty=self.penalty, n_restarts=self.n_restarts,
                max_epochs=self.max_iterations, learning_rate=self.learning_rate,
            ),
        }  # fmt: skip
        if self.solver not in solvers:
            raise ValueError(f"solver must be 'lbfgs' or 'sgd', not {self.solver!r}")
        return surrogate, solvers[self.solver](), Linear()

    def _started(self, scorer, groups, weights):
        return Linear(start_coefficients(self.start, groups, weights))


def start_coefficients(start, groups, weights) -> np.ndarray | None:
    """Return the coefficients that a `start` names, or None for zeros.

    Raises
    ------
    ValueError
        If it is none of the kinds documented, or of another width.
    """
    if isinstance(start, str) and start == "zero":
        return None
    if isinstance(start, str) and start == "regression":
        coefficients = Regression().fit(groups, sample_weight=weights).scorer_.coefficients
    elif isinstance(getattr(start, "scorer_", None), Linear):
        coefficients = start.scorer_.coefficients
    elif isinstance(start, str):
        raise ValueError(
            f"start must be 'zero', 'regression', coefficients or a fitted ranker, not {start!r}"
        )
    else:
        coefficients = np.asarray(start, dtype=np.float64)
    if np.shape(coefficients) != (groups.n_features,):
        raise ValueError(f"start has shape {np.shape(coefficients)}, expected ({groups.n_features},)")
    return coefficients
