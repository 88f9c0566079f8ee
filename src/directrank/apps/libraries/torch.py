"""Ranking losses for PyTorch: the objectives of directrank on the scores of a network.

::

    from directrank.torch import RankingLoss

    loss = RankingLoss("approxndcg", measure="nDCG@10")
    loss(network(features), relevance, qid=qid).backward()
"""

import contextlib
import math
import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrank.apps.libraries.torch_lists import Tensor, list_loss, reduced, torch
from directrank.contracts import (
    HessianVector,
    Measure,
    Oracles,
    Reweighable,
    Surrogate,
    ValueAndGradient,
    check_fit,
)
from directrank.data import Queries
from directrank.data.grouping import checked_qid, checked_relevance, group_rows
from directrank.errors import DataError, check_choice
from directrank.estimators.methods import configured
from directrank.measures import parse_measure
from directrank.surrogates import SoftmaxCrossEntropy

REDUCTIONS = ("mean", "sum")
#: A score at or below this stands for no document.
NOTHING = -1e4
PADDED = (
    "scores of two dimensions without a mask end as padding does, which would be ranked: pass mask=, true "
    "where there is a document"
)


class RankingLoss(torch.nn.Module):
    """A loss of directrank on the scores of a network, with its exact gradient.

    Parameters
    ----------
    loss : str or Surrogate
        A method of directrank whose loss has a gradient, such as ``approxndcg``, ``consistent-ndcg``,
        ``lambdaloss(nDCG@10)`` or ``listnet``; or a surrogate.
    measure : str or Measure, optional
        The measure of a method that takes one.
    reduction : {"mean", "sum"}, default="mean"
        Over the queries from which something can be learned.
    **parameters
        Of the method, such as ``steepness=3.0``.

    Raises
    ------
    UnfitPairError
        If the loss has no gradient, or is only defined with a solver of its own.
    ValueError
        If there is no such method, or it takes no measure.

    Notes
    -----
    Losses whose weights follow the ranking, such as LambdaLoss, weigh at the scores of each call. YetiLoss
    and PLRank draw anew at each call in training mode, the same numbers again for the same seed and sequence
    of calls; otherwise the same at each call.
    Second derivatives, by ``create_graph=True``, exist where the loss offers `HessianVector`: for losses on
    all pairs, such as ``ranksvm`` and ``consistent-ndcg``, and where PyTorch computes the loss.

    ListNet, ListMLE, RankNet, and LambdaRank and LambdaLoss of DCG and nDCG are computed on the device of the
    scores, without a copy to the CPU if relevance and mask are tensors of that device; wrong grades give a
    value that is no number there, not an error. With weights of documents, and for other losses, scores of
    other devices are copied to the CPU, and their gradient back. There is no copy of float32 or float64
    scores on the CPU whose rows are in the order of queries, and of descending relevance in each.
    """

    #: What it asks of a surrogate; see `directrank.contracts.check_fit`.
    needs = frozenset({ValueAndGradient})
    uses = frozenset({Reweighable, HessianVector})
    convex_only = False

    def __init__(
        self,
        loss: str | Surrogate,
        *,
        measure: str | Measure | None = None,
        reduction: str = "mean",
        **parameters: object,
    ):
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        if isinstance(loss, str):
            spec = loss if measure is None else f"{loss}({parse_measure(measure).name})"
            (chosen,) = configured(spec)
            surrogate = chosen.build(parameters).components()[0]
        elif parameters or measure is not None:
            raise ValueError(f"{loss.name} is a surrogate and has its measure and its parameters already")
        else:
            surrogate = loss
        asks: Any = self
        check_fit(surrogate, asks)
        self.surrogate: Surrogate = surrogate
        self.reduction, self.calls, self.looks, self.warned = reduction, 0, 0, False
        self.in_lists = list_loss(surrogate)

    def forward(self, scores, relevance, *, qid=None, indptr=None, mask=None, weights=None) -> Tensor:
        """Return the loss of some scores, a tensor with one number.

        Parameters
        ----------
        scores : Tensor of shape (n_docs,) or (n_queries, longest)
            Padded if it has two dimensions.
        relevance : Tensor or array of the same shape
            Finite and not negative; of padding, anything.
        qid : Tensor or array of shape (n_docs,), optional
            The query of each document, in any order.
        indptr : Tensor or array of shape (n_queries + 1,), optional
            Instead: query q has the documents ``indptr[q]:indptr[q + 1]``.
        mask : Tensor or array of shape (n_queries, longest), optional
            Which numbers of padded scores are documents; by default all.
        weights : Tensor or array of shape (n_queries,) or that of the scores, optional
            The weight of each query: in the order of `indptr` or of padded rows, else of the first documents.
            Or of each document: the weight of its query if equal in it; else the confidence of its label, for
            losses that are sums over documents or pairs.

        Raises
        ------
        DataError
            If shapes do not fit, queries are missing, relevance or weights are negative or not finite, or
            the loss reads no confidence of documents.

        Warns
        -----
        UserWarning
            Once, if scores of two dimensions without a mask end as padding does: in equal scores of grade 0,
            or very low ones.
        """
        _check_shapes(scores, relevance, qid, indptr, mask)
        if self.in_lists is not None and _stays(self.surrogate, scores, relevance, weights):
            self._look_for_padding(scores, relevance, mask)
            lists = _lists(scores, relevance, qid, indptr, mask, weights)
            value = reduced(self.in_lists, *lists, self.reduction)
            if scores.device.type != "cpu" or not _is_no_number(value):
                return value
            # Below, the error says what is wrong.
        flat, grades, query, real = _flat(scores, relevance, qid, indptr, mask)
        self._look_for_padding(scores, relevance, mask)
        if weights is not None:
            n_queries = len(real) if real is not None else len(set(query.tolist()))
            n_queries = n_queries if indptr is None else len(_array(indptr)) - 1
            weights = np.asarray(_array(weights), np.float64)
            if weights.shape not in ((n_queries,), tuple(scores.shape)):
                raise DataError(_wrong_weights(weights))
            if weights.shape == (n_queries,) and qid is None:
                weights = weights[query]
            elif real is not None:
                weights = weights[real]
        surrogate = copy(self.surrogate)
        if surrogate.seed is not None:
            surrogate.seed += self.calls
            self.calls += int(self.training)
        rows = _rows_of(surrogate, grades, query, self.reduction, weights)
        return flat.sum() * 0.0 if rows is None else _Value.apply(flat, rows)

    def _look_for_padding(self, scores: Tensor, relevance: Tensor, mask: Tensor) -> None:
        """Warn once if rows end as padding does: look at calls 1, 2, 4 …, off the CPU at the first only."""
        if scores.ndim == 1 or mask is not None or self.warned:
            return
        self.looks += 1
        if self.looks & (self.looks - 1) == 0:
            padded = False
            with contextlib.suppress(RuntimeError):  # `torch.func.vmap` lets nobody look.
                padded = _looks_padded(scores, relevance)
            self.warned = padded or scores.device.type != "cpu"
            if padded:
                warnings.warn(PADDED, UserWarning, stacklevel=3)

    def extra_repr(self) -> str:
        """Return the surrogate and the reduction."""
        return f"{self.surrogate.name}, reduction={self.reduction!r}"


