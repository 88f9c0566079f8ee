"""One measure is the default everywhere; options of Python and of the command line have the same defaults."""

from dataclasses import MISSING, fields
from inspect import signature

from directrank import AutoRanker, Ensemble, RankSVM, compare, evaluate, make_ranking
from directrank.apps.experiments.options import MEASURES, Columns, Options
from directrank.estimators.methods import configured
from directrank.measures import DEFAULT_MEASURE


def default(function, name):
    return signature(function).parameters[name].default


def test_what_chooses_and_what_is_reported_first_is_the_default_measure():
    assert default(compare, "select_by") == Options().select_by.name == DEFAULT_MEASURE
    assert default(compare, "measures")[0] == default(evaluate, "measures")[0] == DEFAULT_MEASURE
    assert configured("ranksvm")[0].select_by.name == AutoRanker().measure == DEFAULT_MEASURE
    # The options state it again, because the help of the command line imports no measure.
    assert MEASURES[0] == DEFAULT_MEASURE


def test_compare_has_the_options_of_the_command_line_with_their_defaults():
    declared = {each.name: each.default for each in (*fields(Options), *fields(Columns)) if each.init}
    del declared["reading"], declared["external_seeds"]
    python = {name: each.default for name, each in signature(compare).parameters.items()}
    for name in ("source", "methods", "observer", "command"):
        del python[name]
    assert python.keys() == declared.keys()
    nothing = (None, (), MISSING)  # in Python None, in the options an empty collection
    different = {name for name in python if python[name] != declared[name]}
    assert all(python[name] is None and declared[name] in nothing for name in different)


def test_rankers_choose_by_what_they_score():
    groups = make_ranking(12, 8, 3, random_state=0)
    for ranker in (RankSVM(), Ensemble([RankSVM(), RankSVM()])):
        ranker.fit(groups)
        assert ranker.selected_by_ == DEFAULT_MEASURE
        value = evaluate(groups, ranker.predict(groups), measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]
        assert ranker.score(groups) == value
