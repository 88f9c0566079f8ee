"""Frames, tables of HTML and pictures of what notebooks show."""

import re
import sys

import numpy as np
import pandas as pd
import pytest

from directrank import DataError, QueryGroups, Regression, evaluate, from_frame, importance, make_ranking

GROUPS = make_ranking(25, 4, 3, random_state=0)
ODD = "<b>&'\"$x$"


@pytest.fixture(scope="module")
def ranker():
    return Regression().fit(GROUPS)


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def odd_groups():
    return QueryGroups(
        [[1.0], [2.0], [3.0]], [0, 1, 2], [ODD] * 3, docid=["a", ODD, "c"], feature_names=[ODD]
    )


def odd_results():
    groups = odd_groups()
    ranker = Regression().fit(groups)
    return groups, importance(ranker, groups), ranker.explain(groups)


def test_groups_become_the_frame_that_they_came_from():
    frame = pd.DataFrame(
        {"search": [1, 1, 2], "brand": ["b", None, "a"], "price": [0.5, 2, 3], "grade": [2, 0, 1]}
    )
    groups = from_frame(frame, qid="search", label="grade")
    back = groups.to_frame()
    assert set(back.columns) == set(frame.columns)
    pd.testing.assert_frame_equal(back[list(frame)], frame, check_dtype=False)
    again = from_frame(GROUPS.to_frame())
    np.testing.assert_array_equal(again.X, GROUPS.X)
    assert (again.relevance.tolist(), again.qid.tolist()) == (GROUPS.relevance.tolist(), GROUPS.qid.tolist())
    with pytest.raises(DataError, match="a feature is called 'qid'"):
        QueryGroups([[1.0]], [0], [1], feature_names=["qid"]).to_frame()


def test_an_evaluation_has_its_means_or_the_values_of_queries():
    result = evaluate([1, 0, 0, 2], [0.3, 0.2, 0.9, 0.5], list("aabb"), measures=["AP", "RR"])
    assert result.to_frame().to_dict("list") == {"measure": ["AP", "RR"], "mean": [0.75, 0.75]}
    assert cells(result._repr_html_()) == [["measure", "mean"], ["AP", "0.75"], ["RR", "0.75"]]
    of_queries = evaluate([1, 0, 0, 2], [0.3, 0.2, 0.9, 0.5], list("aabb"), measures=["AP"], per_query=True)
    assert of_queries.to_frame().to_dict("list") == {"qid": ["a", "b"], "AP": [1.0, 0.5]}
    assert cells(of_queries._repr_html_())[1:] == [["AP", "0.75"]]


def test_importances_are_rows_with_their_intervals(ranker):
    result = importance(ranker, GROUPS)
    frame = result.to_frame()
    assert frame.to_dict("records") == result.rows()
    assert frame.loss.tolist() == sorted(result.losses.mean(axis=0), reverse=True)


def test_an_explanation_names_rows_and_features(ranker):
    why = ranker.explain(GROUPS, rows=[5, 2])
    frame = why.to_frame()
    assert frame.row.tolist() == [5, 2]
    assert list(frame)[1:] == ["f1", "f2", "f3"]
    np.testing.assert_array_equal(frame.drop(columns="row"), np.asarray(why))
    for part in (why[0], why[:1], why.T, why + 1):
        with pytest.raises(DataError, match="a part of an explanation has no names"):
            part.to_frame()
        assert part._repr_html_().startswith("<pre>")


def test_bars_are_the_numbers(ranker, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    result, why = importance(ranker, GROUPS), ranker.explain(GROUPS)
    evaluation = evaluate([1, 0], [1.0, 0.0], [1, 1], measures=["AP", "P@2"])
    grades = [np.sum(GROUPS.relevance == grade) for grade in np.unique(GROUPS.relevance)]
    mean = np.abs(np.asarray(why)).mean(axis=0)
    for shown, widths in (
        (result, result.to_frame().loss), (evaluation, [1.0, 0.5]), (GROUPS, grades),
        (why, sorted(mean, reverse=True)),
    ):  # fmt: skip
        ax = shown.plot()
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(list(widths))
    (one,) = np.asarray(ranker.explain(GROUPS, rows=3))
    ax = ranker.explain(GROUPS, rows=3).plot(ax=pyplot.subplots()[1])
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(sorted(one, key=abs, reverse=True))
    for shown in odd_results():
        shown.plot().figure.canvas.draw()
    pyplot.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="a picture needs matplotlib: pip install matplotlib"):
        GROUPS.plot()
