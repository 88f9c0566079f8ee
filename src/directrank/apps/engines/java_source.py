"""Java source without dependencies: a class with `static double score(double[] x)`."""

import json

import numpy as np

from directrank.apps.engines.function import Function, Target, Version, Written
from directrank.apps.engines.tables import ORDER, run, tables

#: A literal may have 65,535 bytes, and the code that fills an array 64 KiB: long tables are texts in pieces.
LONGEST = 60_000

CODE = """/** A ranking function, written by directrank. */
public final class Model {
    public static final String[] NAMES = %(names)s;
%(tables)s

    private Model() {}

    /** Returns the score of a document; x has its features in the order of NAMES, a missing one is NaN. */
    public static double score(double[] x) {
        if (x.length != NAMES.length) throw new IllegalArgumentException("expected other features");
        double total = %(intercept)r;
        for (int t = 0; t < TERM.length; t++) {
            double value = (%(kind)s) x[TERM[t]];
            if (value != value) value = FILL[t];
            if (LOGARITHM[t] == 1) value = Math.copySign(Math.log1p(Math.abs(value)), value);
            total += WEIGHT[t] * value;
        }
        for (int root : ROOT) {
            int node = root;
            while (LEFT[node] >= 0) {
                double value = (%(kind)s) x[FEATURE[node]];
                int rule = MISSING[node];
                boolean left = value != value || (rule >= 2 && Math.abs(value) <= %(zero)r)
                    ? (rule & 1) == 1 : value <= THRESHOLD[node];
                node = root + (left ? LEFT[node] : RIGHT[node]);
            }
            total += VALUE[node];
        }
        return total;
    }

    private static double[] numbers(String... pieces) {
        String text = String.join("", pieces).trim();
        return text.isEmpty() ? new double[0]
            : java.util.Arrays.stream(text.split(" ")).mapToDouble(Double::parseDouble).toArray();
    }

    private static int[] integers(String... pieces) {
        return java.util.Arrays.stream(numbers(pieces)).mapToInt(value -> (int) value).toArray();
    }
}
"""
RUN = """import java.nio.*;
public class Run {
    public static void main(String[] a) throws Exception {
        ByteBuffer in = ByteBuffer.wrap(System.in.readAllBytes()).order(ByteOrder.LITTLE_ENDIAN);
        double[] x = new double[Model.NAMES.length];
        ByteBuffer out = ByteBuffer.allocate(in.remaining() / x.length).order(ByteOrder.LITTLE_ENDIAN);
        while (in.hasRemaining()) {
            for (int i = 0; i < x.length; i++) x[i] = in.getDouble();
            out.putDouble(Model.score(x));
        }
        System.out.write(out.array());
        System.out.flush();
    }
}
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the class."""
    data = tables(function)
    lines = [f"int[] {name} = integers({_pieces(row)});" for name, row in data.integers.items()]
    lines += [f"double[] {name} = numbers({_pieces(row)});" for name, row in data.numbers.items()]
    fields = "\n".join(f"    private static final {line}" for line in lines)
    text = CODE % {
        "names": "{" + ", ".join(map(json.dumps, function.names)) + "}", "tables": fields,
        "intercept": function.intercept, "kind": "float" if data.float32 else "double", "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), (ORDER, "Compile it as Model.java."))


def _pieces(row: list[int] | list[float]) -> str:
    text = "".join(f"{value!r} " for value in row).replace("nan", "NaN")
    return ", ".join(f'"{text[at : at + LONGEST]}"' for at in range(0, len(text), LONGEST))


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the compiled class."""
    files = {"Model.java": content, "Run.java": RUN.encode()}
    return run(files, ["javac Model.java Run.java", "java -Xshare:auto Run"], features)


TARGET = Target("java", "Java source", write, scores, "javac and java")
