"""Candidates of an ensemble: a comparison trains those of its rows once, and others as they are needed."""

import pytest

from directrank import (
    AutoRanker,
    QueryGroups,
    RankSVM,
    compare,
    find_folds,
    load,
    load_letor,
    make_ranking,
)
from directrank.apps.auto import ensembles
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import Observer
from directrank.estimators.methods import configured
from groups import first_group

OPTIONS = {
    "measures": ("AP",), "audit": False,
    "settings": {"auto.members": "ranksvm,listnet(penalty=0.1),regression"},
}  # fmt: skip
FOLDS = 3
#: The points of a linear method's grid.
POINTS = len(configured("ranksvm")[0].points())
#: Fits of an ensemble itself: with fewer than 30 queries at four penalties in four folds of the training set.
OWN = 4 * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = tmp_path_factory.mktemp("collection") / "data"
    write_folds(make_ranking(36, 7, 4, random_state=3), data)
    return data


@pytest.fixture
def trained(monkeypatch):
    """Penalties of RankSVM in the order in which this process trains it."""
    penalties, train = [], RankSVM._train

    def counted(self, *arguments, **named):
        penalties.append(self.penalty)
        return train(self, *arguments, **named)

    monkeypatch.setattr(RankSVM, "_train", counted)
    return penalties


def values(comparison):
    return {(cell["fold"], cell["method"]): (cell["values"], cell["per_query"]) for cell in comparison.cells}


@pytest.mark.heavy
def test_each_candidate_is_trained_once(folder, trained, tmp_path):
    # No row depends on which others are compared.
    alone = values(compare(folder, "auto", **OPTIONS))
    assert len(trained) == FOLDS * (4 + OWN)
    for rows in ("ranksvm,auto", "auto,ranksvm"):
        for again in (False, True):
            trained.clear()
            together = compare(folder, rows, out=tmp_path / rows, **OPTIONS)
            assert len(trained) == (0 if again else FOLDS * (POINTS + OWN))
            assert alone.items() <= values(together).items()


@pytest.mark.heavy
def test_an_ensemble_judged_by_another_measure_trains_its_own(folder, trained):
    compare(folder, "ranksvm,auto(AP)", **OPTIONS)
    # At its four penalties on the training set, too.
    assert len(trained) == FOLDS * (POINTS + 4 + OWN)


@pytest.mark.parametrize("n_queries", first_group([36, 72], lambda n_queries: n_queries == 72))
def test_an_ensemble_of_candidates_is_the_one_that_fit_trains(n_queries, tmp_path):
    """Also of members with rounds: these are chosen by a history that is longer than that of a cell."""
    write_folds(make_ranking(n_queries, 7, 4, random_state=3), tmp_path)
    fold, members = tmp_path / "Fold1", "ranksvm,listnet(penalty=0.1),frank(rounds=400)"
    options = {**OPTIONS, "settings": {"auto.members": members}}
    assert not compare(fold, "auto", out=tmp_path / "run", keep_models=True, **options).failed
    train, vali, test = load_letor(fold)
    ranker = AutoRanker(members=members, refit=False).fit(train, eval_set=vali)
    (saved,) = (tmp_path / "run" / "models").rglob("auto*.dr")
    assert ranker.predict(test).tobytes() == load(saved).predict(test).tobytes()


class Counting(Observer):
    planned_fits = made = 0

    def planned(self, plan):
        self.planned_fits = plan.n_fits

    def fitted(self):
        self.made += 1


@pytest.mark.heavy
def test_processes_make_a_candidate_of_two_rows_once(folder):
    rows, counting = "ranksvm,listnet(penalty=0.1),auto", Counting()
    one = compare(folder, rows, **OPTIONS)
    two = compare(folder, rows, observer=counting, jobs=2, **OPTIONS)
    assert values(one) == values(two)
    assert counting.made == counting.planned_fits == FOLDS * (POINTS + 2)


@pytest.mark.heavy
def test_candidates_are_fits_of_their_own_where_there_are_more_processes_than_cells(folder):
    processes, counting = FOLDS + 1, Counting()
    one = compare(folder, "auto", **OPTIONS)
    several = compare(folder, "auto", observer=counting, jobs=processes, **OPTIONS)
    assert values(one) == values(several)
    assert counting.made == counting.planned_fits == FOLDS * (POINTS + 3)


@pytest.mark.heavy
def test_default_members_that_no_query_can_teach_leave_a_compared_ensemble(tmp_path, monkeypatch):
    """AP is 1 for every ranking where every document is relevant."""
    monkeypatch.setattr(ensembles, "MEMBERS", "approxap(penalty=0.01),ranksvm(penalty=0.1)")
    given = make_ranking(36, 7, 4, random_state=3)
    write_folds(QueryGroups(given.X, given.relevance + 1.0, given.qid), tmp_path / "data")
    rows, settings = "auto,ranksvm(penalty=0.1),approxap(penalty=0.01)", {"auto.members": ensembles.MEMBERS}
    settings["auto.prior"] = None
    comparison = compare(tmp_path / "data", rows, settings=settings)
    assert {failed["method"] for failed in comparison.failed} == {"approxap(penalty=0.01)"}
    by_row = {(cell["fold"], cell["method"]): cell.get("per_query") for cell in comparison.cells}
    for fold in find_folds(tmp_path / "data"):
        assert by_row[fold.name, "auto(nDCG@10)"] == by_row[fold.name, "ranksvm(penalty=0.1)"]
