"""Go source without dependencies: a package with `func Score(x []float64) float64`."""

import ast
import re

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import SOURCE, in_bytes, run, tables

CODE = """// Package model is a ranking function, written by directrank.
package model

import "math"

var nan, inf = math.NaN(), math.Inf(1)

// Names are the features of a document, in order.
var Names = []string{%(names)s}
var texts = []string{%(texts)s}
%(tables)s

// Category returns what stands for a text in a column of texts; -1 for a missing one, as for one not known.
func Category(column int, text string) float64 {
	for t, known := range texts {
		if text_column[t] == column && known == text {
			return float64(t)
		}
	}
	return -1
}

// Score returns the score of a document, whose features are in the order of Names, a missing one NaN.
func Score(columns []float64) float64 {
	if len(columns) != len(Names) {
		panic("expected other features")
	}
	x := append([]float64{}, columns...)
	for t, column := range category {
		has, number := false, 0.0
		for _, member := range members[first[t]:first[t+1]] {
			has = has || columns[column] == float64(member)
		}
		if has == (outside[t] == 0) {
			number = 1
		}
		x = append(x, number)
	}
	total := float64(%(intercept)r)
	for t, at := range term {
		number := float64(%(kind)s(x[at]))
		if number != number {
			number = fill[t]
		}
		if logarithm[t] == 1 {
			number = math.Copysign(math.Log1p(math.Abs(number)), number)
		}
		total += float64(weight[t] * number) // The conversion keeps it from being fused with the sum.
	}
	for _, start := range root {
		node := start
		for left[node] >= 0 {
			number, rule := float64(%(kind)s(x[feature[node]])), missing[node]
			below := number <= threshold[node]
			if number != number || (rule >= 2 && math.Abs(number) <= %(zero)r) {
				below = rule&1 == 1
			}
			if below {
				node = start + left[node]
			} else {
				node = start + right[node]
			}
		}
		total += value[node]
	}
	return total
}
"""
RUN = """package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"run/model"
)

var in = bufio.NewReader(os.Stdin)

func read(into any) {
	if err := binary.Read(in, binary.BigEndian, into); err != nil {
		panic(err)
	}
}

func text() string {
	var size int32
	read(&size)
	if size < 0 {
		return "\\x00"
	}
	letters := make([]byte, size)
	if _, err := io.ReadFull(in, letters); err != nil {
		panic(err)
	}
	return string(letters)
}

func main() {
	var documents, columns int32
	read(&documents)
	read(&columns)
	x := make([][]float64, documents)
	for row := range x {
		x[row] = make([]float64, columns)
	}
	for column := range int(columns) {
		text()
		var texts bool
		read(&texts)
		for row := range x {
			if texts {
				x[row][column] = model.Category(column, text())
			} else {
				read(&x[row][column])
			}
		}
	}
	out := bufio.NewWriter(os.Stdout)
	for _, row := range x {
		binary.Write(out, binary.LittleEndian, model.Score(row))
	}
	out.Flush()
}
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the package."""
    data = tables(function)
    texts, integers = data.with_codes()
    rows = {"int": integers, "float64": data.numbers}
    lines = [f"var {name.lower()} = []{kind}{{{', '.join(map(repr, row))}}}"
             for kind, part in rows.items() for name, row in part.items()]  # fmt: skip
    text = CODE % {
        "names": ", ".join(map(_text, data.names)), "texts": ", ".join(map(_text, texts)),
        "tables": "\n".join(lines), "intercept": function.intercept, "zero": data.zero,
        "kind": "float32" if data.float32 else "float64",
    }  # fmt: skip
    return Written(text.encode(), data.needs)


def _text(text: str) -> str:
    """Return a literal: what is no plain letter is an escape, which Python reads, too."""
    return '"' + re.sub(r"[^A-Za-z0-9_ .-]", lambda at: f"\\U{ord(at[0]):08x}", text) + '"'


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the compiled package."""
    names = ast.literal_eval(re.findall(r"^var Names = \[\]string{(.*)}$", content.decode(), re.M)[0] + ",")
    files = {"model/model.go": content, "main.go": RUN.encode(), "go.mod": b"module run\n\ngo 1.22\n"}
    return run(files, ["go build -o run .", "./run"], in_bytes(documents, [*names]))


TARGET = Target("go", SOURCE, write, scores, "go", writes_all=True, categories=READ)
