"""Solvers: what moves the parameters of a scorer."""

from directrank.solvers.boosting import QueryBoosting
from directrank.solvers.closed_form import ClosedForm
from directrank.solvers.document_boosting import DocumentBoosting
from directrank.solvers.gradient import LBFGS, SGD
from directrank.solvers.newton import TruncatedNewton
from directrank.solvers.reweighting import Reweighted

#: Every solver, in the order in which messages propose them.
SOLVERS = (
    LBFGS,
    SGD,
    ClosedForm,
    QueryBoosting,
    DocumentBoosting,
    TruncatedNewton,
    Reweighted,
)

__all__ = [
    "LBFGS",
    "SGD",
    "SOLVERS",
    "ClosedForm",
    "DocumentBoosting",
    "QueryBoosting",
    "Reweighted",
    "TruncatedNewton",
]
