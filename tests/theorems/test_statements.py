"""The table of statements: every statement has a class and tests, and docs/statements.md is up to date."""

import importlib

import pytest
from statements import PAGE, PAPERS, STATEMENTS, marked_tests, page


def test_there_are_31_statements_of_four_papers():
    assert len(STATEMENTS) == len({each.name for each in STATEMENTS}) == 31
    assert {each.name.split(", ")[0] for each in STATEMENTS} == set(PAPERS)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.name)
def test_every_statement_has_a_class_and_a_test(statement):
    module, _, name = statement.code.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
    assert marked_tests().get(statement.name), "no test is marked with this statement"


def test_every_mark_names_a_statement():
    assert set(marked_tests()) <= {each.name for each in STATEMENTS}


def test_the_page_is_up_to_date():
    message = "run: python tests/theorems/statements.py"
    assert PAGE.read_text(encoding="utf-8") == page(), message
