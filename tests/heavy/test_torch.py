"""PyTorch losses are the objectives of directrank: values, gradients, second derivatives, shapes, devices."""

import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from directrank.contracts import Reweighable
from directrank.data.grouping import group_rows
from directrank.errors import DataError, UnfitPairError, install_line
from directrank.estimators.methods import configured
from directrank.features.shards import make_shards
from directrank.measures import parse_measure, values_of
from directrank.surrogates import Objective, SmoothedPositions
from naive import policy_naive

pytestmark = pytest.mark.heavy
METHODS = (
    "regression", "ranksvm", "ranknet", "listnet", "xendcg", "listmle", "rankcosine", "lambdarank(AP)",
    "lambdaloss(nDCG@10)", "yetiloss", "consistent-ndcg", "approxap", "approxndcg(nDCG@10)", "frank",
    "plrank(nDCG@5)", "plrank(AP)",
)  # fmt: skip
TWICE = ("ranksvm", "ranknet", "consistent-ndcg")  # with second derivatives
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
# Lists of a usual length, with ties, of one document, of one grade, of no document.
SIZES = (9, 1, 0, 14, 3, 0, 6)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def loss_class(torch):
    from directrank.torch import RankingLoss

    return RankingLoss


def random_lists(seed, dtype):
    """Relevance and scores with ties, and the boundaries of `SIZES`; the third list has one grade."""
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(SIZES))
    relevance = rng.integers(0, 4, indptr[-1]).astype(float)
    relevance[indptr[4] : indptr[5]] = 2.0
    scores = np.round(rng.normal(size=indptr[-1]), 1).astype(dtype)
    return scores, relevance, indptr


def ours(method, scores, relevance, query):
    """Value and gradient of the objective, not scaled, in the order of the rows."""
    (chosen,) = configured(method)
    queries, order = group_rows(relevance, query)
    surrogate = chosen.build().components()[0]
    objective = Objective(surrogate, queries, make_shards(queries.indptr, 1), normalise=False)
    if Reweighable in objective.offers:
        objective.reweigh(scores[order])
    value, inner = objective.value_and_gradient(scores[order])
    gradient = np.empty_like(inner)
    gradient[order] = inner
    return value, gradient


