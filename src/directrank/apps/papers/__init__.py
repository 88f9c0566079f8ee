"""Methods that only a paper needs: a plug-in, which directrank's own entry point names."""

from directrank.apps.papers.perceptron import Perceptron, StructuralPerceptron
from directrank.apps.papers.rankcosine import CosineDistance, RankCosine
from directrank.apps.papers.yetiloss import NoisyNeighbours, YetiLoss
from directrank.estimators import AdaRank, ConsistentRank, NDCGBoost, StructuralSVM, TreeRanker
from directrank.estimators.method import PENALTIES, Method
from directrank.measures import DEFAULT_MEASURE

__all__ = [
    "PLUGINS",
    "CosineDistance",
    "NoisyNeighbours",
    "Perceptron",
    "RankCosine",
    "StructuralPerceptron",
    "YetiLoss",
]

BUFFONI = "Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011"
XU = "Xu, Liu, Lu, Li, Ma, SIGIR 2008"
C = {"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)}
# It ends where the validation value rarely rises any more, on OHSUMED, WEB_RAW and made collections.
FIRST_RANKS = {"C": (1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)}

PLUGINS = (
    Method(
        "rankcosine", RankCosine, paper="Qin, Zhang, Tsai, Wang, Liu, Li, IPM 2008",
        grid={"supervision": ("relevance", "gain")}, after="listmle",
    ),
    Method(
        "yetiloss", YetiLoss, paper="Lyzhin, Ustimenko, Gulin, Prokhorenkova, ICML 2023",
        measure=DEFAULT_MEASURE, takes_measure=True, grid=PENALTIES, in_all=False, after="lambdaloss",
    ),
    Method(
        "linear-wpd", ConsistentRank, "linear loss on preferences with a penalty on scores",
        "Duchi, Mackey, Jordan, ICML 2010", measure="WPD", fixed={"loss": "linear"}, grid=PENALTIES,
        in_all=False, after="consistent-norm-dcg",
    ),
    Method(
        "consistent-ndcg-sgd", ConsistentRank, "consistent-ndcg by stochastic gradient descent, as published",
        BUFFONI, measure="nDCG", takes_measure=True, grid=PENALTIES, in_all=False, after="linear-wpd",
        fixed={"margin": "squared_hinge", "solver": "sgd", "tolerance": 1e-5},
    ),
    Method(
        "svmmrr", StructuralSVM, "structural SVM on reciprocal rank",
        "Chakrabarti, Khanna, Sawant, Bhattacharyya, KDD 2008", measure="RR", grid=C, after="svmndcg",
    ),
    Method(
        "svmp", StructuralSVM, "structural SVM on precision at a cutoff", "Joachims, ICML 2005",
        measure="P@5", takes_measure=True, grid=FIRST_RANKS, after="svmmrr",
    ),
    Method(
        "svm-exponential", StructuralSVM, "largest loss times exp(−margin) over all rankings", XU,
        measure="AP", takes_measure=True, fixed={"margin": "exponential"}, grid=C, in_all=False,
        after="permurank",
    ),
    Method(
        "svm-logistic", StructuralSVM, "largest loss times log2(1 + exp(−margin)) over all rankings", XU,
        measure="AP", takes_measure=True, fixed={"margin": "logistic"}, grid=C, in_all=False,
        after="svm-exponential",
    ),
    Method(
        "adarank-type-two", AdaRank, "boosting of single features over queries weighted by a type-two bound",
        XU, measure="AP", takes_measure=True, fixed={"bound": "type-two", "variant": "paper", "rounds": 100},
        in_all=False, after="svm-logistic",
    ),
    Method(
        "perceptron", StructuralPerceptron, paper=f"Collins, EMNLP 2002; {XU}", measure="AP",
        takes_measure=True, grid={"learning_rate": (0.01, 0.1, 1.0)}, in_all=False, after="adarank-type-two",
    ),
    Method(
        "trees-approxap", TreeRanker, "boosted trees, smooth approximation of average precision",
        "Qin, Liu, Li, Information Retrieval 2010", measure="AP", fixed={"objective": "approx"},
        # The curvature of smoothed positions is a bound, so that steps are short.
        grid={"leaves": (7, 31), "learning_rate": (0.1, 0.3)}, after="trees-approxndcg",
    ),
    Method(
        "trees-ndcgboost", NDCGBoost, "boosting of decision trees, bound on expected nDCG",
        "Valizadegan, Jin, Zhang, Mao, NIPS 2009", measure="nDCG", takes_measure=True,
        fixed={"weak_ranker": "tree", "shrinkage": 0.3}, grid={"depth": (2, 4)}, in_all=False,
        after="trees-rankboost",
    ),
    Perceptron,
)  # fmt: skip
