"""NDCG_Boost: boosting of a bound on expected nDCG."""

from directrank.estimators.boosted import BoostedRanker
from directrank.estimators.method import Method
from directrank.measures import parse_measure
from directrank.scorers import Additive
from directrank.surrogates import ExpectedMeasure


class NDCGBoost(BoostedRanker):
    """Boosting of the fall of expected nDCG with expected positions, over stumps.

    Parameters
    ----------
    measure : str or Measure, default="nDCG"
        nDCG or DCG, with any gain, discount and cutoff.
    rounds : int, default=100
    weak_ranker : {"stump", "feature"} or scikit-learn classifier, default="stump"
        Decision trees become part of the model file; other classifiers train and predict, but the ranker
        cannot be saved.
    search : {"exact", "histogram"}, default="exact"
        Every threshold of a stump, or at most 255 a feature.
    criterion : {"gini", "eta"}, default="gini"
        What a stump maximises: the gain of a regression tree, or the paper's η.
    sampling : bool, default=False
        Draw documents in proportion to their weights, as in the paper.
    shrinkage : float, default=1.0
        Share of the closed-form step that is taken, in (0, 1].
    keep : {"last", "best"}, default="last"
        All rounds, as in the paper, or the prefix that is best by the selection measure.
    patience : int, optional
        End after so many rounds without a better value of the selection measure.
    select_by, random_state, n_jobs, strict_qid
        See `Ranker`.

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, R. Zhang, J. Mao, "Learning to rank by optimizing NDCG measure", NIPS 2009.
    """

    def __init__(
        self, measure="nDCG", *, rounds=100, weak_ranker="stump", search="exact", criterion="gini",
        sampling=False, shrinkage=1.0, keep="last", patience=None,
        select_by=None, random_state=0, n_jobs=None, strict_qid=False,
    ):  # fmt: skip
        self.measure, self.rounds, self.weak_ranker, self.search = measure, rounds, weak_ranker, search
        self.criterion, self.sampling, self.shrinkage = criterion, sampling, shrinkage
        self.keep, self.patience = keep, patience
        self.select_by, self.random_state = select_by, random_state
        self.n_jobs, self.strict_qid = n_jobs, strict_qid

    def _parts(self):
        surrogate = ExpectedMeasure(parse_measure(self.measure))
        return surrogate, self._document_boosting(), Additive()


METHODS = (
    Method(
        "ndcgboost",
        NDCGBoost,
        "boosting of stumps, bound on expected nDCG; 100 rounds, no validation",
        "Valizadegan, Jin, Zhang, Mao, NIPS 2009",
        measure="nDCG",
        takes_measure=True,
    ),
)
