"""Valizadegan, Jin, Zhang, Mao, NIPS 2009: Figure 1(a), NDCG@1 to NDCG@10 on OHSUMED.

    python papers/valizadegan2009.py --data OHSUMED [--baselines letor3_baselines.csv] [--out papers/out]

Trains NDCG_Boost on the five folds in the paper's setting, 100 rounds of stumps without validation, and puts
its curves beside the published rows of LETOR 3.0. Writes `valizadegan2009.csv` and `valizadegan2009.svg`.

The paper prints two numbers of this figure: NDCG@3 of NDCG_Boost is 0.50, 4 % above FRank. It fits
unweighted stumps to documents drawn in proportion to the size of their weights, and does not say by which
criterion; `eta` maximises the paper's η exactly, `gini` the gain of a regression tree.
"""

import argparse
import csv
import lzma
import math
from pathlib import Path

import numpy as np
from svg_lines import line_chart

from directrank import NDCGBoost, RankBoost, evaluate, load_letor

CUTOFFS = range(1, 11)
MEASURES = [f"nDCG@{k}" for k in CUTOFFS] + ["AP"]
OURS = {
    "NDCG_Boost, gini": lambda seed: NDCGBoost(),
    "NDCG_Boost, gini, sampled": lambda seed: NDCGBoost(sampling=True, random_state=seed),
    "NDCG_Boost, eta": lambda seed: NDCGBoost(criterion="eta"),
    "NDCG_Boost, eta, sampled": lambda seed: NDCGBoost(criterion="eta", sampling=True, random_state=seed),
    "RankBoost, 50 rounds": lambda seed: RankBoost(rounds=50, keep="last"),
}
#: The baselines that the figure draws.
PUBLISHED = ("Regression", "FRank", "ListNet", "RankSVM", "AdaRank-NDCG", "SVMMAP")
PRINTED = {"NDCG_Boost": 0.50, "FRank": 0.50 / 1.04}


def folds_of(folder):
    return [load_letor(fold) for fold in sorted(folder.glob("Fold*"))]


def ours(folds, make, seeds):
    """Mean over folds of the test values in LETOR 3.0's convention, and the values of all queries."""
    rows, queries = [], []
    for seed in range(seeds):
        for train, _, test in folds:
            ranker = make(seed).fit(train)
            result = evaluate(
                test, ranker.predict(test), measures=MEASURES, convention="letor3", per_query=True
            )
            rows.append([result[name] for name in MEASURES])
            queries.append(np.column_stack([result.per_query[name] for name in MEASURES]))
    per_query = np.concatenate(queries).reshape(seeds, -1, len(MEASURES)).mean(axis=0)
    return np.mean(rows, axis=0), per_query


def published(path):
    """Mean over folds of LETOR's test values, by algorithm."""
    values = {}
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["dataset"] == "OHSUMED" and row["split"] == "test" and row["fold"].startswith("Fold"):
                metric = "AP" if row["metric"] == "MAP" else row["metric"].replace("NDCG", "nDCG")
                values.setdefault(row["algorithm"], {}).setdefault(metric, []).append(float(row["value"]))
    return {
        name: [float(np.mean(values[name][each])) for each in MEASURES]
        for name in PUBLISHED
        if name in values
    }


def baselines_beside(data):
    for folder in (data, data.parent):
        for name in ("letor3_baselines.csv", "letor3_baselines.csv.xz"):
            if (folder / name).is_file():
                return folder / name
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of OHSUMED, with Fold1 to Fold5")
    parser.add_argument("--baselines", type=Path, help="LETOR 3.0's published values, csv or csv.xz")
    parser.add_argument("--out", type=Path, default=Path("papers/out"))
    parser.add_argument("--seeds", type=int, default=5, help="runs of the sampled variants that are averaged")
    options = parser.parse_args()
    folds = folds_of(options.data)
    if not folds:
        parser.error(f"{options.data} holds no Fold1, Fold2, ...")
    rows, spread = {}, {}
    for name, make in OURS.items():
        rows[name], spread[name] = ours(folds, make, options.seeds if "sampled" in name else 1)
    path = options.baselines or baselines_beside(options.data)
    if path is None:
        print("no letor3_baselines.csv beside the data: ours alone (--baselines names it)")
    theirs = {f"LETOR: {name}": row for name, row in published(path).items()} if path else {}
    report(rows, spread, theirs)
    save(options.out, {**rows, **theirs})


def report(rows, spread, theirs):
    print(f"{'test, letor3, mean of five folds':34s} " + " ".join(f"{name:>7s}" for name in MEASURES))
    for name, row in {**rows, **theirs}.items():
        print(f"{name:34s} " + " ".join(f"{value:7.4f}" for value in row))
    at = MEASURES.index("nDCG@3")
    values = spread["NDCG_Boost, gini"][:, at]
    error = values.std(ddof=1) / math.sqrt(len(values))
    print(
        f"NDCG@3 printed in the paper: NDCG_Boost {PRINTED['NDCG_Boost']:.3f}, FRank {PRINTED['FRank']:.3f}; "
        f"ours {rows['NDCG_Boost, gini'][at]:.4f}, standard error over queries {error:.3f}"
    )
    for name in OURS:
        difference = spread["NDCG_Boost, gini"][:, at] - spread[name][:, at]
        if difference.any():
            error = difference.std(ddof=1) / math.sqrt(len(difference))
            print(f"  gini minus {name}: {difference.mean():+.4f}, paired standard error {error:.4f}")


def save(out, rows):
    out.mkdir(parents=True, exist_ok=True)
    with (out / "valizadegan2009.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["method", *MEASURES])
        writer.writerows([name, *(f"{value:.4f}" for value in row)] for name, row in rows.items())
    drawn = {
        ("*" if name.startswith("NDCG") else "") + name: row[: len(CUTOFFS)]
        for name, row in rows.items()
        if not name.startswith("RankBoost")
    }
    chart = line_chart("OHSUMED, five folds, test", "@ n", "NDCG (letor3)", list(CUTOFFS), drawn)
    (out / "valizadegan2009.svg").write_text(chart)
    print(f"written: {out / 'valizadegan2009.csv'}, {out / 'valizadegan2009.svg'}")


if __name__ == "__main__":
    main()
