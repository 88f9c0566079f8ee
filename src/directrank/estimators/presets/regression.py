"""Least squares: the baseline of the field's tables."""

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.scorers import Linear
from directrank.solvers import ClosedForm
from directrank.surrogates import SquaredError


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


METHODS = (Method("regression", Regression, "least squares on relevance", "the baseline of LETOR's tables"),)
