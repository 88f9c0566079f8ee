"""Scalings of features by `compare`, on made collections: where the logarithm gains and loses.

    python benchmarks/studies/scaling_rules.py [--only lognormal,units] [--methods listnet,consistent-ndcg]

A collection has features of a normal distribution (Student's t for "student"), which a linear function
ranks, seen through another scale. `compare` divides it into five folds; each row is a method with a fixed
scaling, and the last one has the default. Printed are means of test AP and nDCG@10 over the folds.
"""

import argparse

import numpy as np

from directrank import QueryGroups, compare, make_ranking

SCALINGS = ("none", "standard", "log", "query", "auto")
MEASURES = ("AP", "nDCG@10")
N_FEATURES = 20
#: What a method sees instead of normal features X, by the name of the collection.
MADE = {
    "normal": lambda X, rng: X,
    "student": lambda X, rng: X,
    "lognormal": lambda X, rng: np.exp(rng.uniform(0.5, 2.5, N_FEATURES) * X),
    "counts": lambda X, rng: rng.poisson(np.exp(rng.uniform(0, 5, N_FEATURES) + 1.2 * X)),
    "one-huge": lambda X, rng: X * np.where(np.arange(N_FEATURES) == 3, 1e8, 1.0),
    "units": lambda X, rng: X * 10.0 ** rng.uniform(-8, 8, N_FEATURES),
    "offsets": lambda X, rng: X + 10.0 ** rng.uniform(0, 4, N_FEATURES),
    "spread-0.75": lambda X, rng: X * 10.0 ** rng.uniform(-0.75, 0.75, N_FEATURES),
    "spread-1.5": lambda X, rng: X * 10.0 ** rng.uniform(-1.5, 1.5, N_FEATURES),
}


def collection(name: str) -> QueryGroups:
    """Draw the collection of a name."""
    made = make_ranking(
        150, 40, N_FEATURES, n_useless=5, n_inverted=5, query_offset=0.3, random_state=0,
        tail=2.5 if name == "student" else None,
    )  # fmt: skip
    X = MADE[name](made.X.astype(np.float64), np.random.default_rng(0))
    return QueryGroups(X.astype(np.float32), made.relevance, made.qid)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join(MADE))
    parser.add_argument("--methods", default="listnet")
    given = parser.parse_args()
    for method in given.methods.split(","):
        print(f"\n| {method}: AP / nDCG@10 | {' | '.join(SCALINGS)} |\n|{' --- |' * (len(SCALINGS) + 1)}")
        for name in given.only.split(","):
            rows = [f"{method}(scaling={scaling})" for scaling in SCALINGS]
            results = compare(collection(name), ",".join(rows), kfold=5, measures=MEASURES, audit=False)
            cells = [
                " / ".join(f"{results.mean(row, measure, 'standard'):.3f}" for measure in MEASURES)
                for row in results.trained
            ]
            print(f"| {name} | {' | '.join(cells)} |".replace("0.", "."), flush=True)


if __name__ == "__main__":
    main()
