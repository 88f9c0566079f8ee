"""Rankers with a linear scorer, which scale their features."""

from copy import copy
from typing import Annotated, Literal

from directrank.estimators.parameters.declared import estimator
from directrank.estimators.ranker import Ranker
from directrank.solvers import LBFGS


@estimator
class LinearRanker(Ranker):
    """Base class of rankers with a linear scorer."""

    scaling: Annotated[
        Literal["auto", "none", "standard", "log", "query"] | None,
        "Scaling of features, fitted on the training set and saved with the model: none; mean 0 and "
        "deviation 1; the same of sign(x)·log1p|x|; to [0, 1] inside each query, where `predict` needs qid; "
        "or chosen among the first three by a rule on the training features (docs/scaling.md).",
    ] = "auto"
    precision: Annotated[
        Literal["single", "half"],
        "Of the features in training: half rounds them to eight binary digits, which makes passes over large "
        "data shorter (methods trained by L-BFGS; docs/scaling.md).",
    ] = "single"

    def _solver(self, solver):
        """Return a solver with the precision of the features."""
        if self.precision == "single":
            return solver
        if not isinstance(solver, LBFGS):
            raise ValueError(
                f'precision="half" is for methods trained by L-BFGS, and {type(self).__name__} is trained by '
                f"{type(solver).__name__}: omit precision"
            )
        made = copy(solver)
        made.precision = self.precision
        return made
