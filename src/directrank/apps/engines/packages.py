"""Packages for search engines: the feature set, the model, the query and the commands that try them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.engines import search_plugin, solr_model
from directrank.apps.engines.function import Function, Written, features_read, log_name
from directrank.data.encoding import OTHER, Encoding, Places
from directrank.errors import ExportError, check_choice
from directrank.storage.strict_json import JSONObject

#: The name of the model and of its feature set.
NAME = "directrank"
#: BM25 of a field with Lucene's parameters, as features of texts are called.
BM25 = re.compile(r"(?P<field>\w+)\.bm25")
#: Solr's queries of a text, and functions.
QUERY, FUNCTION = re.compile(r"\{!(?P<parser>[^}]*)\}\$\{(?P<variable>\w+)\}"), re.compile(r"\{!func\}(.*)")
CURL, JSON = "curl -sS --fail-with-body", "-H Content-Type:application/json --data-binary"
Definition = JSONObject
#: The column, the value and all values with a feature of their own, by the name of a feature.
Categories = Mapping[str, tuple[str, str, tuple[str, ...]]]


class Form(NamedTuple):
    """How an engine says a feature set, and the commands that send it.

    Attributes
    ----------
    category : callable
        From a feature's name, its column and its values to its definition: 1 for documents with one of these
        values or, where the last argument is true, for those with none.
    logarithm : callable
        From the names of a logarithm and of its feature, and the definition of the latter.
    text, column : callable
        From a feature's name and its field: BM25, and a number.
    logarithms : callable
        From the names of features to the feature of each logarithm, by the name of the latter.
    feature_set : callable
        From definitions to the content of the file.
    read : callable
        From the content of such a file to definitions.
    query : dict
        A request that rescores a query.
    usage : str
        What `upload.sh` is called with.
    commands : tuple of str
    constant : dict, optional
        The feature that is 1 for all documents, where scores below 0 are refused.
    """

    category: Callable[[str, str, Sequence[str], bool], Definition]
    logarithm: Callable[[str, str, Definition], Definition]
    text: Callable[[str, str], Definition]
    column: Callable[[str, str], Definition]
    logarithms: Callable[[tuple[str, ...]], dict[str, str]]
    feature_set: Callable[[list[Definition]], Any]
    read: Callable[[Any], list[Definition]]
    query: Definition
    usage: str
    commands: tuple[str, ...]
    constant: Definition | None = None


def _solr(name: str, kind: str, **params: object) -> Definition:
    return {"store": NAME, "name": name, "class": f"{solr_model.PACKAGE}.feature.{kind}", "params": params}


def _check_no_variable(engine: str, opening: str, name: str, texts: Sequence[str]) -> None:
    """Raise an ExportError if the engine would read a part of these texts as a variable of the request."""
    if any(opening in text for text in texts):
        raise ExportError(
            f"{engine} reads {opening} in the definition of {name!r} as a variable: rename value or column"
        )


def _solr_category(name: str, column: str, values: Sequence[str], none: bool) -> Definition:
    field = re.sub(r"(\W)", r"\\\1", column)
    _check_no_variable("solr", "${", name, [column, *values])
    phrases = [json.dumps(value, ensure_ascii=False) for value in values]
    query = (
        " ".join(["*:*", *(f"-{field}:{phrase}" for phrase in phrases)]) if none else f"{field}:{phrases[0]}"
    )
    return _solr(name, "SolrFeature", fq=[query])


def _solr_logarithm(name: str, feature: str, definition: Definition) -> Definition:
    params = definition["params"]
    query, function = QUERY.fullmatch(params.get("q", "")), FUNCTION.fullmatch(params.get("q", ""))
    if "field" in params:
        value = f"field({params['field']})"
    elif query:
        value = f'query({{!{query["parser"]} v="${{{query["variable"]}}}"}},0)'
    elif function:
        value = function[1]
    else:
        raise ExportError(
            f"solr takes no logarithm of the feature {feature!r}, which is {json.dumps(params)}: expected a "
            "field or a query such as {!dismax qf=title}${text}; train with scaling='standard'"
        )
    form = solr_model.BELOW if name.endswith(solr_model.BELOW_ZERO) else solr_model.LOG
    return _solr(name, "SolrFeature", q=form.replace("X", value))


SOLR = Form(
    _solr_category,
    _solr_logarithm,
    lambda name, field: _solr(name, "SolrFeature", q=f"{{!dismax qf={field}}}${{text}}"),
    lambda name, field: _solr(name, "FieldValueFeature", field=field),
    solr_model.logarithms,
    lambda definitions: definitions,
    lambda content: [
        {**one, "store": NAME} for one in (content["features"] if type(content) is dict else content)
    ],
    {"params": {
        "q": "QUERY", "rq": f"{{!ltr model={NAME} reRankDocs=100 efi.text='QUERY'}}", "rows": 10,
        "fl": f"id,score,[features store={NAME} format=dense efi.text='QUERY']",
    }},
    "SOLR=${1:?the address of a core or collection, such as http://localhost:8983/solr/products}",
    (
        f'{CURL} -X PUT "$SOLR/schema/feature-store" {JSON} @features.json',
        f'{CURL} -X PUT "$SOLR/schema/model-store" {JSON} @model.json',
        f'{CURL} "$SOLR/select" {JSON} @query.json',
    ),
)  # fmt: skip


def _plugin(name: str, template: object, *params: str) -> Definition:
    return {"name": name, "params": [*params], "template_language": "mustache", "template": template}


def _constant_score(query: Definition) -> Definition:
    return {"constant_score": {"filter": query, "boost": 1.0}}


def _plugin_category(name: str, column: str, values: Sequence[str], none: bool) -> Definition:
    _check_no_variable("the plugin", "{{", name, [column, *values])
    terms = {"terms": {column: [*values]}} if none else {"term": {column: values[0]}}
    return _plugin(name, _constant_score({"bool": {"must_not": [terms]}} if none else terms))


def _plugin_column(name: str, field: str) -> Definition:
    _check_no_variable("the plugin", "{{", name, [field])
    value = {"query": {"exists": {"field": field}}, "field_value_factor": {"field": field}}
    return _plugin(name, {"function_score": {**value, "boost_mode": "replace"}})


PLUGIN = Form(
    _plugin_category,
    lambda name, feature, _: {
        "name": name, "params": [], "template_language": "derived_expression",
        "template": search_plugin.LOG.format(x=feature),
    },
    lambda name, field: _plugin(name, {"match": {field: "{{keywords}}"}}, "keywords"),
    _plugin_column,
    lambda names: {log_name(name, names): name for name in names},
    lambda definitions: {"featureset": {"name": NAME, "features": definitions}},
    lambda content: content.get("_source", content)["featureset"]["features"],
    {"query": {"simple_query_string": {"query": "QUERY"}}, "rescore": {"window_size": 100, "query": {
        "query_weight": 0, "rescore_query_weight": 1,
        "rescore_query": {"sltr": {"model": NAME, "params": {"keywords": "QUERY"}}},
    }}},
    "SERVER=${1:?the address of the server, such as http://localhost:9200} INDEX=${2:?the name of the index}",
    (
        'curl -sS -X PUT "$SERVER/_ltr"  # An error says that there is a feature store already.',
        f'{CURL} -X PUT "$SERVER/_ltr/_featureset/{NAME}" {JSON} @features.json',
        f'{CURL} -X POST "$SERVER/_ltr/_featureset/{NAME}/_createmodel" {JSON} @model.json',
        f'{CURL} "$SERVER/$INDEX/_search" {JSON} @query.json',
    ),
    _plugin(search_plugin.CONSTANT, _constant_score({"match_all": {}})),
)  # fmt: skip

FORMS = {"solr": SOLR, "elasticsearch-ltr": PLUGIN, "opensearch-ltr": PLUGIN}
TARGETS = (*FORMS, "vespa")


@dataclass(frozen=True)
class Package:
    """The files of a package, their content by name; and the fields that features are taken for."""

    files: dict[str, bytes]
    fields: tuple[str, ...]


def check_target(target: str) -> None:
    """Raise a ValueError if there is no package for a target."""
    check_choice("target of a package", target, TARGETS)


def categories_of(encoding: Encoding | None) -> Categories:
    """Return what is known about the features that are 1 or 0."""
    if encoding is None or isinstance(encoding, Places):
        return {}
    return {
        f"{column}={value}": (column, value, tuple(values))
        for column, values in encoding.values.items()
        for value in (*values, OTHER)
    }


def as_vespa_names(function: Function, categories: Categories) -> tuple[Function, str, tuple[str, ...]]:
    """Return a function whose features have names of Vespa, the definitions of these, and the fields read."""
    names, lines, fields = [], [], []
    for number, name in enumerate(function.names):
        if name in categories:
            column, value, values = categories[name]
            quoted = [json.dumps(one, ensure_ascii=False) for one in values]
            none = value == OTHER and OTHER not in values
            test = f"attribute({column}) in [{', '.join(quoted)}], 0, 1" if none else (
                f"attribute({column}) == {json.dumps(value, ensure_ascii=False)}, 1, 0")  # fmt: skip
            names.append(f"category_{number}")
            lines += [f"    # {json.dumps(name)}", _vespa_function(names[-1], f"if ({test})")]
        elif text := BM25.fullmatch(name):
            names.append(f"bm25({text['field']})")
        else:
            names.append(name)
            if name.isidentifier() and name.isascii():
                fields.append(name)
                lines.append(_vespa_function(name, f"attribute({name})"))
    return replace(function, names=tuple(names)), "".join(f"{line}\n" for line in lines), tuple(fields)


def _vespa_function(name: str, expression: str) -> str:
    return f"    function {name}() {{\n        expression: {expression}\n    }}"


def vespa_files(written: Written, functions: str, fields: tuple[str, ...]) -> Package:
    """Return a package for Vespa: the profile with functions for its features, and a query."""
    head = f"rank-profile {NAME} {{\n"
    profile = written.content.decode().replace(head, head + functions, 1)
    query = {"yql": "select * from sources * where userQuery()", "query": "QUERY", "ranking": NAME}
    usage = "VESPA=${1:?the address of the container, such as http://localhost:8080}"
    files = {
        f"{NAME}.profile": profile.encode(), "query.json": _json(query),
        "query.sh": _script(usage, (f'{CURL} "$VESPA/search/" {JSON} @query.json',)),
    }  # fmt: skip
    return Package(files, fields)


def files_of(
    target: str, function: Function, written: Written, categories: Categories,
    feature_set: object = None,
) -> Package:  # fmt: skip
    """Return a package for Solr or for a plug-in.

    `feature_set` is the content of a feature set that the engine has, whose definitions are taken.
    """
    form, model = FORMS[target], json.loads(written.content)
    try:
        definitions = {one["name"]: one for one in ([] if feature_set is None else form.read(feature_set))}
    except (KeyError, TypeError, AttributeError):
        raise ExportError(
            f"the feature set is not in the JSON of {target}: expected what its store takes or answers"
        ) from None
    logs, stored, fields = form.logarithms(function.names), {}, []

    def define(name: str) -> Definition:
        if name in stored:
            return stored[name]
        if name in definitions:
            stored[name] = definitions[name]
        elif name in categories:
            column, value, values = categories[name]
            none = value == OTHER and OTHER not in values
            stored[name] = form.category(name, column, values if none else [value], none)
        elif name in logs and name not in function.names:
            feature = define(logs[name])
            stored[name] = form.logarithm(name, logs[name], feature)
        elif text := BM25.fullmatch(name):
            stored[name] = form.text(name, text["field"])
        else:
            fields.append(name)
            stored[name] = form.column(name, name)
        return stored[name]

    for name in names_asked(function, form):
        define(name)
    if target == "solr":
        content = _json({"store": NAME, **model})
    else:
        content = written.content
        if not function.has_trees and search_plugin.CONSTANT in weights_of(content):
            stored.setdefault(search_plugin.CONSTANT, form.constant or {})
    files = {
        "features.json": _json(form.feature_set([*stored.values()])), "model.json": content,
        "query.json": _json(form.query), "upload.sh": _script(form.usage, form.commands),
    }  # fmt: skip
    return Package(files, tuple(fields))


def names_asked(function: Function, form: Form) -> list[str]:
    """Return the names of the features that a model asks for, logarithms included."""
    function = function.without_special_cases()
    if function.has_trees:
        return [function.names[at] for at in features_read(function.trees)]
    logs = {function.names[term.feature] for term in function.weighted if term.logarithm}
    others = [function.names[term.feature] for term in function.weighted if not term.logarithm]
    named = [*others, *(name for name, feature in form.logarithms(function.names).items() if feature in logs)]
    return named or [function.names[0]]


def weights_of(content: bytes) -> dict[str, float]:
    """Return the weights of a plug-in's linear model."""
    return json.loads(json.loads(content)["model"]["model"]["definition"])


