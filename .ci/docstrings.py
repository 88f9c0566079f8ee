"""Validate the docstrings of public names with numpydoc.

    python .ci/docstrings.py

Checks every name in `__all__` of directrank and of the modules below, and the public methods of classes. All
checks of numpydoc are on except those in `IGNORED`. Functions and estimators of directrank itself document
all their parameters and their result.
"""

import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isfunction

from numpydoc.validate import validate

MODULES = [
    "directrank",
    "directrank.apps.auto",
    "directrank.apps.engines",
    "directrank.apps.evaluation",
    "directrank.apps.evaluation.measures",
    "directrank.apps.evaluation.significance",
    "directrank.apps.experiments",
    "directrank.apps.fusion",
    "directrank.apps.papers",
    "directrank.apps.report",
    "directrank.apps.text",
    "directrank.contracts",
    "directrank.dask",
    "directrank.data",
    "directrank.diagnostics",
    "directrank.errors",
    "directrank.estimators",
    "directrank.estimators.linear_ranker",
    "directrank.estimators.methods",
    "directrank.estimators.parameters",
    "directrank.features",
    "directrank.features.shards",
    "directrank.lightgbm",
    "directrank.measures",
    "directrank.measures.capabilities",
    "directrank.measures.exchange",
    "directrank.models",
    "directrank.plugins",
    "directrank.scorers",
    "directrank.solvers",
    "directrank.storage.atomic",
    "directrank.storage.folders",
    "directrank.storage.hashed_file",
    "directrank.storage.mapped",
    "directrank.storage.names",
    "directrank.storage.strict_json",
    "directrank.surrogates",
    "directrank.xgboost",
]
IGNORED = {
    "ES01": "one sentence is enough for many names",
    "EX01": "examples are in the docstrings of what people start with",
    "SA01": "a section See Also is not always needed",
    "GL06": "surrogates have a section Traits",
    "GL07": "numpydoc does not know the place of the section Traits",
    "PR04": "parameters of one kind share a description",
    "PR07": "the name and the type say enough for some parameters",
    "PR08": "descriptions may begin with a symbol of the papers",
    "RT03": "the type says enough for some results",
    "SS02": "summaries may begin with a symbol of the papers",
    "SS05": "numpydoc takes plural nouns for verbs",
}
#: Methods are short, and records describe their attributes: for them the summary has to be enough.
BRIEF = {"PR01", "RT01", "YD01"}


def public_names() -> Iterator[tuple[str, bool]]:
    """Yield the path of each public name, and whether a brief docstring is enough for it."""
    seen = set()
    for module_name in MODULES:
        module = import_module(module_name)
        for name in getattr(module, "__all__", [each for each in vars(module) if each[0] != "_"]):
            found = getattr(module, name)
            if not (isclass(found) or isfunction(found)) or found in seen:
                continue
            if not found.__module__.startswith("directrank"):
                continue
            seen.add(found)
            yield f"{module_name}.{name}", module_name != "directrank" or is_record(found)
            for member, value in vars(found).items() if isclass(found) else ():
                if member[0] != "_" and isinstance(
                    value, (type(public_names), property, classmethod, staticmethod)
                ):
                    yield f"{module_name}.{name}.{member}", True


def is_record(found) -> bool:
    """Return whether a class is a record, which describes its attributes rather than parameters."""
    return isclass(found) and (hasattr(found, "__dataclass_fields__") or hasattr(found, "_fields"))


def main() -> int:
    """Print every finding; return 1 if there is one."""
    warnings.simplefilter("ignore")
    checked, findings = 0, []
    for path, brief in public_names():
        checked += 1
        skipped = IGNORED.keys() | (BRIEF if brief else set())
        for code, message in validate(path)["errors"]:
            if code not in skipped:
                findings.append(f"{path}: {code} {message}")
    print("\n".join([*findings, f"{checked} docstrings checked, {len(findings)} findings"]))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
