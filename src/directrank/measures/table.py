"""The table of all measures."""

from directrank.contracts import Measure
from directrank.measures.average_precision import AP
from directrank.measures.bpref import Bpref
from directrank.measures.dcg import DCG, NDCG
from directrank.measures.diversity import ERRIA, AlphaNDCG, StRec
from directrank.measures.err import ERR, NERR
from directrank.measures.families.definition import Definition
from directrank.measures.inferred_ap import InfAP
from directrank.measures.judged import Judged
from directrank.measures.mean_ndcg import MeanNDCG
from directrank.measures.pairwise import WPD, ZeroOne
from directrank.measures.precision import WTA, P
from directrank.measures.r_precision import Rprec
from directrank.measures.rank_biased_precision import RBP, RBPResidual
from directrank.measures.recall import R
from directrank.measures.reciprocal_rank import RR, Success
from directrank.measures.retrieved_set import NumRel, NumRet, SetAP, SetF, SetP, SetR

#: Every measure, in order of importance: the order of printing.
MEASURES: tuple[type[Definition], ...] = (
    NDCG, AP, P, RR, R, Success, Rprec, RBP, ERR, NERR, WTA, WPD, ZeroOne, DCG, MeanNDCG, Bpref,
    InfAP, Judged, RBPResidual, SetP, SetR, SetF, SetAP, NumRel, NumRet, AlphaNDCG,
    ERRIA, StRec,
)  # fmt: skip

#: Measures of one's own that have a name, by name: classes, whose names may have parameters and a cutoff, and
#: objects. `directrank.plugins` fills it.
OWN: dict[str, type[Definition] | Measure] = {}