def padded(values, indptr, filling):
    sizes = np.diff(indptr)
    mask = np.arange(sizes.max()) < sizes[:, None]
    wide = np.full(mask.shape, filling, values.dtype)
    wide[mask] = values
    return wide, mask


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("method", METHODS)
def test_equals_our_objective_flat_and_padded(torch, loss_class, method, dtype):
    loss, tolerance = loss_class(method).eval(), TOLERANCE[dtype]
    for seed in range(3):
        scores, relevance, indptr = random_lists(seed, dtype)
        query = np.repeat(np.arange(len(SIZES)), SIZES)
        value, gradient = ours(method, scores, relevance, query)
        shuffled = np.random.default_rng(seed).permutation(len(scores))
        wide, mask = padded(scores, indptr, 7.0)
        grades = padded(relevance, indptr, -1.0)[0]
        names = np.array([f"query {each}" for each in query])
        calls = [
            (scores, relevance, {"qid": torch.from_numpy(query)}, slice(None)),
            (scores, torch.from_numpy(relevance), {"indptr": torch.from_numpy(indptr)}, slice(None)),
            (scores[shuffled], relevance[shuffled], {"qid": names[shuffled]}, shuffled),
            (wide, grades, {"mask": torch.from_numpy(mask)}, mask),
        ]
        for given, labels, where, rows in calls:
            leaf = torch.from_numpy(given.copy()).requires_grad_()
            result = loss(leaf, labels, **where)
            (2.0 * result).backward()
            assert result.dtype == leaf.dtype
            assert result.item() == pytest.approx(value, rel=tolerance)
            found, theirs = leaf.grad.numpy() / 2.0, gradient
            if isinstance(rows, np.ndarray) and rows.dtype == bool:
                assert (found[~rows] == 0).all()
                found = found[rows]
            else:
                theirs = gradient[rows]
            size = max(1.0, np.abs(gradient).max())
            np.testing.assert_allclose(found, theirs, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("method", [*TWICE, "listnet", "approxap"])
def test_derivatives_by_pytorch(torch, loss_class, method):
    """PyTorch's own checks by differences, of second derivatives where the loss has them."""
    scores, relevance, indptr = random_lists(5, "float64")
    moved = scores + 0.03 * np.random.default_rng(6).normal(size=len(scores))
    leaf = torch.from_numpy(moved).requires_grad_()
    loss = loss_class(method)

    def value(s):
        return loss(s, relevance, indptr=indptr)

    assert torch.autograd.gradcheck(value, leaf)
    if method in TWICE:
        assert torch.autograd.gradgradcheck(value, leaf)
        product = torch.autograd.functional.hvp(value, leaf, torch.ones_like(leaf))[1]
        np.testing.assert_allclose(product, 0.0, atol=1e-9)  # a shift of all scores changes nothing
    else:
        (gradient,) = torch.autograd.grad(value(leaf), leaf, create_graph=True)
        with pytest.raises(NotImplementedError, match="offers no second derivative"):
            gradient.sum().backward()


def test_nothing_to_learn_gives_zero_with_a_gradient(torch, loss_class):
    for scores, relevance in ((np.zeros(1), [1.0]), (np.ones(3), [2.0, 2.0, 2.0]), (np.zeros(0), [])):
        leaf = torch.from_numpy(scores).requires_grad_()
        result = loss_class("approxndcg")(leaf, np.array(relevance), qid=np.zeros(len(scores)))
        result.backward()
        assert result.item() == 0.0
        assert (leaf.grad == 0).all()


@pytest.mark.parametrize("method", ["yetiloss", "plrank"])
def test_noise_is_new_at_each_call_in_training_and_repeats_with_the_seed(torch, loss_class, method):
    scores, relevance, indptr = random_lists(3, "float64")

    def values(mode):
        loss = loss_class(method).train(mode)
        return [loss(torch.from_numpy(scores), relevance, indptr=indptr).item() for _ in range(3)]

    assert len(set(values(True))) == 3
    assert values(True) == values(True)
    assert set(values(False)) == {values(True)[0]}


def test_the_gradient_of_drawn_rankings_is_that_of_the_expected_measure(torch, loss_class):
    """In the mean over calls, each of which draws anew; by enumeration of all rankings."""
    relevance, scores = np.array([2.0, 1.0, 1.0, 0.0]), np.array([0.3, -0.8, 1.1, 0.2])
    queries = group_rows(relevance, np.zeros(4))[0]
    measure = parse_measure("AP")

    def value(ranking):
        places = np.empty(4)
        places[list(ranking)] = -np.arange(4.0)
        return values_of([measure], queries, places)[0][0]

    expected = -policy_naive(scores, value)[1]
    loss, leaf, gradients = loss_class("plrank(AP)", samples=100), torch.from_numpy(scores), []
    for _ in range(100):
        own = leaf.clone().requires_grad_()
        loss(own, relevance, qid=np.zeros(4)).backward()
        gradients.append(own.grad.numpy())
    error = np.std(gradients, axis=0, ddof=1) / np.sqrt(len(gradients))
    assert (np.abs(np.mean(gradients, axis=0) - expected) < 4.0 * error).all()


def test_types_and_devices(torch, loss_class):
    scores, relevance, indptr = random_lists(2, "float32")
    loss = loss_class("consistent-ndcg", measure="nDCG@10")
    exact = loss(torch.from_numpy(scores), relevance, indptr=indptr).item()
    for dtype in (torch.float16, torch.bfloat16):
        leaf = torch.from_numpy(scores).to(dtype).requires_grad_()
        result = loss(leaf, relevance, indptr=indptr)
        result.backward()
        assert result.dtype == leaf.grad.dtype == dtype
        assert result.item() == pytest.approx(exact, rel=0.03)
    if torch.cuda.is_available():
        leaf = torch.from_numpy(scores).cuda().requires_grad_()
        result = loss(leaf, torch.from_numpy(relevance).cuda(), indptr=indptr)
        result.backward()
        assert result.device == leaf.grad.device == leaf.device
        assert result.item() == pytest.approx(exact, rel=1e-6)


def test_scores_in_order_are_not_copied(torch, loss_class):
    from directrank.apps.libraries import torch as module

    relevance = np.array([2.0, 1.0, 0.0, 1.0, 0.0])
    queries = np.array([0, 0, 0, 1, 1])
    rows = module._rows_of(loss_class("listnet").surrogate, relevance, queries, "mean", None)
    for dtype in (torch.float32, torch.float64):
        scores = torch.arange(5, dtype=dtype)
        assert np.shares_memory(rows.to_inner(scores), scores.numpy())


def test_scores_that_are_not_numbers_give_no_number(torch, loss_class):
    leaf = torch.tensor([0.0, float("nan"), 1.0], requires_grad=True)
    result = loss_class("listnet")(leaf, np.array([1.0, 0.0, 0.0]), indptr=[0, 3])
    result.backward()
    assert result.isnan()
    assert leaf.grad.isnan().all()


def test_what_does_not_fit_is_one_line(torch, loss_class):
    loss, scores, grades = loss_class("listnet"), torch.zeros(3), np.array([1.0, 0.0, 2.0])
    wrong = [
        (scores, grades, {}, "pass qid or indptr"),
        (scores, grades, {"qid": [1, 1, 1], "indptr": [0, 3]}, "pass qid or indptr"),
        (scores, grades, {"qid": [1, 1]}, r"qid has shape \(2,\)"),
        (scores, grades, {"indptr": [0, 2]}, "from 0 to 3"),
        (scores, grades, {"mask": [True] * 3}, "have 1 dimensions"),
        (scores, grades[:2], {"indptr": [0, 3]}, r"relevance has shape \(2,\)"),
        (scores, -grades, {"indptr": [0, 3]}, "relevance of row 0 is -1.0"),
        (torch.zeros(1, 3), grades[None], {"mask": np.ones((1, 2))}, "mask has shape"),
    ]
    for given, labels, where, message in wrong:
        with pytest.raises(DataError, match=message) as refused:
            loss(given, labels, **where)
        assert "\n" not in str(refused.value)
    with pytest.raises(UnfitPairError, match="RankingLoss needs ValueAndGradient; TypeOneBound"):
        loss_class("adarank(AP)")
    with pytest.raises(UnfitPairError, match="requires Staged"):
        loss_class(SmoothedPositions(parse_measure("AP"), anneal=(1.0,)))
    with pytest.raises(ValueError, match="takes no measure"):
        loss_class("listnet", measure="AP")


def test_without_pytorch_one_line_says_how_to_get_it():
    code = """
import sys

class Missing:
    def find_spec(self, name, path, target=None):
        if name == "torch":
            raise ImportError("No module named 'torch'")

sys.meta_path.insert(0, Missing())
import directrank.torch
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.strip().endswith(install_line("torch"))


@pytest.mark.parametrize("method", ["listnet", "ranknet", "lambdarank(AP)", "approxndcg"])
def test_weights_of_queries_make_a_weighted_mean(torch, loss_class, method):
    """Query by query: the losses 1, 2 and 3 of weights 1, 2 and .5 have the mean (1 + 4 + 1.5) / 3.5."""
    rng = np.random.default_rng(3)
    sizes, weights = np.array([4, 2, 4]), np.array([1.0, 2.0, 0.5])
    relevance = np.array([0.0, 1, 2, 0, 0, 2, 1, 0, 0, 2])
    scores, query = rng.normal(size=10), np.repeat([0, 1, 2], sizes)
    loss = loss_class(method)
    alone = [
        loss(torch.from_numpy(scores[query == q]), relevance[query == q], qid=np.zeros(sizes[q])).item()
        for q in range(3)
    ]
    leaf = torch.from_numpy(scores.copy()).requires_grad_()
    indptr = np.array([0, 4, 4, 6, 10])  # The second list has no document, and its weight counts for nothing.
    with_empty = loss(leaf, relevance, indptr=indptr, weights=np.array([1.0, 9.0, 2.0, 0.5]))
    expected = np.dot(weights, alone) / weights.sum()
    assert with_empty.item() == pytest.approx(expected, rel=1e-12)
    turned = loss(
        torch.from_numpy(scores[::-1].copy()), relevance[::-1], qid=query[::-1], weights=weights[::-1]
    )
    assert turned.item() == pytest.approx(expected, rel=1e-12)
    wide, mask = padded_lists(scores, sizes), np.arange(4) < sizes[:, None]
    grades = padded_lists(relevance, sizes)
    for given in (torch.from_numpy(weights), np.repeat(weights[:, None], 4, axis=1)):
        value = loss(torch.from_numpy(wide), grades, mask=mask, weights=given)
        assert value.item() == pytest.approx(expected, rel=1e-12)
    total = loss_class(method, reduction="sum")(leaf, relevance, qid=query, weights=weights)
    assert total.item() == pytest.approx(np.dot(weights, alone), rel=1e-12)
    total.backward()
    part = torch.from_numpy(scores[4:6].copy()).requires_grad_()
    loss(part, relevance[4:6], qid=np.zeros(2)).backward()
    assert leaf.grad[4:6].numpy() == pytest.approx(2.0 * part.grad.numpy(), rel=1e-12)


def padded_lists(values, sizes):
    """Lists of these sizes as rows, filled with ones."""
    wide = np.ones((len(sizes), sizes.max()))
    wide[np.arange(sizes.max()) < sizes[:, None]] = values
    return wide


def test_a_document_without_confidence_is_none(torch, loss_class):
    scores, relevance = torch.tensor([0.3, -0.2, 0.9]), np.array([1.0, 0.0, 2.0])
    loss, qid = loss_class("ranknet"), np.zeros(3)
    weighed = loss(scores, relevance, qid=qid, weights=[1.0, 0.0, 1.0])
    assert weighed.item() == pytest.approx(loss(scores[[0, 2]], relevance[[0, 2]], qid=qid[:2]).item())
    with pytest.raises(DataError, match="the weight differs between rows of query 0"):
        loss_class("listnet")(scores, relevance, qid=qid, weights=[1.0, 0.0, 1.0])
    with pytest.raises(
        DataError, match=r"weights have shape \(2,\): expected one per query, or one per document"
    ):
        loss(scores, relevance, qid=qid, weights=[1.0, 0.0])
    with pytest.raises(DataError, match="weights must be finite and not negative"):
        loss(scores, relevance, qid=qid, weights=[-1.0])


@pytest.mark.parametrize("filling", [0.0, -1e9])
def test_padding_without_a_mask_is_told_once(torch, loss_class, filling):
    scores = torch.tensor([[0.3, -0.2, 0.9], [0.1, filling, filling]])
    relevance = np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    loss = loss_class("listnet")
    with pytest.warns(UserWarning, match="without a mask end as padding does"):
        loss(scores, relevance)
    loss(scores, relevance)
    loss_class("listnet")(scores, relevance, mask=relevance >= 0)
    loss_class("listnet")(torch.tensor([[0.3, -0.2], [0.1, 0.4]]), relevance[:, :2])


IN_LISTS = (
    "listnet", "listnet(supervision=gain)", "listmle", "ranknet", "lambdarank(nDCG)", "lambdarank(DCG@2)",
    "lambdaloss(nDCG@5)", "lambdaloss(DCG)",
)  # fmt: skip


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("method", IN_LISTS)
def test_losses_in_pytorch_are_those_of_the_kernels(torch, loss_class, method, dtype):
    from directrank.apps.libraries.torch_lists import list_loss, reduced

    loss, tolerance = list_loss(loss_class(method).surrogate), TOLERANCE[dtype]
    for seed in range(4):
        scores, relevance, indptr = random_lists(seed, dtype)
        if seed == 3:  # without ties
            scores += np.random.default_rng(3).normal(scale=0.01, size=len(scores)).astype(dtype)
        value, gradient = ours(method, scores, relevance, np.repeat(np.arange(len(SIZES)), SIZES))
        wide, mask = padded(scores, indptr, np.nan)
        leaf = torch.from_numpy(wide).requires_grad_()
        grades = torch.from_numpy(padded(relevance, indptr, -1.0)[0])
        result = reduced(loss, leaf, grades, torch.from_numpy(mask), None, "mean")
        result.backward()
        assert result.item() == pytest.approx(value, rel=tolerance)
        found = leaf.grad.numpy()
        assert (found[~mask] == 0).all()
        size = max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose(found[mask], gradient, rtol=0, atol=tolerance * size)


def log_likelihood(scores, grades):
    """ListMLE by definition: of m equal documents the one after j others competes with 1 − j/m of each."""
    value = 0.0
    for grade in set(grades):
        equal = [score for score, other in zip(scores, grades, strict=True) if other == grade]
        below = [score for score, other in zip(scores, grades, strict=True) if other < grade]
        for j, score in enumerate(equal):
            top = max(equal + below)
            mass = math.fsum(math.exp(each - top) for each in below)
            mass += (1.0 - j / len(equal)) * math.fsum(math.exp(each - top) for each in equal)
            value += top + math.log(mass) - score
    return value


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-6), ("float64", 1e-13)])
@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_listmle_by_its_definition(torch, loss_class, dtype, tolerance, spread):
    """Every list of up to six documents of two grades; beside the best score, e^s of others may vanish."""
    from directrank.apps.libraries.torch_lists import list_loss, reduced

    loss, rng = list_loss(loss_class("listmle").surrogate), np.random.default_rng(0)
    for n in range(2, 7):
        grades = [list(each) for each in product((0.0, 1.0), repeat=n) if 0 < sum(each) < n]
        scores = rng.normal(size=(len(grades), n), scale=spread).astype(dtype)
        wide = torch.from_numpy(np.pad(scores, ((0, 0), (0, 2)), constant_values=np.nan))
        real = torch.arange(n + 2).expand(len(grades), -1) < n
        relevance = torch.nn.functional.pad(torch.tensor(grades), (0, 2), value=9.0)
        expected = math.fsum(map(log_likelihood, scores.astype(float), grades))
        assert reduced(loss, wide, relevance, real, None, "sum").item() == pytest.approx(
            expected, rel=tolerance
        )


def test_listmle_of_long_lists_keeps_no_matrix(torch, loss_class):
    from directrank.apps.libraries.torch_lists import list_loss, reduced

    sizes, n = [], 2000
    scores, grades = torch.randn(1, n, requires_grad=True), torch.randint(0, 5, (1, n))
    loss = list_loss(loss_class("listmle").surrogate)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda kept: sizes.append(kept.numel()) or kept, lambda x: x
    ):
        reduced(loss, scores, grades, None, None, "mean").backward()
    assert sum(sizes) < 100 * n


@pytest.mark.parametrize("method", IN_LISTS)
def test_scores_of_other_devices_never_reach_the_cpu(torch, loss_class, method):
    """A tensor of the device `meta` has no numbers: whatever reads one fails."""
    scores = torch.zeros((4, 7), device="meta", requires_grad=True)
    relevance = torch.zeros((4, 7), device="meta", dtype=torch.int64)
    mask, weights = torch.ones((4, 7), device="meta", dtype=torch.bool), torch.ones(4, device="meta")
    result = loss_class(method)(scores, relevance, mask=mask, weights=weights)
    assert (result.device.type, result.shape) == ("meta", ())
    (gradient,) = torch.autograd.grad(result, scores)
    assert (gradient.device.type, gradient.shape) == ("meta", (4, 7))
    flat = torch.zeros(28, device="meta", requires_grad=True)
    for where in ({"indptr": [0, 9, 9, 28]}, {"qid": np.repeat([3, 1, 2], (9, 9, 10))}):
        result = loss_class(method)(flat, relevance.reshape(-1), weights=np.ones(3), **where)
        assert torch.autograd.grad(result, flat)[0].device.type == "meta"


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@pytest.mark.parametrize("method", IN_LISTS)
def test_on_a_gpu_nothing_waits_and_values_are_those_of_the_cpu(torch, loss_class, method):
    if not torch.cuda.is_available():
        pytest.skip("no GPU of CUDA")
    rng = np.random.default_rng(5)
    scores = torch.from_numpy(np.round(rng.normal(size=(6, 9)), 1))
    relevance, weights = torch.from_numpy(rng.integers(0, 4, (6, 9)).astype(float)), torch.rand(6)
    mask = torch.arange(9) < torch.tensor([9, 5, 1, 7, 2, 9])[:, None]
    loss, found = loss_class(method), []
    for device in ("cpu", "cuda", "cuda"):
        inputs = [values.detach().to(device, copy=True) for values in (scores, relevance, mask, weights)]
        leaf = inputs[0].requires_grad_()
        if len(found) == 2:  # Tables were copied by the first call.
            torch.cuda.set_sync_debug_mode("error")
        try:
            value = loss(leaf, inputs[1], mask=inputs[2], weights=inputs[3])
            value.backward()
        finally:
            if device == "cuda":
                torch.cuda.set_sync_debug_mode("default")
        found.append((value.item(), leaf.grad.cpu().numpy()))
    for value, gradient in found[1:]:
        assert value == pytest.approx(found[0][0], rel=1e-12)
        np.testing.assert_allclose(gradient, found[0][1], rtol=1e-10, atol=1e-14)


def test_rows_of_flat_scores_are_their_lists(torch):
    from directrank.apps.libraries.torch import _lists

    scores, relevance = torch.arange(6.0), torch.tensor([0, 1, 2, 3, 4, 5])
    rows, grades, mask, weights = _lists(scores, relevance, None, [0, 2, 2, 6], None, [1.0, 9.0, 2.0])
    assert mask.tolist() == [[True, True, False, False], [True] * 4]
    assert rows[mask].tolist() == grades[mask].tolist() == [0, 1, 2, 3, 4, 5]
    assert weights.tolist() == [1.0, 2.0]
    rows, _, mask, weights = _lists(scores, relevance, list("abbabb"), None, None, [1.0, 2.0])
    assert [row[real].tolist() for row, real in zip(rows, mask, strict=True)] == [[0, 3], [1, 2, 4, 5]]
    assert weights.tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match=r"weights have shape \(3,\): expected one per query"):
        _lists(scores, relevance, list("abbabb"), None, None, [1.0, 2.0, 3.0])


def test_listnet_under_autocast_and_by_weights(torch, loss_class):
    """Autocast leaves the loss as it is, and weights of queries have their derivative."""
    loss, scores = loss_class("listnet"), torch.tensor([[0.3, -0.2], [0.1, 0.4]], requires_grad=True)
    relevance, weights = torch.tensor([[1.0, 0.0], [2.0, 0.0]]), torch.tensor([1.0, 3.0], requires_grad=True)
    value = loss(scores, relevance, weights=weights)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loss(scores, relevance, weights=weights).item() == value.item()
    value.backward()
    alone = [loss(scores[q : q + 1], relevance[q : q + 1]).item() for q in range(2)]
    # The derivative of (a + 3 b) / 4 by the two weights.
    expected = [(alone[0] - value.item()) / 4.0, (alone[1] - value.item()) / 4.0]
    assert weights.grad.tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("supervision", ["relevance", "gain"])
@pytest.mark.parametrize("top", [4, 60, 200])  # Grades of 60 are no whole ones.
def test_listnet_of_rows_is_the_cross_entropy_of_pytorch(torch, loss_class, supervision, top):
    rng = np.random.default_rng(11)
    loss = loss_class("listnet", supervision=supervision)
    scores = torch.from_numpy(rng.normal(size=(6, 9))).requires_grad_()
    relevance = torch.from_numpy(rng.integers(0, top, (6, 9)) / (8.0 if top == 60 else 1.0))
    relevance[4] = 1.0  # From this list nothing can be learned.
    mask, weights = torch.from_numpy(rng.random((6, 9)) < 0.7), torch.from_numpy(rng.random(6))
    truth = relevance if supervision == "relevance" else 2.0**relevance - 1.0
    for real in (torch.ones_like(mask), mask):
        lists = [
            torch.nn.functional.cross_entropy(
                scores[q, real[q]], torch.softmax(truth[q, real[q]], 0)
            )
            for q in range(6)
        ]  # fmt: skip
        kept = weights * torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
        expected = (kept * torch.stack(lists)).sum() / kept.sum()
        value = loss(scores, relevance, mask=None if real.all() else real, weights=weights)
        assert value.item() == pytest.approx(expected.item(), rel=1e-12)
        gradients = [
            torch.autograd.grad(result, scores, create_graph=True)[0] for result in (value, expected)
        ]
        np.testing.assert_allclose(*(gradient.detach() for gradient in gradients), rtol=1e-9, atol=1e-14)
        along = torch.from_numpy(rng.normal(size=(6, 9)))
        seconds = [torch.autograd.grad((gradient * along).sum(), scores)[0] for gradient in gradients]
        np.testing.assert_allclose(*seconds, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("weight", [1e39, 1.0, 1e-46, 1e-320])
def test_listnet_of_weights_of_any_size(torch, loss_class, weight):
    """Weights of a mean have no unit: two equal ones are as none."""
    loss, scores = loss_class("listnet"), torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]], requires_grad=True)
    relevance = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    weights = torch.full((2,), weight, dtype=torch.float64)
    results = [loss(scores, relevance), loss(scores, relevance, weights=weights)]
    assert results[1].item() == pytest.approx(results[0].item(), rel=1e-6)
    np.testing.assert_allclose(*(torch.autograd.grad(result, scores)[0] for result in results), atol=1e-7)
    assert loss(scores, relevance, weights=[3, 3]).item() == pytest.approx(results[0].item(), rel=1e-6)


def test_a_step_with_listnet_is_compiled(torch, loss_class):
    loss, scores = loss_class("listnet"), torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
    relevance = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    step = torch.compile(lambda x: loss(2.0 * x, relevance), backend="eager")
    assert step(scores).item() == pytest.approx(loss(2.0 * scores, relevance).item(), rel=1e-6)


def test_listnet_takes_derivatives_of_torch_func(torch, loss_class):
    """One list: the shares of scores less those of the truth, and the matrix of their second derivatives."""
    loss, scores = loss_class("listnet"), torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64)
    relevance = torch.tensor([[2.0, 0.0, 1.0]], dtype=torch.float64)
    shares = torch.softmax(scores[0], 0)
    gradient = torch.func.grad(lambda s: loss(s, relevance))
    np.testing.assert_allclose(gradient(scores)[0], shares - torch.softmax(relevance[0], 0), rtol=1e-12)
    second = torch.func.grad(lambda s: gradient(s)[0, 1])(scores)[0]
    np.testing.assert_allclose(second, shares[1] * (torch.tensor([0.0, 1.0, 0.0]) - shares), rtol=1e-12)
    several = torch.stack([scores, 2.0 * scores, -scores])
    values = torch.func.vmap(lambda s: loss(s, relevance))(several)
    gradients = torch.func.vmap(gradient)(several)
    for k, each in enumerate(several):
        assert values[k].item() == pytest.approx(loss(each, relevance).item(), rel=1e-12)
        np.testing.assert_allclose(gradients[k], gradient(each), rtol=1e-12)
