"""Losses of lists in PyTorch operations, on the device of the scores.

Lists are rows, (n_queries, longest), of which `real` says where a document is. ListNet, ListMLE, RankNet,
LambdaRank and LambdaLoss have such a form; their values are those of the surrogates. For a list of n
documents ListNet takes memory for n numbers, ListMLE for n log n, and the losses of pairs for n².
"""

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from directrank.contracts import Surrogate
from directrank.errors import install_line
from directrank.measures import DCG, NDCG
from directrank.surrogates import Pairwise, PlackettLuce, SoftmaxCrossEntropy, SwapWeighted
from directrank.surrogates.margins import Logistic

try:
    # By name: where PyTorch is missing, a type checker would take another module of that name for it.
    torch: Any = import_module("torch")
except ImportError:
    raise ImportError(f"directrank.torch needs PyTorch: {install_line('torch')}") from None

#: A torch.Tensor.
Tensor = Any
#: The sum of the losses of lists, of scores, grades, whether there is a document, and weights of lists. A
#: grade that is no document's is very low.
ListLoss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def list_loss(surrogate: Surrogate) -> ListLoss | None:
    """Return a surrogate in PyTorch operations, or None if it has no such form."""
    if type(surrogate) is SoftmaxCrossEntropy:
        return partial(softmax_cross_entropies, surrogate.supervision)
    losses: Any
    if type(surrogate) is PlackettLuce:
        losses = plackett_luce_losses
    elif type(surrogate) is Pairwise and isinstance(surrogate.margin, Logistic) and surrogate.weight is None:
        losses = partial(logistic_losses, normalise=surrogate.normalise)
    elif type(surrogate) is SwapWeighted and type(surrogate.measure) in (DCG, NDCG):
        losses = partial(swap_losses, surrogate)
    else:
        return None
    return lambda scores, grades, real, weights: torch.dot(weights, losses(scores, grades, real))


def reduced(
    loss: ListLoss, scores: Tensor, grades: Tensor, real: Tensor, weights: Tensor, reduction: str
) -> Tensor:
    """Return the weighted mean or sum of losses over lists whose documents differ in grade.

    It is no number if a grade or a weight is negative or not finite.
    """
    typed = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
    return loss(typed, *_of_lists(typed, grades, real, weights, reduction)).to(scores.dtype)


