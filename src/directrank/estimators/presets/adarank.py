"""AdaRank: boosting over queries of a type-one bound."""

from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import QueryBoosting
from directrank.surrogates import TypeOneBound
from directrank.surrogates.margins import margin_named


class AdaRank(Ranker):
    """Boosting over queries of the exponential type-one bound, with single features as weak rankers.

    Parameters
    ----------
    measure : str or Measure, default="nDCG@5"
        Any measure with values in [0, 1].
    rounds : int, default=500
    signed : bool, default=False
        Offer each feature turned round as well; else larger features must be better.
    queue : bool, default=True
        Set a feature aside that is chosen twice in a row (RankLib); False is the paper's algorithm.
    weights : {"bound", "product"}, default="product"
        Weights of queries from the bound at the ensemble (the paper), or multiplied each round (RankLib).
    margin : {"exponential", "logistic"}, default="exponential"
        φ of the bound; it weighs queries with ``weights="bound"``.
    tolerance : float, default=0.002
        Stop when the training measure falls by this much in a round.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] J. Xu, H. Li, "AdaRank: a boosting algorithm for information retrieval", SIGIR 2007.
    """

    def __init__(
        self, measure="nDCG@5", *, rounds=500, signed=False, queue=True, weights="product",
        margin="exponential", tolerance=0.002, select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.rounds, self.signed, self.queue = measure, rounds, signed, queue
        self.weights, self.margin, self.tolerance = weights, margin, tolerance
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        solver = QueryBoosting(
            rounds=self.rounds, signed=self.signed, queue=self.queue,
            weights=self.weights, tolerance=self.tolerance,
        )  # fmt: skip
        bound = TypeOneBound(parse_measure(self.measure), margin_named(self.margin))
        return bound, solver, Linear()


METHODS = (
    Method(
        "adarank",
        AdaRank,
        "boosting of single features, bound on the measure",
        "Xu, Li, SIGIR 2007",
        takes_measure=True,
    ),
)
