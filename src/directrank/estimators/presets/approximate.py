"""Smooth approximations of the measure: ApproxAP, ApproxNDCG and their kin."""

import numpy as np

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.estimators.start import start_coefficients
from directrank.measures import AP, NDCG, parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS, SGD
from directrank.surrogates import SmoothedPositions


class ApproxRank(Ranker):
    """Smoothed positions with an L2 penalty: ApproxAP, ApproxNDCG and their kin.

    Parameters
    ----------
    measure : str or Measure, default="nDCG"
        Any measure with a position gradient: AP, nDCG, P, RR, ERR, with or without a cutoff.
    steepness : float, default=10.0
        α > 0, in 1/score.
    truncation : float, default=1.0
        β > 0, in 1/position; read by AP, RR, ERR and cutoffs.
    anneal : sequence of float, optional
        Lower steepnesses to pass through first, rising; every start does (L-BFGS only).
    penalty : float, default=1e-3
        λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores.
    start : {"auto", "zero", "regression", "ranksvm"}, array of shape (n_features,) or fitted ranker
        Where the search starts, "auto" by default. Measures that read the first places only, by a cutoff or
        as RR and ERR do, are flat where relevant documents lie far below: "auto" starts them from least
        squares, and AP and nDCG of the whole list from zero.
    n_restarts : int, default=0
        Random starts beside it; the selection measure decides among all.
    solver : {"lbfgs", "sgd"}, default="lbfgs"
        SGD is the paper's, query by query.
    max_iterations : int, default=200
        Iterations of each start; epochs for SGD.
    learning_rate : float, default=0.01
        SGD's step.
    certify : {"ends", "all"}, default="ends"
        Where `history_` says how far the approximation is off on the training queries
        (``approximation_error``, the mean), with its proved bound (``certified_error``,
        ``largest_certified_error``): at the end of each start, or at every iterate.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    def __init__(
        self, measure="nDCG", *, steepness=10.0, truncation=1.0, anneal=None, penalty=1e-3, start="auto",
        n_restarts=0, solver="lbfgs", max_iterations=200, learning_rate=0.01, certify="ends",
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.steepness, self.truncation = measure, steepness, truncation
        self.anneal, self.penalty, self.start, self.n_restarts = anneal, penalty, start, n_restarts
        self.solver, self.max_iterations, self.learning_rate = solver, max_iterations, learning_rate
        self.certify = certify
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = SmoothedPositions(
            parse_measure(self.measure),
            steepness=self.steepness, truncation=self.truncation,
            anneal=np.atleast_1d(self.anneal or ()).tolist(),
        )  # fmt: skip
        solvers = {
            "lbfgs": lambda: LBFGS(
                penalty=self.penalty, n_restarts=self.n_restarts, max_iterations=self.max_iterations,
                certify=self.certify,
            ),
            "sgd": lambda: SGD(
                penalty=self.penalty, n_restarts=self.n_restarts,
                max_epochs=self.max_iterations, learning_rate=self.learning_rate, certify=self.certify,
            ),
        }  # fmt: skip
        if self.solver not in solvers:
            raise ValueError(f"solver must be 'lbfgs' or 'sgd', not {self.solver!r}")
        return surrogate, solvers[self.solver](), Linear()

    def _started(self, scorer, groups, weights):
        start = self.start
        if isinstance(start, str) and start == "auto":
            measure = parse_measure(self.measure)
            whole = isinstance(measure, AP | NDCG) and measure.cutoff is None
            start = "zero" if whole else "regression"
        return Linear(start_coefficients(start, groups, weights))


GRID = {"steepness": (3.0, 10.0, 30.0, 100.0), "penalty": (1e-4, 1e-3, 1e-2)}
PAPER = "Qin, Liu, Li, Information Retrieval 2010"

METHODS = (
    Method(
        "approxap",
        ApproxRank,
        "smooth approximation of average precision",
        PAPER,
        measure="AP",
        grid=GRID,
    ),
    Method(
        "approxndcg",
        ApproxRank,
        "smooth approximation of nDCG over the whole list, or of the measure given",
        PAPER,
        measure="nDCG",
        takes_measure=True,
        grid=GRID,
    ),
    Method(
        "approxp",
        ApproxRank,
        "smooth approximation of precision at 5, or of the measure given",
        PAPER,
        measure="P@5",
        takes_measure=True,
        grid=GRID,
    ),
)
