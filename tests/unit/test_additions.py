"""What a file and a line in a tuple do not show: a public name, code that reads each option, a page."""

import ast
import importlib
import inspect
import re
from itertools import chain
from pathlib import Path

import pytest

from directrank import measures, solvers, surrogates
from directrank.apps.cli.app import COMMANDS
from directrank.estimators import inputs
from directrank.estimators.methods import METHODS
from directrank.estimators.ranker import Ranker
from directrank.measures.names import CORE

ROOT = Path(__file__).parents[2]
ESTIMATORS = dict.fromkeys(method.estimator for method in METHODS)
CLASSES = [*surrogates.SURROGATES, *solvers.SOLVERS, *ESTIMATORS]


@pytest.mark.parametrize(
    ("folder", "classes"),
    [(measures, CORE), (surrogates, surrogates.SURROGATES), (solvers, solvers.SOLVERS)],
    ids=("measures", "surrogates", "solvers"),
)
def test_every_class_of_a_tuple_can_be_imported_from_its_folder_and_is_in_the_reference(folder, classes):
    names = [cls.__name__ for cls in classes]
    missing = [name for name in names if name not in folder.__all__ or not hasattr(folder, name)]
    assert not missing, f"add to __all__ of {folder.__name__}: {missing}"


def read_names(module):
    """The names that the code of a module reads: not those that a constructor only checks and keeps."""
    nodes = list(ast.walk(ast.parse(inspect.getsource(module))))
    values = [node.value for node in nodes if isinstance(node, ast.Assign)]
    only_kept = {id(each) for value in values for each in getattr(value, "elts", [value])}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    only_kept |= {
        id(each) for call in calls if ast.unparse(call.func).startswith("check_") for each in call.args
    }
    loaded = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Load)]
    return {
        getattr(node, "attr", getattr(node, "id", ""))
        for node in loaded
        if isinstance(node, ast.Attribute) or id(node) not in only_kept
    }


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__.split('.')[1]}-{cls.__name__}")
def test_every_option_is_read(cls):
    modules = {base.__module__ for base in cls.__mro__ if base.__module__.startswith("directrank.")}
    # What all rankers have, one place reads for all.
    modules |= {inputs.__name__} if issubclass(cls, Ranker) else set()
    read = set().union(*(read_names(importlib.import_module(name)) for name in modules))
    names = inspect.signature(cls.__init__ if cls.__init__ is not object.__init__ else cls).parameters
    assert not names.keys() - read - {"self", "args", "kwargs"}


@pytest.mark.parametrize("command", [each.__name__ for each in chain(*COMMANDS.values())])
def test_every_command_is_on_a_page_and_in_a_journey(command):
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    assert re.search(rf"directrank {command}\b|`{command}`", pages)
    journeys = "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "journeys").glob("*.py"))
    assert re.search(rf"""["' ]{command}[ "']""", journeys)
