"""help() of public classes: short signatures, attributes that exist, and examples that run."""

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import directrank
from directrank import Ranker

PUBLIC = [getattr(directrank, name) for name in directrank.__all__]
CLASSES = [each for each in PUBLIC if inspect.isclass(each) and not issubclass(each, Exception)]
RANKERS = [each for each in CLASSES if issubclass(each, Ranker)]
WITH_EXAMPLES = [each for each in PUBLIC if ">>>" in (inspect.getdoc(each) or "")]


def name_of(each) -> str:
    return each.__name__


def entries(cls, heading: str) -> list[str]:
    """The names that a section of a class's docstring describes."""
    section = re.search(rf"^{heading}\n-+\n(.*?)(?=\n\n|\Z)", inspect.getdoc(cls), re.S | re.M)
    lines = re.findall(r"^(\w[\w, ]*)", section[1], re.M)
    return [name for line in lines for name in line.strip().split(", ")]


def run_examples(of, names=None) -> dict:
    """Run the examples of a docstring, and return the names that they define."""
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(of), names or {}, name_of(of), None, 0)
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    assert test.examples
    assert not report, "".join(report)
    return test.globs


@pytest.mark.parametrize("cls", RANKERS, ids=name_of)
def test_signatures_are_short_and_parameters_are_documented_in_their_order(cls):
    for signature in map(str, (inspect.signature(cls), inspect.signature(cls.__init__))):
        assert len(signature) < 700
        assert not re.search("Annotated|Literal|Interval", signature)
    assert entries(cls, "Parameters") == list(inspect.signature(cls).parameters)


def test_no_text_names_a_file_that_an_installed_package_lacks():
    """Texts name pages of the documentation, by `documentation_page`; comments may name files of docs/."""
    sources = Path(directrank.__file__).parent.rglob("*.py")
    code = {path: re.sub(r"(?m)^\s*#.*", "", path.read_text("utf-8")) for path in sources}
    assert len(code) > 200
    assert not [path.name for path, text in code.items() if re.search(r"docs/\w+\.md", text)]


@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_every_public_class_has_attributes_and_examples(cls):
    assert entries(cls, "Attributes")
    assert cls in WITH_EXAMPLES


@pytest.mark.share(5)
@pytest.mark.parametrize("each", WITH_EXAMPLES, ids=name_of)
def test_examples_run_and_rankers_have_the_attributes_described(each):
    public = (
        {}
        if each in CLASSES
        else {"np": np, **{name: getattr(directrank, name) for name in directrank.__all__}}
    )
    found = run_examples(each, public)
    if each in RANKERS and "ranker" in found:
        fitted = {name for name in vars(found["ranker"]) if re.fullmatch(r"[a-z]\w*_", name)}
        assert fitted <= {*entries(each, "Attributes")}
        missing = {name for name in entries(each, "Attributes") if not hasattr(found["ranker"], name)}
        # Not every ranker is linear, has names of features, or trains in rounds.
        assert missing <= {"coef_", "feature_deviations_", "feature_names_in_", "rounds_"}
