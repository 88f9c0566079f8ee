"""How PermuRank's defaults were chosen, on training and validation sets only.

    python benchmarks/studies/permurank_selection.py --data OHSUMED [--rounds 100]

For each aggregate and C, over the folds: the mean validation AP of the round that is best on the training
queries, of the last round, and of the round that is best on one half of the validation queries, evaluated on
the other half (so that no figure is the best of its own hundred); and the number of rounds. The test sets
are not read. The default is the setting and the rule with the largest figure; smaller C give the same model.
"""

import argparse
from pathlib import Path

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.files import read_letor
from directrank.measures import AP
from directrank.measures.positions import positions_of
from directrank.scorers import Linear
from directrank.solvers import WorkingSets
from directrank.surrogates import Objective, WorkingSetBound

AGGREGATES = ("sum", "mean", "max")
STRENGTHS = tuple(10 ** (half / 2) for half in range(-3, 5))
HALVINGS = 60


class Recorder:
    """A monitor that records the AP of each training and validation query in each round."""

    def __init__(self, train: QueryGroups, vali: QueryGroups):
        self.parts = train, vali
        self.features = np.concatenate((train.features, vali.features))
        self.rows: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, scores):
        """Record, and return the mean over the training queries."""
        split = np.split(scores, [self.parts[0].n_docs])
        found = []
        for part, own in zip(self.parts, split, strict=True):
            found.append(AP().query_values(part.queries, positions_of(part.queries, own)))
        self.rows.append((found[0], found[1]))
        return float(found[0].mean())


def recorded(train, vali, aggregate, C, rounds):
    """Return the AP of each query after each round: training (rounds, queries) and validation."""
    recorder, surrogate = Recorder(train, vali), WorkingSetBound(AP(), aggregate=aggregate)
    objective = Objective(surrogate, train.queries, train.shards)
    solver = WorkingSets(C=C, rounds=rounds)
    solver.solve(objective, Linear(), train.features, recorder, np.random.default_rng(0))
    by_part = zip(*recorder.rows, strict=True)
    return tuple(np.array(each) for each in by_part)


def judged(training, validation, rng):
    """Return the validation AP of three rules for the round."""
    by_training = validation[np.argmax(training.mean(axis=1))].mean()
    halves = []
    for _ in range(HALVINGS):
        one, other = np.array_split(rng.permutation(validation.shape[1]), 2)
        for a, b in ((one, other), (other, one)):
            halves.append(validation[np.argmax(validation[:, a].mean(axis=1))][b].mean())
    return by_training, validation[-1].mean(), np.mean(halves), len(validation)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    folders = sorted(folder for folder in options.data.glob("Fold*") if folder.is_dir())
    folds = [[read_letor(folder / f"{part}.txt") for part in ("train", "vali")] for folder in folders]
    print(f"{'aggregate':<10}{'C':>8}{'by training':>13}{'last':>8}{'by half':>9}{'rounds':>8}")
    for aggregate in AGGREGATES:
        for C in STRENGTHS:
            rng = np.random.default_rng(0)
            rows = [judged(*recorded(*fold, aggregate, C, options.rounds), rng) for fold in folds]
            training, last, half, n_rounds = np.mean(rows, axis=0)
            figures = f"{training:>13.4f}{last:>8.4f}{half:>9.4f}{n_rounds:>8.1f}"
            print(f"{aggregate:<10}{C:>8.2g}{figures}", flush=True)


if __name__ == "__main__":
    main()
