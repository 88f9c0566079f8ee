"""JavaScript source without dependencies: a function `score(x)` for browsers and Node."""

import json

import numpy as np

from directrank.apps.engines.function import Function, Target, Version, Written
from directrank.apps.engines.tables import ORDER, run, tables

CODE = """// A ranking function, written by directrank.
"use strict";
const NAMES = %(names)s;
%(tables)s

/** The score of a document: x has its features in the order of NAMES, NaN or null if missing. */
function score(x) {
  if (x.length !== NAMES.length) throw new Error(`expected ${NAMES.length} features, not ${x.length}`);
  x = Array.from(x, (value) => (value == null ? NaN : %(kind)s(value)));
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
const bytes = require("fs").readFileSync(0);
const data = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const out = new Float64Array(data.length / NAMES.length);
out.forEach((_, i) => { out[i] = score(data.subarray(i * NAMES.length, (i + 1) * NAMES.length)); });
process.stdout.write(Buffer.from(out.buffer));
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the file."""
    data = tables(function)
    lines = [
        f"const {name} = {json.dumps(values)};"  # NaN is a word of JavaScript, too.
        for name, values in {**data.integers, **data.numbers}.items()
    ]
    text = CODE % {
        "names": json.dumps(function.names).replace("</", "<\\/"), "tables": "\n".join(lines),
        "intercept": function.intercept, "kind": "Math.fround" if data.float32 else "Number",
        "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), (ORDER,))


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the file in Node."""
    return run({"model.js": content, "run.js": RUN.encode()}, ["node run.js"], features)


TARGET = Target("javascript", "JavaScript source", write, scores, "node")
