"""ranx's AP and nDCG@10, on its own data structures, made before."""

import protocol  # before numba counts processors
import ranx


def prepare(arrays):
    """Return the work."""
    relevance, scores = arrays["relevance"], arrays["scores"]
    names = [f"d{i}" for i in range(relevance.shape[1])]

    def tables(values):
        return {f"q{q}": dict(zip(names, own, strict=True)) for q, own in enumerate(values.tolist())}

    judged, run = ranx.Qrels(tables(relevance.astype(int))), ranx.Run(tables(scores))
    measures = {"AP": "map", "nDCG@10": "ndcg_burges@10"}

    def work():
        found = ranx.evaluate(judged, run, [*measures.values()])
        return {ours: float(found[theirs]) for ours, theirs in measures.items()}

    return work


if __name__ == "__main__":
    protocol.serve(prepare)
