"""Every estimator with its default parameters: scikit-learn's own checks, of which none may fail.

Checks of constructors and of one short fit come first; ``-m "not sklearn"`` skips all others. Estimators
share one `fit`: the first group has the others of one estimator of each kind, the second those of all.
"""

import warnings

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from directrank import AutoRanker, Ensemble, ListNet, Ranker, RankSVM
from directrank.measures import NDCG
from directrank.solvers import LBFGS
from directrank.surrogates import SmoothedPositions
from estimator_examples import CLASSES, REPRESENTATIVES

#: A check of each kind: parameters, tags, refusals, and one fit with its prediction.
FIRST = {
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_valid_tag_types",
    "check_estimators_unfitted",
    "check_requires_y_none",
    "check_n_features_in",
}


def estimators():
    """Return every estimator with its default parameters, and those that need others as an argument."""
    defaults = [cls() for cls in (*CLASSES, AutoRanker)]
    return [*defaults, Ensemble([RankSVM(), ListNet()]), Ranker(SmoothedPositions(NDCG(10)), LBFGS())]


def checks():
    """Return every check of every estimator; those of FIRST are first, and have no mark."""
    first, others = [], []
    for estimator in estimators():
        with warnings.catch_warnings():
            # Rankers have its interface without its class, which takes longer to import than most fits take.
            warnings.filterwarnings("ignore", "Estimator .* does not inherit from", UserWarning)
            generated = list(estimator_checks_generator(estimator))
        for _, check in generated:
            options = "-".join(f"{name}={value}" for name, value in check.keywords.items() if name != "name")
            identity = "-".join(filter(None, [type(estimator).__name__, check.func.__name__, options]))
            if check.func.__name__ in FIRST:
                first.append(pytest.param(estimator, check, id=identity))
            else:
                marks = [pytest.mark.sklearn]
                if type(estimator).__name__ not in REPRESENTATIVES:
                    marks.append(pytest.mark.heavy)
                others.append(pytest.param(estimator, check, id=identity, marks=marks))
    return first + others


# More rows without qid than these checks have are refused (`MOST_WITHOUT_QID`).
@pytest.mark.share(10)
@pytest.mark.filterwarnings("ignore:qid is missing:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_check_estimator(estimator, check):
    check(estimator)
