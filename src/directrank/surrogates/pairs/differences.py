"""Logistic losses by differences of scores: exact for all scores, with an exponential for each pair."""

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.vector_math import LARGEST_EXPONENT, exponential, log1p_of_quotient
from directrank.surrogates.pairs.runs import fill_weights, loser_numbers, winner_numbers


@kernel
def terms_of_pairs(weights, apart, powers, slopes, curves):
    """Return the value of some pairs; fill the derivatives in their second scores, and the curvatures.

    `apart` is the second score less the first one, whose document is the better where the weight is positive.
    `powers` is scratch.
    """
    # Three loops, because one has more constants than there are registers.
    for j in range(len(weights)):
        size = abs(apart[j])
        powers[j] = exponential(-(size if size < LARGEST_EXPONENT else LARGEST_EXPONENT))
    total = 0.0
    for j in range(len(weights)):
        z = apart[j] if weights[j] > 0.0 else -apart[j]
        total += abs(weights[j]) * ((z if z > 0.0 else 0.0) + log1p_of_quotient(powers[j], 1.0))
    for j in range(len(weights)):
        z, share = apart[j] if weights[j] > 0.0 else -apart[j], 1.0 / (1.0 + powers[j])
        slopes[j] = weights[j] * (share if z > 0.0 else share * powers[j])
        curves[j] = abs(weights[j]) * (share * (share * powers[j]))
    return total


@inline_kernel
def one_document(score, scores, weights, room, gradient, curvature):
    """Return the value of a document's pairs, its pull and its curvature; add what the others get."""
    n, real = len(scores), scores.dtype.type
    apart, slopes, curves, pull, bend = room[0, :n], room[1, :n], room[2, :n], 0.0, 0.0
    for j in range(n):
        apart[j] = scores[j] - score
    total = terms_of_pairs(weights, apart, room[3, :n], slopes, curves)
    for j in range(n):
        gradient[j] += real(slopes[j])
        curvature[j] += real(curves[j])
        pull += slopes[j]
        bend += curves[j]
    return total, pull, bend


@kernel
def sums_of_runs(rule, scores, runs, weights, room, gradient, curvature):
    """Return the value of runs of pairs, and add its derivative and its curvature.

    `room` is scratch, float64: five numbers for each loser of a run.
    """
    total, real = 0.0, scores.dtype.type
    for r in range(len(runs)):
        losers = slice(runs[r, 2], runs[r, 3])
        n = losers.stop - losers.start
        numbers, w = loser_numbers(rule, losers.start, losers.stop), room[4, :n]
        for i in range(runs[r, 0], runs[r, 1]):
            fill_weights(rule, winner_numbers(rule, i, n, weights[r]), numbers, w)
            slopes, curved = gradient[losers], curvature[losers]
            value, pull, bend = one_document(scores[i], scores[losers], w, room, slopes, curved)
            total += value
            gradient[i] -= real(pull)
            curvature[i] += real(bend)
    return total