def _is_no_number(value: Tensor) -> bool:
    """Return whether a loss is NaN; `torch.func.vmap` does not tell."""
    try:
        return math.isnan(value.item())
    except RuntimeError:
        return False


def _shape(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape) if hasattr(values, "shape") else np.shape(values)


def _check_shapes(scores, relevance, qid, indptr, mask) -> None:
    """Raise `DataError` unless scores are flat with their queries, or have two dimensions."""
    if _shape(relevance) != _shape(scores):
        raise DataError(f"relevance has shape {_shape(relevance)}, scores have {_shape(scores)}")
    if sum(option is not None for option in (qid, indptr, mask)) + (scores.ndim == 2 and mask is None) != 1:
        raise DataError("pass qid or indptr with flat scores, or scores of two dimensions and their mask")
    if scores.ndim == 2 and mask is not None and _shape(mask) != _shape(scores):
        raise DataError(f"mask has shape {_shape(mask)}, scores have {_shape(scores)}")
    if scores.ndim != 2 and (scores.ndim != 1 or mask is not None):
        raise DataError(f"scores have {scores.ndim} dimensions: flat ones have 1, padded ones have 2")


def _stays(surrogate: Surrogate, scores: Tensor, relevance: Tensor, weights: Tensor) -> bool:
    """Return whether PyTorch computes the loss: on other devices, and ListNet of lists that are rows.

    Weights of documents, which may be of queries or of labels, are told apart on the CPU.
    """
    if not scores.numel() or (weights is not None and _shape(weights) == _shape(scores)):
        return False
    in_rows = scores.ndim == 2 and isinstance(relevance, torch.Tensor)
    return scores.device.type != "cpu" or (in_rows and isinstance(surrogate, SoftmaxCrossEntropy))


