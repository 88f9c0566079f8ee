"""Qin et al. 2010 on one training set: Figures 1 and 2, Tables 5 and 6."""

import time
import warnings
from collections.abc import Sequence

import numpy as np
from comparing import say
from paper_tables import Row, in_errors
from pictures import line_picture
from scipy.special import comb

from directrank import ApproxRank, SoftRank, evaluate
from directrank.apps.report.charts import Line
from directrank.data import QueryGroups

STEEPNESSES = (10.0, 50.0, 100.0)
TRUNCATIONS = (1.0, 10.0, 100.0)
RESTARTED = (50.0, 100.0, 300.0)
COUNTS = (1, 2, 5, 10, 20, 50, 100)
NOISES = (0.03, 0.1, 0.3, 1.0)
#: The measure that Table 5 reports for the approximation of each measure; the paper has NDCG alone.
REPORTED = {"nDCG": "nDCG@5", "AP": "AP"}
#: Title, measure, settings (α, β) and the statement of the text for each setting.
FIGURES = {
    "figure1a": ("Figure 1(a), there TD2004: error of ApproxAP, β = 10", "AP",
                 [(each, 10.0) for each in STEEPNESSES], ("> 0.95", "", "> 0.98")),
    "figure1b": ("Figure 1(b), there TD2004: error of ApproxAP, α = 100", "AP",
                 [(100.0, each) for each in TRUNCATIONS], ("", "grows with β", "grows with β")),
    "figure2": ("Figure 2: error of ApproxNDCG", "nDCG", [(each, 1.0) for each in STEEPNESSES],
                ("", "grows with α", "grows with α")),
}  # fmt: skip
#: L-BFGS makes 200 iterations or converges.
TO_THE_END = {"max_iterations": 200, "least_decrease": 0.0}
#: The paper's stochastic gradient ascent: η = 0.01, until an epoch changes the objective by less than 0.001.
PRINTED = {"penalty": 0.0, "solver": "sgd", "learning_rate": 0.01, "max_iterations": 200}


def random_direction(n_features: int, seed: int) -> np.ndarray:
    """Return a random start of unit length."""
    direction = np.random.default_rng(seed).standard_normal(n_features)
    return direction / np.linalg.norm(direction)


class ErrorFigure:
    """The mean error ρ of the approximation over the epochs of the paper's ascent, for several settings."""

    def __init__(self, name: str, train: QueryGroups):
        self.name = name
        self.title, self.measure, settings, self.said = FIGURES[name]
        varied = 1 if name == "figure1b" else 0
        self.found = {f"{'αβ'[varied]} = {pair[varied]:g}": self._epochs(train, *pair) for pair in settings}

    def _epochs(self, train, steepness, truncation) -> list[tuple[int, float, float]]:
        ranker = ApproxRank(
            self.measure, steepness=steepness, truncation=truncation, certify="all",
            start=random_direction(train.n_features, 1), **PRINTED,
        )  # fmt: skip
        rows = trained(ranker, train).history_
        return [(each["epoch"] + 1, each["approximation_error"], each["certified_error"]) for each in rows]

    def rows(self, collection: str) -> list[Row]:
        """Return the accuracy 1 − ρ at the last epoch; the reason gives its lowest value."""
        method = f"Approx{self.measure.upper()}"
        drawn_from = "TD2004" if self.measure == "AP" else "OHSUMED"
        return [
            Row(collection, f"{method}, {label}", "accuracy, last epoch",
                said, 1 - epochs[-1][1],
                reason=f"the paper shows {drawn_from}; here {len(epochs)} epochs, lowest accuracy "
                f"{1 - max(error for _, error, _ in epochs):.4f}")
            for (label, epochs), said in zip(self.found.items(), self.said, strict=True)
        ]  # fmt: skip

    def picture(self) -> str:
        """Draw the error over the epochs."""
        lines = [Line(name, [(k, error) for k, error, _ in each]) for name, each in self.found.items()]
        return line_picture(self.title, "epoch", "mean error ρ", lines)

    def points(self) -> list[tuple]:
        """Return one row for each epoch: setting, epoch, error, certified error."""
        return [(name, *row) for name, each in self.found.items() for row in each]


def trained(ranker: ApproxRank, train: QueryGroups) -> ApproxRank:
    """Train by the paper's schedule; it ends before it converges, which would be said for every fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return ranker.fit(train)


def restarts(train: QueryGroups, n_starts: int, solver: str, measure: str) -> dict[float, list[float]]:
    """Return the final training NDCG@5 or AP (letor3) of each random start for each α."""
    settings = PRINTED if solver == "sgd" else {"penalty": 0.0, **TO_THE_END}
    found = {}
    for steepness in RESTARTED:
        say(f"table 5: Approx{measure.upper()}, {n_starts} starts by {solver}, α = {steepness:g}")
        found[steepness] = [
            on_training(
                trained(
                    ApproxRank(measure, steepness=steepness, select_by=REPORTED[measure],
                               start=random_direction(train.n_features, 100 + seed), **settings),
                    train,
                ),
                train,
                REPORTED[measure],
            )
            for seed in range(n_starts)
        ]  # fmt: skip
    return found


def on_training(ranker, train: QueryGroups, measure: str = "nDCG@5") -> float:
    """Return the measure on training queries in LETOR's convention."""
    return evaluate(train, ranker.predict(train), measures=[measure], convention="letor3")[measure]


