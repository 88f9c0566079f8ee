"""Intervals of means with a machine's judgments: how often they cover the truth, and how long they are.

    python benchmarks/studies/judges.py --draws 1000

A query's value by people is drawn from a Beta(1.2, 1.2); judges are good (with an error of .15), random,
inverted, lenient (half of the value more) and weak (an error of .6). In a draw people judged n queries, and
the judge these and 500 more. The truth is the mean over all 3,000 queries. `difference` takes the difference
of two such values in place of the value. Lengths are relative to the interval by people alone.

With `--compare` it prints the same of `compare(…, judge=…)`: AdaRank less regression, trained on 100 queries,
by nDCG@10 on n test queries of 3,000 with made documents, whose grades judges see with such errors.
"""

import argparse

import numpy as np

from directrank import QueryGroups, compare, make_ranking
from directrank.apps.evaluation import judged_mean

QUERIES, MORE = 3000, 500
JUDGES = ("good", "random", "inverted", "lenient", "weak")
HEAD = "of          judge      n  correlation  covered  covered alone  length  longest"


def judged(judge: str, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what a judge says of queries."""
    noise = rng.normal(size=len(people))
    return {
        "good": np.clip(people + 0.15 * noise, 0, 1),
        "random": rng.random(len(people)),
        "inverted": 1 - np.clip(people + 0.15 * noise, 0, 1),
        "lenient": np.clip(people / 2 + 0.5 + 0.1 * noise, 0, 1),
        "weak": np.clip(people + 0.6 * noise, 0, 1),
    }[judge]


def printed(subject: str, judge: str, n: int, correlation: float, truth: float, means: list) -> None:
    """Print a line about pairs of the interval with a judge and by people alone, one a draw."""
    lengths = np.array([[mean[2] - mean[1] for mean in pair] for pair in means])
    covered = np.mean([[mean[1] <= truth <= mean[2] for mean in pair] for pair in means], axis=0)
    ratio = lengths[:, 0] / lengths[:, 1]
    print(
        f"{subject:11} {judge:9} {n:3} {correlation:12.2f} {covered[0]:8.1%} {covered[1]:14.1%} "
        f"{ratio.mean():7.2f} {ratio.max():8.2f}",
        flush=True,
    )


def of_compare(draws: int, judges: list[str], sizes: list[int]) -> None:
    """Print the lines of `compare`."""
    groups = make_ranking(n_queries=QUERIES + 150, n_features=8, random_state=0)
    train, vali = groups.select(range(100)), groups.select(range(100, 150))
    population = groups.select(range(150, 150 + QUERIES))
    options = {"measures": "nDCG@10", "baseline": "regression", "audit": False, "first_stage": "none"}
    largest = population.relevance.max()

    def compared(test: QueryGroups, judge: QueryGroups | None):
        return compare((train, vali, test), "regression,adarank", judge=judge, **options)

    whole = compared(population, None)
    people = [whole.query_values("standard", "nDCG@10", method) for method in whole.trained]
    truth = float((people[1] - people[0]).mean())
    for judge in judges:
        grades = judged(judge, population.relevance / largest, np.random.default_rng(0))
        machine = QueryGroups(population.X, np.round(grades * largest), population.qid)
        of_machine = compared(machine, None)
        values = [of_machine.query_values("standard", "nDCG@10", method) for method in whole.trained]
        correlation = np.corrcoef(people[1] - people[0], values[1] - values[0])[0, 1]
        for n in sizes:
            means = []
            for draw in range(draws):
                order = np.random.default_rng(draw).permutation(QUERIES)
                some = np.sort(order[: n + MORE])
                result = compared(population.select(np.sort(order[:n])), machine.select(some))
                (row,) = result.content.judged["nDCG@10"]
                means.append((row.assisted, row.alone))
            printed("compare", judge, n, correlation, truth, means)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--judges", default=",".join(JUDGES))
    parser.add_argument("--sizes", default="20,50,200")
    parser.add_argument("--compare", action="store_true")
    arguments = parser.parse_args()
    judges, sizes = arguments.judges.split(","), [*map(int, arguments.sizes.split(","))]
    print(HEAD)
    if arguments.compare:
        of_compare(arguments.draws, judges, sizes)
        return
    for subject in ("value", "difference"):
        for judge in judges:
            rng = np.random.default_rng(0)
            people, machine = np.zeros(QUERIES), np.zeros(QUERIES)
            for sign in (1, -1) if subject == "difference" else (1,):
                values = rng.beta(1.2, 1.2, QUERIES)
                people += sign * values
                machine += sign * judged(judge, values, rng)
            correlation = np.corrcoef(people, machine)[0, 1]
            for n in sizes:
                means = []
                for draw in range(arguments.draws):
                    order = np.random.default_rng(draw).permutation(QUERIES)
                    some, more = order[:n], order[n : n + MORE]
                    result = judged_mean(people[some], machine[some], machine[more])
                    means.append((result.assisted, result.alone))
                printed(subject, judge, n, correlation, people.mean(), means)


if __name__ == "__main__":
    main()
