"""Commands print warnings their own way; tests go on as they were."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def warnings_as_before():
    shown = warnings.showwarning
    yield
    warnings.showwarning = shown
