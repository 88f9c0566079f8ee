"""Names of features, such as ``title.bm25(k1=0.9,b=0.4)``, presets, and features of one's own."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from directrank.text.features.definitions.bm25 import BM25
from directrank.text.features.definitions.coverage import COVERAGE
from directrank.text.features.definitions.definition import Definition
from directrank.text.features.definitions.language_models import LANGUAGE_MODELS
from directrank.text.features.definitions.proximity import PROXIMITY
from directrank.text.features.definitions.sums import SUMS
from directrank.text.features.matches import Matches
from directrank.text.index.fields import ALL, WHOLE

#: Every definition, by its name.
DEFINITIONS: dict[str, Definition] = {
    each.name: each for each in (*SUMS, *BM25, *LANGUAGE_MODELS, *COVERAGE, *PROXIMITY)
}
#: LETOR's content features (Qin et al. 2010); here Σ runs over the terms that query and document share.
LETOR = (
    "tf", "log_tf", "tf_share", "log_tf_share", "idf", "log_idf", "icf", "log_tf_icf", "tf_idf", "log_tf_idf",
    "bm25", "log_bm25", "lm_absolute", "lm_dirichlet", "lm_jelinek_mercer",
)  # fmt: skip
#: The features of AdaRank's paper, to which Xu et al. (2008, section 5.2) refer. Their own text lists tf,
#: idf, dl and BM25.
XU2008 = ("log_tf", "icf", "log_idf", "log_tf_share", "log_tf_idf", "log_tf_icf", "log_bm25")
#: From the name of a preset to the features of every field of an index, or of the whole text alone.
PRESETS: dict[str, tuple[tuple[str, ...], bool]] = {
    "letor": (LETOR, True),
    "xu2008": (XU2008, False),
    "all": (tuple(DEFINITIONS), True),
}
NAME = re.compile(r"(\w+)\.(\w+)(?:\(([^()]*)\))?")


class Feature(NamedTuple):
    """A feature: its name, its field, and the function from `Matches` to a value for each pair."""

    name: str
    field: str
    compute: Callable[[Matches], np.ndarray]


def own_feature(name: str, compute: Callable[[Matches], np.ndarray]) -> Feature:
    """Return a feature of one's own.

    Parameters
    ----------
    name : str
        With the field first, such as ``"body.root_tf"``.
    compute : callable
        From `Matches` to an array of shape (n_pairs,).

    Examples
    --------
    >>> own_feature("body.root_tf", lambda m: m.sum(m.tf**0.5)).field
    'body'
    """
    field = name.partition(".")[0]
    if field not in ALL:
        raise ValueError(f"{name!r}: expected a field first: {', '.join(ALL)}, as in body.root_tf")
    return Feature(name, field, compute)


def features_named(wanted: str | Sequence[str | Feature], fields: Sequence[str]) -> list[Feature]:
    """Return features from presets, names and features of one's own, each once.

    Parameters
    ----------
    wanted : str, or sequence of str and Feature
    fields : sequence of str
        The fields of the index.

    Raises
    ------
    ValueError
        If a name is not known, or its field is not in the index.
    """
    found: dict[str, Feature] = {}
    for each in [wanted] if isinstance(wanted, str) else wanted:
        for feature in [each] if isinstance(each, Feature) else _named(each, fields):
            if feature.field not in fields:
                raise ValueError(
                    f"{feature.name}: the index has no field {feature.field}, only {', '.join(fields)}"
                )
            found[feature.name] = feature
    return list(found.values())


def _named(text: str, fields: Sequence[str]) -> list[Feature]:
    if text in PRESETS:
        names, everywhere = PRESETS[text]
        return [
            parse_feature(f"{field}.{name}")
            for field in (fields if everywhere else (WHOLE,))
            for name in names
        ]
    return [parse_feature(text)]


def parse_feature(text: str) -> Feature:
    """Return the feature of a name.

    Raises
    ------
    ValueError
        If there is none.
    """
    match = NAME.fullmatch(text.replace(" ", ""))
    if match is None or match[1] not in ALL or match[2] not in DEFINITIONS:
        raise ValueError(
            f"no feature {text!r}; expected a preset ({', '.join(PRESETS)}), or a field ({', '.join(ALL)}), "
            f"a dot and one of {', '.join(DEFINITIONS)}"
        )
    definition = DEFINITIONS[match[2]]
    given = dict(_parameter(each, definition, text) for each in (match[3] or "").split(",") if each)
    inner = ",".join(f"{name}={given[name]:g}" for name in definition.parameters if name in given)
    name = f"{match[1]}.{match[2]}" + (f"({inner})" if inner else "")
    return Feature(name, match[1], partial(definition.compute, **given))


def _parameter(text: str, definition: Definition, feature: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if name not in definition.parameters or not 0 <= number < np.inf:
        known = ", ".join(f"{each}={default:g}" for each, default in definition.parameters.items())
        raise ValueError(f"{feature}: {text!r} is no parameter; expected numbers for {known or 'none'}")
    return name, number
