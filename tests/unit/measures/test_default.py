"""One measure is the default everywhere; options of Python and of the command line have the same defaults."""

from dataclasses import fields
from inspect import signature

from directrank import AutoRanker, compare, evaluate
from directrank.apps.experiments.options import MEASURES, Options
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
    parameters = [str(parameter).partition(":")[0] for parameter in signature(compare).parameters.values()]
    options = [option.name for option in fields(Options) if option.init]
    assert parameters == ["source", "methods", *options, "observer", "command"]
    assert [(name, default(compare, name)) for name in ("methods", "seeds", "jobs", "refit", "drop")] == [
        ("methods", "all"), ("seeds", None), ("jobs", 1), ("refit", False), ("drop", ()),
    ]  # fmt: skip
