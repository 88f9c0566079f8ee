"""What there was before a comparison: rows outside the family of tests, by hand."""

from html import unescape

import numpy as np
import pytest

from directrank import DataError, QueryGroups, compare, write_report
from directrank.apps.experiments import Observer, read_results
from directrank.apps.experiments.results.verdict import short, verdict
from directrank.apps.experiments.run.references import best_feature
from directrank.measures import parse_measure

NAMES = ("whole.bm25", "reversed", "noise")


def part(n_queries, seed, stage=0.0):
    """Five documents per query: a feature, minus the grade, and BM25, right but in the `stage` share."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation([0, 0, 1, 1, 2]) for _ in range(n_queries)])
    wrong = np.repeat(rng.random(n_queries) < stage, 5)
    X = np.stack([np.where(wrong, -y, y), -y + 0.0, rng.normal(size=len(y))], axis=1)
    qid = np.repeat(np.arange(n_queries), 5) + 1000 * seed
    return QueryGroups(X.astype(np.float32), y, qid, feature_names=NAMES)


class Fits(Observer):
    """Keeps what was trained."""

    def __init__(self):
        self.fits = []

    def fitted(self, *facts):
        self.fits.append(facts)


def parts(stage=0.5):
    return part(20, 1, stage), part(20, 2, stage), part(20, 3, stage)


def test_the_best_feature_and_its_direction_are_chosen_on_training_queries():
    train = parts()[0]
    X = np.array(train.X)
    X[0, 1] = np.nan
    groups = QueryGroups(X, train.relevance, train.qid)
    column, sign, fill = best_feature(groups, parse_measure("AP"))
    assert (column, sign, fill) == (1, -1.0, np.median(X[1:, 1]))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("before")
    found = compare(parts(), "regression,ranksvm", measures=("RR", "AP"), select_by="AP", out=folder / "out")
    return found, folder


def test_the_verdict_names_what_the_winner_does_not_beat(result):
    compared, folder = result
    take, line, exports = verdict(compared).sentences
    winner = compared.best_on_validation()
    assert take.startswith(f"Take {winner}, the best on validation (test AP ")
    assert "orse than the best single feature (" in line or "ot clearly better than the best" in line
    pair = compared.content.significance["standard"].references["AP"][0]
    assert pair.method == winner
    assert pair.difference == pytest.approx(
        compared.mean(winner, "AP", "standard") - compared.mean("first stage", "AP", "standard")
    )
    assert f"the first stage, the feature whole.bm25 ({pair.difference:+.3f}" in line
    # A weighted sum of features goes to all but the engines of trees.
    assert exports.startswith("It exports to c, elasticsearch-ltr, go, ")
    assert (
        "; not to elasticsearch, lightgbm, treelite or xgboost, because each takes trees alone, " in exports
    )
    again = read_results(folder / "out")
    assert again.content.verdict == [*verdict(again).sentences] == [take, line, exports]
    write_report(compared, folder / "page.html")
    page = unescape((folder / "page.html").read_text()).replace("−", "-")
    assert page.index(take) < page.index(line) < page.index(exports) < page.index("Results</h2>")
    assert "First stage and simple rankings, convention standard" in page


def test_the_first_stage_is_a_feature_the_order_or_none():
    sets = parts(stage=0.0)
    order = compare(sets, "ranksvm", measures="RR", audit=False, first_stage="order")
    row = order.of("first stage")[0].per_query["standard"]["RR"]
    test = sets[2]
    expected = [1 / (1 + np.flatnonzero(test.relevance[q * 5 : q * 5 + 5] > 0)[0]) for q in range(20)]
    assert row == pytest.approx(expected)
    none = compare(sets, "ranksvm", measures="RR", audit=False, first_stage="none")
    assert "first stage" not in none.references
    noise = compare(sets, "ranksvm", measures="RR", audit=False, first_stage="noise")
    assert noise.content.reference_methods[0].summary == "the feature noise"
    assert "the ranking you had, the feature noise (" in noise.content.verdict[1]
    observer = Fits()
    compare(sets, "ranksvm", measures="RR", audit=False, first_stage="noise", observer=observer)
    assert observer.fits
    observer = Fits()
    with pytest.raises(
        DataError, match=r"--first-stage tf: no feature is called so; expected one of whole\.b"
    ):
        compare(sets, "ranksvm", measures="RR", audit=False, first_stage="tf", observer=observer)
    assert observer.fits == [], "it is refused before anything is trained"


def noisy(seed):
    one = part(30, seed)
    rng = np.random.default_rng(seed)
    X = np.stack([one.relevance + scale * rng.normal(size=one.n_docs) for scale in (1.0, 2.0, 4.0)], axis=1)
    return QueryGroups(X.astype(np.float32), one.relevance, one.qid)


def test_the_verdict_says_what_auto_wins_over_its_best_member():
    """`listnet` is no member here."""
    rows, members = ("regression", "rankboost(rounds=5)"), "regression,rankboost(rounds=5)"
    compared = compare(
        tuple(map(noisy, (1, 2, 3))), f"auto,listnet(penalty=0.1),{members}", measures="AP",
        select_by="AP", audit=False, settings={"auto.members": members}, baseline="auto(AP)",
    )  # fmt: skip
    member = max(rows, key=lambda label: compared.of(label)[0].validation)
    auto, other = (compared.of(label)[0].per_query["standard"]["AP"] for label in ("auto(AP)", member))
    gain = np.mean(auto) - np.mean(other)
    side = "better" if gain > 0 else "worse"
    line = f"auto(AP) is {abs(gain):.3f} {side} than its best member on validation, {member} (interval of "
    assert [text.startswith(line) for text in verdict(compared).sentences] == [False, False, True, False]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "+0.123"), (-0.0004, "-0.0004"), (-1e-15, "+0.000"), (0.0, "+0.000"), (2e-6, "+2e-06")],
)
def test_small_numbers_have_a_digit_and_errors_of_rounding_none(value, text):
    assert short(value, "+") == text
