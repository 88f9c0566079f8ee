"""What the installation says of itself, losses beside their measures, and a cluster of processes."""

import json
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from directrank.apps.cli.app import group
from journeys.shop import by_query, ndcg, rows_of

DROP = "--drop day,brand,department"


def test_every_command_has_a_journey():
    texts = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    # The demo is README's first command, which the gate runs in an environment of its own.
    named = set(re.findall(r"[\"'](\w+) ", texts)) | {"demo"}
    assert named >= set(group.commands)


def test_the_installation_is_fine_and_lists_what_it_has(directrank):
    assert all(each["fine"] for each in json.loads(directrank("doctor --json")))
    names = {each["name"] for each in json.loads(directrank("methods --json"))}
    assert {"regression", "ranksvm", "auto", "trees-lambdarank"} <= names
    measures = {each["name"] for each in json.loads(directrank("measures --json"))["measures"]}
    assert {"nDCG", "AP", "P", "RR", "ERR"} <= measures


def test_the_loss_of_an_audit_is_that_of_the_scores(directrank):
    directrank(f"fit ranksvm shop.csv {DROP} -o linear.dr -q")
    found = json.loads(directrank("audit linear.dr next.csv --json"))
    directrank("rank linear.dr next.csv --format scores -o scores.txt -q")
    rows, scores = rows_of("next.csv"), np.loadtxt("scores.txt")
    grades = np.array([float(row["relevance"]) for row in rows])
    queries = {query: inside for query, inside in by_query(rows).items() if grades[inside].any()}
    losses = [1 - ndcg(grades[inside], scores[inside]) for inside in queries.values()]
    assert len(found["left_out"]) + len(losses) == 100
    assert found["loss"]["per_query"] == pytest.approx(losses, abs=1e-9)
    assert found["loss"]["mean"] == pytest.approx(np.mean(losses), abs=1e-9)


def test_a_cut_off_keeps_the_share_of_relevant_documents_that_it_promises(directrank):
    directrank(f"fit ranksvm shop.csv {DROP} -o cut.dr -q")
    assert "ranksvm" in directrank("show cut.dr").lower()
    directrank("cutoff cut.dr --qrels next.csv --miss 0.2 -o cutoff.json")
    directrank("rank cut.dr next.csv --cutoff cutoff.json -o kept.csv -q")
    rows = rows_of("next.csv")
    kept = {(row["qid"], row["docid"]) for row in rows_of("kept.csv")}
    shares = []
    for query, inside in by_query(rows).items():
        relevant = [rows[i]["product_id"] for i in inside if rows[i]["relevance"] != "0"]
        if relevant:
            shares.append(np.mean([(query, each) in kept for each in relevant]))
    assert 0 < len(kept) < len(rows)
    assert np.mean(shares) >= 0.8


def test_a_loss_that_is_refuted_ranks_worse_than_the_best_of_all_orders(directrank):
    found = json.loads(directrank("consistency ranksvm DCG --random 20 --json"))
    assert found["distributions"] == 20
    assert found["refuting"] >= 1
    outcomes = found["worst"]["outcomes"]
    gains = sum(each["probability"] * (2.0 ** np.array(each["relevance"]) - 1) for each in outcomes)
    discounts = 1 / np.log2(np.arange(2, len(gains) + 2))
    best = max(float(np.array(order) @ discounts) for order in permutations(gains))
    assert found["worst"]["best_value"] == pytest.approx(best)
    assert found["worst"]["value"] < best


def test_a_cluster_of_processes_trains_the_model_of_one_process(directrank):
    pytest.importorskip("distributed")
    directrank(f"convert shop.csv {DROP} -o shop.store -q")
    directrank("fit approxndcg shop.store -o here.dr -q")
    directrank("fit approxndcg shop.store --scheduler local:2 -o there.dr -q")
    for name in ("here", "there"):
        directrank(f"rank {name}.dr next.csv --format scores -o {name}.txt -q")
    here, there = (np.loadtxt(f"{name}.txt") for name in ("here", "there"))
    np.testing.assert_array_equal(here, there)


def test_a_network_of_pytorch_learns_under_our_loss(directrank, folder):
    torch = pytest.importorskip("torch")
    from directrank.torch import RankingLoss

    rows = rows_of("shop.csv")
    sold = np.array([[float(row["text_match"]), np.log1p(float(row["sold"]))] for row in rows])
    X = torch.tensor((sold - sold.mean(0)) / sold.std(0), dtype=torch.float32)
    grades = np.array([float(row["relevance"]) for row in rows])
    qid = np.unique([row["search_id"] for row in rows], return_inverse=True)[1]
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def value():
        scores = network(X).detach().numpy().ravel()
        return np.mean([ndcg(grades[inside], scores[inside]) for inside in by_query(rows).values()])

    before, loss = value(), RankingLoss("approxndcg", measure="nDCG@10")
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(60):
        optimiser.zero_grad()
        loss(network(X).ravel(), torch.tensor(grades), qid=torch.tensor(qid)).backward()
        optimiser.step()
    assert value() > before + 0.05
