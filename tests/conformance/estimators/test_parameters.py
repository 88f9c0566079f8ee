"""Every parameter of every method is checked against its declaration, before anything is trained."""

import math
from dataclasses import fields
from typing import Literal, get_args, get_origin

import numpy as np
import pytest

from directrank.estimators.methods import METHODS
from directrank.estimators.parameters import parameters_of
from directrank.estimators.ranker import Ranker
from estimator_examples import CLASSES, quick, rows

#: The parameters that all estimators share.
SHARED = parameters_of(Ranker)
EACH = [
    pytest.param(cls, parameter, id=f"{cls.__name__}-{parameter.name}")
    for cls in CLASSES
    for parameter in parameters_of(cls).values()
    if parameter.name not in SHARED or cls is CLASSES[0]
]


def wrong_values(parameter):
    """Values that no declaration of this kind allows: wrong type, NaN, infinity, just out of range."""
    kinds = get_args(parameter.kind) or (parameter.kind,)
    yield from (object(), {}, 1 + 2j, math.nan, np.float32("nan"), b"best")
    if get_origin(parameter.kind) is Literal or not any(each is str for each in kinds):
        yield "no such option"
    if type(None) not in kinds:
        yield None
    if not any(each in (int, float) for each in kinds):
        yield from (0.5, 10**400)
    if bool not in kinds:
        yield from (True, np.True_)
    if parameter.interval is None:
        return
    interval = parameter.interval
    yield -math.inf
    if not interval.infinite:
        yield math.inf
    yield interval.low - 3
    if interval.above:
        yield interval.low
    if interval.high != math.inf:
        yield interval.high + 1
    if int in kinds:
        yield from (2.5, "3")


def spoilt(cls, parameter, value):
    ranker = quick(cls)
    ranker.set_params(**{parameter.name: value})
    return ranker


@pytest.mark.share(6)
@pytest.mark.parametrize(("cls", "parameter"), EACH)
def test_a_value_that_is_not_allowed_is_refused_in_one_line(cls, parameter):
    X, y, qid = rows(2)
    for value in wrong_values(parameter):
        for refuse in (lambda r: r.fit(X, y, qid), lambda r: r.checked()):
            with pytest.raises(ValueError, match=f"^{parameter.name} must be ") as raised:
                refuse(spoilt(cls, parameter, value))
            message = str(raised.value)
            assert parameter.allowed in message
            assert cls.__name__ in message
            assert "\n" not in message
            assert len(message) < 300


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_is_declared_and_documented_and_its_default_and_options_are_allowed(cls):
    assert set(parameters_of(cls)) == {each.name for each in fields(cls)} == set(cls().get_params(deep=False))
    for parameter in parameters_of(cls).values():
        assert parameter.sentence.endswith(".")
        assert f"{parameter.name} : " in cls.__doc__
        kinds = (each for each in (parameter.kind, *get_args(parameter.kind)) if get_origin(each) is Literal)
        for value in (parameter.default, *(option for kind in kinds for option in get_args(kind))):
            parameter.check(value, cls.__name__)


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
def test_what_methods_fix_and_search_is_allowed(method):
    declared = parameters_of(method.estimator)
    for name, values in [*method.grid.items(), *((name, [value]) for name, value in method.fixed.items())]:
        for value in values:
            declared[name].check(value, method.name)