def chances(n: int, k: int) -> np.ndarray:
    """Return how likely each of n values, the best first, is the best of k drawn without replacement."""
    return comb(n - 1 - np.arange(n), k - 1) / comb(n, k)


def expected_best(values: Sequence[float], k: int) -> float:
    """Return the expected best of k values drawn from these without replacement."""
    return float(chances(len(values), k) @ -np.sort(-np.asarray(values)))


def table5(collection: str, found: dict[str, dict[float, list[float]]], measure: str) -> list[Row]:
    """The best of K starts for each α, and the comparisons that the text makes for NDCG."""
    rows, reported = [], REPORTED[measure]
    for solver, values in found.items():
        n = len(values[RESTARTED[0]])
        counts = [k for k in COUNTS if k <= n]
        best = {a: {k: expected_best(each, k) for k in counts} for a, each in values.items()}
        rows += [
            Row(collection, f"{solver}, α = {a:g}", f"{reported}, best of {k}", None, best[a][k])
            for a in RESTARTED
            for k in counts
        ]
        for more, less, k, said in (
            (300.0, 50.0, 1, "<= 0"), (300.0, 100.0, 1, "<= 0"), (300.0, 100.0, n, "> 0 (K = 100)"),
            (100.0, 50.0, n, "> 0 (K = 100)"),
        ):  # fmt: skip
            difference, error = best[more][k] - best[less][k], spread(values[more], values[less], k)
            printed = said if measure == "nDCG" else None
            rows.append(
                Row(collection, f"{solver}, α = {more:g} - α = {less:g}", f"{reported}, best of {k}",
                    printed, difference, error, reason=in_errors(difference, error))
            )  # fmt: skip
    return rows


def spread(more: Sequence[float], less: Sequence[float], k: int, times: int = 200) -> float:
    """Return the bootstrap standard error of a difference between the expected bests of k starts."""
    rng = np.random.default_rng(0)
    drawn = [
        expected_best(rng.choice(more, len(more)), k) - expected_best(rng.choice(less, len(less)), k)
        for _ in range(times)
    ]
    return float(np.std(drawn, ddof=1))


def table5_picture(values: dict[float, list[float]], solver: str, measure: str) -> str:
    """Draw the expected best of K starts."""
    lines = [
        Line(f"α = {a:g}", [(k, expected_best(each, k)) for k in COUNTS if k <= len(each)])
        for a, each in values.items()
    ]
    title = f"Table 5: Approx{measure.upper()}, best of K random starts, {solver}"
    marks = [k for k in COUNTS if k <= len(values[RESTARTED[0]])]
    return line_picture(
        title, "K", f"training {REPORTED[measure]}", lines, from_zero=False, logarithmic=marks
    )


def table6(collection: str, train: QueryGroups, best: float) -> tuple[list[Row], list[Row]]:
    """SoftRank and ApproxNDCG: the best training NDCG@5 over σ, and the time of an iteration."""
    say("table 6: SoftRank")
    soft = [SoftRank("nDCG", noise=noise, select_by="nDCG@5").fit(train) for noise in NOISES]
    reached = max(on_training(ranker, train) for ranker in soft)
    training = [
        Row(collection, "SoftRank", "training nDCG@5", 0.4940, reached, reason=SOFTRANK),
        Row(
            collection, "ApproxNDCG, best of all starts - SoftRank", "training nDCG@5", "> 0", best - reached
        ),
    ]
    seconds = {
        "SoftRank": seconds_an_iteration(SoftRank("nDCG"), train),
        "ApproxNDCG": seconds_an_iteration(ApproxRank("nDCG", steepness=100.0, **TO_THE_END), train),
    }
    ratio = seconds["SoftRank"] / seconds["ApproxNDCG"]
    times = [
        Row(collection, name, "seconds an iteration of L-BFGS", None, each) for name, each in seconds.items()
    ]
    times.append(Row(collection, "SoftRank / ApproxNDCG", "time", "much slower", ratio, reason=CUBE))
    return training, times


def seconds_an_iteration(ranker, train: QueryGroups) -> float:
    """Return the shortest time of three fits after a first one that compiles the kernels."""
    ranker.fit(train)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        ranker.fit(train)
        times.append((time.perf_counter() - began) / len(ranker.history_))
    return min(times)


SOFTRANK = (
    "the best of four σ, by L-BFGS with a small penalty, evaluated at its best iterate; the text states "
    "neither σ nor the optimiser"
)
CUBE = "time grows with the cube of the list length for SoftRank and with its square for ApproxNDCG"
