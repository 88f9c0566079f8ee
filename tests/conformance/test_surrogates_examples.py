"""The docstring of every surrogate begins with a value and a gradient on three documents, which are right."""

import doctest
import inspect

import numpy as np
import pytest

from directrank import contracts, measures, scorers, solvers, surrogates
from directrank.apps import papers
from directrank.data.queries import one_query
from directrank.solvers.trees.tree_boosting import TreeBoosting
from surrogate_examples import SURROGATES

NAMES = {
    "np": np,
    "one_query": one_query,
    "TreeBoosting": TreeBoosting,
    **{
        name: getattr(package, name)
        for package in (contracts, measures, surrogates, scorers, solvers, papers)
        for name in package.__all__
    },
}


@pytest.mark.share(4)
@pytest.mark.parametrize("source", [contracts, *SURROGATES], ids=lambda source: source.__name__)
def test_the_example_of_a_docstring(source):
    text = inspect.getdoc(source)
    example = doctest.DocTestParser().get_doctest(text, dict(NAMES), source.__name__, None, 0)
    report: list[str] = []
    doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)
    # The second paragraph of a surrogate is the sentence that leads to it.
    assert source is contracts or text.split("\n\n")[2].startswith(">>> loss")
