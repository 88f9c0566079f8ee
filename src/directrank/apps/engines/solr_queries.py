"""Solr's features as its store has them: their definitions, and what they are of documents."""

import json
import re
from typing import Any

import numpy as np

from directrank.apps.engines import solr_model
from directrank.apps.engines.documents import Column, Documents
from directrank.apps.engines.expressions import Grammar, value_of
from directrank.apps.engines.function import Category
from directrank.apps.engines.queries import check_no_variable
from directrank.errors import ExportError
from directrank.storage.strict_json import JSONObject

#: The name of the model and of its feature set.
NAME = "directrank"
VARIABLE = "${"
#: Queries of a text, and functions.
QUERY, FUNCTION = (
    re.compile(r"\{!(?P<parser>[^}]*)\}\$\{(?P<variable>\w+)\}"),
    re.compile(r"\{!func\}(.*)", re.DOTALL),
)
#: A name that a function takes without quotes; fields by which the parser of queries calls other parsers.
PLAIN, CALLS = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII), ("_query_", "_val_")
#: Of a query: all documents; a phrase of a field, with an escape for each sign of the language.
CLAUSE = re.compile(r'(-?)(?:\*:\*|((?:[^\W]|\\.)+):"((?:[^"\\]|\\.)*)")( OR | |$)', re.DOTALL)


def solr_feature(name: str, kind: str, **params: object) -> JSONObject:
    """Return the definition of a feature."""
    return {"store": NAME, "name": name, "class": f"{solr_model.PACKAGE}.feature.{kind}", "params": params}


def column(name: str, field: str) -> JSONObject:
    """Return the definition of a feature that is a field."""
    check_no_variable("solr", VARIABLE, field)
    return solr_feature(name, "FieldValueFeature", field=field)


def category(name: str, one: Category) -> JSONObject:
    """Return the definition of a feature that is 1 for the documents of a category."""
    check_no_variable("solr", VARIABLE, one.column, one.values)
    phrases = [f"{query_field(one.column)}:{query_phrase(value)}" for value in one.values]
    text = " ".join(["*:*", *(f"-{phrase}" for phrase in phrases)]) if one.outside else " OR ".join(phrases)
    return solr_feature(name, "SolrFeature", fq=[text or "-*:*"])


def query_field(name: str) -> str:
    """Return the name of a field in a query."""
    if name in CALLS:
        raise ExportError(f"solr reads a query of the field {name!r} as a call: rename the column")
    escaped = re.sub(r"([^A-Za-z0-9_])", r"\\\1", name)
    return f"\\{name}" if name in ("AND", "OR", "NOT") else escaped


def query_phrase(text: str) -> str:
    """Return a phrase of a query: a backslash takes the next sign as it is, and has no other meaning."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def argument(name: str) -> str:
    """Return an argument of a function: a text in quotes has the escapes of JSON."""
    return name if PLAIN.fullmatch(name) else json.dumps(name)


def logarithm(name: str, feature: str, definition: JSONObject) -> JSONObject:
    """Return the definition of the logarithm of a feature."""
    value = _value(definition)
    if value is None:
        raise ExportError(
            f"solr takes no logarithm of the feature {feature!r}, which is "
            f"{json.dumps(definition['params'])}: expected a field or a query such as "
            "{!dismax qf=title}${text}; train with scaling='standard'"
        )
    form = solr_model.BELOW if name.endswith(solr_model.BELOW_ZERO) else solr_model.LOG
    return solr_feature(name, "SolrFeature", q=form.replace("X", value))


def _value(definition: JSONObject) -> str | None:
    """Return a feature as a function."""
    params: Any = definition["params"]
    query, function = QUERY.fullmatch(params.get("q", "")), FUNCTION.fullmatch(params.get("q", ""))
    if "field" in params:
        return f"field({argument(params['field'])})"
    if query:
        return f'query({{!{query["parser"]} v="${{{query["variable"]}}}"}},0)'
    return function[1] if function else None


def computed(definitions: list[JSONObject], documents: Documents) -> dict[str, Column]:
    """Return the features of documents; what Solr alone computes is the column of the feature's name."""
    found: dict[str, Column] = {}
    for definition in definitions:
        name, params = definition["name"], definition["params"]
        function = FUNCTION.fullmatch(params.get("q", ""))
        if "field" in params:
            numbers = documents.numbers(params["field"]).astype(np.float32)
            found[name] = numbers if params.get("defaultValue") == "NaN" else np.nan_to_num(numbers, nan=0.0)
        elif "fq" in params and len(params["fq"]) == 1 and "q" not in params:
            matches = _matches(params["fq"][0], documents)
            found[name] = documents.numbers(name) if matches is None else matches.astype(np.float32)
        elif function and name not in documents.columns:
            found[name] = _function(function[1], definitions, documents.having(found))
        else:
            found[name] = documents.numbers(name)
    return found


def _matches(query: str, documents: Documents) -> np.ndarray | None:
    """Return which documents a query matches; None if it has other clauses than `CLAUSE`."""
    clauses = [*CLAUSE.finditer(query)]
    if "".join(clause[0] for clause in clauses) != query:
        return None
    some, none = np.zeros(len(documents), bool), np.zeros(len(documents), bool)
    for clause in clauses:
        hit = np.ones(len(documents), bool)
        if clause[2] is not None:
            field, text = _unescaped(clause[2]), _unescaped(clause[3])
            hit = np.array([each == text for each in documents.column(field).tolist()], bool)
        some, none = (some, none | hit) if clause[1] else (some | hit, none)
    return some & ~none


def _unescaped(text: str) -> str:
    def sign(match: re.Match) -> str:
        return chr(int(match[1][1:], 16)) if len(match[1]) > 1 else match[1]

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", sign, text, flags=re.DOTALL)


def _function(text: str, definitions: list[JSONObject], documents: Documents) -> np.ndarray:
    """Return the scores of a function, which Solr computes in float32 and does not let be below 0."""
    for other in definitions:  # Of what Solr alone computes the values are known by the name.
        value = _value(other)
        if value and not value.startswith("field(") and value != text:
            text = text.replace(value, f"field({json.dumps(other['name'])})")

    def reference(name: str) -> np.ndarray:
        field = re.fullmatch(r"field\((.*)\)", name, re.DOTALL)
        if field is None:
            raise ExportError(f"the function {name!r} is none of those that --check knows")
        where = field[1].strip()
        if not where.startswith('"') and re.search(r"[\s,)]", where):
            raise ExportError(f"solr cannot read the field {where!r} of a function")
        where = json.loads(where, strict=False) if where.startswith('"') else where
        return np.nan_to_num(documents.numbers(where).astype(np.float32), nan=0.0)

    grammar = Grammar(FUNCTIONS, reference, json.loads, operators=False)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        values = np.broadcast_to(value_of(text, grammar), len(documents))
    return np.maximum(values.astype(np.float32), np.float32(0))


def _single(function):
    """Return a function whose arguments and values are float32."""
    return lambda *arguments: np.asarray(function(*map(np.float32, arguments)), np.float32)


FUNCTIONS = {
    "if": np.where, "gt": lambda a, b: np.float32(a) > np.float32(b), "abs": _single(np.abs),
    "sum": _single(np.add), "sub": _single(np.subtract), "product": _single(np.multiply),
    "div": _single(np.divide), "ln": _single(lambda x: np.log(x.astype(np.float64))),
}  # fmt: skip
