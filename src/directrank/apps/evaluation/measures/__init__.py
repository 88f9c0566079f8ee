"""Measures that nothing trains for: of incomplete judgments, of subtopics, and of sets. A bundled plug-in."""

from directrank.apps.evaluation.measures.diversity import ERRIA, AlphaNDCG, StRec
from directrank.apps.evaluation.measures.incomplete import Bpref, InfAP, Judged, RBPResidual
from directrank.apps.evaluation.measures.retrieved_set import NumRel, NumRet, SetAP, SetF, SetP, SetR

__all__ = [
    "ERRIA",
    "PLUGINS",
    "AlphaNDCG",
    "Bpref",
    "InfAP",
    "Judged",
    "NumRel",
    "NumRet",
    "RBPResidual",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "StRec",
]

PLUGINS = (
    Bpref, InfAP, Judged, RBPResidual, SetP, SetR, SetF, SetAP, NumRel, NumRet, AlphaNDCG, ERRIA, StRec,
)  # fmt: skip
