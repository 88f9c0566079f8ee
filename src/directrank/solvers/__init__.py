"""Solvers: they train the parameters of a scorer."""

from directrank.solvers.boosting.over_documents import DocumentBoosting
from directrank.solvers.boosting.over_queries import QueryBoosting
from directrank.solvers.closed_form import ClosedForm
from directrank.solvers.coordinate_ascent import CoordinateAscent
from directrank.solvers.cuts.cutting_plane import CuttingPlane
from directrank.solvers.cuts.frank_wolfe import BCFW
from directrank.solvers.cuts.working_set import WorkingSets
from directrank.solvers.smooth.lbfgs import LBFGS
from directrank.solvers.smooth.newton import TruncatedNewton
from directrank.solvers.smooth.reweighting import Reweighted
from directrank.solvers.smooth.sgd import SGD

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
    CoordinateAscent,
)

__all__ = [
    "BCFW",
    "LBFGS",
    "SGD",
    "SOLVERS",
    "ClosedForm",
    "CoordinateAscent",
    "CuttingPlane",
    "DocumentBoosting",
    "QueryBoosting",
    "Reweighted",
    "TruncatedNewton",
    "WorkingSets",
]
