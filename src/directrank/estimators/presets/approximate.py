"""Smooth approximations of the measure for a linear scorer: ApproxAP, ApproxNDCG and SoftRank."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from directrank.estimators.initialisation import Start, initial_coefficients
from directrank.estimators.linear_ranker import GradientRanker, LinearRanker
from directrank.estimators.parameters import (
    ABOVE_0,
    FROM_0,
    FROM_1,
    AnyMeasure,
    MaxIterations,
    Penalty,
    estimator,
    positional,
)
from directrank.estimators.ranker import Ranker
from directrank.measures import AP, NDCG, parse_measure
from directrank.scorers import Linear
from directrank.solvers import LBFGS
from directrank.surrogates import GaussianNoise, SmoothedPositions

#: Values of the objective that simulated annealing reads: the time of some twenty starts.
ANNEALING = 2000

Restarts = Annotated[
    int, "Number of random starts beside `start`; the selection measure chooses among all.", FROM_0
]


@estimator
class ApproxRank(GradientRanker):
    """Smoothed positions with an L2 penalty: ApproxAP, ApproxNDCG and their kin.

    Of the ways out of local optima that section 3.5 names, `n_restarts` are random restarts, and `start` is
    RankSVM or simulated annealing.

    References
    ----------
    .. [1] T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information
       retrieval measures", Information Retrieval 13, 2010.
    """

    measure: Annotated[
        AnyMeasure,
        "Any measure with a position gradient: AP, nDCG, P, RR, ERR, with or without a cutoff.",
    ] = positional(default="nDCG")
    steepness: Annotated[float, "α, in 1/score.", ABOVE_0] = 10.0
    truncation: Annotated[float, "β, in 1/position; read by AP, RR, ERR and cutoffs.", ABOVE_0] = 1.0
    anneal: Annotated[
        float | Sequence[float] | None,
        "Lower steepnesses, rising, to minimise first from every start (L-BFGS only).",
        ABOVE_0,
    ] = None
    start: Annotated[
        Literal["auto", "zero", "regression", "ranksvm", "annealing"] | np.ndarray | Ranker,
        "As in `SoftRank`. Measures of the first ranks only, by a cutoff or as RR and ERR, are flat where "
        'relevant documents are far below: "auto" starts them from least squares, and AP and nDCG of the '
        'whole list from zeros; "annealing" searches by simulated annealing before L-BFGS.',
    ] = "auto"
    n_restarts: Restarts = 0
    certify: Annotated[
        Literal["ends", "all"],
        "Whether `history_` gives the mean error of the approximation on the training queries "
        "(``approximation_error``) and its proved bounds (``certified_error``, "
        "``largest_certified_error``) at the end of each start, or at every iterate.",
    ] = "ends"

    def components(self):
        """Return the smoothed measure, and a gradient method."""
        surrogate = SmoothedPositions(
            parse_measure(self.measure),
            steepness=self.steepness,
            truncation=self.truncation,
            anneal=np.atleast_1d(self.anneal or ()).tolist(),
        )
        options: dict[str, Any] = {"n_restarts": self.n_restarts, "certify": self.certify}
        if isinstance(self.start, str) and self.start == "annealing":
            if self.solver != "lbfgs":
                raise ValueError('start="annealing" needs solver="lbfgs"')
            options["annealing"] = ANNEALING
        return surrogate, self._gradient_method(**options), Linear()

    def _initial_scorer(self, scorer, groups, weights, scaling):
        start = self.start
        if isinstance(start, str) and start in ("auto", "annealing"):
            measure = parse_measure(self.measure)
            whole = isinstance(measure, AP | NDCG) and measure.cutoff is None
            start = "zero" if whole else "regression"
        return Linear(initial_coefficients(start, groups, weights, scaling))


@estimator
class SoftRank(LinearRanker):
    """Expected measure under Gaussian noise on scores, with an L2 penalty.

    References
    ----------
    .. [1] M. Taylor, J. Guiver, S. Robertson, T. Minka, "SoftRank: optimizing non-smooth rank metrics",
       WSDM 2008.
    """

    measure: Annotated[AnyMeasure, "nDCG, DCG, P or WTA, with or without a cutoff."] = positional(
        default="nDCG"
    )
    noise: Annotated[float, "σ, in score units.", ABOVE_0] = 0.1
    penalty: Penalty = 1e-3
    longest: Annotated[
        int,
        "Largest number of documents of a query; longer ones are refused, as memory grows as the square.",
        FROM_1,
    ] = 5000
    start: Start = "zero"
    n_restarts: Restarts = 0
    max_iterations: MaxIterations = 100

    def components(self):
        """Return the expected measure, and L-BFGS."""
        surrogate = GaussianNoise(parse_measure(self.measure), noise=self.noise, longest=self.longest)
        solver = LBFGS(penalty=self.penalty, n_restarts=self.n_restarts, max_iterations=self.max_iterations)
        return surrogate, solver, Linear()

    def _initial_scorer(self, scorer, groups, weights, scaling):
        return Linear(initial_coefficients(self.start, groups, weights, scaling))
