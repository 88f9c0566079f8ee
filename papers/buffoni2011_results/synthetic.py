"""WPD and the 0/1 error on made distributions of rankings and graphs (Buffoni et al., 5.3 and 5.4).

Rankings follow Plackett-Luce, with a share of the probability moved to the n rotations of one ranking: a
cycle. Expected differences of graphs are u_i - u_j, which is low noise, with a share replaced by a cycle.
Expected losses are minimised over the scores of all documents, and the order of the minimiser is compared
with the best of all rankings. Then linear scorers are trained on samples of the same distributions.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import permutations
from pathlib import Path

import numpy as np
from comparing import error_of, say
from paper_tables import Row
from pictures import line_picture

from directrank import ConsistentRank, ListMLE, ObservedRankings, PreferenceGraph
from directrank.apps.experiments.store.identity import code_digest
from directrank.apps.report.charts import Line
from directrank.data.grouping import group_rows
from directrank.data.queries import Queries
from directrank.diagnostics.consistency import check, merged, minimiser
from directrank.measures import WPD, ZeroOne
from directrank.surrogates import LinearLoss, OrderPreserving, Pairwise, PlackettLuce

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SIZES = (10, 30, 100, 300)
#: Documents of a query; distributions that a figure averages; samples, and queries on which they are judged.
N, DRAWS, SAMPLES, JUDGED = 5, 40, 10, 200
ORDER_PRESERVING, LINEAR = "order-preserving, Huber", "linear, Duchi et al."
PREORDER, LIKELIHOOD = "preorder, Huber", "Plackett-Luce likelihood"
#: Parts of the loss of two orders that differ by rounding.
ROUNDING = 1e-9


def plackett_luce(strength: np.ndarray, rankings: np.ndarray) -> np.ndarray:
    """Return the probability of each ranking, documents from first to last; strengths of its documents."""
    left = np.cumsum(strength[..., rankings][..., ::-1], axis=-1)[..., ::-1]
    return (strength[..., rankings] / left).prod(axis=-1)


def ranked(rng: np.random.Generator, share: float) -> list[tuple[float, tuple[float, ...]]]:
    """Return a distribution over all rankings, as relevance n for the first document to 1 for the last."""
    rankings = np.array(list(permutations(range(N))))
    probability = (1 - share) * plackett_luce(np.exp(rng.normal(size=N)), rankings)
    first = rng.permutation(N)
    for turn, weight in enumerate(rng.dirichlet(np.ones(N))):
        probability[(rankings == np.roll(first, turn)).all(axis=1)] += share * weight
    relevance = N - np.argsort(rankings, axis=1)
    return [(float(p), tuple(map(float, y))) for p, y in zip(probability, relevance, strict=True)]


def mixture(rng: np.random.Generator, share: float, utility: np.ndarray | None = None) -> np.ndarray:
    """Return E[a_ij] of preferences of i to j: differences of utilities, a share replaced by a cycle."""
    n = N
    u = rng.normal(size=n) if utility is None else utility
    along = rng.permutation(n)
    cycle = np.zeros((n, n))
    cycle[along, np.roll(along, -1)] = 1.0
    net = u[:, None] - u[None, :]
    net /= np.abs(net).sum()
    net = (1 - share) * net + share * (cycle - cycle.T) / (2 * n)
    # Preferences as strong both ways change no difference, and the losses of pairs.
    both = rng.random((n, n)) * (1 - np.eye(n)) / (n * n)
    return np.maximum(net, 0) + both + both.T


@dataclass(frozen=True)
class Graphs:
    """The two graphs without cycles whose mean is E[a]: what `minimiser` reads of a distribution."""

    queries: Queries
    document: np.ndarray
    probability: np.ndarray
    n_docs: int = N


def halves(preferences: np.ndarray) -> list[np.ndarray]:
    """Return two graphs without cycles whose mean has these preferences."""
    return [2 * np.triu(preferences), 2 * np.tril(preferences)]


def graph_of(weights: np.ndarray, first: int = 0) -> PreferenceGraph:
    better, worse = np.nonzero(weights)
    return PreferenceGraph(better + first, worse + first, weights[better, worse])


def as_graphs(preferences: np.ndarray) -> Graphs:
    forms = [graph_of(each).standard_form(np.zeros(N, int)) for each in halves(preferences)]
    queries = group_rows(np.concatenate(forms), np.repeat([0, 1], N))[0]
    queries = replace(queries, standardised=True)
    return Graphs(queries, queries.row % N, np.array([0.5, 0.5]))


def as_pairs(preferences: np.ndarray) -> Graphs:
    """Return each preference as a query of its two documents, for losses of pairs."""
    ends = np.argwhere(preferences > 0)
    queries = group_rows(np.tile([1.0, 0.0], len(ends)), np.repeat(np.arange(len(ends)), 2))[0]
    return Graphs(queries, ends.ravel()[queries.row], preferences[tuple(ends.T)])


def disagreement(preferences: np.ndarray, scores: np.ndarray) -> float:
    """Return the expected WPD of an order by scores, Eq. (12); a tie is half wrong."""
    below = (scores[:, None] < scores[None, :]) + 0.5 * (scores[:, None] == scores[None, :])
    return float((preferences * below).sum() - 0.5 * np.trace(preferences))


def graph_regret(preferences: np.ndarray, scores: np.ndarray) -> float:
    """Return the expected WPD of an order above that of the best, of all weights of preferences."""
    least = min(disagreement(preferences, np.array(each)) for each in permutations(range(N)))
    return (disagreement(preferences, scores) - least) / preferences.sum()


def population() -> dict[str, dict[str, np.ndarray]]:
    """Return the regrets by distribution and measure, then loss: one row a share, one column a draw."""
    ranked_by = {
        "rankings, 0/1": {
            ORDER_PRESERVING: OrderPreserving(ZeroOne()), LINEAR: LinearLoss(ZeroOne()),
            PREORDER: Pairwise(), LIKELIHOOD: PlackettLuce(),
        },
        "rankings, WPD": {
            ORDER_PRESERVING: OrderPreserving(WPD()), LINEAR: LinearLoss(WPD()),
            PREORDER: Pairwise(), LIKELIHOOD: PlackettLuce(),
        },
    }  # fmt: skip
    measures = {"rankings, 0/1": ZeroOne(), "rankings, WPD": WPD()}
    found = {
        what: {
            loss: np.array(
                [
                    [check(surrogate, measures[what], each).regret for each in draws(ranked, share)]
                    for share in SHARES
                ]
            )
            for loss, surrogate in losses.items()
        }
        for what, losses in ranked_by.items()
    }
    graphs = {
        ORDER_PRESERVING: (OrderPreserving(WPD()), as_graphs), LINEAR: (LinearLoss(WPD()), as_graphs),
        PREORDER: (Pairwise(), as_pairs),
    }  # fmt: skip
    found["graphs, WPD"] = {
        loss: np.array(
            [
                [
                    graph_regret(each, merged(minimiser(surrogate, form(each))))
                    for each in draws(mixture, share)
                ]
                for share in SHARES
            ]
        )
        for loss, (surrogate, form) in graphs.items()
    }
    return found


def draws(distribution, share: float) -> list:
    """Return the same distributions for every loss and measure; only the share differs between shares."""
    return [distribution(np.random.default_rng(seed), share) for seed in range(DRAWS)]


def population_rows(found: dict[str, dict[str, np.ndarray]]) -> list[Row]:
    rows = []
    for what, by_loss in found.items():
        for loss, regrets in by_loss.items():
            for place in (0, 3, 6):
                own = np.maximum(regrets[place], 0.0)
                rows.append(
                    Row(what, loss, f"mean regret, share of a cycle {SHARES[place]:g}", None,
                        float(own.mean()), error_of(own),
                        reason=f"not the best order in {(own > ROUNDING).sum()} of {len(own)}")
                )  # fmt: skip
    return rows


@dataclass(frozen=True)
class Sample:
    """Queries of N documents with random features; their supervision follows a linear utility.

    Attributes
    ----------
    features : ndarray of shape (n_queries, N, 4)
    utility : ndarray of shape (n_queries, N)
    preferences : list of ndarray of shape (N, N)
        E[a] of each query.
    """

    features: np.ndarray
    utility: np.ndarray
    preferences: list[np.ndarray]


def sample(rng: np.random.Generator, weights: np.ndarray, n_queries: int, share: float) -> Sample:
    features = rng.normal(size=(n_queries, N, len(weights)))
    utility = features @ weights
    return Sample(features, utility, [mixture(rng, share, each) for each in utility])


def trained_on_rankings(rng: np.random.Generator, data: Sample, loss: str, measure: str):
    """Train on one ranking a query, drawn from Plackett-Luce."""
    # The order by utility with Gumbel's noise is a draw from Plackett-Luce with strengths exp(utility).
    order = np.argsort(-(data.utility + rng.gumbel(size=data.utility.shape)), axis=1)
    positions = 1 + np.argsort(order, axis=1).ravel()
    rows, qid = data.features.reshape(-1, data.features.shape[2]), np.repeat(np.arange(len(order)), N)
    if loss == LIKELIHOOD:
        return ListMLE(penalty=PENALTY, scaling="none").fit(rows, N + 1 - positions, qid)
    kind = {"loss": "linear"} if loss == LINEAR else {}
    ranker = ConsistentRank(measure, penalty=PENALTY, scaling="none", **kind)
    return ranker.fit(rows, ObservedRankings(positions), qid)


def trained_on_graphs(rng: np.random.Generator, data: Sample, loss: str, measure: str):
    """Train on one graph a query, either half of its preferences."""
    graphs = [
        graph_of(halves(each)[half], N * number)
        for number, (each, half) in enumerate(
            zip(data.preferences, rng.integers(0, 2, len(data.utility)), strict=True)
        )
    ]
    parts = ("better", "worse", "weight")
    every = PreferenceGraph(*(np.concatenate([getattr(each, part) for each in graphs]) for part in parts))
    rows, qid = data.features.reshape(-1, data.features.shape[2]), np.repeat(np.arange(len(graphs)), N)
    kind = {"loss": "linear"} if loss == LINEAR else {}
    return ConsistentRank(measure, penalty=PENALTY, scaling="none", **kind).fit(rows, every, qid)


def regret_on_rankings(scores: np.ndarray, data: Sample, measure: str) -> float:
    """Return the mean regret of orders by scores under Plackett-Luce; the order by utility is best."""
    best, own = np.argsort(-data.utility, axis=1), np.argsort(-scores, axis=1)
    strength = np.exp(data.utility)
    if measure == "ZeroOne":
        gained = [
            plackett_luce(s, a) - plackett_luce(s, b) for s, a, b in zip(strength, best, own, strict=True)
        ]
        return float(np.mean(gained))
    ahead = strength[:, :, None] / (strength[:, :, None] + strength[:, None, :])
    wrong = [
        np.mean([disagreement(each, s) for each, s in zip(ahead, order, strict=True)])
        for order in (scores, data.utility)
    ]
    return float(wrong[0] - wrong[1]) / (N * (N - 1) / 2)


def regret_on_graphs(scores: np.ndarray, data: Sample, measure: str) -> float:
    pairs = zip(data.preferences, scores, strict=True)
    return float(np.mean([graph_regret(each, own) for each, own in pairs]))


#: A share of a cycle, training, regret, measure and losses of each experiment on samples.
EXPERIMENTS = {
    "Plackett-Luce rankings, 0/1": (
        0.0, trained_on_rankings, regret_on_rankings, "ZeroOne", (ORDER_PRESERVING, LINEAR, LIKELIHOOD)
    ),
    "Plackett-Luce rankings, WPD": (
        0.0, trained_on_rankings, regret_on_rankings, "WPD", (ORDER_PRESERVING, LINEAR, LIKELIHOOD)
    ),
    "low-noise graphs, WPD": (0.0, trained_on_graphs, regret_on_graphs, "WPD", (ORDER_PRESERVING, LINEAR)),
    "cyclic graphs, WPD": (0.6, trained_on_graphs, regret_on_graphs, "WPD", (ORDER_PRESERVING, LINEAR)),
}  # fmt: skip
PENALTY = 1e-3


def samples(out: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return the regret on new queries by experiment and loss: one row a size, one column a sample.

    A finished experiment is kept in the folder of results, under a name that says what its numbers depend on.
    """
    facts = [Path(__file__).read_text(encoding="utf-8"), code_digest(), SAMPLES, SIZES, JUDGED]
    kept = out / f"samples-{sha256(repr(facts).encode()).hexdigest()[:16]}.npz"
    if kept.is_file():
        with np.load(kept) as arrays:
            return {
                what: {loss: arrays[f"{what}: {loss}"] for loss in losses}
                for what, (*_, losses) in EXPERIMENTS.items()
            }
    found = {}
    for what, (share, train, regret, measure, losses) in EXPERIMENTS.items():
        say(f"synthetic: {what}")
        found[what] = {loss: np.empty((len(SIZES), SAMPLES)) for loss in losses}
        for seed in range(SAMPLES):
            rng = np.random.default_rng(seed)
            weights = rng.normal(size=4)
            judged, data = (sample(rng, weights, n, share) for n in (JUDGED, SIZES[-1]))
            for place, n in enumerate(SIZES):
                part = Sample(data.features[:n], data.utility[:n], data.preferences[:n])
                for loss in losses:
                    # The same draws of supervision for every loss.
                    ranker = train(np.random.default_rng(100 + seed), part, loss, measure)
                    scores = ranker.predict(judged.features.reshape(-1, 4)).reshape(-1, N)
                    found[what][loss][place, seed] = regret(scores, judged, measure)
    every = {f"{what}: {loss}": each for what, by_loss in found.items() for loss, each in by_loss.items()}
    np.savez(kept, **every)
    return found