def _lists(scores, relevance, qid, indptr, mask, weights) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return scores, grades, mask and weights of lists that are rows."""
    device, n_lists, filled = scores.device, len(scores), None
    dtype = torch.float64 if scores.dtype == torch.float64 else torch.float32
    grades = torch.as_tensor(relevance).to(device, dtype)
    if scores.ndim == 1:
        query = checked_qid(_array(qid), len(scores)) if indptr is None else _queries(indptr, len(scores))
        queries, order = group_rows(np.zeros(len(scores)), query)
        n_lists = queries.n_queries
        if indptr is not None:  # Lists without a document are no rows.
            n_lists = len(indptr) - 1
            filled = torch.from_numpy(np.unique(query)).to(device)
        real = np.arange(queries.longest) < queries.sizes[:, None]
        rows = np.zeros(real.shape, np.int64)
        rows[real] = order
        mask, rows = torch.from_numpy(real), torch.from_numpy(rows).to(device)
        scores, grades = scores[rows], grades[rows]
    if weights is not None:
        weights = torch.as_tensor(weights).to(device)
        if _shape(weights) != (n_lists,):
            raise DataError(_wrong_weights(weights))
        weights = weights if filled is None else weights[filled]
    if mask is not None:
        mask = torch.as_tensor(mask).to(device, torch.bool)
    return scores, grades, mask, weights


def _wrong_weights(weights: Tensor) -> str:
    return f"weights have shape {_shape(weights)}: expected one per query, or one per document"


def _flat(scores, relevance, qid, indptr, mask) -> tuple[Tensor, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return scores, relevance and the query of each document, (n_docs,), and the mask of padded ones."""
    grades = _array(relevance)
    if scores.ndim == 2:
        real = np.ones(grades.shape, np.bool_) if mask is None else _array(mask).astype(np.bool_)
        query = np.repeat(np.arange(len(real)), real.sum(axis=1))
        flat = scores.reshape(-1)
        if not real.all():
            flat = flat[torch.from_numpy(np.flatnonzero(real)).to(scores.device)]
        return flat, grades[real], query, real
    query = checked_qid(_array(qid), len(grades)) if indptr is None else _queries(indptr, len(grades))
    return scores, grades, query, None


def _looks_padded(scores: Tensor, relevance: Tensor) -> bool:
    """Return whether some query ends in two equal scores of grade 0, or in one that stands for nothing."""
    last = scores.detach()[:, -2:]
    if last.shape[1] < 2:
        return False
    if bool((last[:, 1] <= NOTHING).any()):
        return True
    # NumPy takes more kinds of arrays than PyTorch.
    irrelevant = (relevance if isinstance(relevance, torch.Tensor) else np.asarray(relevance))[:, -2:] == 0
    if not isinstance(irrelevant, torch.Tensor):
        irrelevant = torch.from_numpy(np.ascontiguousarray(irrelevant, np.bool_))
    return bool(((last[:, 0] == last[:, 1]) & irrelevant.all(1).to(last.device)).any())


def _queries(indptr: object, n_docs: int) -> np.ndarray:
    indptr = np.asarray(_array(indptr))
    sizes = np.diff(indptr)
    if indptr.ndim != 1 or not len(indptr) or indptr[0] != 0 or indptr[-1] != n_docs or (sizes < 0).any():
        raise DataError(f"indptr must rise from 0 to {n_docs}, the number of documents")
    return np.repeat(np.arange(len(sizes)), sizes)


