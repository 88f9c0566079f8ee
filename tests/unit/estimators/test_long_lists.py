"""Lists that are too long: refused before anything is trained, and only where training would hang."""

import numpy as np
import pytest

from directrank import QueryGroups
from directrank.apps.cli import main
from directrank.errors import DataError
from directrank.estimators import inputs
from directrank.estimators.methods import METHODS, configured

RNG = np.random.default_rng(0)
#: One evaluation of these takes hardly longer than sorting the list: no list is too long.
SCALE = {
    "regression", "ranksvm", "irsvm", "preorder-norm-dcg", "listnet", "listmle", "rankcosine", "adarank",
    "consistent-dcg", "consistent-ndcg", "consistent-norm-dcg", "svmmap", "svmndcg", "svmmrr", "svmp",
    "permurank", "rankboost", "ranknet", "lambdarank", "lambdaloss", "approxndcg", "approxap",
}  # fmt: skip
#: One evaluation of these takes two seconds at 50,000 documents of five grades, half of them relevant.
SLOW = {"frank", "coordinate-ascent"}


def one_query(n: int, relevance=None) -> QueryGroups:
    y = RNG.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]) if relevance is None else relevance
    return QueryGroups(RNG.normal(size=(n, 2)).astype(np.float32), y, np.full(n, "long"))


def work(name: str, groups: QueryGroups) -> float:
    return configured(name)[0].build().components()[0].work(groups.queries)[0]


def test_methods_are_refused_where_an_evaluation_takes_seconds():
    groups = one_query(50_000)
    names = {each.name for each in METHODS} - {"auto", "softrank"}
    too_long = {name for name in names if work(name, groups) > inputs.LARGEST_WORK}
    assert too_long == SLOW
    assert not {name for name in SCALE if work(name, groups) > 0.1 * inputs.LARGEST_WORK}
    few = one_query(100_000, np.arange(100_000) < 20)
    assert not [name for name in names if work(name, few) > inputs.LARGEST_WORK]


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("lambdarank(AP)", 10_000),
        ("lambdarank(MeanNDCG)", 2000),
        ("coordinate-ascent(RR)", 500),
        ("lambdarank(nDCG)", 30_000),
        ("frank", 30_000),
        ("softrank", 2000),
    ],
)
def test_shorter_lists_are_not(name, n):
    assert work(name, one_query(n)) <= inputs.LARGEST_WORK
    assert work(name, one_query(20 * n)) > inputs.LARGEST_WORK


def test_many_grades_make_many_runs_of_pairs():
    relevance = np.linspace(0.0, 4.0, 50_000)
    assert work("preorder-norm-dcg", one_query(50_000, relevance)) > inputs.LARGEST_WORK


def test_the_message_names_query_length_method_and_remedy(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(inputs, "LARGEST_WORK", 10.0)
    groups = one_query(12)
    said = r"query long has 12 documents, too many for FRank: .*ranksvm, .*keep fewer documents"
    with pytest.raises(DataError, match=said):
        configured("frank")[0].build().fit(groups)
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{row % 3} qid:7 1:{row}\n" for row in range(12)))
    assert main(["fit", "frank", str(path), "-o", str(tmp_path / "model.dr")]) == 3
    assert (
        capsys.readouterr().err.splitlines()[-1].startswith("directrank: query 7 has 12 documents, too many")
    )
    # A query that does not count may be long.
    both = QueryGroups(np.arange(15.0)[:, None], np.arange(15) % 2, ["long"] * 12 + ["short"] * 3)
    configured("frank")[0].build().fit(both, sample_weight=[0.0, 1.0])
