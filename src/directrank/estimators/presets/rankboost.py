"""RankBoost: boosting of the exponential loss on pairs."""

from directrank.errors import check_choice
from directrank.estimators.boosted import BoostedRanker
from directrank.estimators.method import Method
from directrank.scorers import Additive
from directrank.surrogates import ExponentialPairs


class RankBoost(BoostedRanker):
    """Boosting of the exponential loss on pairs of documents, over stumps.

    Parameters
    ----------
    rounds : int, default=100
    pairs : {"uniform", "per_query"}, default="uniform"
        Equal weight to all pairs of the collection (the paper), or to all pairs of a query.
    alpha : {"third", "second", "search"}, default="third"
        The paper's ways to a step.
    weak_ranker : {"stump", "feature"} or scikit-learn classifier, default="stump"
        Decision trees become part of the model file; other classifiers train and predict, but the ranker
        cannot be saved.
    search : {"exact", "histogram"}, default="exact"
        Every threshold of a stump, or at most 255 a feature.
    criterion : {"eta", "gini"}, default="eta"
        What a stump maximises: the paper's r, or the gain of a regression tree.
    sampling : bool, default=False
        Draw documents in proportion to their weights.
    shrinkage : float, default=1.0
        Share of the step that is taken, in (0, 1].
    keep : {"best", "last"}, default="best"
        The prefix of rounds that is best by the selection measure, or all rounds.
    patience : int, optional
        End after so many rounds without a better value of the selection measure.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. Schapire, Y. Singer, "An efficient boosting algorithm for combining
       preferences", JMLR 4, 2003.
    """

    def __init__(
        self, *, rounds=100, pairs="uniform", alpha="third", weak_ranker="stump", search="exact",
        criterion="eta", sampling=False, shrinkage=1.0, keep="best", patience=None,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.rounds, self.pairs, self.alpha = rounds, pairs, alpha
        self.weak_ranker, self.search, self.criterion = weak_ranker, search, criterion
        self.sampling, self.shrinkage, self.keep, self.patience = sampling, shrinkage, keep, patience
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        check_choice("pairs", self.pairs, ("uniform", "per_query"))
        surrogate = ExponentialPairs(normalise=self.pairs == "per_query", alpha=self.alpha)
        return surrogate, self._document_boosting(), Additive()


METHODS = (
    Method(
        "rankboost",
        RankBoost,
        "boosting of stumps, exponential loss on pairs",
        "Freund, Iyer, Schapire, Singer, JMLR 2003",
    ),
)
