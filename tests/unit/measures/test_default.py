"""One measure is the default everywhere."""

from inspect import signature

from directrank import AutoRanker, Ensemble, RankSVM, compare, evaluate, make_ranking
from directrank.cli.commands import comparing
from directrank.estimators.methods import configured
from directrank.experiments.options import MEASURES, Options
from directrank.measures import DEFAULT_MEASURE


def default(function, name):
    return signature(function).parameters[name].default


def test_what_chooses_and_what_is_reported_first_is_the_default_measure():
    assert default(compare, "select_by") == Options().select_by.name == DEFAULT_MEASURE
    assert default(compare, "measures")[0] == default(evaluate, "measures")[0] == DEFAULT_MEASURE
    assert configured("ranksvm")[0].select_by.name == AutoRanker().measure == DEFAULT_MEASURE
    # The command line states it again, because its help imports no measure.
    assert default(comparing.compare, "select_by") == DEFAULT_MEASURE
    assert tuple(default(comparing.compare, "measures").split(", ")) == MEASURES


def test_rankers_choose_by_what_they_score():
    groups = make_ranking(12, 8, 3, random_state=0)
    for ranker in (RankSVM(), Ensemble([RankSVM(), RankSVM()])):
        ranker.fit(groups)
        assert ranker.selected_by_ == DEFAULT_MEASURE
        value = evaluate(groups, ranker.predict(groups), measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]
        assert ranker.score(groups) == value
