"""Solvers: what moves the parameters of a scorer."""

from directrank.solvers.boosting import QueryBoosting
from directrank.solvers.closed_form import ClosedForm
from directrank.solvers.cutting_plane import CuttingPlane
from directrank.solvers.document_boosting import DocumentBoosting
from directrank.solvers.frank_wolfe import BCFW
from directrank.solvers.gradient import LBFGS, SGD
from directrank.solvers.newton import TruncatedNewton
from directrank.solvers.reweighting import Reweighted
from directrank.solvers.working_set import WorkingSets

#: Every solver, in the order in which messages propose them.
SOLVERS = (
    LBFGS,
    SGD,
    ClosedForm,
    QueryBoosting,
    DocumentBoosting,
    TruncatedNewton,
    Reweighted,
    BCFW,
    CuttingPlane,
    WorkingSets,
)

__all__ = [
    "BCFW",
    "LBFGS",
    "SGD",
    "SOLVERS",
    "ClosedForm",
    "CuttingPlane",
    "DocumentBoosting",
    "QueryBoosting",
    "Reweighted",
    "TruncatedNewton",
    "WorkingSets",
]
