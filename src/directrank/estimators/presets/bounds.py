"""The measure itself and bounds on it: coordinate ascent, AdaRank, structural SVMs and PermuRank."""

from typing import Annotated, Literal

import numpy as np

from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import ABOVE_0, FROM_1, AnyMeasure, Interval, estimator, positional
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.scorers import Linear
from directrank.solvers import BCFW, CuttingPlane, QueryBoosting, WorkingSets
from directrank.solvers import CoordinateAscent as Ascent
from directrank.surrogates import MeasureItself, TypeOneBound, TypeTwoBound, WorkingSetBound


@estimator
class CoordinateAscent(LinearRanker):
    """The measure itself by coordinate ascent, with exact steps that are averaged over a window.

    Metzler and Croft try steps one by one [1]_. Here the measure is known at every step, and averages over a
    window, and of the weights of several runs, prevent fitting accidents of the training queries. Measures
    that add up over documents (AP, DCG, nDCG, P) are fast; others are evaluated at every point of a line.

    References
    ----------
    .. [1] D. Metzler, W. B. Croft, "Linear feature-based models for information retrieval", Information
       Retrieval 10, 2007.
    """

    measure: Annotated[AnyMeasure, "The measure to maximise."] = positional(default=DEFAULT_MEASURE)
    half_width: Annotated[
        float,
        "Half of the window, relative to weights of length 1 on features with unit spread in queries.",
        ABOVE_0,
    ] = 0.1
    cycles: Annotated[int, "Largest number of passes over all features.", FROM_1] = 20
    runs: Annotated[int, "Random orders of the features, whose weights are averaged.", FROM_1] = 6

    def components(self):
        """Return the measure itself, and coordinate ascent."""
        surrogate = MeasureItself(parse_measure(self.measure), half_width=self.half_width)
        return surrogate, Ascent(cycles=self.cycles, runs=self.runs), Linear()


#: The loops of AdaRank: each weak ranker at most once; as published, which stops where the training measure
#: does not rise; and as in RankLib.
VARIANTS = {
    "once": {"weights": "bound", "queue": False, "tolerance": 0.0, "repeat": False},
    "paper": {"weights": "bound", "queue": False, "tolerance": 0.0, "repeat": True},
    "ranklib": {"weights": "product", "queue": True, "tolerance": 0.002, "repeat": True},
}


@estimator
class AdaRank(LinearRanker):
    """Boosting of single features over weighted queries, bound on the measure.

    The bound is of type one, or of type two (Xu et al., SIGIR 2008, section 4.3). Of type two, a query weighs
    what its bound falls with the margin, each step minimises the bound along the weak ranker, and a run ends
    where none lowers it. The paper weighs queries by the bound at the ensemble, and ends where the
    training measure does not rise. Its loop may take a feature again, and on OHSUMED it ends after two to
    four rounds. By default each weak ranker is taken at most once, and a run ends when all are taken. RankLib
    multiplies the weights each round, sets a feature aside that is chosen twice in a row, and ends where the
    training measure falls. All keep the best first rounds by the selection measure.

    References
    ----------
    .. [1] J. Xu, H. Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
    """

    measure: Annotated[AnyMeasure, "Any measure with values in [0, 1]."] = positional(default=DEFAULT_MEASURE)
    variant: Annotated[
        Literal["once", "paper", "ranklib"],
        "The published algorithm with each weak ranker at most once, as it was published, or RankLib's.",
    ] = "once"
    rounds: Annotated[int, "Largest number of rounds.", FROM_1] = 500
    signed: Annotated[
        bool, "Offer each feature with its sign turned as well; else larger values must be better."
    ] = False
    margin: Annotated[
        Literal["exponential", "logistic"],
        "φ of the bound; it weighs queries in the variants but RankLib's.",
    ] = "exponential"
    repeat: Annotated[
        bool | None,
        "Whether a weak ranker, a feature with its sign, may be taken again; by default by the variant.",
    ] = None
    tolerance: Annotated[
        float | None,
        "Stop when the training measure falls by this much or more in a round; by default 0 for the paper's "
        "variant, which stops where it does not rise, and 0.002 for RankLib's; infinite: never, as with a "
        "bound of type two, and where no weak ranker is repeated.",
        Interval(0, infinite=True),
    ] = None
    bound: Annotated[
        Literal["type-one", "type-two"],
        "φ of the measure; or over all rankings, for AP, nDCG, RR, P, WTA or WPD of two classes.",
    ] = "type-one"

    def components(self):
        """Return the bound, and boosting over queries."""
        options = dict(VARIANTS[self.variant])
        if self.repeat is not None:
            options["repeat"] = self.repeat
        if self.bound == "type-two" or not options["repeat"]:
            options["tolerance"] = np.inf
        if self.tolerance is not None:
            options["tolerance"] = self.tolerance
        solver = QueryBoosting(rounds=self.rounds, signed=self.signed, **options)
        measure = parse_measure(self.measure)
        if self.bound == "type-two":
            return TypeTwoBound(measure, margin=self.margin), solver, Linear()
        return TypeOneBound(measure, self.margin), solver, Linear()


