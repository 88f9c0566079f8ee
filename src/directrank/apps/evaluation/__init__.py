"""Evaluation of rankings: by conventions of tools, runs, tests, agreement of judgments, importance.

Public names are imported on first use, so that a module of this package can be imported alone.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.apps.evaluation.ceilings import Ceiling, ceiling
    from directrank.apps.evaluation.drifting import Drift, QueryDrift, drift
    from directrank.apps.evaluation.evaluation import (
        CONVENTIONS,
        Convention,
        Evaluation,
        checked_scores,
        evaluate,
    )
    from directrank.apps.evaluation.gates import (
        CANNOT_TELL,
        FAIL,
        PASS,
        Gain,
        Gate,
        Margin,
        gate,
        gate_of_gains,
        gated,
    )
    from directrank.apps.evaluation.judges import JudgedMean, judged_mean, judged_means
    from directrank.apps.evaluation.raters import Agreement, agreement
    from directrank.apps.evaluation.runs import (
        Judged,
        Submission,
        definition_notes,
        fold_chunks,
        is_text,
        named_runs,
        run_from,
    )
    from directrank.apps.evaluation.shuffling import FeatureSet, Importance, importance, select_features
    from directrank.apps.evaluation.significance import PairedTest, paired_test
    from directrank.apps.evaluation.vectors import measure_vectors


__all__ = [
    "CANNOT_TELL",
    "CONVENTIONS",
    "FAIL",
    "PASS",
    "Agreement",
    "Ceiling",
    "Convention",
    "Drift",
    "Evaluation",
    "FeatureSet",
    "Gain",
    "Gate",
    "Importance",
    "Judged",
    "JudgedMean",
    "Margin",
    "PairedTest",
    "QueryDrift",
    "Submission",
    "agreement",
    "ceiling",
    "checked_scores",
    "definition_notes",
    "drift",
    "evaluate",
    "fold_chunks",
    "gate",
    "gate_of_gains",
    "gated",
    "importance",
    "is_text",
    "judged_mean",
    "judged_means",
    "measure_vectors",
    "named_runs",
    "paired_test",
    "run_from",
    "select_features",
]

__getattr__ = lazy_names(__name__)
