"""The measure itself, one weight at a time: coordinate ascent."""

from typing import Annotated

from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import ABOVE_0, FROM_1, AnyMeasure, estimator, positional
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import CoordinateAscent as Ascent
from directrank.surrogates import MeasureItself


@estimator
class CoordinateAscent(LinearRanker):
    """The measure itself by coordinate ascent, with exact steps that are averaged over a window.

    Metzler and Croft try steps one by one [1]_. Here the measure is known at every step, and averages over a
    window, and of the weights of several runs, prevent fitting accidents of the training queries. Measures
    that add up over documents (AP, DCG, nDCG, P) are fast; others are evaluated between all breakpoints.

    References
    ----------
    .. [1] D. Metzler, W. B. Croft, "Linear feature-based models for information retrieval", Information
       Retrieval 10, 2007.
    """

    measure: Annotated[AnyMeasure, "The measure to maximise."] = positional(default="nDCG")
    half_width: Annotated[
        float,
        "Half of the window, relative to weights of length 1 of features of unit spread in queries.",
        ABOVE_0,
    ] = 0.1
    cycles: Annotated[int, "Largest number of passes over all features.", FROM_1] = 4
    runs: Annotated[int, "Random orders of the features, whose weights are averaged.", FROM_1] = 6

    def components(self):
        """Return the measure itself, and coordinate ascent."""
        surrogate = MeasureItself(parse_measure(self.measure), half_width=self.half_width)
        return surrogate, Ascent(cycles=self.cycles, runs=self.runs), Linear()