def with_constant(content: bytes, scores: np.ndarray) -> bytes:
    """Return a plug-in's linear model with a constant that keeps scores like these above 0.

    It leaves room for scores that are lower by the spread of these.
    """
    least, spread = float(scores.min(initial=0)), float(np.ptp(scores)) if len(scores) else 0.0
    weights = weights_of(content)
    if least >= 0 or search_plugin.CONSTANT in weights:
        return content
    body = json.loads(content)
    definition = {**weights, search_plugin.CONSTANT: float(np.float32(spread - least))}
    body["model"]["model"]["definition"] = json.dumps(definition)
    return json.dumps(body).encode()


def readme(target: str, package: Package, needs: Sequence[str], notes: Sequence[str]) -> bytes:
    """Return what the package holds, what to do with it, and what is not as in the ranker."""
    first = next(iter(package.files))
    script = next(name for name in package.files if name.endswith(".sh"))
    lines = [f"# A ranker for {target}", "", *(f"- `{name}`" for name in package.files), ""]
    if target == "vespa":
        lines += [f"Put `{first}` into the folder of the schema (schemas/NAME/), deploy, and try it:", ""]
    else:
        lines += ["Put a query in the place of QUERY in `query.json`, and then:", ""]
    index = " INDEX" if target in FORMS and target != "solr" else ""
    lines += [f"    sh {script} ADDRESS{index}", ""]
    if package.fields:
        lines += [
            f"Taken for fields of documents: {', '.join(package.fields)}. Where a feature is a query,",
            "write it in the place of the field, or name the feature set that has it by --feature-set.",
            "",
        ]
    for title, sentences in (("Needs", needs), ("Not as in the ranker", notes)):
        if sentences:
            lines += [f"## {title}", "", *(f"- {sentence}" for sentence in sentences), ""]
    return "\n".join(lines).encode()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _script(usage: str, commands: Sequence[str]) -> bytes:
    return "\n".join(["#!/bin/sh", "set -e", usage, 'cd "$(dirname "$0")"', *commands, ""]).encode()
