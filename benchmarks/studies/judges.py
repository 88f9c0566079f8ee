"""Intervals of means with a machine's judgments: how often they cover the truth, and how long they are.

    python benchmarks/studies/judges.py --draws 1000

A query's value by people is drawn from a Beta(1.2, 1.2); judges are good (with an error of .15), random,
inverted, lenient (half of the value more) and weak (an error of .6). In a draw people judged n queries, and
the judge these and 500 more. The truth is the mean over all 3,000 queries. `difference` takes the difference
of two such values in place of the value. Lengths are relative to the interval by people alone.
"""

import argparse

import numpy as np

from directrank.apps.evaluation import judged_mean

QUERIES, MORE = 3000, 500


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    print("of          judge      n  correlation  covered  covered alone  length  longest")
    for subject in ("value", "difference"):
        for judge in ("good", "random", "inverted", "lenient", "weak"):
            rng = np.random.default_rng(0)
            people, machine = np.zeros(QUERIES), np.zeros(QUERIES)
            for sign in (1, -1) if subject == "difference" else (1,):
                values = rng.beta(1.2, 1.2, QUERIES)
                people += sign * values
                machine += sign * judged(judge, values, rng)
            truth = people.mean()
            for n in (20, 50, 200):
                rows = []
                for draw in range(arguments.draws):
                    order = np.random.default_rng(draw).permutation(QUERIES)
                    some, more = order[:n], order[n : n + MORE]
                    result = judged_mean(people[some], machine[some], machine[more])
                    lengths = [mean.high - mean.low for mean in (result.assisted, result.alone)]
                    inside = [mean.low <= truth <= mean.high for mean in (result.assisted, result.alone)]
                    rows.append([*inside, lengths[0] / lengths[1]])
                covered, alone, ratio = np.mean(rows, axis=0)
                correlation = np.corrcoef(people, machine)[0, 1]
                print(
                    f"{subject:11} {judge:9} {n:3} {correlation:12.2f} {covered:8.1%} {alone:14.1%} "
                    f"{ratio:7.2f} {np.max(rows, axis=0)[2]:8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
