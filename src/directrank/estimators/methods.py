"""The table of methods: the names that the command line and a comparison can train."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from directrank.estimators.method import PENALTIES, Configured, Method
from directrank.estimators.presets.approximate import ApproxRank, SoftRank
from directrank.estimators.presets.boosted import FRank, NDCGBoost, RankBoost
from directrank.estimators.presets.bounds import AdaRank, PermuRank, StructuralSVM
from directrank.estimators.presets.consistent import ConsistentRank
from directrank.estimators.presets.coordinate import CoordinateAscent
from directrank.estimators.presets.lambdas import LambdaLoss, LambdaRank
from directrank.estimators.presets.listwise import ListMLE, ListNet, RankCosine
from directrank.estimators.presets.pairs import Preorder, RankNet, RankSVM
from directrank.estimators.presets.regression import Regression
from directrank.measures import parse_measure

__all__ = ["METHODS", "Configured", "Method", "configured"]

BUFFONI = "Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011"
QIN = "Qin, Liu, Li, Information Retrieval 2010"
YUE = "Yue, Finley, Radlinski, Joachims, SIGIR 2007"
CHAKRABARTI = "Chakrabarti, Khanna, Sawant, Bhattacharyya, KDD 2008"
SMOOTHED = {"steepness": (3.0, 10.0, 30.0, 100.0), "penalty": (1e-4, 1e-3, 1e-2)}
C = {"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)}
HINGE, NORMALISED = {"margin": "squared_hinge"}, {"normalise": True}

#: Every named method, in the order of printing.
METHODS = (
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
    Method("listnet", ListNet, paper="Cao, Qin, Liu, Tsai, Li, ICML 2007", grid=PENALTIES),
    Method("listmle", ListMLE, paper="Xia, Liu, Wang, Zhang, Li, ICML 2008", grid=PENALTIES),
    Method(
        "rankcosine", RankCosine, paper="Qin, Zhang, Tsai, Wang, Liu, Li, IPM 2008",
        grid={"supervision": ("relevance", "gain")},
    ),
    Method(
        "lambdarank", LambdaRank, paper="Burges, Ragno, Le, NIPS 2006",
        measure="nDCG", takes_measure=True, grid=PENALTIES,
    ),
    Method(
        "lambdaloss", LambdaLoss, paper="Wang et al., CIKM 2018",
        measure="nDCG", takes_measure=True, grid=PENALTIES,
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
        QIN, measure="nDCG", takes_measure=True, grid=SMOOTHED,
    ),
    Method(
        "approxp", ApproxRank, "smooth approximation of precision at 5, or of the measure given", QIN,
        measure="P@5", takes_measure=True, grid=SMOOTHED,
    ),
    Method(
        "softrank", SoftRank, paper="Taylor, Guiver, Robertson, Minka, WSDM 2008",
        measure="nDCG", takes_measure=True, grid={"noise": (0.03, 0.1, 0.3, 1.0)},
    ),
    Method(
        "coordinate-ascent", CoordinateAscent,
        "the measure itself, one weight at a time; exact steps averaged over a window, mean of several runs",
        "Metzler, Croft, Information Retrieval 2007", takes_measure=True,
    ),
    Method("adarank", AdaRank, paper="Xu, Li, SIGIR 2007", takes_measure=True),
    Method("svmmap", StructuralSVM, "structural SVM on average precision", YUE, measure="AP", grid=C),
    Method(
        "svmndcg", StructuralSVM, "structural SVM on nDCG of two classes, or with a cutoff", CHAKRABARTI,
        measure="nDCG", takes_measure=True, grid=C,
    ),
    Method("svmmrr", StructuralSVM, "structural SVM on reciprocal rank", CHAKRABARTI, measure="RR", grid=C),
    Method(
        "svmp", StructuralSVM, "structural SVM on precision at a cutoff", "Joachims, ICML 2005",
        measure="P@5", takes_measure=True, grid=C,
    ),
    Method("permurank", PermuRank, paper="Xu, Liu, Lu, Li, Ma, SIGIR 2008", takes_measure=True),
    Method("rankboost", RankBoost, paper="Freund, Iyer, Schapire, Singer, JMLR 2003"),
    Method("frank", FRank, paper="Tsai, Liu, Qin, Chen, Ma, SIGIR 2007"),
    Method(
        "ndcgboost", NDCGBoost, paper="Valizadegan, Jin, Zhang, Mao, NIPS 2009",
        measure="nDCG", takes_measure=True,
    ),
)  # fmt: skip

_SPEC = re.compile(r"([A-Za-z][\w-]*)\s*(?:\((.*)\))?$")


def split_specs(text: str) -> list[str]:
    """Split ``adarank(nDCG(dcg='log2')@5),regression`` at the commas outside brackets and quotes."""
    pieces, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter == "(") - (letter == ")") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]


def configured(spec: str | Sequence[str | Configured], select_by: str = "AP") -> list[Configured]:
    """Return the methods that a comma-separated list names; ``all`` names every one.

    A sequence may hold `Configured` methods of your own beside names. An alias gives the method that it is
    another name of.

    Raises
    ------
    ValueError
        If a method is unknown, or a measure is given to one that takes none.
    MeasureNameError
        If the name of a measure is unknown.
    """
    pieces = split_specs(spec) if isinstance(spec, str) else list(spec)
    if pieces == ["all"]:
        pieces = [method.name for method in METHODS]
    if not pieces:
        raise ValueError("no method is named; `all` names every one")
    chooser = parse_measure(select_by).name
    return [piece if isinstance(piece, Configured) else _configured(piece, chooser) for piece in pieces]


def _configured(piece: str, select_by: str) -> Configured:
    match = _SPEC.match(piece)
    name, inner = (match.group(1).lower(), match.group(2)) if match else (piece, None)
    named = {name: method for method in METHODS for name in (method.name, *method.aliases)}
    if name not in named:
        near = get_close_matches(name, named, 1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(named)}"
        raise ValueError(f"no method is called {piece!r}; {advice}")
    method = named[name]
    if inner is not None and not method.takes_measure:
        raise ValueError(f"{name} takes no measure in brackets, but {piece!r} gives one")
    measure = parse_measure(inner).name if inner else method.measure
    if measure is None and method.takes_measure:
        measure = select_by
    shown = f"{method.name}({measure})" if measure and measure != method.measure else method.name
    return Configured(shown, method, measure, select_by)
