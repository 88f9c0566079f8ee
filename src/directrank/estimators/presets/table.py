"""The table of methods of a surrogate and a solver."""

from directrank.estimators.method import PENALTIES, Method
from directrank.estimators.presets.boosted import FRank, NDCGBoost, RankBoost
from directrank.estimators.presets.bounds import AdaRank, CoordinateAscent, PermuRank, StructuralSVM
from directrank.estimators.presets.listwise import (
    XENDCG,
    ApproxRank,
    LambdaLoss,
    LambdaRank,
    ListMLE,
    ListNet,
    PLRank,
    SoftRank,
)
from directrank.estimators.presets.pairs import ConsistentRank, Preorder, RankNet, RankSVM, Regression
from directrank.estimators.presets.trees import TreeRanker
from directrank.measures import DEFAULT_MEASURE

BUFFONI = "Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011"
QIN = "Qin, Liu, Li, Information Retrieval 2010"
XU = "Xu, Liu, Lu, Li, Ma, SIGIR 2008"
YUE = "Yue, Finley, Radlinski, Joachims, SIGIR 2007"
CHAKRABARTI = "Chakrabarti, Khanna, Sawant, Bhattacharyya, KDD 2008"
SMOOTHED = {"steepness": (3.0, 10.0, 30.0, 100.0), "penalty": (1e-4, 1e-3, 1e-2)}
C = {"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)}
# It ends where the validation value rarely rises any more, on OHSUMED, WEB_RAW and made collections.
SOFTMAX = {"penalty": (10.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5)}
TREES = {"leaves": (7, 31), "learning_rate": (0.03, 0.1)}
# By validation no weights of pairs are best everywhere, and this rate is as good as more of them.
WEIGHTED_TREES = {"leaves": (7, 31), "distance": (False, True), "truncation": (30, None)}
# The curvature of smoothed positions is a bound, so that steps are short.
SMOOTHED_TREES = {"leaves": (7, 31), "learning_rate": (0.1, 0.3)}
DEEP = {"depth": (2, 4)}
WEAK_RANKERS = {"variant": ("once", "paper"), "signed": (False, True)}
HINGE, NORMALISED = {"margin": "squared_hinge"}, {"normalise": True}

PRESETS = (
    Method("regression", Regression, paper="the baseline of LETOR's tables"),
    Method(
        "ranksvm", RankSVM, "squared hinge on pairs, truncated Newton",
        "Joachims, KDD 2002; Chapelle, Keerthi, Information Retrieval 2010",
        grid=PENALTIES, aliases=("preorder",),
    ),
    Method(
        "irsvm", RankSVM, "squared hinge on pairs, each query's weights summing to one, truncated Newton",
        "Cao et al., SIGIR 2006", fixed=NORMALISED, grid=PENALTIES, aliases=("preorder-norm",),
    ),
    Method("ranknet", RankNet, paper="Burges et al., ICML 2005", grid=PENALTIES),
    Method(
        "preorder-norm-dcg", Preorder,
        "squared hinge on pairs weighted by the difference of gains, over the number of pairs",
        "Buffoni et al., ICML 2011", grid=PENALTIES,
    ),
    Method("listnet", ListNet, paper="Cao, Qin, Liu, Tsai, Li, ICML 2007", grid=SOFTMAX),
    Method("xendcg", XENDCG, paper="Bruch, WWW 2021", grid=SOFTMAX),
    Method("listmle", ListMLE, paper="Xia, Liu, Wang, Zhang, Li, ICML 2008", grid=PENALTIES),
    Method(
        "lambdarank", LambdaRank, paper="Burges, Ragno, Le, NIPS 2006",
        measure=DEFAULT_MEASURE, takes_measure=True, grid=PENALTIES,
    ),
    Method(
        "lambdaloss", LambdaLoss, paper="Wang et al., CIKM 2018",
        measure=DEFAULT_MEASURE, takes_measure=True, grid=PENALTIES,
    ),
    Method(
        "plrank", PLRank, "expected measure of rankings drawn by the Plackett-Luce model (PL-Rank)",
        "Oosterhuis, SIGIR 2022", measure=DEFAULT_MEASURE, takes_measure=True, grid=PENALTIES, in_all=False,
    ),
    Method(
        "consistent-dcg", ConsistentRank, "order-preserving loss weighted by the gain", BUFFONI,
        measure="DCG", fixed=HINGE, grid=PENALTIES,
    ),
    Method(
        "consistent-ndcg", ConsistentRank,
        "order-preserving loss weighted by the gain over the ideal, or for the measure given", BUFFONI,
        measure="nDCG", takes_measure=True, fixed=HINGE, grid=PENALTIES,
    ),
    Method(
        "consistent-norm-dcg", ConsistentRank,
        "order-preserving loss weighted by the gain, over the number of pairs", BUFFONI,
        measure="DCG", fixed=NORMALISED, grid=PENALTIES,
    ),
    Method(
        "approxap", ApproxRank, "smooth approximation of average precision", QIN,
        measure="AP", grid=SMOOTHED,
    ),
    Method(
        "approxndcg", ApproxRank, "smooth approximation of nDCG over the whole list, or of the measure given",
        QIN, measure="nDCG", takes_measure=True, grid=SMOOTHED, aliases=("ndcg",),
    ),
    Method(
        "approxp", ApproxRank, "smooth approximation of precision at 5, or of the measure given", QIN,
        measure="P@5", takes_measure=True, grid=SMOOTHED,
    ),
    Method(
        "softrank", SoftRank, paper="Taylor, Guiver, Robertson, Minka, WSDM 2008",
        measure=DEFAULT_MEASURE, takes_measure=True, grid={"noise": (0.03, 0.1, 0.3, 1.0)},
    ),
    Method(
        "coordinate-ascent", CoordinateAscent,
        "the measure itself, one weight at a time; exact steps averaged over a window, mean of several runs",
        "Metzler, Croft, Information Retrieval 2007", takes_measure=True,
    ),
    Method("adarank", AdaRank, paper="Xu, Li, SIGIR 2007", takes_measure=True, grid=WEAK_RANKERS),
    Method("svmmap", StructuralSVM, "structural SVM on average precision", YUE, measure="AP", grid=C),
    Method(
        "svmndcg", StructuralSVM, "structural SVM on nDCG of two classes, or with a cutoff", CHAKRABARTI,
        measure="nDCG", takes_measure=True, grid=C,
    ),
    Method("permurank", PermuRank, paper=XU, takes_measure=True),
    Method("rankboost", RankBoost, paper="Freund, Iyer, Schapire, Singer, JMLR 2003"),
    Method("frank", FRank, paper="Tsai, Liu, Qin, Chen, Ma, SIGIR 2007"),
    Method(
        "ndcgboost", NDCGBoost, paper="Valizadegan, Jin, Zhang, Mao, NIPS 2009",
        measure="nDCG", takes_measure=True,
    ),
    Method(
        "trees-lambdarank", TreeRanker, "boosted trees, pairs weighted by the measure's change (LambdaMART)",
        "Burges, MSR-TR-2010-82", measure=DEFAULT_MEASURE, takes_measure=True,
        fixed={"objective": "lambdarank"}, grid=WEIGHTED_TREES, aliases=("lambdamart",),
    ),
    Method(
        "trees-lambdaloss", TreeRanker, "boosted trees, pairs weighted by a bound on nDCG (NDCG-Loss2)",
        "Wang et al., CIKM 2018", measure=DEFAULT_MEASURE, takes_measure=True,
        fixed={"objective": "lambdaloss"}, grid=TREES,
    ),
    Method(
        "trees-approxndcg", TreeRanker, "boosted trees, smooth approximation of nDCG or the measure given",
        QIN, measure="nDCG", takes_measure=True, fixed={"objective": "approx"}, grid=SMOOTHED_TREES,
    ),
    Method(
        "trees-consistent-ndcg", TreeRanker, "boosted trees, order-preserving loss consistent with nDCG",
        BUFFONI, measure="nDCG", takes_measure=True, fixed={"objective": "consistent"}, grid=TREES,
    ),
    Method(
        "trees-listnet", TreeRanker, "boosted trees, cross entropy of top-one probabilities",
        "Cao, Qin, Liu, Tsai, Li, ICML 2007", fixed={"objective": "listnet"}, grid=TREES,
    ),
    Method(
        "trees-xendcg", TreeRanker, "boosted trees, cross entropy with drawn shares in the gain (XE-NDCG)",
        "Bruch, WWW 2021", fixed={"objective": "xendcg"}, grid=TREES,
    ),
    Method(
        "trees-plrank", TreeRanker, "boosted trees, expected measure of drawn rankings (PL-Rank)",
        "Oosterhuis, SIGIR 2022", measure=DEFAULT_MEASURE, takes_measure=True, fixed={"objective": "plrank"},
        grid=TREES,
    ),
    Method(
        "trees-rankboost", RankBoost, "boosting of decision trees, exponential loss on pairs",
        "Freund, Iyer, Schapire, Singer, JMLR 2003", fixed={"weak_ranker": "tree"}, grid=DEEP,
    ),
)  # fmt: skip