def _of_lists(
    scores: Tensor, grades: Tensor, real: Tensor, weights: Tensor, reduction: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Return grades, which are very low where there is no document, `real`, and the weights of lists."""
    grades = grades.to(scores.dtype)
    least = _filled(grades, real, torch.finfo(scores.dtype).max).amin(-1)
    grades = _lowered(grades, real)
    largest = grades.amax(-1)
    # 0 · √x is 0, or no number if x is negative or not finite; it is faster than comparisons.
    of_lists = torch.add(largest > least, least.sqrt() + largest, alpha=0.0)
    if weights is not None:
        if reduction == "mean":  # Weights of a mean have no unit: in that of the largest none overflows.
            largest_weight = weights.detach().max()
            weights = weights / torch.where(largest_weight > 0, largest_weight, 1)
        weights = weights.to(scores.dtype)
        of_lists = of_lists * torch.add(weights, weights.sqrt(), alpha=0.0)
    if reduction == "mean":
        # If all are 0, so is the loss.
        of_lists = of_lists / of_lists.sum().clamp(min=torch.finfo(scores.dtype).tiny)
    return grades, real, of_lists


def _filled(values: Tensor, real: Tensor, filling: float) -> Tensor:
    """Return values, and the filling where there is no document."""
    return values if real is None else torch.where(real, values, filling)


def _lowered(values: Tensor, real: Tensor) -> Tensor:
    """Return values, and where there is no document one whose exponential is 0."""
    return _filled(values, real, torch.finfo(values.dtype).min / 4)


def softmax_cross_entropies(
    supervision: str, scores: Tensor, grades: Tensor, real: Tensor, weights: Tensor
) -> Tensor:
    """ListNet: the cross entropy between the softmax of grades and that of scores."""
    # Not by vecdot, which has half precision under autocast.
    losses = (_shares(supervision, grades, real) * torch.log_softmax(_lowered(scores, real), -1)).sum(-1)
    return -torch.dot(weights, losses)


def _shares(supervision: str, grades: Tensor, real: Tensor) -> Tensor:
    """Return the softmax of the truth, 0 where there is no document."""
    truth = grades if supervision == "relevance" else _lowered(torch.exp2(grades) - 1.0, real)
    return torch.softmax(truth, -1)


def plackett_luce_losses(scores: Tensor, grades: Tensor, real: Tensor) -> Tensor:
    """ListMLE, with Efron's rule for documents of one grade; see `directrank.surrogates.PlackettLuce`."""
    sorted_grades, order = _filled(grades, real, -1.0).sort(dim=-1, descending=True)
    scores = _lowered(scores, real).gather(-1, order)
    edge = torch.ones_like(sorted_grades[:, :1], dtype=torch.bool)
    differ = sorted_grades[:, 1:] != sorted_grades[:, :-1]
    n = scores.shape[1]
    place = torch.arange(n, device=scores.device)
    first = torch.where(torch.cat([edge, differ], -1), place, 0).cummax(-1).values
    stops = torch.where(torch.cat([differ, edge], -1), place + 1, n)
    stop = stops.flip(-1).cummin(-1).values.flip(-1)
    share = (place - first).to(scores.dtype) / (stop - first)
    # Nothing is below the last rank.
    mass = torch.cat([_log_masses_below(scores), _lowered(scores[:, :1], torch.zeros_like(edge))], -1)
    total = mass.gather(-1, first)
    logs = total + torch.log(1.0 - share + share * torch.exp(mass.gather(-1, stop) - total))
    terms = logs - scores
    return (terms if real is None else torch.where(sorted_grades >= 0.0, terms, 0.0)).sum(-1)


def _log_masses_below(scores: Tensor) -> Tensor:
    """Return the logarithm of the sum of e^s from each rank to the last.

    The number of ranks that are summed doubles in each step. PyTorch's logcumsumexp has a wrong second
    derivative, and its logaddexp none where numbers are far apart.
    """
    distance = 1
    while distance < scores.shape[1]:
        pairs = torch.stack([scores[:, :-distance], scores[:, distance:]])
        scores = torch.cat([pairs.logsumexp(0), scores[:, -distance:]], -1)
        distance *= 2
    return scores


def _pairs(grades: Tensor, real: Tensor) -> Tensor:
    """Return where document i has a better grade than document j, (n_queries, longest, longest)."""
    better = grades[:, :, None] > grades[:, None, :]
    return better if real is None else better & real[:, :, None] & real[:, None, :]


def _logistic(scores: Tensor, real: Tensor) -> Tensor:
    """Return ln(1 + exp(s_j − s_i)) of documents i and j."""
    scores = _filled(scores, real, 0.0)
    return -torch.nn.functional.logsigmoid(scores[:, :, None] - scores[:, None, :])


def logistic_losses(scores: Tensor, grades: Tensor, real: Tensor, normalise: bool) -> Tensor:
    """RankNet: the logistic loss on all pairs of different grades, or its mean over them."""
    better = _pairs(grades, real)
    total = torch.where(better, _logistic(scores, real), 0.0).sum((1, 2))
    return total / better.sum((1, 2)).clamp(min=1) if normalise else total


def swap_losses(surrogate: SwapWeighted, scores: Tensor, grades: Tensor, real: Tensor) -> Tensor:
    """LambdaRank and LambdaLoss of DCG or nDCG, with weights at the ranking by these scores."""
    measure: Any = surrogate.measure
    with torch.no_grad():
        n = scores.shape[1]
        level, inside, lost, sums = _tables(
            n, measure.discount, measure.cutoff, surrogate.weights, scores.dtype, scores.device
        )
        grades = _filled(grades, real, 0.0)
        if isinstance(measure.gain, tuple):
            gain = torch.tensor(measure.gain, dtype=grades.dtype, device=grades.device)[grades.long()]
        else:
            gain = grades if measure.gain == "linear" else torch.exp2(grades) - 1.0
        if isinstance(measure, NDCG):
            discounts = sums[1:] - sums[:-1]
            best = (gain.sort(dim=-1, descending=True).values * discounts).sum(-1, keepdim=True)
            gain = gain / torch.where(best > 0.0, best, 1.0)
        i, j = scores[:, :, None], scores[:, None, :]
        above, tied = j > i, j == i
        if real is not None:
            above, tied = above & real[:, None, :], tied & real[:, None, :]
        above, tied = above.sum(-1), tied.sum(-1).clamp(min=1)
        a, b, m, k = above[:, :, None], above[:, None, :], tied[:, :, None], tied[:, None, :]
        if surrogate.weights == "swap":
            levels = level[above, tied]
            change = (levels[:, :, None] - levels[:, None, :]).abs()
        else:
            several = sums[(b - a).abs()] + sums[(b + k - a - m).abs()]
            several = several - sums[(b + k - a).abs().clamp(max=n)] - sums[(b - a - m).abs().clamp(max=n)]
            change = torch.where((m == 1) & (k == 1), lost[(b - a).abs()], several / (m * k))
        change = torch.where(a == b, inside[above, tied][:, :, None], change)
        weights = (gain[:, :, None] - gain[:, None, :]) * change
    return torch.where(_pairs(grades, real), weights * _logistic(scores, real), 0.0).sum((1, 2))


@lru_cache(maxsize=16)
def _tables(
    n: int, discount: str, cutoff: int | None, weights: str, dtype: Any, device: Any
) -> tuple[Tensor, ...]:
    """Return tables of discounts D for lists of n documents, on a device.

    They are the mean of D over m ranks after a others, [a, m], the mean weight of two documents inside them,
    the loss D(d) − D(d + 1) at each distance d, and the sums of the first discounts.
    """
    discounts = DCG(discount=discount).discounts(n + 1)
    discounts[cutoff or n + 1 :] = 0.0
    sums = np.append(0.0, np.cumsum(discounts[:n]))
    lost = np.append(0.0, discounts[:-1] - discounts[1:])
    a, m = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
    stop = np.minimum(a + m, n)
    pairs = np.maximum(0.5 * m * (m - 1.0), 1.0)
    total = sums[stop] - sums[a]
    if weights == "swap":
        ranked = np.append(0.0, np.cumsum(discounts[:n] * np.arange(n)))
        spread = (m - 1 + 2 * a) * total - 2.0 * (ranked[stop] - ranked[a])
    else:
        spread = np.broadcast_to(m * sums[min(1, n)] - sums[m], total.shape)
    tables = total / np.maximum(m, 1), np.where(m > 1, spread / pairs, 0.0), lost, sums
    # From a copy in each call the host would wait for the device.
    return tuple(torch.as_tensor(table, dtype=dtype, device=device) for table in tables)
