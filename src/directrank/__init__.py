"""Learning to rank by directly optimising the measure you report.

Public names are imported when they are first used, so that ``import directrank`` is fast.
"""

# ruff: noqa: F403, F405 - type checkers read the star imports, and only names in __all__ are public

from importlib import import_module
from typing import TYPE_CHECKING, Any

from directrank.registries import BUNDLED

if TYPE_CHECKING:
    from directrank.apps.auto import *
    from directrank.apps.cutoff import *
    from directrank.apps.engines import *
    from directrank.apps.evaluation import *
    from directrank.apps.experiments import *
    from directrank.apps.fusion import *
    from directrank.apps.papers import *
    from directrank.apps.report import *
    from directrank.data import *
    from directrank.diagnostics import *
    from directrank.errors import *
    from directrank.estimators import *
    from directrank.files import *
    from directrank.measures import *
    from directrank.models import *
    from directrank.plugins import *
    from directrank.testing import *

    __version__: str

#: The package of each public name: it alone is imported when the name is first used.
_NAMES = {
    "errors": (
        "DataError DataFormatError ExportError MeasureNameError MethodError ModelFormatError PluginError"
    ),
    "data": "ObservedRankings PreferenceGraph QueryGroups from_frame",
    "files": (
        "Fold ReadOptions convert_data find_folds load_data load_letor open_store read_letor write_letor"
    ),
    "measures": "parse_measure",
    "diagnostics": "DataCheck check_data",
    "models": "load save",
    "estimators": (
        "AdaRank ApproxRank ConsistentRank CoordinateAscent FRank LambdaLoss "
        "LambdaRank ListMLE ListNet NDCGBoost PLRank PermuRank Preorder RankBoost RankNet RankSVM Ranker "
        "Regression SoftRank StructuralSVM SurrogateRanker TreeRanker XENDCG"
    ),
    "plugins": "load_plugin",
    "testing": "make_ranking",
    "apps.auto": "AutoRanker Ensemble",
    "apps.cutoff": "Cutoff",
    "apps.engines": "Export export",
    "apps.evaluation": (
        "Agreement Ceiling Drift Evaluation FeatureSet Gate Importance PairedTest agreement ceiling drift "
        "evaluate fold_chunks gate importance paired_test select_features"
    ),
    "apps.experiments": (
        "CategoryMean Comparison ExternalEstimator by_category compare evaluate_runs leave_last_out"
    ),
    "apps.fusion": "Fusion Tuning tune",
    "apps.papers": "RankCosine StructuralPerceptron YetiLoss",
    "apps.report": "ModelCard model_card write_report",
}

BUNDLED["measures"] = {"directrank.apps.clicks.measures": "", "directrank.apps.evaluation.measures": ""}
BUNDLED["models"] = {"directrank.apps.libraries.models": ""}
BUNDLED["methods"] = {f"directrank.{package}": _NAMES[package] for package in ("apps.auto", "apps.papers")}

__all__ = [  # noqa: RUF022 - in the order of `sorted`, as a test wants
    "AdaRank",
    "Agreement",
    "ApproxRank",
    "AutoRanker",
    "CategoryMean",
    "Ceiling",
    "Comparison",
    "ConsistentRank",
    "CoordinateAscent",
    "Cutoff",
    "DataCheck",
    "DataError",
    "DataFormatError",
    "Drift",
    "Ensemble",
    "Evaluation",
    "Export",
    "ExportError",
    "ExternalEstimator",
    "FRank",
    "FeatureSet",
    "Fold",
    "Fusion",
    "Gate",
    "Importance",
    "LambdaLoss",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "MeasureNameError",
    "MethodError",
    "ModelCard",
    "ModelFormatError",
    "NDCGBoost",
    "ObservedRankings",
    "PLRank",
    "PairedTest",
    "PermuRank",
    "PluginError",
    "PreferenceGraph",
    "Preorder",
    "QueryGroups",
    "RankBoost",
    "RankCosine",
    "RankNet",
    "RankSVM",
    "Ranker",
    "ReadOptions",
    "Regression",
    "SoftRank",
    "StructuralPerceptron",
    "StructuralSVM",
    "SurrogateRanker",
    "TreeRanker",
    "Tuning",
    "XENDCG",
    "YetiLoss",
    "__version__",
    "agreement",
    "by_category",
    "ceiling",
    "check_data",
    "compare",
    "convert_data",
    "drift",
    "evaluate",
    "evaluate_runs",
    "export",
    "find_folds",
    "fold_chunks",
    "from_frame",
    "gate",
    "importance",
    "leave_last_out",
    "load",
    "load_data",
    "load_letor",
    "load_plugin",
    "make_ranking",
    "model_card",
    "open_store",
    "paired_test",
    "parse_measure",
    "read_letor",
    "save",
    "select_features",
    "tune",
    "write_letor",
    "write_report",
]


#: Modules of the package that need a library of their own, and are imported when they are used.
_LIBRARIES = ("lightgbm", "torch", "xgboost")


def __getattr__(name: str) -> Any:
    if name in _LIBRARIES:
        return import_module(f"directrank.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'directrank' has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version  # slow to import

        value: Any = version("directrank")
    else:
        package = next(package for package, names in _NAMES.items() if name in names.split())
        value = getattr(import_module(f"directrank.{package}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
