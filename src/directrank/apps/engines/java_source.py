"""Java source without dependencies: a class with `static double score(double[] x)`."""

import json
import re

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import SOURCE, in_bytes, run, tables

#: A literal may have 65,535 bytes, and the code that fills an array 64 KiB: long tables are texts in pieces.
LONGEST = 60_000

CODE = """/** A ranking function, written by directrank. */
public final class Model {
    public static final String[] NAMES = %(names)s;
    private static final String[] TEXTS = %(texts)s;
%(tables)s

    private Model() {}

    /** Returns what stands for a text in a column of texts: -1 for a missing one, as for one not known. */
    public static double category(int column, String text) {
        for (int t = 0; t < TEXTS.length; t++)
            if (TEXT_COLUMN[t] == column && TEXTS[t].equals(text)) return t;
        return -1;
    }

    /** Returns the score of a document, whose features are in the order of NAMES, a missing one NaN. */
    public static double score(double[] columns) {
        if (columns.length != NAMES.length) throw new IllegalArgumentException("expected other features");
        double[] x = java.util.Arrays.copyOf(columns, columns.length + CATEGORY.length);
        for (int t = 0; t < CATEGORY.length; t++) {
            boolean has = false;
            for (int m = FIRST[t]; m < FIRST[t + 1]; m++) has |= columns[CATEGORY[t]] == MEMBERS[m];
            x[columns.length + t] = has == (OUTSIDE[t] == 0) ? 1 : 0;
        }
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
RUN = """import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
public class Run {
    static DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    static String text() throws IOException {
        int size = in.readInt();
        return size < 0 ? null : new String(in.readNBytes(size), StandardCharsets.UTF_8);
    }
    public static void main(String[] a) throws Exception {
        Map<String, Integer> place = new HashMap<>();
        for (int i = 0; i < Model.NAMES.length; i++) place.put(Model.NAMES[i], i);
        double[][] x = new double[in.readInt()][Model.NAMES.length];
        for (int left = in.readInt(); left > 0; left--) {
            int column = place.get(text());
            boolean texts = in.readBoolean();
            for (double[] row : x) row[column] = texts ? Model.category(column, text()) : in.readDouble();
        }
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        for (double[] row : x) out.writeLong(Long.reverseBytes(Double.doubleToRawLongBits(Model.score(row))));
        out.flush();
    }
}
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the class."""
    data = tables(function)
    texts, integers = data.with_codes()
    lines = [f"int[] {name} = integers({_pieces(row)});" for name, row in integers.items()]
    lines += [f"double[] {name} = numbers({_pieces(row)});" for name, row in data.numbers.items()]
    fields = "\n".join(f"    private static final {line}" for line in lines)
    text = CODE % {
        "names": _texts(data.names), "texts": _texts(texts), "tables": fields,
        "intercept": function.intercept, "kind": "float" if data.float32 else "double", "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), (*data.needs, "Compile it as Model.java."))


def _pieces(row: list[int] | list[float]) -> str:
    text = "".join(f"{value!r} " for value in row).replace("nan", "NaN")
    return ", ".join(f'"{text[at : at + LONGEST]}"' for at in range(0, len(text), LONGEST))


def _texts(texts: list[str]) -> str:
    return "{" + ", ".join(map(json.dumps, texts)) + "}"


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the compiled class."""
    names = json.loads(b"[%b]" % re.findall(rb"NAMES = {(.*)};", content)[0])
    files = {"Model.java": content, "Run.java": RUN.encode()}
    return run(files, ["javac Model.java Run.java", "java -Xshare:auto Run"], in_bytes(documents, names))


TARGET = Target("java", SOURCE, write, scores, "javac and java", writes_all=True, categories=READ)
