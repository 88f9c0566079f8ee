"""Ranking losses for PyTorch: the objectives of directrank on the scores of a network.

::

    from directrank.integrations.torch import RankingLoss

    loss = RankingLoss("approxndcg", measure="nDCG@10")
    loss(network(features), relevance, qid=qid).backward()
"""

import warnings
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from directrank.contracts import HessianVector, Measure, Reweighable, Surrogate, ValueAndGradient, check_fit
from directrank.data import Queries
from directrank.data.grouping import checked_qid, checked_relevance, group_rows
from directrank.errors import DataError, check_choice, install_line
from directrank.estimators.methods import configured
from directrank.measures import parse_measure

try:
    # By name: where PyTorch is missing, a type checker would take this file for it.
    torch: Any = import_module("torch")
except ImportError:
    raise ImportError(f"directrank.integrations.torch needs PyTorch: {install_line('torch')}") from None

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
    all pairs, such as ``ranksvm`` and ``consistent-ndcg``.

    Losses are computed on the processor, in float32 or float64 as the scores are. There is no copy of scores
    of these types on the CPU whose rows are in the order of queries, and of descending relevance in each;
    scores on other devices are copied to the CPU, and their gradient back.
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
        **parameters: Any,
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
        self.reduction, self.calls, self.warned = reduction, 0, False

    def forward(self, scores, relevance, *, qid=None, indptr=None, mask=None, weights=None) -> Any:
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
        flat, grades, query, real = _flat(scores, relevance, qid, indptr, mask)
        if real is not None and mask is None and not self.warned and _looks_padded(scores, relevance):
            self.warned = True
            warnings.warn(PADDED, UserWarning, stacklevel=2)
        if weights is not None:
            n_queries = len(real) if real is not None else len(set(query.tolist()))
            n_queries = n_queries if indptr is None else len(_array(indptr)) - 1
            weights = np.asarray(_array(weights), np.float64)
            if weights.shape not in ((n_queries,), tuple(scores.shape)):
                raise DataError(
                    f"weights have shape {weights.shape}: expected one a query, or one a document"
                )
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

    def extra_repr(self) -> str:
        """Return the surrogate and the reduction."""
        return f"{self.surrogate.name}, reduction={self.reduction!r}"


def _flat(scores, relevance, qid, indptr, mask) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return scores, relevance and the query of each document, (n_docs,), and the mask of padded ones."""
    grades = _array(relevance)
    if grades.shape != tuple(scores.shape):
        raise DataError(f"relevance has shape {grades.shape}, scores have {tuple(scores.shape)}")
    if sum(option is not None for option in (qid, indptr, mask)) + (scores.ndim == 2 and mask is None) != 1:
        raise DataError("pass qid or indptr with flat scores, or scores of two dimensions and their mask")
    if scores.ndim == 2:
        real = np.ones(grades.shape, np.bool_) if mask is None else _array(mask).astype(np.bool_)
        if real.shape != grades.shape:
            raise DataError(f"mask has shape {real.shape}, scores have {grades.shape}")
        query = np.repeat(np.arange(len(real)), real.sum(axis=1))
        flat = scores.reshape(-1)
        if not real.all():
            flat = flat[torch.from_numpy(np.flatnonzero(real)).to(scores.device)]
        return flat, grades[real], query, real
    if scores.ndim != 1 or mask is not None:
        raise DataError(f"scores have {scores.ndim} dimensions: flat ones have 1, padded ones have 2")
    query = checked_qid(_array(qid), len(grades)) if indptr is None else _queries(indptr, len(grades))
    return scores, grades, query, None


def _looks_padded(scores: Any, relevance: Any) -> bool:
    """Return whether some query ends in two equal scores of grade 0, or in one that stands for nothing."""
    last, grades = scores[:, -2:].detach().cpu().numpy(), _array(relevance)[:, -2:]
    if last.shape[1] < 2:
        return False
    equal = (last[:, 0] == last[:, 1]) & (grades == 0).all(axis=1)
    return bool((equal | (last[:, 1] <= NOTHING)).any())


def _queries(indptr: Any, n_docs: int) -> np.ndarray:
    indptr = np.asarray(_array(indptr))
    sizes = np.diff(indptr)
    if indptr.ndim != 1 or not len(indptr) or indptr[0] != 0 or indptr[-1] != n_docs or (sizes < 0).any():
        raise DataError(f"indptr must rise from 0 to {n_docs}, the number of documents")
    return np.repeat(np.arange(len(sizes)), sizes)


def _array(values: Any) -> Any:
    """Return a tensor as an array, on the CPU; anything else as it is, or as an array."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().numpy()
    return values if isinstance(values, list) else np.asarray(values)


@dataclass
class _Rows:
    """The oracles of a surrogate on rows; `order`: the caller's row of each inner document, None if equal."""

    oracles: Any
    order: np.ndarray | None
    surrogate: Surrogate

    def to_inner(self, values: Any) -> np.ndarray:
        typed = values.detach()
        typed = typed if typed.dtype in (torch.float32, torch.float64) else typed.float()
        array = typed.cpu().numpy()
        return np.ascontiguousarray(array if self.order is None else array[self.order])

    def to_caller(self, values: np.ndarray, like: Any) -> Any:
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
            "documents: give one weight a query, or take a sum over documents or pairs, such as ranknet"
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
