"""JavaScript and TypeScript source without dependencies: `score(x)` for browsers, Node, Deno and Bun."""

import json
import re
import subprocess

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import SOURCE, run, tables

CODE = """// A ranking function, written by directrank.
%(strict)s%(export)sconst NAMES%(texts)s = %(names)s;
%(tables)s

/** The score of a document: x has its features in the order of NAMES, NaN or null if missing. */
%(export)sfunction score(x%(document)s)%(number)s {
  if (x.length !== NAMES.length) throw new Error(`expected ${NAMES.length} features, not ${x.length}`);
  const categories = CATEGORIES.map(([column, values, outside]) =>
    +(values.includes(x[column]%(text)s) !== outside));
  const numbers%(numbers)s = Array.from(x, (value, at) =>
    value == null || TEXTS.includes(at) ? NaN : %(kind)s).concat(categories);
  let total = %(intercept)r;
  for (let t = 0; t < TERM.length; t++) {
    const value = Number.isNaN(numbers[TERM[t]]) ? FILL[t] : numbers[TERM[t]];
    total += WEIGHT[t] * (LOGARITHM[t] ? Math.sign(value) * Math.log1p(Math.abs(value)) : value);
  }
  for (const root of ROOT) {
    let node = root;
    while (LEFT[node] >= 0) {
      const value = numbers[FEATURE[node]], rule = MISSING[node];
      const left = Number.isNaN(value) || (rule >= 2 && Math.abs(value) <= %(zero)r)
        ? rule & 1 : value <= THRESHOLD[node];
      node = root + (left ? LEFT[node] : RIGHT[node]);
    }
    total += VALUE[node];
  }
  return total;
}
%(module)s"""
#: What JavaScript has of these places, and TypeScript, whose types Node strips from version 22.18 on.
JAVASCRIPT = {
    "strict": '"use strict";\n', "export": "", "texts": "", "document": "", "number": "", "text": "",
    "numbers": "", "CATEGORIES": "",
    "module": 'if (typeof module !== "undefined") module.exports = { NAMES, score };\n',
}  # fmt: skip
TYPES = {
    "strict": "", "export": "export ", "texts": ": string[]", "number": ": number", "text": " as string",
    "document": ": readonly (number | string | null | undefined)[]", "numbers": ": number[]", "module": "",
    "CATEGORIES": ": [number, string[], boolean][]",
}  # fmt: skip
RUN = """const {NAMES, score} = require("./model.js");
const documents = new Map(JSON.parse(require("fs").readFileSync(0, "utf8")));
const columns = NAMES.map((name) => documents.get(name));
const out = new Float64Array(columns[0].length);
out.forEach((_, i) => { out[i] = score(columns.map((column) => column[i])); });
process.stdout.write(Buffer.from(out.buffer));
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the file in JavaScript."""
    return _written(function, JAVASCRIPT)


def write_types(function: Function, version: Version | None = None) -> Written:
    """Return the text of the file in TypeScript."""
    return _written(function, TYPES)


def _written(function: Function, words: dict[str, str]) -> Written:
    data = tables(function)
    categories = [(data.names.index(each.column), each.values, each.outside) for each in data.categories]
    rows = {"TEXTS": data.texts, "CATEGORIES": categories, **data.integers, **data.numbers}
    lines = [
        f"const {name}{words.get(name, words['numbers'])} = {_json(values)};" for name, values in rows.items()
    ]
    lines.insert(
        0, "// Columns of texts, and features that are 1 where a column has one of some texts (true: none)."
    )
    text = CODE % {
        **words, "names": _json(data.names), "tables": "\n".join(lines),
        "intercept": function.intercept, "kind": "Math.fround(+value)" if data.float32 else "+value",
        "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), data.needs)


def _json(value: object) -> str:
    """Return a literal, which may lie in a page; NaN is a word of JavaScript, too."""
    return json.dumps(value).replace("</", "<\\/")


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the file in Node."""
    return _run(content, documents, {"model.js": content, "run.js": RUN.encode()}, ["node run.js"])


def scores_of_types(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the file in Node, which strips the types."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"[0-9]+", version)[:2])) < (22, 6):
        raise FileNotFoundError(f"node is {version.strip()}, and strips types from 22.6 on")
    start, rest = RUN.split("\n", 1)
    start = 'import {NAMES, score} from "./model.ts";\nimport fs from "fs";\n'
    files = {"model.ts": content, "run.mjs": (start + rest.replace('require("fs")', "fs")).encode()}
    return _run(content, documents, files, ["node --experimental-strip-types run.mjs"])


def _run(content: bytes, documents: Documents, files: dict[str, bytes], commands: list[str]) -> np.ndarray:
    names = json.loads(re.findall(rb"^(?:export )?const NAMES.*? = (.*);$", content, re.MULTILINE)[0])
    columns = [
        (name, [None if cell != cell else cell for cell in documents.column(name).tolist()]) for name in names
    ]
    return run(files, commands, json.dumps(columns).encode())


TARGET = Target("javascript", SOURCE, write, scores, "node", writes_all=True, categories=READ)
TYPESCRIPT = Target(
    "typescript",
    SOURCE,
    write_types,
    scores_of_types,
    "node 22",
    writes_all=True,
    categories=READ,
)
