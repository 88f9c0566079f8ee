"""Rust source without dependencies: a module with `pub fn score(x: &[f64]) -> f64`."""

import re

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import SOURCE, in_bytes, run, tables

CODE = """//! A ranking function, written by directrank.

#![allow(clippy::all)]

/// The features of a document, in order.
pub static NAMES: &[&str] = &[%(names)s];
static TEXTS: &[&str] = &[%(texts)s];
%(tables)s

/// Returns what stands for a text in a column of texts: -1 for a missing one, as for one not known.
pub fn category(column: usize, text: &str) -> f64 {
    match (0..TEXTS.len()).find(|&t| TEXT_COLUMN[t] as usize == column && TEXTS[t] == text) {
        Some(t) => t as f64,
        None => -1.0,
    }
}

/// Returns the score of a document, whose features are in the order of NAMES, a missing one NaN.
pub fn score(columns: &[f64]) -> f64 {
    assert_eq!(columns.len(), NAMES.len(), "expected other features");
    let mut x = columns.to_vec();
    for t in 0..CATEGORY.len() {
        let members = &MEMBERS[FIRST[t] as usize..FIRST[t + 1] as usize];
        let has = members.iter().any(|&member| columns[CATEGORY[t] as usize] == member as f64);
        x.push(if has == (OUTSIDE[t] == 0) { 1.0 } else { 0.0 });
    }
    let mut total: f64 = %(intercept)s;
    for t in 0..TERM.len() {
        let mut value = x[TERM[t] as usize] as %(kind)s as f64;
        if value.is_nan() {
            value = FILL[t];
        }
        if LOGARITHM[t] == 1 {
            value = value.abs().ln_1p().copysign(value);
        }
        total += WEIGHT[t] * value;
    }
    for &root in ROOT {
        let mut node = root as usize;
        while LEFT[node] >= 0 {
            let value = x[FEATURE[node] as usize] as %(kind)s as f64;
            let rule = MISSING[node];
            let left = if value.is_nan() || (rule >= 2 && value.abs() <= %(zero)r) {
                rule & 1 == 1
            } else {
                value <= THRESHOLD[node]
            };
            node = (root + if left { LEFT[node] } else { RIGHT[node] }) as usize;
        }
        total += VALUE[node];
    }
    total
}
"""
RUN = """mod model;

use std::io::{Read, Write};

fn number(input: &mut impl Read) -> i32 {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes).unwrap();
    i32::from_be_bytes(bytes)
}

fn text(input: &mut impl Read) -> String {
    let size = number(input);
    if size < 0 {
        return "\\0".to_string();
    }
    let mut bytes = vec![0; size as usize];
    input.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn main() {
    let mut input = std::io::BufReader::new(std::io::stdin());
    let (documents, columns) = (number(&mut input) as usize, number(&mut input) as usize);
    let mut x = vec![vec![0.0; columns]; documents];
    for column in 0..columns {
        text(&mut input);
        let mut texts = [0];
        input.read_exact(&mut texts).unwrap();
        for row in &mut x {
            row[column] = if texts[0] == 1 {
                model::category(column, &text(&mut input))
            } else {
                let mut bytes = [0; 8];
                input.read_exact(&mut bytes).unwrap();
                f64::from_be_bytes(bytes)
            };
        }
    }
    let out: Vec<u8> = x.iter().flat_map(|row| model::score(row).to_le_bytes()).collect();
    std::io::stdout().write_all(&out).unwrap();
}
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the module."""
    data = tables(function)
    texts, integers = data.with_codes()
    lines = [f"static {name}: &[i32] = &[{', '.join(map(str, row))}];" for name, row in integers.items()]
    lines += [
        f"static {name}: &[f64] = &[{', '.join(map(_number, row))}];" for name, row in data.numbers.items()
    ]
    text = CODE % {
        "names": ", ".join(map(_text, data.names)), "texts": ", ".join(map(_text, texts)),
        "tables": "\n".join(lines), "intercept": _number(function.intercept), "zero": data.zero,
        "kind": "f32" if data.float32 else "f64",
    }  # fmt: skip
    return Written(text.encode(), data.needs)


def _number(value: float) -> str:
    return repr(value).replace("nan", "f64::NAN").replace("inf", "f64::INFINITY")


def _text(text: str) -> str:
    return '"' + re.sub(r"[^A-Za-z0-9_ .-]", lambda at: f"\\u{{{ord(at[0]):x}}}", text) + '"'


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the compiled module."""
    (line,) = re.findall(r"^pub static NAMES: .* = &\[(.*)\];$", content.decode(), re.M)
    names = [re.sub(r"\\u{([0-9a-f]+)}", lambda at: chr(int(at[1], 16)), text)
             for text in re.findall(r'"([^"]*)"', line)]  # fmt: skip
    files = {"model.rs": content, "main.rs": RUN.encode()}
    return run(files, ["rustc -O main.rs", "./main"], in_bytes(documents, names))


TARGET = Target("rust", SOURCE, write, scores, "rustc", writes_all=True, categories=READ)