@estimator
class StructuralSVM(LinearRanker):
    """The margin-rescaled hinge over all rankings: SVM^map, SVM^ndcg, SVM^mrr and the like.

    With a `margin` φ it is another bound of type two (Xu et al., SIGIR 2008): the largest loss times φ over
    all rankings, or Eq. (7), their sum.

    References
    ----------
    .. [1] Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
       precision", SIGIR 2007.
    .. [2] S. Chakrabarti, R. Khanna, U. Sawant, C. Bhattacharyya, "Structured learning for non-smooth ranking
       losses", KDD 2008.
    """

    measure: Annotated[
        AnyMeasure,
        "AP, nDCG, RR, P, WTA or WPD, with or without a cutoff. WPD alone tells all grades apart; the others "
        "have relevant and irrelevant documents.",
    ] = positional(default="WPD")
    C: Annotated[float, "Larger values fit the training set more closely.", ABOVE_0] = 10.0
    solver: Annotated[
        Literal["bcfw", "ocas", "bmrm"],
        "Block-coordinate Frank-Wolfe, query by query; cutting planes with a line search, whose sums go over "
        "shards; or plain cutting planes.",
    ] = "bcfw"
    feature_map: Annotated[
        Literal["cross", "pairs"],
        "Mean over pairs of a relevant and an irrelevant document; or Eq. (2) of Xu et al., SIGIR 2008.",
    ] = "cross"
    grades: Annotated[
        Literal["binary", "all"],
        'Two classes, or the gains of all grades (nDCG, P or WTA, with ``feature_map="pairs"``).',
    ] = "binary"
    margin: Annotated[
        Literal["margin-rescaled", "exponential", "logistic", "hinge"],
        "The hinge of Eq. (9), or the factor of the loss of a ranking. Rankings of measures without a search "
        "are enumerated, of at most six documents.",
    ] = "margin-rescaled"
    aggregate: Annotated[
        Literal["max", "sum"], "Over rankings. A sum enumerates them, of at most six documents."
    ] = "max"
    averaged: Annotated[
        bool, 'Return the average of the iterates rather than the last one (``solver="bcfw"``).'
    ] = True
    tolerance: Annotated[
        float,
        "Largest duality gap, relative to the objective. At 1e-3 the order in which queries are visited "
        "still changes AP on a hundred queries by .002, at 1e-5 by .0003.",
        ABOVE_0,
    ] = 1e-5
    max_passes: Annotated[
        int, "Passes over the data; cutting planes for the other two solvers.", Interval(2)
    ] = 200

    def components(self):
        """Return the type-two bound, and the solver chosen."""
        surrogate = TypeTwoBound(
            parse_measure(self.measure), feature_map=self.feature_map, grades=self.grades,
            margin=self.margin, aggregate=self.aggregate,
        )  # fmt: skip
        if self.solver == "bcfw":
            solver = BCFW(
                C=self.C, averaged=self.averaged, tolerance=self.tolerance, max_passes=self.max_passes
            )
        else:
            solver = CuttingPlane(
                C=self.C, tolerance=self.tolerance, max_iterations=self.max_passes,
                line_search=self.solver == "ocas",
            )  # fmt: skip
        return surrogate, solver, Linear()


@estimator
class PermuRank(LinearRanker):
    """Working sets of perfect and imperfect rankings, bound on the measure.

    The bound is of type two, and the working sets grow. The paper's own form is ``feature_map="pairs",
    averaged=False, keep="last"``. It does not converge on ordinary data: pairs of one class widen the bound,
    and the sum over imperfect rankings swings from round to round. The defaults compare documents of
    different classes only, average w / |w| over rounds and keep the round that is best on the training set.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008.
    """

    measure: Annotated[AnyMeasure, "Any; with a cutoff the features of Eq. (2) are used."] = positional(
        default=DEFAULT_MEASURE
    )
    C: Annotated[
        float,
        "Larger values fit the training set more closely. Any C so small that every pair is inside its "
        "margin gives the same model: the default is about as large as that.",
        ABOVE_0,
    ] = 0.1
    margin: Annotated[
        Literal["hinge", "exponential", "logistic", "margin-rescaled"],
        "The factor of the loss of a pair; or the hinge of Eq. (9).",
    ] = "hinge"
    aggregate: Annotated[
        Literal["sum", "mean", "max"],
        "Over the imperfect rankings of a query. The paper's sum grows with the working sets, and C with it.",
    ] = "sum"
    feature_map: Annotated[
        Literal["auto", "cross", "pairs"], "Mean over pairs of different classes, or Eq. (2)."
    ] = "auto"
    rounds: Annotated[int, "Largest number of rounds.", FROM_1] = 100
    averaged: Annotated[bool, "Average w / |w| over rounds."] = True
    keep: Annotated[Literal["best", "last"], "The best round by the selection measure, or the last."] = "best"
    best_on: Annotated[
        Literal["training", "validation"],
        "Where the best round is chosen: on the training set, or on `eval_set` where it is given. Few "
        "queries cannot tell a hundred rounds apart.",
    ] = "training"

    def components(self):
        """Return the bound over working sets, and their solver."""
        surrogate = WorkingSetBound(
            parse_measure(self.measure),
            margin=self.margin,
            aggregate=self.aggregate,
            feature_map=self.feature_map,
        )
        solver = WorkingSets(C=self.C, rounds=self.rounds, averaged=self.averaged, keep=self.keep)
        return surrogate, solver, Linear()

    @property
    def _selects_on_training(self):
        return self.best_on == "training"
