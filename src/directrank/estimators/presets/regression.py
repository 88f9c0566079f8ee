"""Least squares: the baseline of the field's tables."""

from typing import Annotated

from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import FROM_0, estimator
from directrank.scorers import Linear
from directrank.solvers import ClosedForm
from directrank.surrogates import SquaredError


@estimator
class Regression(LinearRanker):
    """Least squares on relevance, without regard to queries."""

    ridge: Annotated[
        float,
        "Penalty on the squared coefficients of standardised features; 0 is plain least squares.",
        FROM_0,
    ] = 0.0

    def components(self):
        """Return squared error in closed form."""
        return SquaredError(), ClosedForm(ridge=self.ridge), Linear()
