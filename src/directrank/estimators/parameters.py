"""Parameters of estimators: each is written once, with its type, its sentence and its default.

::

    @estimator
    class SoftRank(Ranker):
        noise: Annotated[float, "σ > 0, in score units."] = 0.1

`estimator` makes the constructor that scikit-learn expects, and the ``Parameters`` of the docstring.
"""

import inspect
import re
import textwrap
from dataclasses import Field, dataclass, field, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

from directrank.contracts import Measure
from directrank.estimators.ranker import Ranker

Estimator = TypeVar("Estimator", bound=type[Ranker])

AnyMeasure = str | Measure
Gain = Literal["relevance", "gain"]
Penalty = Annotated[
    float, "λ ≥ 0 on half the squared norm of the coefficients, relative to the objective at zero scores."
]
MaxIterations = Annotated[int, "Largest number of iterations of L-BFGS from each start."]
Normalise = Annotated[bool, "Divide the loss of each query by its number of pairs."]
Width = Annotated[float, "Width of the Huber margin's rounded corner, in score units."]

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
    ordered = sorted(fields(cls), key=lambda each: each.kw_only is True)
    own = [_entry(each) for each in ordered if each.name not in SHARED]
    lines = ["Parameters", "----------", *own, ", ".join(SHARED), "    See `Ranker`."]
    return f"{text[:place].rstrip()}\n\n" + "\n".join(lines) + f"\n\n{text[place:]}".rstrip() + "\n"


def _entry(parameter: Field) -> str:
    """Return the entry of one parameter, as numpydoc wants it."""
    kind, sentence = get_args(parameter.type)
    default = "optional" if parameter.default is None else f"default={parameter.default!r}".replace("'", '"')
    described = textwrap.indent(textwrap.fill(sentence, 106), "    ")
    return f"{parameter.name} : {_type_name(kind)}, {default}\n{described}"


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "{" + ", ".join(f'"{each}"' for each in get_args(kind)) + "}"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_type_name(each) for each in get_args(kind) if each is not NoneType)
    return getattr(kind, "__name__", str(kind))
