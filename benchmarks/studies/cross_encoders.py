"""A small cross-encoder of random weights under losses of sentence-transformers and of directrank.

    python benchmarks/studies/cross_encoders.py CRAN [--epochs 6] [--seeds 0,1,2]

CRAN holds ``cran.all.1400``, ``cran.qry`` and ``cranqrel``. Every loss trains the same model from the same
weights, on the same lists in the same order: BM25's first 12 documents of two thirds of the queries. Values
are nDCG@10 of BM25's first 30 documents of the other queries, the mean over seeds, with the difference to the
first loss and its paired standard error over queries.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import transformers
from sentence_transformers.cross_encoder import CrossEncoder, losses

from directrank import evaluate
from directrank.apps.text import CollectionOptions, build_index, make_features, open_index
from directrank.apps.text.collections.reading import read_documents, read_queries
from directrank.apps.text.collections.records import Faults
from directrank.apps.text.sentence_transformers import RankingLoss

#: Documents of a list in training and in the test; tokens of a pair; queries of a step.
LIST, DEPTH, TOKENS, BATCH = 12, 30, 48, 8
LEARNING_RATE = 1e-3
LOSSES = {
    "sentence-transformers `BinaryCrossEntropyLoss`": losses.BinaryCrossEntropyLoss,
    "sentence-transformers `ListNetLoss`": losses.ListNetLoss,
    "sentence-transformers `LambdaLoss`": losses.LambdaLoss,
    "directrank `listnet`": lambda model: RankingLoss(model, "listnet"),
    "directrank `lambdaloss(nDCG@10)`": lambda model: RankingLoss(model, "lambdaloss(nDCG@10)"),
    "directrank `approxndcg(nDCG@10)`": lambda model: RankingLoss(model, "approxndcg(nDCG@10)"),
}


class Candidates(NamedTuple):
    """A query and BM25's first documents, the best first, with their grades."""

    query: str
    documents: list[str]
    grades: np.ndarray


def read_candidates(folder: Path, workspace: Path) -> list[Candidates]:
    """Return the queries of Cranfield with BM25's first documents."""
    options = CollectionOptions(grades={1: 4, 2: 3, 3: 2, 4: 1, -1: 0})
    documents = read_documents(folder / "cran.all.1400", options, Faults()).records
    texts = {document.docid: f"{document.title} {document.body}" for document in documents}
    queries = {query.qid: query.text for query in read_queries(folder / "cran.qry", options, Faults())[0]}
    build_index(folder / "cran.all.1400", workspace / "index")
    groups = make_features(
        open_index(workspace / "index"), folder / "cran.qry", folder / "cranqrel",
        candidates=f"bm25:{DEPTH}", features=["whole.bm25"], options=options,
    ).groups  # fmt: skip
    candidates = []
    for qid in np.unique(groups.qid):
        rows = np.flatnonzero(groups.qid == qid)
        rows = rows[np.argsort(-groups.X[rows, 0], kind="stable")]
        documents = [texts[str(groups.docid[row])] for row in rows]
        candidates.append(Candidates(queries[str(qid)], documents, groups.relevance[rows]))
    return candidates


def save_tokenizer(candidates: list[Candidates], folder: Path) -> int:
    """Write a tokenizer of the words that occur three times; return the size of its vocabulary."""
    documents = {document for candidate in candidates for document in candidate.documents}
    counts = Counter(" ".join(sorted(documents)).lower().replace(".", " ").replace(",", " ").split())
    words = [word for word, count in counts.items() if count > 2]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(folder)
    return len(vocabulary)


def random_model(n_words: int, folder: Path, seed: int) -> CrossEncoder:
    """Return a cross-encoder of one layer with random weights."""
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=n_words, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=TOKENS, num_labels=1,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return CrossEncoder(str(folder), num_labels=1, max_length=TOKENS, device="cpu")


def train(model: CrossEncoder, name: str, candidates: list[Candidates], epochs: int, seed: int) -> None:
    """Train a model under a loss."""
    loss, rng = LOSSES[name](model), np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    model.train()
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(candidates)), len(candidates) // BATCH):
            queries = [candidates[row].query for row in rows]
            documents = [candidates[row].documents[:LIST] for row in rows]
            labels = [torch.tensor(candidates[row].grades[:LIST], dtype=torch.float32) for row in rows]
            if "BinaryCrossEntropy" in name:
                queries = [query for query, texts in zip(queries, documents, strict=True) for _ in texts]
                documents = [text for texts in documents for text in texts]
                labels = (torch.cat(labels) > 0).float()
            optimizer.zero_grad()
            loss([queries, documents], labels).backward()
            optimizer.step()
    model.eval()


def measure(model: CrossEncoder, candidates: list[Candidates]) -> np.ndarray:
    """Return nDCG@10 of each query, its documents ranked by the model."""
    values = []
    for query, documents, grades in candidates:
        scores = model.predict([(query, text) for text in documents], show_progress_bar=False)
        values.append(evaluate(grades, scores, np.zeros(len(grades)), measures=["nDCG@10"])["nDCG@10"])
    return np.array(values)


def main() -> None:
    """Train under every loss and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name)
        candidates = read_candidates(options.folder, workspace)
        candidates = [one for one in candidates if one.grades[:LIST].max() > one.grades[:LIST].min()]
        n_words = save_tokenizer(candidates, workspace / "model")
        n_train = 2 * len(candidates) // 3
        training, test = candidates[:n_train], candidates[n_train:]
        seeds = [int(seed) for seed in options.seeds.split(",")]
        print(f"{len(training)} training and {len(test)} test queries, {n_words} words, {len(seeds)} seeds")
        print("| loss | nDCG@10 | difference |\n| --- | --- | --- |", flush=True)
        print(f"| BM25's order | {np.mean([bm25_value(one) for one in test]):.3f} | |", flush=True)
        first = None
        for loss in LOSSES:
            values = []
            for seed in seeds:
                model = random_model(n_words, workspace / "model", seed)
                train(model, loss, training, options.epochs, seed)
                values.append(measure(model, test))
            means = np.mean(values, axis=0)
            first = means if first is None else first
            gains = means - first
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            difference = f"{gains.mean():+.3f} ({error:.3f})" if loss != next(iter(LOSSES)) else ""
            print(f"| {loss} | {means.mean():.3f} | {difference} |", flush=True)


def bm25_value(candidate: Candidates) -> float:
    """Return nDCG@10 of BM25's order."""
    n = len(candidate.grades)
    return evaluate(candidate.grades, -np.arange(n), np.zeros(n), measures=["nDCG@10"])["nDCG@10"]


if __name__ == "__main__":
    main()