def sample_rows(found: dict[str, dict[str, np.ndarray]]) -> list[Row]:
    """Return the last regrets, and their differences from the first loss, paired over samples."""
    rows = []
    for what, by_loss in found.items():
        first = by_loss[ORDER_PRESERVING][-1]
        for loss, regrets in by_loss.items():
            own, difference = regrets[-1], regrets[-1] - first
            told = f"{difference.mean():+.5f} ± {error_of(difference):.5f} against order-preserving"
            rows.append(
                Row(what, loss, f"mean regret, {SIZES[-1]} queries", None, float(own.mean()), error_of(own),
                    reason="" if loss == ORDER_PRESERVING else told)
            )  # fmt: skip
    return rows


def pictures(
    minimised: dict[str, dict[str, np.ndarray]], trained: dict[str, dict[str, np.ndarray]]
) -> dict[str, str]:
    """Return figures by name: the regret along the share of a cycle, and along the number of queries."""
    along = ("share of a cycle", SHARES, f"minimiser of the expected loss, mean of {DRAWS} distributions", ())
    sampled = ("queries", SIZES, f"linear scorers, new queries, mean of {SAMPLES} samples", SIZES)
    drawn = {}
    for kind, found, (across, xs, told, marks) in (
        ("minimised", minimised, along), ("trained", trained, sampled)
    ):  # fmt: skip
        for what, by_loss in found.items():
            lines = [
                Line(loss, list(zip(map(float, xs), regrets.mean(axis=1).tolist(), strict=True)),
                     "dashed" if loss == LINEAR else "")
                for loss, regrets in by_loss.items()
            ]  # fmt: skip
            name = f"{kind}-" + what.lower().replace(", ", "-").replace("0/1", "01").replace(" ", "-")
            drawn[name] = line_picture(f"{what}: {told}", across, "regret", lines, logarithmic=marks)
    return drawn


POPULATION_NOTE = (
    "No number is printed. Expected losses are minimised over the scores of five documents; distributions "
    "are Plackett-Luce, or graphs of low noise, with a share moved to a cycle. Without a cycle the paper's "
    "losses must have no regret (5.3, 5.4), and pairs of preferences need not. The linear loss orders by the "
    "same expected weights as order-preserving losses, so that they have one regret. Regret in WPD of graphs "
    "is a share of all weights. Standard error: over the distributions."
)
SAMPLES_NOTE = (
    "Linear scorers with the penalty 0.001, which nothing chose, trained on one ranking or one graph a query "
    "whose utility is linear. Regret against the best orders of 200 new queries; standard error over samples."
)
