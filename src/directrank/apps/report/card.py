"""What a model is: its method, columns, scaling, training and where it can be exported to."""

import os
from dataclasses import asdict, dataclass
from typing import Any

from directrank.apps.engines import refusals
from directrank.apps.report.blocks import terms
from directrank.apps.report.page import document
from directrank.estimators.sklearn_interface import check_fitted
from directrank.models import load, take_apart


@dataclass(frozen=True)
class ModelCard:
    """A model in words and numbers.

    Attributes
    ----------
    method : str
        The class of the ranker, or the library that grew it.
    parameters : dict
        Those that differ from the class's defaults.
    selected_by : str or None
        The measure that chose the iterate.
    kind : str
        The kind of scorer, as in the file.
    n_numbers : int
        Numbers that the scorer holds: coefficients, thresholds, values of leaves.
    features : list of str
    categories : dict of str to int
        How many values each categorical column has.
    reading : dict
        How the training data were read: columns by role, what was left out, missing values.
    scaling, scaling_reason, status, message : str
    certificate : dict of str to float
    exports : dict of str to str
        For each target of `export` the empty text, or why the model cannot be exported to it.

    Examples
    --------
    >>> from directrank import RankSVM, make_ranking, model_card
    >>> card = model_card(RankSVM().fit(make_ranking(random_state=0)))
    >>> card.method, card.exports["ranklib"], card.exports["lightgbm"].split(",")[0]
    ('RankSVM', '', 'lightgbm takes trees alone')
    """

    method: str
    parameters: dict[str, Any]
    selected_by: str | None
    kind: str
    n_numbers: int
    features: list[str]
    categories: dict[str, int]
    reading: dict[str, Any]
    scaling: str
    scaling_reason: str
    status: str
    message: str
    certificate: dict[str, float]
    exports: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return names and texts of what the card has, for a table."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.exports.items():
            reasons.setdefault(reason.removeprefix(name).lstrip(": "), []).append(name)
        possible = reasons.pop("", [])
        refused = [("not to", f"{', '.join(names)}: {reason}") for reason, names in reasons.items()]
        certificate = ", ".join(f"{name} {value:.3g}" for name, value in self.certificate.items())
        names = [f"{name} ({self.categories[name]} values)" if name in self.categories else name
                 for name in self.features]  # fmt: skip
        shown = names if len(names) <= 12 else [*names[:12], f"… {len(names)} in all"]
        rows = [
            ("method", self.method),
            ("parameters", ", ".join(f"{name}={value}" for name, value in self.parameters.items())),
            ("selected by", self.selected_by or ""),
            ("scorer", f"{self.kind}, {self.n_numbers} numbers"),
            ("features", ", ".join(shown) or "by position"),
            ("read as", ", ".join(f"{role}: {value}" for role, value in self.reading.items())),
            ("scaling", self.scaling + (f" ({self.scaling_reason})" if self.scaling_reason else "")),
            ("training", ": ".join(filter(None, (self.status, self.message)))),
            ("certificate", certificate),
            ("exports to", ", ".join(possible)),
            *refused,
        ]
        return [(name, text) for name, text in rows if text]

    def page(self) -> str:
        """Return the card as one HTML page."""
        rows = self.rows()
        section = {"id": "card", "title": "Model", "open": True, "blocks": terms(rows)}
        return document(self.method, f"{len(self.features)} features", "", [section])

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.rows())


def model_card(ranker: Any) -> ModelCard:
    """Describe a fitted ranker, or the file of one.

    Parameters
    ----------
    ranker : Ranker or path
        A fitted ranker, or a file of `save`, LightGBM, XGBoost or RankLib.

    Returns
    -------
    ModelCard

    Raises
    ------
    ModelFormatError
        If the file is no model.
    sklearn.exceptions.NotFittedError
        If the ranker has not been fitted.

    Examples
    --------
    >>> from directrank import Regression, make_ranking, model_card
    >>> card = model_card(Regression().fit(make_ranking(random_state=0)))
    >>> card.method, card.kind, card.exports["sql"]
    ('Regression', 'linear', '')
    """
    ranker = load(ranker) if isinstance(ranker, str | os.PathLike) else ranker
    check_fitted(ranker)
    kind, tensors = take_apart(ranker.scorer_)
    defaults = type(ranker)().get_params(deep=False) if _has_defaults(ranker) else {}
    names = getattr(ranker, "feature_names_in_", None)
    encoding = ranker.encoding_
    return ModelCard(
        method=f"{ranker.library_} model" if hasattr(ranker, "library_") else type(ranker).__name__,
        parameters={
            name: value
            for name, value in ranker.get_params(deep=False).items()
            if name in defaults and repr(value) != repr(defaults[name])
        },
        selected_by=getattr(ranker, "selected_by_", None),
        kind=kind,
        n_numbers=sum(tensor.size for tensor in tensors.values()),
        features=[] if names is None else [str(name) for name in names],
        categories={} if encoding is None else {name: len(v) for name, v in encoding.values.items()},
        reading=ranker.reading_.to_dict() if ranker.reading_ else {},
        scaling=getattr(ranker, "scaling_", "none"),
        scaling_reason=getattr(ranker, "scaling_reason_", ""),
        status=getattr(ranker, "status_", ""),
        message=getattr(ranker, "message_", ""),
        certificate=dict(getattr(ranker, "certificate_", {})),
        exports=refusals(ranker),
    )


def _has_defaults(ranker: Any) -> bool:
    try:
        type(ranker)()
    except TypeError:
        return False
    return True
