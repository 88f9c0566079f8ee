"""JavaScript source without dependencies: a function `score(x)` for browsers and Node."""

import json
import re

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import run, tables

CODE = """// A ranking function, written by directrank.
"use strict";
const NAMES = %(names)s;
%(tables)s

/** The score of a document: x has its features in the order of NAMES, NaN or null if missing. */
function score(x) {
  if (x.length !== NAMES.length) throw new Error(`expected ${NAMES.length} features, not ${x.length}`);
  const categories = CATEGORIES.map(([column, values, outside]) => +(values.includes(x[column]) !== outside));
  x = Array.from(x, (value, at) => (value == null || TEXTS.includes(at) ? NaN : %(kind)s(value)));
  x = x.concat(categories);
  let total = %(intercept)r;
  for (let t = 0; t < TERM.length; t++) {
    const value = Number.isNaN(x[TERM[t]]) ? FILL[t] : x[TERM[t]];
    total += WEIGHT[t] * (LOGARITHM[t] ? Math.sign(value) * Math.log1p(Math.abs(value)) : value);
  }
  for (const root of ROOT) {
    let node = root;
    while (LEFT[node] >= 0) {
      const value = x[FEATURE[node]], rule = MISSING[node];
      const left = Number.isNaN(value) || (rule >= 2 && Math.abs(value) <= %(zero)r)
        ? rule & 1 : value <= THRESHOLD[node];
      node = root + (left ? LEFT[node] : RIGHT[node]);
    }
    total += VALUE[node];
  }
  return total;
}
if (typeof module !== "undefined") module.exports = { NAMES, score };
"""
RUN = """const {NAMES, score} = require("./model.js");
const documents = new Map(JSON.parse(require("fs").readFileSync(0, "utf8")));
const columns = NAMES.map((name) => documents.get(name));
const out = new Float64Array(columns[0].length);
out.forEach((_, i) => { out[i] = score(columns.map((column) => column[i])); });
process.stdout.write(Buffer.from(out.buffer));
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the file."""
    data = tables(function)
    categories = [(data.names.index(each.column), each.values, each.outside) for each in data.categories]
    rows = {"TEXTS": data.texts, "CATEGORIES": categories, **data.integers, **data.numbers}
    lines = [f"const {name} = {_json(values)};" for name, values in rows.items()]
    lines.insert(
        0, "// Columns of texts, and features that are 1 where a column has one of some texts (true: none)."
    )
    text = CODE % {
        "names": _json(data.names), "tables": "\n".join(lines),
        "intercept": function.intercept, "kind": "Math.fround" if data.float32 else "Number",
        "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), data.needs)


def _json(value: object) -> str:
    """Return a literal, which may lie in a page; NaN is a word of JavaScript, too."""
    return json.dumps(value).replace("</", "<\\/")


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the file in Node."""
    names = json.loads(re.findall(rb"^const NAMES = (.*);$", content, re.MULTILINE)[0])
    columns = [(name, [None if cell != cell else cell for cell in documents.column(name).tolist()])
               for name in names]  # fmt: skip
    given = json.dumps(columns).encode()
    return run({"model.js": content, "run.js": RUN.encode()}, ["node run.js"], given)


TARGET = Target("javascript", "JavaScript source", write, scores, "node", categories=READ)
