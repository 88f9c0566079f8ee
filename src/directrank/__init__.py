"""Learning to rank by direct optimisation of the measure you will be judged by.

Public names are imported when they are first used, so that ``import directrank`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.data import (
        ObservedRankings,
        PreferenceGraph,
        QueryGroups,
        find_folds,
        from_frame,
        load_letor,
        make_ranking,
        read_letor,
        write_letor,
    )
    from directrank.diagnostics import check_data
    from directrank.errors import DataError, DataFormatError, MeasureNameError, MethodError, ModelFormatError
    from directrank.estimators import (
        AdaRank,
        ApproxRank,
        FRank,
        LambdaRank,
        ListMLE,
        ListNet,
        NDCGBoost,
        OrderPreserving,
        PermuRank,
        Preorder,
        RankBoost,
        RankCosine,
        Ranker,
        RankNet,
        RankSVM,
        Regression,
        SoftRank,
        StructuralSVM,
    )
    from directrank.experiments import compare
    from directrank.measures import evaluate, parse_measure
    from directrank.models import load, save
    from directrank.report import write_report

    __version__: str

#: Where each public name lives: room by room, from the data up.
_ROOMS = {
    "directrank.errors": (
        "DataError",
        "DataFormatError",
        "MeasureNameError",
        "MethodError",
        "ModelFormatError",
    ),
    "directrank.data": (
        "ObservedRankings",
        "PreferenceGraph",
        "QueryGroups",
        "find_folds",
        "from_frame",
        "load_letor",
        "make_ranking",
        "read_letor",
        "write_letor",
    ),
    "directrank.measures": ("evaluate", "parse_measure"),
    "directrank.estimators": (
        "AdaRank",
        "ApproxRank",
        "FRank",
        "LambdaRank",
        "ListMLE",
        "ListNet",
        "NDCGBoost",
        "OrderPreserving",
        "PermuRank",
        "Preorder",
        "RankBoost",
        "RankCosine",
        "RankNet",
        "RankSVM",
        "Ranker",
        "Regression",
        "SoftRank",
        "StructuralSVM",
    ),
    "directrank.models": ("load", "save"),
    "directrank.diagnostics": ("check_data",),
    "directrank.experiments": ("compare",),
    "directrank.report": ("write_report",),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AdaRank",
    "ApproxRank",
    "DataError",
    "DataFormatError",
    "FRank",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "MeasureNameError",
    "MethodError",
    "ModelFormatError",
    "NDCGBoost",
    "ObservedRankings",
    "OrderPreserving",
    "PermuRank",
    "PreferenceGraph",
    "Preorder",
    "QueryGroups",
    "RankBoost",
    "RankCosine",
    "RankNet",
    "RankSVM",
    "Ranker",
    "Regression",
    "SoftRank",
    "StructuralSVM",
    "__version__",
    "check_data",
    "compare",
    "evaluate",
    "find_folds",
    "from_frame",
    "load",
    "load_letor",
    "make_ranking",
    "parse_measure",
    "read_letor",
    "save",
    "write_letor",
    "write_report",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("directrank")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'directrank' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
