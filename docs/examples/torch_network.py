"""A small network in PyTorch, trained on the consistent loss of nDCG, beside a linear model.

    python docs/examples/torch_network.py

Relevance depends on products of features, which no linear model can see.
"""

import numpy as np
import torch

from directrank import ConsistentRank, QueryGroups, evaluate
from directrank.torch import RankingLoss


def collection(n_queries: int, seed: int) -> QueryGroups:
    """Return queries of 30 documents whose relevance is an interaction of features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30 * n_queries, 4)).astype(np.float32)
    utility = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=len(X))
    return QueryGroups(X, np.digitize(utility, [0.5, 1.5]).astype(float), np.repeat(np.arange(n_queries), 30))


def train(groups: QueryGroups, epochs: int = 30) -> torch.nn.Module:
    """Return a network trained by Adam, eight queries a step."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    loss = RankingLoss("consistent-ndcg", measure="nDCG@10")
    X = torch.from_numpy(groups.X).reshape(-1, 30, 4)
    relevance = torch.from_numpy(groups.relevance).reshape(-1, 30)
    for _ in range(epochs):
        for batch in torch.randperm(len(X)).split(8):
            optimiser.zero_grad()
            loss(network(X[batch])[..., 0], relevance[batch]).backward()
            optimiser.step()
    return network


def main() -> None:
    """Print nDCG@10 of both on new queries."""
    groups, test = collection(120, seed=1), collection(60, seed=2)
    linear = ConsistentRank("nDCG@10").fit(groups).predict(test)
    scores = train(groups)(torch.from_numpy(test.X))[:, 0].detach().numpy()
    for name, each in (("linear", linear), ("network", scores)):
        value = evaluate(test, each, measures=["nDCG@10"])
        print(f"{name:8} nDCG@10 {float(value['nDCG@10']):.3f}")


if __name__ == "__main__":
    main()
