"""Parameters of estimators: each is written once, with its type, its sentence and its default.

::

    @estimator
    class SoftRank(Ranker):
        noise: Annotated[float, "σ, in score units.", ABOVE_0] = 0.1

`estimator` makes the constructor that scikit-learn expects, its signature with plain types, and the
``Parameters``, ``Attributes`` and ``Examples`` of the docstring; `directrank.estimators.parameters.allowed`
checks the values.
"""

import inspect
import re
import textwrap
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

from directrank.contracts import Measure
from directrank.estimators.parameters.allowed import ABOVE_0, FROM_0, FROM_1, parameters_of

Estimator = TypeVar("Estimator", bound=type)

AnyMeasure = str | Measure
Gain = Literal["relevance", "gain"]
Penalty = Annotated[
    float, "λ on half the squared norm of the coefficients, relative to the objective at zero scores.", FROM_0
]
MaxIterations = Annotated[int, "Largest number of iterations of L-BFGS from each start.", FROM_1]
Normalise = Annotated[bool, "Divide the loss of each query by its number of pairs."]
Width = Annotated[float, "Width of the Huber margin's rounded corner, in score units.", ABOVE_0]

#: The example of an estimator that has none of its own.
EXAMPLE = """\
>>> from directrank import {name}, make_ranking
>>> train, vali = make_ranking(10, 8, 4, random_state=2), make_ranking(10, 8, 4, random_state=3)
>>> ranker = {name}({first}).fit(train, eval_set=vali)
>>> ranker.score(vali) > 0.7
True
"""


def positional(*, default: Any, kw_only: Literal[False] = False) -> Any:
    """Return a default that declares a parameter as positional; all others are keyword-only."""
    return field(default=default, kw_only=kw_only)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(positional,))
def estimator(cls: Estimator) -> Estimator:
    """Make a class of annotated parameters an estimator: constructor and documentation."""
    made: Any = dataclass(eq=False, repr=False, kw_only=True, match_args=False)(cls)
    # Type checkers read the class; help() would show the whole of each declaration.
    made.__init__.__annotations__ = {name: each.annotation for name, each in parameters_of(made).items()}
    made.__doc__ = _documented(made)
    return made


def _documented(cls: type) -> str:
    """Return the docstring of a class with its declared parameters, inherited attributes and an example."""
    sections = _sections(cls)
    summary = sections.pop("")
    declared = (
        f"{each.heading}\n{textwrap.indent(textwrap.fill(each.sentence, 106), '    ')}\n"
        for each in parameters_of(cls).values()
    )
    inherited = filter(None, (_sections(base).get("Attributes") for base in cls.__mro__[1:]))
    made = {
        "Parameters": sections.pop("Parameters", "") + "".join(declared),
        "Attributes": sections.pop("Attributes", "") + next(inherited, ""),
        **sections,
    }
    if not summary.startswith("Base class"):
        # The positional parameter, as it is written in a call.
        positionals = (each for each in fields(cls) if each.kw_only is False and each.default)
        first = next((f'{each.name}="{each.default}"' for each in positionals), "")
        made.setdefault("Examples", EXAMPLE.format(name=cls.__name__, first=first))
    texts = (f"{heading}\n{'-' * len(heading)}\n{text}" for heading, text in made.items())
    return "\n".join([summary, *texts])


def _sections(cls: type) -> dict[str, str]:
    """Return the texts of a docstring by their headings; what comes before the first has none."""
    summary, *others = re.split(r"^(\w[\w ]*)\n-+\n", f"{inspect.cleandoc(cls.__doc__ or '')}\n", flags=re.M)
    bodies = (f"{each.rstrip()}\n" for each in others[1::2])
    return {"": f"{summary.rstrip()}\n", **dict(zip(others[::2], bodies, strict=True))}
