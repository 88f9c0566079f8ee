"""No part tells what it must not: test relevance reaches the final scoring alone, vali the choices alone.

Shown by poisoning, for every registered method: what is trained, chosen and stored keeps every bit.
"""

import numpy as np
import pytest

from directrank import AutoRanker, QueryGroups, compare, make_ranking
from directrank.estimators.methods import METHODS, configured
from groups import first_group
from store_files import values_by_label

METHODS_OF_AP = configured(METHODS, "AP")
LABELS = [each.label for each in METHODS_OF_AP]
BOOSTED = [each.method.name for each in METHODS_OF_AP if each.label.startswith("trees-")]
#: One method of each kind: closed form, gradients, weak rankers, trees, an ensemble.
FEW = f"regression,listnet,adarank,{BOOSTED[0]},auto"
FEW_LABELS = [each.label for each in configured(FEW, "AP")]
EVERY = ",".join(["all", *(each.name for each in METHODS if not each.in_all)])
#: What the clock and the machine say, not the data.
OF_THE_MACHINE = ("seconds", "peak_memory")


def parts(poison=None) -> list[QueryGroups]:
    """Return train, vali and test of twelve, eight and ten queries; one of them poisoned."""
    groups = make_ranking(30, 6, 4, random_state=1)
    cut = []
    for place, (first, last) in enumerate(((0, 12), (12, 20), (20, 30))):
        rows = np.isin(groups.qid, groups.queries.qid[first:last])
        X, y, qid = groups.X[rows], groups.relevance[rows], groups.qid[rows]
        cut.append(QueryGroups(*poison(place, X, y), qid) if poison else QueryGroups(X, y, qid))
    return cut


def permuted(place, X, y):
    return X, np.random.default_rng(0).permutation(y) if place == 2 else y


def absurd(place, X, y):
    """The best are worthless, one document has a grade that there is nowhere else, and features are gone."""
    return (X[::-1] * 7 - 3, np.append(y.max() - y[1:], 20.0)) if place == 2 else (X, y)


def compared(data, methods, folder):
    boosted, seeds = (BOOSTED, (0, 1)) if methods == EVERY else (BOOSTED[:1], (0,))
    result = compare(
        data, methods, select_by="AP", measures=("AP", "ERR@5"), search="random:2", refit=True, seeds=seeds,
        out=folder, audit=False,
        settings={"auto.members": "ranksvm,frank", **{f"{name}.rounds": 3 for name in boosted}},
    )  # fmt: skip
    fits = values_by_label(folder, " on ")
    for fit in fits.values():
        for name in OF_THE_MACHINE:
            fit.pop(name, None)
    return result, fits


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("methods", first_group([FEW, EVERY], lambda methods: methods == FEW))
def test_relevance_of_the_test_part_changes_no_fit_and_no_choice(methods, tmp_path):
    honest = compared(parts(), methods, tmp_path / "honest")
    for poison in (permuted, absurd) if methods == EVERY else (absurd,):
        poisoned = compared(parts(poison), methods, tmp_path / poison.__name__)
        for label in LABELS if methods == EVERY else FEW_LABELS:
            assert_equal_but_for_the_test(honest, poisoned, label)


def assert_equal_but_for_the_test(honest, poisoned, label):
    (before, fits), (after, others) = honest, poisoned
    mine = {name: fit for name, fit in fits.items() if f" {label} [" in name}
    n_seeds = len({fit["seed"] for fit in mine.values()})
    assert len(mine) >= 2 * n_seeds  # a point or two for each seed, and a last fit each
    assert mine == {name: fit for name, fit in others.items() if f" {label} [" in name}
    ours, theirs = before.cell(label, "fold"), after.cell(label, "fold")
    for name in ("chosen", "validation", "weights"):
        assert ours[name] == theirs[name]
    assert [each["validation"] for each in ours["tried"]] == [each["validation"] for each in theirs["tried"]]
    # The poison is there: what is scored last is scored by it.
    assert ours["values"]["standard"]["test"] != theirs["values"]["standard"]["test"]


@pytest.mark.share(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("label", first_group(LABELS, lambda label: label in FEW_LABELS))
def test_relevance_of_the_validation_part_leaves_the_course_of_training_alone(label):
    """It may say which iterate is kept (the column ``monitor``) and how many rounds are trained, no more."""
    (method,) = [each for each in METHODS_OF_AP if each.label == label]
    train, vali, _ = parts()
    courses = []
    for validation in (vali, QueryGroups(vali.X, vali.relevance[::-1].copy(), vali.qid), None):
        short = {"rounds": 10} if label.startswith("trees-") else {}
        if label == "auto(AP)":  # A member of each kind: the others are labels of their own.
            short = {"members": f"listnet,ndcgboost,{BOOSTED[0]},ranksvm(scaling=standard)"}
        ranker = method.build({**method.points()[0], **short}, random_state=0).fit(train, eval_set=validation)
        # A note of an ensemble says the number of rounds that held-out queries chose.
        courses.append([{name: row[name] for name in row if name not in ("monitor", "notes")}
                        for row in ranker.history_])  # fmt: skip
    shortest = min(map(len, courses)) if method.build().chooses_rounds else None
    first, turned, without = (course[:shortest] for course in courses)
    assert first == turned == without


def test_without_a_last_fit_the_members_of_auto_are_trained_on_the_training_part_alone():
    """Its history has the names of members only."""
    train, vali, _ = parts()
    weights = []
    for validation in (vali, QueryGroups(vali.X, vali.relevance[::-1].copy(), vali.qid), None):
        auto = AutoRanker("AP", members="ranksvm(penalty=0.1),listnet(penalty=0.1)", refit=False)
        auto.fit(train, eval_set=validation)
        weights.append([ranker.coef_.tolist() for ranker in auto.rankers_])
    assert len(weights[0]) == 2
    assert weights[0] == weights[1] == weights[2]


def test_every_registered_method_is_tried():
    assert {label.partition("(")[0] for label in LABELS} == {method.name for method in METHODS}


def test_the_largest_grade_of_the_test_part_chooses_nothing():
    """ERR is on the scale of the largest grade: for the choice, that of train and vali."""
    results = [
        compare(parts(poison), "listnet", select_by="ERR@5", measures=("ERR@5",)) for poison in (None, absurd)
    ]
    first, second = (result.cell("listnet", "fold") for result in results)
    assert first["tried"][0]["validation"] == second["tried"][0]["validation"]
    assert first["chosen"] == second["chosen"]
    assert (first["computed"]["standard"], second["computed"]["standard"]) == (
        {"ERR@5": "ERR(max=4)@5"},
        {"ERR@5": "ERR(max=20)@5"},
    )
