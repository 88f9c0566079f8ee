"""Queries of Elasticsearch and OpenSearch that give features, as JSON, and their scores of documents."""

from typing import Any

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Category
from directrank.errors import ExportError
from directrank.storage.strict_json import JSONObject

#: What Mustache, which fills the queries of the plug-ins, begins a variable with.
VARIABLE = "{{"


def check_field(engine: str, field: str) -> None:
    """Raise an `ExportError` if an engine has no field of a name."""
    parts = field.split(".")
    if not all(part.strip() for part in parts) or "*" in field:
        raise ExportError(
            f"{engine} has no field with the name {field!r}: rename the column without * and empty parts"
        )


def check_no_variable(engine: str, opening: str, column: str, values: tuple[str, ...] = ()) -> None:
    """Raise an `ExportError` if the engine would read a part of these texts as a variable of the request."""
    value = next((value for value in values if opening in value), None)
    if opening in column or value is not None:
        where = f"the column {column!r}" if value is None else f"the value {value!r} of the column {column!r}"
        raise ExportError(f"{engine} reads {opening} in {where} as a variable: rename value or column")


def category_query(category: Category, engine: str, opening: str | None = VARIABLE) -> JSONObject:
    """Return the query that the documents of a category match, with the score 1."""
    check_field(engine, category.column)
    if opening is not None:
        check_no_variable(engine, opening, category.column, category.values)
    if len(category.values) == 1 and not category.outside:
        query: JSONObject = {"term": {category.column: category.values[0]}}
    else:
        query = {"terms": {category.column: [*category.values]}}
    return constant_score({"bool": {"must_not": [query]}} if category.outside else query)


def constant_score(query: JSONObject) -> JSONObject:
    """Return a query that gives all documents of another one the score 1."""
    return {"constant_score": {"filter": query, "boost": 1.0}}


def field_query(field: str) -> JSONObject:
    """Return the query whose score is the number in a field."""
    value = {"query": {"exists": {"field": field}}, "field_value_factor": {"field": field}}
    return {"function_score": {**value, "boost_mode": "replace"}}


def query_scores(query: JSONObject, documents: Documents) -> np.ndarray | None:
    """Return the scores of documents, NaN where one does not match; None if the query depends on its user."""
    if query == {"constant_score": {"filter": {"match_all": {}}, "boost": 1.0}}:
        return np.ones(len(documents), np.float32)
    match query:
        case {
            "constant_score": {"filter": {"term": _} | {"terms": _} | {"bool": _} as inner, "boost": boost}
        }:
            return np.where(_matches(inner, documents), np.float32(boost), np.float32(np.nan))
        case {"function_score": {"field_value_factor": {"field": field, **more}}} if not more:
            return documents.numbers(field)
    return None


def _matches(query: Any, documents: Documents) -> np.ndarray:
    match query:
        case {"bool": {"must_not": [inner]}}:
            return ~_matches(inner, documents)
        case {"term": terms} | {"terms": terms}:
            ((field, value),) = terms.items()
            values = {*value} if isinstance(value, list) else {value}
            return np.array([text in values for text in documents.column(field).tolist()], bool)
    raise ExportError(f"the query {query!r} is none of those that --check knows")
