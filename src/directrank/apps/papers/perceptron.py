"""The averaged structured perceptron: a step towards the perfect ranking for each query that violates it."""

from typing import Annotated

import numpy as np

from directrank.contracts import LinearScorer, MostViolated, Solution, Solver
from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import ABOVE_0, FROM_1, AnyMeasure, estimator, positional
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers.descent import Incumbent
from directrank.surrogates import TypeTwoBound


class Perceptron(Solver):
    r"""Passes over the queries in random order, each a step along the query's most violated ranking.

    .. math:: w \leftarrow w + \eta \, [\Psi(\pi^*) - \Psi(\hat\pi)]

    where :math:`\hat\pi` maximises the loss minus the margin, unless that is a perfect ranking, and Ψ are the
    features of a ranking. The average of w over all steps is judged after each pass, and the best is kept.

    Parameters
    ----------
    learning_rate : float, default=1.0
        η > 0; a margin is in units of 1/η, because w starts at zero.
    max_passes : int, default=50

    Notes
    -----
    The certificate is the share of queries that the solution violates. A pass without a violation ends the
    run, with its w: every query then beats its imperfect rankings by their losses. If a w* of length 1 does
    so by the margin γ > 0 and no :math:`\Psi(\pi^*) - \Psi(\pi)` is longer than R, there are at most
    :math:`(R^2 + 2 / \eta) / \gamma^2` violations in all. This bound holds for queries of equal weight only:
    a step is proportional to the weight of its query.

    References
    ----------
    .. [1] M. Collins, "Discriminative training methods for hidden Markov models: theory and experiments with
       perceptron algorithms", EMNLP 2002, Theorem 1.
    .. [2] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, section 4.3.
    """

    needs = frozenset({MostViolated})
    trains = LinearScorer

    def __init__(self, *, learning_rate=1.0, max_passes=50):
        if not learning_rate > 0:
            raise ValueError(f"learning_rate must be positive, not {learning_rate}")
        self.learning_rate, self.max_passes = float(learning_rate), max_passes

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        weighted = objective.single_queries()
        # By their features: the order of queries in the data decides nothing.
        sums = [features[part.rows].sum(axis=0, dtype=np.float64) for part in weighted]
        parts = [weighted[place] for place in np.lexsort(np.array(sums).T)]
        incumbent = Incumbent(scorer, monitor)
        w, total, trace = np.zeros(features.shape[1]), np.zeros(features.shape[1]), []

        def step_of(part, w: np.ndarray) -> np.ndarray | None:
            rows = features[part.rows]
            scores = scorer.forward(w, rows, objective.dtype).astype(np.float64)
            direction = part.oracles.most_violated(scores)[1]
            if not direction.any():
                return None
            weight = objective.weights[part.queries.start] * len(parts)
            return -self.learning_rate * weight * scorer.backward(rows, direction)

        violations = len(parts)
        for number in range(1, self.max_passes + 1):
            violations = 0
            for place in rng.permutation(len(parts)):
                step = step_of(parts[place], w)
                if step is not None:
                    w, violations = w + step, violations + 1
                total += w
            judged = incumbent.offer(total / (number * len(parts)))
            trace.append({"pass": number, "violations": violations, "monitor": judged})
            if violations == 0:
                break
        updates = sum(row["violations"] for row in trace)
        parameters = w if violations == 0 else np.asarray(incumbent.parameters)
        n_violated = sum(step_of(part, parameters) is not None for part in parts)
        certificate = {"violations": n_violated / len(parts), "updates": float(updates)}
        message = f"{len(trace)} passes, {updates} steps; {n_violated} of {len(parts)} queries are violated"
        return Solution(
            scorer.at(parameters), "budget" if n_violated else "converged", certificate, trace, message
        )


@estimator
class StructuralPerceptron(LinearRanker):
    """Averaged perceptron over the most violated rankings, each with its loss.

    Collins bounds the number of steps where all rankings can be told apart by a margin (Theorem 1). The bound
    holds for queries of equal weight only: a step is proportional to the weight of its query.

    References
    ----------
    .. [1] M. Collins, "Discriminative training methods for hidden Markov models", EMNLP 2002.
    .. [2] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, section 4.3.
    """

    measure: Annotated[
        AnyMeasure,
        "AP, nDCG, RR, P, WTA or WPD, with or without a cutoff. WPD alone tells all grades apart; the others "
        "have relevant and irrelevant documents.",
    ] = positional(default="WPD")
    learning_rate: Annotated[float, "Step size; a loss of 1 asks for a margin of 1.", ABOVE_0] = 1.0
    max_passes: Annotated[int, "Largest number of passes over the queries.", FROM_1] = 50

    def components(self):
        """Return the margin-rescaled bound, and the perceptron."""
        solver = Perceptron(learning_rate=self.learning_rate, max_passes=self.max_passes)
        return TypeTwoBound(parse_measure(self.measure)), solver, Linear()
