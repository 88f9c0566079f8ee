r"""The curvature of losses on pairs: each pair adds :math:`w_{ij} \, c(s_i - s_j)` to both documents.

For the logistic margin c is the second derivative :math:`\sigma(m) (1 - \sigma(m))`. That of the hinges is 0
where they are linear, so that the quotient of the derivative and it would have no limit. There c is instead
the curvature of the flattest parabola that touches the margin at m and lies nowhere below it:

.. math:: c(m) = \frac{1}{2 \max(h, |1 - m|)} \text{ (Huber)}, \qquad c(m) = 2 \text{ (squared hinge)}

It is the second derivative where the margin is a parabola, and above it elsewhere. At the corner of the plain
hinge no parabola touches; it has the c of the Huber margin of width 1/2.
"""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential
from directrank.surrogates.margins import HINGE, HUBER, LOGISTIC, SQUARED_HINGE, Margin
from directrank.surrogates.pairs.kernels import named_for

# The width that the hinge, which has none, is given here.
CORNER = 0.5


def curvature_naive(s: np.ndarray, weights: np.ndarray, margin: Margin) -> np.ndarray:
    """The curvature of one query by definition, from an n × n table of weights, for tests."""
    m = s[:, None] - s[None, :]
    if margin.code in (HUBER, HINGE):
        each = weights * 0.5 / np.maximum(margin.width or CORNER, np.abs(1.0 - m))
    else:
        each = weights * (2.0 if margin.code == SQUARED_HINGE else margin.curvature(m))
    return each.sum(axis=1) + each.sum(axis=0)


# One kernel a margin, so that only the code of that margin is compiled.
def _curvatures_of(margin):
    @kernel
    @named_for(margin)
    def pair_curvatures(scores, runs, weights, strength, width, out):
        for r in range(len(runs)):
            start, stop = runs[r, 2], runs[r, 3]
            for i in range(runs[r, 0], runs[r, 1]):
                # A document forms no pair with itself: losers before it, and losers after it.
                before, after = min(max(i, start), stop), max(min(i + 1, stop), start)
                w, total = weights[r] * strength[i], 0.0
                if w > 0.0:
                    total += _spread(margin, scores[i], scores[start:before], w, width, out[start:before])
                    total += _spread(margin, scores[i], scores[after:stop], w, width, out[after:stop])
                out[i] += scores.dtype.type(total)

    return pair_curvatures


@kernel
def _spread(margin, x, losers, w, width, out):
    # Add the curvature of the pairs of a winner of score x to the losers; return their sum.
    real = losers.dtype.type
    one, two, weight, total = real(1), real(2), real(w), real(0)
    least = real(width if margin == HUBER else CORNER)
    for j in range(len(losers)):
        if margin == LOGISTIC:
            size = abs(np.float64(losers[j] - x))
            e = exponential(-(size if size < 700.0 else 700.0))
            c = real(w * e / ((1.0 + e) * (1.0 + e)))
        elif margin == SQUARED_HINGE:
            c = two * weight
        else:
            c = weight / (two * max(least, abs(one - x + losers[j])))
        out[j] += c
        total += c
    return total


#: Kernels by the code of a margin: each adds the curvature at each score to `out`. Pair (i, j) of run r
#: weighs ``weights[r] * strength[i]``.
PAIR_CURVATURES = {margin: _curvatures_of(margin) for margin in (HUBER, SQUARED_HINGE, HINGE, LOGISTIC)}