def _array(values: Tensor) -> Tensor:
    """Return a tensor as an array, on the CPU; anything else as it is, or as an array."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().numpy()
    return values if isinstance(values, list) else np.asarray(values)


@dataclass
class _Rows:
    """The oracles of a surrogate on rows; `order`: the caller's row of each inner document, None if equal."""

    oracles: Oracles
    order: np.ndarray | None
    surrogate: Surrogate

    def to_inner(self, values: Tensor) -> np.ndarray:
        typed = values.detach()
        typed = typed if typed.dtype in (torch.float32, torch.float64) else typed.float()
        array = typed.cpu().numpy()
        return np.ascontiguousarray(array if self.order is None else array[self.order])

    def to_caller(self, values: np.ndarray, like: Tensor) -> Tensor:
        if self.order is not None:
            inner, values = values, np.empty_like(values)
            values[self.order] = inner
        return torch.from_numpy(values).to(dtype=like.dtype, device=like.device)


def _rows_of(
    surrogate: Surrogate, grades: np.ndarray, query: np.ndarray, reduction: str,
    sample_weight: np.ndarray | None,
) -> _Rows | None:  # fmt: skip
    """Return the oracles of a surrogate on rows, or None if nothing can be learned from them.

    `sample_weight` are weights of documents in the order of rows, or of queries in order of appearance.
    """
    queries, order = group_rows(checked_relevance(grades, len(grades)), query)
    weights = np.where(surrogate.uninformative(queries), 0.0, 1.0) if len(grades) else np.zeros(0)
    if sample_weight is not None and len(grades):
        queries, of_query = weighted(surrogate, queries, order, sample_weight)
        weights = weights * of_query
    if not weights.any():
        return None
    weights = weights / weights.sum() if reduction == "mean" else weights
    oracles = surrogate.estimated(queries, weights).on(queries, weights)
    return _Rows(oracles, None if (np.diff(order) == 1).all() else order, surrogate)


def weighted(
    surrogate: Surrogate, queries: Queries, order: np.ndarray, sample_weight: np.ndarray
) -> tuple[Queries, np.ndarray]:
    """Return queries with the confidence of their documents, where it differs in one, and their weights."""
    if not (np.isfinite(sample_weight).all() and (sample_weight >= 0).all()):
        raise DataError("weights must be finite and not negative")
    if len(sample_weight) != len(order):
        return queries, sample_weight
    inner = sample_weight[order]
    of_query = inner[queries.indptr[:-1]]
    if (inner == np.repeat(of_query, queries.sizes)).all():
        return queries, of_query
    if not surrogate.weighs_documents:
        raise DataError(
            f"{surrogate.name}: the weight {queries.differing(inner)}, and this loss reads no confidence of "
            "documents: give one weight per query, or take a sum over documents or pairs, such as ranknet"
        )
    return replace(queries, confidence=inner, _cache={}), np.ones(queries.n_queries)


class _Value(torch.autograd.Function):
    """The loss. Its derivative is kept from the forward pass."""

    @staticmethod
    def forward(ctx, scores, rows):
        inner = rows.to_inner(scores)
        if np.isfinite(inner).all():
            if Reweighable in rows.surrogate.offers:
                rows.oracles.reweigh(inner)
            value, gradient = rows.oracles.value_and_gradient(inner)
        else:
            value, gradient = np.nan, np.full_like(inner, np.nan)
        ctx.save_for_backward(scores)
        ctx.rows, ctx.gradient = rows, rows.to_caller(gradient, scores)
        return scores.new_tensor(value)

    @staticmethod
    def backward(ctx, *upstream):
        if not torch.is_grad_enabled():  # no second derivative is wanted
            return upstream[0] * ctx.gradient, None
        (scores,) = ctx.saved_tensors
        return upstream[0] * _Gradient.apply(scores, ctx.gradient, ctx.rows), None


class _Gradient(torch.autograd.Function):
    """The derivative of the loss, given. Its own derivative is the second derivative of the loss."""

    @staticmethod
    def forward(ctx, scores, gradient, rows):
        ctx.save_for_backward(scores)
        ctx.rows = rows
        return gradient.clone()

    @staticmethod
    def backward(ctx, *upstream):
        (scores,), rows = ctx.saved_tensors, ctx.rows
        if HessianVector not in rows.surrogate.offers:
            raise NotImplementedError(
                f"{rows.surrogate.name} offers no second derivative; losses on all pairs of documents do, "
                "such as ranksvm and consistent-ndcg"
            )
        product = rows.oracles.hessian_vector(rows.to_inner(scores), rows.to_inner(upstream[0]))
        return rows.to_caller(product, scores), None, None
