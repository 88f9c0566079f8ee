"""Packages for search engines: the feature set, the model, the query and the commands that try them."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.engines import search_plugin, solr_model, solr_queries
from directrank.apps.engines.documents import Column, Documents
from directrank.apps.engines.function import Category, Function, Written, log_name
from directrank.apps.engines.queries import (
    category_query,
    check_field,
    check_no_variable,
    constant_score,
    field_query,
)
from directrank.apps.engines.solr_queries import NAME, solr_feature
from directrank.apps.engines.vespa_expression import attribute, function_text
from directrank.errors import ExportError, check_choice
from directrank.storage.strict_json import JSONObject

#: BM25 of a field with Lucene's parameters, as features of texts are called.
BM25 = re.compile(r"(?P<field>\w+)\.bm25", re.ASCII)
CURL, JSON = "curl -sS --fail-with-body", "-H Content-Type:application/json --data-binary"
Definition = JSONObject


class Form(NamedTuple):
    """How an engine says a feature set, and the commands that send it.

    Attributes
    ----------
    category : callable
        From a feature's name and its category to its definition.
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
    computed : callable
        From definitions and documents to their features by name, by the rule of the engine.
    query : dict
        A request that rescores a query.
    usage : str
        What `upload.sh` is called with.
    commands : tuple of str
    constant : dict, optional
        The feature that is 1 for all documents, where scores below 0 are refused.
    """

    category: Callable[[str, Category], Definition]
    logarithm: Callable[[str, str, Definition], Definition]
    text: Callable[[str, str], Definition]
    column: Callable[[str, str], Definition]
    logarithms: Callable[[tuple[str, ...]], dict[str, str]]
    feature_set: Callable[[list[Definition]], Any]
    read: Callable[[Any], list[Definition]]
    computed: Callable[[list[Definition], Documents], dict[str, Column]]
    query: Definition
    usage: str
    commands: tuple[str, ...]
    constant: Definition | None = None


SOLR = Form(
    solr_queries.category,
    solr_queries.logarithm,
    lambda name, field: solr_feature(name, "SolrFeature", q=f"{{!dismax qf={field}}}${{text}}"),
    solr_queries.column,
    solr_model.logarithms,
    lambda definitions: definitions,
    lambda content: [
        {**one, "store": NAME} for one in (content["features"] if type(content) is dict else content)
    ],
    solr_queries.computed,
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


def _plugin_column(name: str, field: str) -> Definition:
    check_field("the plugin", field)
    check_no_variable("the plugin", "{{", field)
    return _plugin(name, field_query(field))


PLUGIN = Form(
    lambda name, category: _plugin(name, category_query(category, "the plugin")),
    lambda name, feature, _: {
        "name": name, "params": [], "template_language": "derived_expression",
        "template": search_plugin.LOG.format(x=feature),
    },
    lambda name, field: _plugin(name, {"match": {field: "{{keywords}}"}}, "keywords"),
    _plugin_column,
    lambda names: {log_name(name, names): name for name in names},
    lambda definitions: {"featureset": {"name": NAME, "features": definitions}},
    lambda content: content.get("_source", content)["featureset"]["features"],
    search_plugin.computed,
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
    _plugin(search_plugin.CONSTANT, constant_score({"match_all": {}})),
)  # fmt: skip

FORMS = {"solr": SOLR, "elasticsearch-ltr": PLUGIN, "opensearch-ltr": PLUGIN}
PACKAGE_TARGETS = (*FORMS, "vespa")


@dataclass(frozen=True)
class Package:
    """The files of a package, their content by name; and the fields that features are taken for."""

    files: dict[str, bytes]
    fields: tuple[str, ...]


def check_target(target: str) -> None:
    """Raise a ValueError if there is no package for a target."""
    check_choice("target of a package", target, PACKAGE_TARGETS)


def as_vespa_names(function: Function) -> tuple[Function, str, tuple[str, ...]]:
    """Return a function whose features have names of Vespa, the definitions of these, and the fields read."""
    names, lines, fields = [], [], []
    for at, name in enumerate(function.names):
        if at in function.categories:
            names.append(name)  # The profile has a function for it.
        elif text := BM25.fullmatch(name):
            names.append(f"bm25({text['field']})")
        else:
            names.append(name)
            if name.isidentifier() and name.isascii():
                fields.append(name)
                lines.append(function_text(name, attribute(name)))
    return replace(function, names=tuple(names)), "".join(f"{line}\n" for line in lines), tuple(fields)


def with_functions(written: Written, functions: str) -> Written:
    """Return a profile with more functions."""
    head = f"rank-profile {NAME} {{\n".encode()
    return written._replace(content=written.content.replace(head, head + functions.encode(), 1))


def vespa_files(written: Written, fields: tuple[str, ...]) -> Package:
    """Return a package for Vespa: the profile with functions for its features, and a query."""
    query = {"yql": "select * from sources * where userQuery()", "query": "QUERY", "ranking": NAME}
    usage = "VESPA=${1:?the address of the container, such as http://localhost:8080}"
    files = {
        f"{NAME}.profile": written.content,
        "query.json": _json(query),
        "query.sh": _script(usage, (f'{CURL} "$VESPA/search/" {JSON} @query.json',)),
    }
    return Package(files, fields)


def definitions_of(
    target: str, function: Function, written: Written, *, package: bool, feature_set: object = None
) -> tuple[list[Definition], tuple[str, ...]]:
    """Return the definitions of features, and the features that are taken for fields of documents.

    Without a package only those of categories and of logarithms, whose features are columns. `feature_set` is
    the content of a feature set that the engine has, whose definitions are taken.
    """
    form = FORMS[target]
    try:
        definitions = {one["name"]: one for one in ([] if feature_set is None else form.read(feature_set))}
    except (KeyError, TypeError, AttributeError):
        raise ExportError(
            f"the feature set is not in the JSON of {target}: expected what its store takes or answers"
        ) from None
    logs, stored, fields = form.logarithms(function.names), {}, []
    categories = {function.names[at]: category for at, category in function.categories.items()}

    def define(name: str) -> Definition | None:
        if name in stored:
            return stored[name]
        if name in definitions:
            stored[name] = definitions[name]
        elif name in categories:
            stored[name] = form.category(name, categories[name])
        elif name in logs and name not in function.names:
            feature = define(logs[name]) or form.column(logs[name], logs[name])
            stored[name] = form.logarithm(name, logs[name], feature)
        elif not package:
            return None
        elif text := BM25.fullmatch(name):
            stored[name] = form.text(name, text["field"])
        else:
            fields.append(name)
            stored[name] = form.column(name, name)
        return stored[name]

    for name in names_asked(function, form):
        define(name)
    if target == "solr" and json.loads(written.content)["params"].get("isNullSameAsZero") is False:
        for name in fields:
            stored[name]["params"]["defaultValue"] = "NaN"
    return [*stored.values()], tuple(fields)


def files_of(
    target: str, written: Written, definitions: list[Definition], fields: tuple[str, ...]
) -> Package:
    """Return a package for Solr or for a plug-in."""
    form, model = FORMS[target], json.loads(written.content)
    content = _json({"store": NAME, **model}) if target == "solr" else written.content
    files = {
        "features.json": _json(form.feature_set(definitions)), "model.json": content,
        "query.json": _json(form.query), "upload.sh": _script(form.usage, form.commands),
    }  # fmt: skip
    return Package(files, fields)


def with_features(target: str, definitions: list[Definition], documents: Documents) -> Documents:
    """Return documents with the features of definitions, which are read as the engine reads them."""
    form = FORMS.get(target)
    if form is None or not definitions:
        return documents
    sent = json.loads(_json(form.feature_set(definitions)))
    return documents.having(form.computed(form.read(sent), documents))


def names_asked(function: Function, form: Form) -> list[str]:
    """Return the names of the features that a model asks for, logarithms included."""
    function = function.without_special_cases()
    if function.has_trees:
        return [function.names[at] for at in function.features]
    logs = {function.names[term.feature] for term in function.weighted if term.logarithm}
    plain = [function.names[term.feature] for term in function.weighted if not term.logarithm]
    names = [*plain, *(name for name, feature in form.logarithms(function.names).items() if feature in logs)]
    return names or [function.names[0]]


def weights_of(content: bytes) -> dict[str, float]:
    """Return the weights of a plug-in's linear model."""
    return json.loads(json.loads(content)["model"]["model"]["definition"])


def with_constant(
    target: str, written: Written, definitions: list[Definition], scores: np.ndarray
) -> tuple[Written, list[Definition]]:
    """Return a plug-in's linear model, and definitions, with a constant that keeps scores like these above 0.

    It leaves room for scores that are lower by the spread of these.
    """
    constant, least = FORMS[target].constant, float(scores.min(initial=0))
    if constant is None or least >= 0:
        return written, definitions
    weights = weights_of(written.content)
    if search_plugin.CONSTANT in weights:
        return written, definitions
    body, spread = json.loads(written.content), float(np.ptp(scores))
    definition = {**weights, search_plugin.CONSTANT: float(np.float32(spread - least))}
    body["model"]["model"]["definition"] = json.dumps(definition)
    return written._replace(content=json.dumps(body).encode()), [*definitions, constant]


def of_categories(definitions: list[Definition], function: Function) -> str:
    """Return the definitions of the features of categories as JSON; "" if there are none."""
    names = {function.names[at] for at in function.categories}
    some = [one for one in definitions if one["name"] in names]
    return json.dumps(some, ensure_ascii=False) if some else ""


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
            f"Assumed to be document fields: {', '.join(package.fields)}. Where a feature is a query,",
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
