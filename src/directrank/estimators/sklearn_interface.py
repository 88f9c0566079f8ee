"""What scikit-learn asks of an estimator, without importing it: that takes longer than most fits."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Protocol, Self


class SklearnInterface:
    """An estimator of scikit-learn: parameters, copies, tags, and the metadata that its methods ask for.

    `requested` are those that follow their rows through pipelines and searches without being asked for.
    """

    requested: ClassVar[dict[str, tuple[str, ...]]] = {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; if `deep` also those of estimators among them, such as start__C."""
        names = sorted(inspect.signature(type(self).__init__).parameters.keys() - {"self"})
        parameters = {name: getattr(self, name) for name in names}
        for name, value in list(parameters.items()) if deep else ():
            if hasattr(value, "get_params") and not isinstance(value, type):
                parameters |= {f"{name}__{inner}": of for inner, of in value.get_params().items()}
        return parameters

    def __repr__(self) -> str:
        """Return the class with the parameters that are not at their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={text}"
            for name, value in self.get_params(deep=False).items()
            if (text := repr(value)) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted estimator with the same parameters; one that it starts from stays fitted."""
        parameters = self.get_params(deep=False)
        start = {"start": parameters["start"]} if hasattr(parameters.get("start"), "fit") else {}
        copied = type(self)(**{name: unfitted(value) for name, value in parameters.items()} | start)
        vars(copied).update(deepcopy({"_requests": vars(self).get("_requests", {})}))
        return copied

    def __sklearn_tags__(self) -> Any:
        """Rankers take relevance, which is not negative, and missing features."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            "ranker",
            TargetTags(required=True, positive_only=True),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    def get_metadata_routing(self) -> Any:
        """Return what `fit`, `predict` and `score` ask scikit-learn to hand on to them."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method, requested in self.requested.items():
            names = set(inspect.signature(getattr(self, method)).parameters) - {"X", "y", "unknown"}
            requests = vars(self).get("_requests", {}).get(method, {})
            for name in sorted(names):
                alias = requests.get(name, True if name in requested else None)
                getattr(request, method).add_request(param=name, alias=alias)
        return request

    def set_fit_request(self, **aliases: bool | str | None) -> Self:
        """Say which arguments of `fit` scikit-learn is to hand on, each by True, False or another name."""
        return self._set_request("fit", aliases)

    def set_predict_request(self, **aliases: bool | str | None) -> Self:
        """Say which arguments of `predict` scikit-learn is to hand on."""
        return self._set_request("predict", aliases)

    def set_score_request(self, **aliases: bool | str | None) -> Self:
        """Say which arguments of `score` scikit-learn is to hand on."""
        return self._set_request("score", aliases)

    def _set_request(self, method: str, aliases: dict[str, bool | str | None]) -> Self:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "scikit-learn hands nothing on before sklearn.set_config(enable_metadata_routing=True)"
            )
        arguments = inspect.signature(getattr(self, method)).parameters
        for name in aliases.keys() - (arguments.keys() - {"X", "y", "unknown"}):
            raise TypeError(f"{method} of {type(self).__name__} has no argument {name} that is handed on")
        requests = vars(self).get("_requests", {})
        vars(self)["_requests"] = {**requests, method: {**requests.get(method, {}), **aliases}}
        return self


def unfitted(value: Any) -> Any:
    """Return a copy of an estimator, or of a parameter, without what a fit has set."""
    if hasattr(value, "__sklearn_clone__") and not isinstance(value, type):
        return value.__sklearn_clone__()
    if type(value) is list:
        return [unfitted(part) for part in value]
    if type(value) is tuple:
        return tuple(unfitted(part) for part in value)
    return deepcopy(value)


def check_fitted(ranker: object) -> None:
    """Raise scikit-learn's `NotFittedError` if a ranker is not fitted."""
    if not hasattr(ranker, "scorer_"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"This {type(ranker).__name__} is not fitted yet: call fit first")


class Classifier(Protocol):
    """A classifier of scikit-learn's interface."""

    fit: Callable[..., Any]
    predict: Callable[..., Any]


def is_classifier(value: object) -> bool:
    """Say whether an object is a classifier of scikit-learn's interface."""
    tags = getattr(value, "__sklearn_tags__", None)
    return tags is not None and not isinstance(value, type) and tags().estimator_type == "classifier"
