"""Weights of a few signals, written by hand or tuned: JSON that is a model."""

import json
import re
from dataclasses import field
from typing import Any

import numpy as np

from directrank.data.reading_record import ReadingRecord
from directrank.errors import ModelFormatError, check_choice
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE
from directrank.scorers import Linear, LogLinear, QueryLinear
from directrank.storage.strict_json import Number, OddValueError, Record, StrictJSONError, encode, parse

#: What the weights are of, and the scaling that a ranker calls it.
FORMS = {"sum": "none", "product": "log", "scaled": "query"}
LOGARITHM = re.compile(r"log\((.+)\)", re.DOTALL)
#: Larger files are no weights.
LARGEST = 1 << 16


class SignalWeights(Record):
    """Weights of signals, which rank by a sum or a product.

    Attributes
    ----------
    weights : dict of str to float
        By the name of the column. In a sum ``log(NAME)`` is sign(x) · log(1 + abs(x)) of a column.
    form : {"sum", "product", "scaled"}
        Σ w x; Π (1 + x)^w, which ranks as Σ w log(1 + x); or Σ w x with columns scaled to [0, 1] inside each
        query.
    measure : str
        What they were tuned for.
    n_features : int or None
        Of data without names of columns, where signals are ``f1``, ``f2``, …
    reading : dict
        How files of documents are read, as other models have it, such as ``{"missing": 0}``.

    Examples
    --------
    >>> from directrank.models import SignalWeights
    >>> SignalWeights(weights={"bm25": 1.0, "log(clicks)": 0.5}).ranker().rank([{"bm25": 2, "clicks": 0}])
    array([0])
    """

    weights: dict[str, Number]
    form: str = "sum"
    measure: str = DEFAULT_MEASURE
    n_features: int | None = None
    reading: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_json(cls, content: bytes) -> "SignalWeights | None":
        """Return the weights in a file: an object of signals and numbers, alone or as ``weights``.

        None if it is something else.

        Raises
        ------
        ModelFormatError
            If a name beside the weights is unknown, or a value is none that it can have.
        """
        try:
            values = parse(content) if len(content) < LARGEST else None
        except StrictJSONError as error:
            if re.match(rb'\s*\{\s*"(weights|form)"', content):
                raise ModelFormatError(f"weights of signals in no sound JSON: {error}") from None
            return None
        if not isinstance(values, dict) or not values:
            return None
        if all(type(value) in (int, float) for value in values.values()):
            values = {"weights": values}
        if type(values.get("weights")) is not dict:
            return None
        try:
            weights = cls.read(values)
            check_choice("form", weights.form, FORMS)
            weights.ranker()
        except (OddValueError, ValueError, ModelFormatError) as error:
            raise ModelFormatError(f"no weights of signals: {error}") from None
        return weights

    def json(self) -> str:
        """Return the text of the file."""
        return json.dumps(encode(self), indent=2, ensure_ascii=False) + "\n"

    def columns(self) -> list[tuple[str, bool]]:
        """Return the column of each signal, and whether its logarithm is taken.

        Raises
        ------
        ValueError
            If a column is a signal twice, or a logarithm is none of a sum.
        """
        found = []
        for name in self.weights:
            match = LOGARITHM.fullmatch(name)
            if match and self.form != "sum":
                remedy = {"product": "write the column alone", "scaled": "tune a sum"}[self.form]
                raise ValueError(f"signal {name!r}: a logarithm is of a sum; {remedy}")
            found.append((match[1] if match else name, bool(match) or self.form == "product"))
        names = [column for column, _ in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"signal {twice!r} is given twice; give it once, or as its logarithm")
        return found

    def ranker(self) -> Ranker:
        """Return the ranker of these weights."""
        columns, coefficients = self.columns(), np.array([*self.weights.values()], float)
        logarithm, ranker = np.array([is_logarithm for _, is_logarithm in columns], bool), Ranker()
        if self.n_features is None:
            setattr(ranker, "feature_names_in_", np.array([name for name, _ in columns], object))  # noqa: B010 - only where named
        else:
            places = [place_of(name, self.n_features) for name, _ in columns]
            wide = np.zeros(self.n_features), np.zeros(self.n_features, bool)
            wide[0][places], wide[1][places] = coefficients, logarithm
            coefficients, logarithm = wide
        kind = "log" if logarithm.any() else FORMS[self.form]
        ranker.scorer_ = (
            QueryLinear(coefficients) if kind == "query"
            else LogLinear(coefficients, logarithm) if kind == "log" else Linear(coefficients)
        )  # fmt: skip
        ranker.n_features_in_ = len(coefficients)
        if self.reading:
            setattr(ranker, "reading_", ReadingRecord.read(self.reading))  # noqa: B010 - the class has none
        ranker.status_, ranker.certificate_, ranker.history_ = "complete", {}, []
        ranker.message_ = f"weights of {len(columns)} signals: {self.form}"
        ranker.selected_by_, ranker.scaling_, ranker.scaling_reason_ = self.measure, kind, ""
        return ranker


def place_of(name: str, n_features: int) -> int:
    """Return the place of a feature without a name, which is called by its number, such as ``f3``."""
    match = re.fullmatch(r"f([1-9][0-9]{0,8})", name)
    if not match or int(match[1]) > n_features:
        raise ValueError(f"there is no column {name!r}: columns have no names, they are f1 to f{n_features}")
    return int(match[1]) - 1
