"""FRank: boosting of the fidelity loss on pairs."""

from directrank.errors import check_choice
from directrank.estimators.boosted import BoostedRanker
from directrank.estimators.method import Method
from directrank.scorers import Additive
from directrank.surrogates import Fidelity


class FRank(BoostedRanker):
    """Boosting of the fidelity loss on pairs of documents, over stumps.

    Parameters
    ----------
    rounds : int, default=100
    pairs : {"per_query", "uniform"}, default="per_query"
        Equal weight to all pairs of a query (the paper), or to all pairs of the collection.
    line_search : bool, default=True
        Search for each step; else it is the paper's closed form.
    weak_ranker : {"stump", "feature"} or scikit-learn classifier, default="stump"
        Decision trees become part of the model file; other classifiers train and predict, but the ranker
        cannot be saved.
    search : {"exact", "histogram"}, default="exact"
        Every threshold of a stump, or at most 255 a feature.
    criterion : {"gini", "eta"}, default="gini"
        What a stump maximises, see `directrank.solvers.boosting.stumps`.
    sampling : bool, default=False
        Draw documents in proportion to their weights.
    shrinkage : float, default=0.3
        Share of the step that is taken, in (0, 1].
    keep : {"best", "last"}, default="best"
        The prefix of rounds that is best by the selection measure, or all rounds.
    patience : int, optional
        End after so many rounds without a better value of the selection measure.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] M.-F. Tsai, T.-Y. Liu, T. Qin, H.-H. Chen, W.-Y. Ma, "FRank: a ranking method with fidelity loss",
       SIGIR 2007.
    """

    def __init__(
        self, *, rounds=100, pairs="per_query", line_search=True, weak_ranker="stump", search="exact",
        criterion="gini", sampling=False, shrinkage=0.3, keep="best", patience=None,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.rounds, self.pairs, self.line_search = rounds, pairs, line_search
        self.weak_ranker, self.search, self.criterion = weak_ranker, search, criterion
        self.sampling, self.shrinkage, self.keep, self.patience = sampling, shrinkage, keep, patience
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        check_choice("pairs", self.pairs, ("uniform", "per_query"))
        surrogate = Fidelity(normalise=self.pairs == "per_query", line_search=self.line_search)
        return surrogate, self._document_boosting(), Additive()


METHODS = (
    Method(
        "frank",
        FRank,
        "boosting of stumps, fidelity loss on pairs",
        "Tsai, Liu, Qin, Chen, Ma, SIGIR 2007",
    ),
)
