"""ListNet in PyTorch: `RankingLoss` against two lines of PyTorch, value and gradient.

    python benchmarks/kernels/torch_listnet.py

Both are timed in turn on one thread. The table has the least times in milliseconds and their ratio, of lists
without and with padding.
"""

import time

import torch

from directrank.torch import RankingLoss

SIZES = ((16, 10), (64, 100), (256, 200), (1024, 100))
REPETITIONS = 200


def two_lines(scores, relevance, mask):
    """Return ListNet's loss by hand; with a mask as allRank and sentence-transformers write it."""
    if mask is not None:
        scores, relevance = scores.masked_fill(~mask, -torch.inf), relevance.masked_fill(~mask, -torch.inf)
        logs = torch.log_softmax(scores, -1).masked_fill(~mask, 0.0)
        return -(torch.softmax(relevance, -1) * logs).sum(-1).mean()
    return -(torch.softmax(relevance, -1) * torch.log_softmax(scores, -1)).sum(-1).mean()


def seconds(loss, scores) -> float:
    """Return the time of a value and its gradient."""
    scores.grad = None
    started = time.perf_counter()
    loss().backward()
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ours = RankingLoss("listnet")
    print("lists  longest  mask  two lines  RankingLoss  ratio")
    for n_lists, longest in SIZES:
        for padded in (False, True):
            scores = torch.randn(n_lists, longest, requires_grad=True)
            relevance = torch.randint(0, 5, (n_lists, longest)).float()
            sizes = torch.randint(longest // 2, longest + 1, (n_lists, 1))
            mask = torch.arange(longest) < sizes if padded else None
            losses = (
                lambda s=scores, r=relevance, m=mask: two_lines(s, r, m),
                lambda s=scores, r=relevance, m=mask: ours(s, r, mask=m),
            )
            torch.testing.assert_close(losses[0](), losses[1]())
            times = [[seconds(loss, scores) for loss in losses] for _ in range(REPETITIONS)]
            theirs, mine = (1e3 * min(column) for column in zip(*times, strict=True))
            size = f"{n_lists:5}  {longest:7}  {'yes' if padded else 'no':4}"
            print(f"{size}  {theirs:9.3f}  {mine:11.3f}  {mine / theirs:5.2f}")


if __name__ == "__main__":
    main()
