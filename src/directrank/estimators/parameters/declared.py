"""Parameters of estimators: each is written once, with its type, its sentence and its default.

::

    @estimator
    class SoftRank(Ranker):
        noise: Annotated[float, "σ, in score units.", ABOVE_0] = 0.1

`estimator` makes the constructor that scikit-learn expects, and the ``Parameters`` of the docstring;
`directrank.estimators.parameters.allowed` checks the values.
"""

import inspect
import re
import textwrap
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

from directrank.contracts import Measure
from directrank.estimators.parameters.allowed import ABOVE_0, FROM_0, FROM_1, Parameter, parameters_of
from directrank.estimators.ranker import Ranker

Estimator = TypeVar("Estimator", bound=type[Ranker])

AnyMeasure = str | Measure
Gain = Literal["relevance", "gain"]
Penalty = Annotated[
    float, "λ on half the squared norm of the coefficients, relative to the objective at zero scores.", FROM_0
]
MaxIterations = Annotated[int, "Largest number of iterations of L-BFGS from each start.", FROM_1]
Normalise = Annotated[bool, "Divide the loss of each query by its number of pairs."]
Width = Annotated[float, "Width of the Huber margin's rounded corner, in score units.", ABOVE_0]

#: The parameters that all estimators share; `Ranker` documents them.
SHARED = tuple(each.name for each in fields(Ranker))


def positional(*, default: Any, kw_only: Literal[False] = False) -> Any:
    """Return a default that declares a parameter as positional; all others are keyword-only."""
    return field(default=default, kw_only=kw_only)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(positional,))
def estimator(cls: Estimator) -> Estimator:
    """Make a class of annotated parameters an estimator: constructor and documentation."""
    made: Any = dataclass(eq=False, repr=False, kw_only=True)(cls)
    made.__doc__ = _documented(made)
    return made


def _documented(cls: type[Ranker]) -> str:
    """Return the docstring of a class with its parameters, which come before all other sections."""
    text = inspect.cleandoc(cls.__doc__ or "")
    section = re.search(r"^[A-Z]\w+\n-+$", text, re.MULTILINE)
    place = section.start() if section else len(text)
    own = [_entry(each) for each in parameters_of(cls).values() if each.name not in SHARED]
    lines = ["Parameters", "----------", *own, ", ".join(SHARED), "    See `Ranker`."]
    return f"{text[:place].rstrip()}\n\n" + "\n".join(lines) + f"\n\n{text[place:]}".rstrip() + "\n"


def _entry(parameter: Parameter) -> str:
    """Return the entry of one parameter, as numpydoc wants it."""
    absent = parameter.default is None
    default = "optional" if absent else f"default={parameter.default!r}".replace("'", '"')
    described = textwrap.indent(textwrap.fill(parameter.sentence, 106), "    ")
    allowed = parameter.allowed.replace("'", '"').removesuffix(" or none" if absent else "\0")
    return f"{parameter.name} : {allowed}, {default}\n{described}"
