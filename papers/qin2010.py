"""Figures 1 and 2 and Table 5 of the approximation framework, on the first fold of a LETOR data set.

T. Qin, T.-Y. Liu, H. Li, "A general approximation framework for direct optimization of information retrieval
measures", Information Retrieval 13, 2010. The paper draws Figure 1 from TD2004, Figure 2 and Table 5 from
OHSUMED.

    python papers/qin2010.py --data OHSUMED --out FOLDER [--full]

writes figure1a, figure1b and figure2, each as .csv and .svg: the mean error ρ of the approximation over the
training queries, beside its proved bound, over the epochs of the paper's stochastic gradient ascent (step
0.01 from one random start, until an epoch changes the objective by less than 0.001). And table5.csv and
table5.svg: the best training nDCG@5 among K random starts, in expectation over which of all starts they are;
each ends where L-BFGS does, without a penalty. Without --full it takes 20 starts in place of 100.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from svg_curves import curves

from directrank import ApproxRank, load_letor

STEEPNESSES = (10.0, 50.0, 100.0)
TRUNCATIONS = (1.0, 10.0, 100.0)
#: What the paper's text says of each.
CLAIMS = {
    "figure1a": "Paper, on TD2004: accuracy above 95% at its lowest steepness, above 98% at 100",
    "figure1b": "Paper, on TD2004: the error falls as the truncation's steepness grows",
    "figure2": "Paper: the error falls as the steepness grows",
    "table5": "Paper: with one start 300 is not better than 50 and 100; with 100 starts 300 > 100 > 50",
}


def random_direction(n_features, seed):
    direction = np.random.default_rng(seed).standard_normal(n_features)
    return direction / np.linalg.norm(direction)


def errors(train, measure, steepness, truncation, epochs):
    """One row an epoch: the mean error on the training queries and its certificate."""
    ranker = ApproxRank(
        measure, steepness=steepness, truncation=truncation, penalty=0.0, solver="sgd", learning_rate=0.01,
        max_iterations=epochs, start=random_direction(train.n_features, 1), certify="all",
    ).fit(train)  # fmt: skip
    return [(row["epoch"] + 1, row["approximation_error"], row["certified_error"]) for row in ranker.history_]


def write_rows(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def figure(name, title, train, measure, settings, epochs, out):
    found = {label: errors(train, measure, *pair, epochs) for label, pair in settings.items()}
    rows = [(label, *row) for label, each in found.items() for row in each]
    write_rows(out / f"{name}.csv", ("setting", "epoch", "error", "certified"), rows)
    drawn = {label: [(epoch, error) for epoch, error, _ in each] for label, each in found.items()}
    (out / f"{name}.svg").write_text(curves(title, "epoch", "mean error ρ", drawn), encoding="utf-8")
    print(f"{name}: {title}. {CLAIMS[name]}")
    for label, each in found.items():
        last, worst = each[-1], max(error for _, error, _ in each)
        print(f"  {label:12} accuracy {1 - last[1]:.1%} at epoch {last[0]}, at worst {1 - worst:.1%}")


def starts_against_steepness(train, n_starts, out):
    values = {}
    for steepness in (50.0, 100.0, 300.0):
        values[steepness] = [
            ApproxRank(
                "nDCG", steepness=steepness, penalty=0.0, select_by="nDCG@5",
                start=random_direction(train.n_features, 100 + seed),
            ).fit(train).score(train)
            for seed in range(n_starts)
        ]  # fmt: skip
    counts = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= n_starts]
    best = {steepness: [(k, expected_best(each, k)) for k in counts] for steepness, each in values.items()}
    write_rows(
        out / "table5.csv", ("steepness", "starts", "ndcg5"),
        [(f"{steepness:g}", k, f"{value:.4f}") for steepness, row in best.items() for k, value in row],
    )  # fmt: skip
    drawn = {f"α = {steepness:g}": row for steepness, row in best.items()}
    picture = curves("Best of K random starts", "K", "training nDCG@5", drawn)
    (out / "table5.svg").write_text(picture, encoding="utf-8")
    print(f"table5: best training nDCG@5 among K of {n_starts} starts. {CLAIMS['table5']}")
    print(f"  {'K':>12} " + " ".join(f"{k:7}" for k in counts))
    for steepness, row in best.items():
        print(f"  {f'α = {steepness:g}':>12} " + " ".join(f"{value:7.4f}" for _, value in row))


def expected_best(values, k):
    """The best of k of these values, in expectation over which ones: K = 1 is not left to one draw."""
    ascending, n = np.sort(values), len(values)
    chances = np.zeros(n)
    remaining = 1.0
    for i in range(n - 1, k - 2, -1):  # the i-th value is the best if it is drawn and none above it is
        chances[i] = remaining * k / (i + 1)
        remaining -= chances[i]
    return float(chances @ ascending)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a LETOR data set with Fold1/train.txt")
    parser.add_argument("--out", type=Path, default=Path("qin2010"))
    parser.add_argument("--full", action="store_true", help="100 starts, and 200 epochs in place of 60")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    train = load_letor(asked.data / "Fold1")[0]
    epochs = 200 if asked.full else 60
    by_steepness = {f"α = {alpha:g}": (alpha, 10.0) for alpha in STEEPNESSES}
    by_truncation = {f"β = {beta:g}": (100.0, beta) for beta in TRUNCATIONS}
    figure("figure1a", "Error of ApproxAP, β = 10", train, "AP", by_steepness, epochs, asked.out)
    figure("figure1b", "Error of ApproxAP, α = 100", train, "AP", by_truncation, epochs, asked.out)
    figure("figure2", "Error of ApproxNDCG", train, "nDCG", by_steepness, epochs, asked.out)
    starts_against_steepness(train, 100 if asked.full else 20, asked.out)


if __name__ == "__main__":
    main()
