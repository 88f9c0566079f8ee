"""Solvers: they train the parameters of a scorer."""

from directrank.solvers.closed_form import ClosedForm
from directrank.solvers.coordinate_ascent import CoordinateAscent
from directrank.solvers.cutting_plane import CuttingPlane
from directrank.solvers.document_boosting import DocumentBoosting
from directrank.solvers.frank_wolfe import BCFW
from directrank.solvers.lbfgs import LBFGS
from directrank.solvers.newton import TruncatedNewton
from directrank.solvers.query_boosting import QueryBoosting
from directrank.solvers.reweighting import Reweighted
from directrank.solvers.sgd import SGD
from directrank.solvers.trees.tree_boosting import TreeBoosting
from directrank.solvers.working_sets import WorkingSets

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
    TreeBoosting,
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
    "TreeBoosting",
    "TruncatedNewton",
    "WorkingSets",
]
