"""The table of all measures."""

from directrank.contracts import Measure
from directrank.measures.average_precision import AP
from directrank.measures.dcg import DCG, NDCG
from directrank.measures.err import ERR, NERR
from directrank.measures.families.definition import Definition
from directrank.measures.mean_ndcg import MeanNDCG
from directrank.measures.pairwise import WPD, ZeroOne
from directrank.measures.precision import WTA, P
from directrank.measures.reciprocal_rank import RR

#: Every measure, in order of importance: the order of printing.
MEASURES: tuple[type[Definition], ...] = (
    NDCG, AP, P, RR, ERR, NERR, WTA, WPD, ZeroOne, DCG, MeanNDCG,
)  # fmt: skip

#: Measures of one's own that have a name, by name: classes, whose names may have parameters and a cutoff, and
#: objects. `directrank.plugins` fills it.
OWN: dict[str, type[Definition] | Measure] = {}
