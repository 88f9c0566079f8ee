"""Structural SVMs: SVM^map and its kin, for any measure with the oracle."""

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import BCFW, CuttingPlane
from directrank.surrogates import TypeTwoBound


class StructuralSVM(Ranker):
    """The margin-rescaled hinge over all rankings: SVM^map, SVM^ndcg, SVM^mrr and the like.

    Parameters
    ----------
    measure : str or Measure, default="AP"
        AP, nDCG, RR, P, WTA or WPD, with or without a cutoff.
    C : float, default=10.0
        > 0; larger fits more.
    solver : {"bcfw", "ocas", "bmrm"}, default="bcfw"
        Query by query, returning the averaged iterate; cutting planes with a line search, which are sums over
        shards; or plain cutting planes.
    feature_map : {"cross", "pairs"}, default="cross"
        Mean over pairs of a relevant and an irrelevant document; or Eq. (2) of the paper.
    grades : {"binary", "all"}, default="binary"
        Two classes, or the gains of all grades (nDCG with ``feature_map="pairs"``).
    averaged : bool, default=True
        For "bcfw": return the average of the iterates rather than the last one.
    tolerance : float, default=1e-5
        Largest duality gap, relative to the objective. At 1e-3 the order in which queries are visited still
        moves AP on a hundred queries by .002, at 1e-5 by .0003.
    max_passes : int, default=200
        Passes over the data; planes for the other two.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
       precision", SIGIR 2007.
    .. [2] S. Chakrabarti, R. Khanna, U. Sawant, C. Bhattacharyya, "Structured learning for non-smooth ranking
       losses", KDD 2008.
    """

    def __init__(
        self, measure="AP", *, C=10.0, solver="bcfw", feature_map="cross", grades="binary", averaged=True,
        tolerance=1e-5, max_passes=200, select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.C, self.solver = measure, C, solver
        self.feature_map, self.grades, self.averaged = feature_map, grades, averaged
        self.tolerance, self.max_passes = tolerance, max_passes
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = TypeTwoBound(
            parse_measure(self.measure), feature_map=self.feature_map, grades=self.grades
        )
        planes = {"C": self.C, "tolerance": self.tolerance, "max_iterations": self.max_passes}
        solvers = {
            "bcfw": lambda: BCFW(
                C=self.C, averaged=self.averaged, tolerance=self.tolerance, max_passes=self.max_passes
            ),
            "ocas": lambda: CuttingPlane(**planes),
            "bmrm": lambda: CuttingPlane(**planes, line_search=False),
        }
        if self.solver not in solvers:
            raise ValueError(f"solver must be one of {', '.join(solvers)}, not {self.solver!r}")
        return surrogate, solvers[self.solver](), Linear()


GRID = {"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)}
YUE = "Yue, Finley, Radlinski, Joachims, SIGIR 2007"
CHAKRABARTI = "Chakrabarti, Khanna, Sawant, Bhattacharyya, KDD 2008"

METHODS = (
    Method("svmmap", StructuralSVM, "structural SVM on average precision", YUE, measure="AP", grid=GRID),
    Method(
        "svmndcg",
        StructuralSVM,
        "structural SVM on nDCG of two classes, or with a cutoff",
        CHAKRABARTI,
        measure="nDCG",
        takes_measure=True,
        grid=GRID,
    ),
    Method(
        "svmmrr", StructuralSVM, "structural SVM on reciprocal rank", CHAKRABARTI, measure="RR", grid=GRID
    ),
    Method(
        "svmp",
        StructuralSVM,
        "structural SVM on precision at a cutoff",
        "Joachims, ICML 2005",
        measure="P@5",
        takes_measure=True,
        grid=GRID,
    ),
)
