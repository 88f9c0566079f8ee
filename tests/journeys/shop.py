"""A shop's tables as shops have them, and arithmetic on them that shares no code with directrank.

Identifiers beyond 2³², two categories, a date, prices and sales as they are, and gaps. Grades depend on
brands, on a price near to what each search would pay, and on ratings in one department.
"""

import csv
import math
import sqlite3
from pathlib import Path

import numpy as np

N_PRODUCTS = 14
HEAD = "search_id,product_id,relevance,day,brand,department,text_match,price,rating,sold"
NUMBERS = ("text_match", "price", "rating", "sold")
#: What a reader of the first lines of the file types.
COLUMNS = "--drop day --categorical brand,department"


def write_shop(path: Path, n_queries: int, seed: int, first: int = 2**33) -> None:
    """Write a table with a row for each product that a search returned."""
    rng = np.random.default_rng(seed)
    lines = [HEAD]
    for query in range(n_queries):
        budget, generosity = rng.normal(3.5, 0.5), rng.normal(0, 0.7)
        for product in rng.choice(9000, N_PRODUCTS, replace=False):
            brand, department, rating = rng.integers(12), rng.integers(4), rng.integers(1, 6)
            text, price, sold = rng.gamma(2.0, 5.0), rng.lognormal(3.5, 0.8), rng.lognormal(4, 1.5)
            liking = 0.15 * text + 1.6 * (brand in (2, 5, 7)) + 0.5 * (department == 1) * (rating - 3)
            liking += 0.3 * math.log(sold) - 1.2 * abs(math.log(price) - budget) + rng.normal(0, 0.6)
            grade = np.digitize(liking + generosity, [2.5, 4.0, 5.5])
            day = f"2026-{1 + query % 9:02d}-{1 + query % 28:02d}"
            known = "" if rng.random() < 0.08 else f"{price:.2f}"
            stars = "" if rng.random() < 0.2 else rating
            lines.append(
                f"{first + 37 * query},{2**40 + product},{grade},{day},brand {brand},d{department},"
                f"{text:.2f},{known},{stars},{sold:.0f}"
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows_of(path: Path | str) -> list[dict[str, str]]:
    """Return the rows of a CSV file as texts."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_query(rows: list[dict[str, str]], column: str = "search_id") -> dict[str, np.ndarray]:
    """Return the numbers of the rows of each query, in their order."""
    found: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        found.setdefault(row[column], []).append(number)
    return {query: np.array(numbers) for query, numbers in found.items()}


def dcg(grades, k: int = 10) -> float:
    """Return the sum of (2^grade − 1) / log₂(rank + 1) over the first k documents."""
    return sum((2.0 ** float(g) - 1) / math.log2(rank + 2) for rank, g in enumerate(list(grades)[:k]))


def ndcg(grades, scores, k: int = 10) -> float:
    """Return nDCG@k with the mean gain of tied documents at their ranks; 0 without a relevant one."""
    grades, scores = np.asarray(grades, float), np.asarray(scores, float)
    gains = np.array([np.mean((2.0**grades - 1)[scores == s]) for s in sorted(scores, reverse=True)[:k]])
    best = dcg(sorted(grades, reverse=True), k)
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum() / best) if best else 0.0


def turned(first, second, queries: dict[str, np.ndarray]) -> int:
    """Return how many pairs of one query two lists of scores order differently, ties of float32 apart."""
    count = 0
    for rows in queries.values():
        a, b = (np.subtract.outer(each[rows], each[rows]) for each in (np.asarray(first), np.asarray(second)))
        count += int(((a > 1e-5) & (b < -1e-5)).sum())
    return count


def scored_by_sqlite(sql: str, rows: list[dict[str, str]], texts: tuple[str, ...], numbers: tuple[str, ...]):
    """Return the score of each row by the query that `export --to sql` wrote, on the table as it is."""
    base = sqlite3.connect(":memory:")
    columns = [*(f'"{name}" TEXT' for name in texts), *(f'"{name}" REAL' for name in numbers)]
    base.execute(f"CREATE TABLE documents (id INTEGER, {', '.join(columns)})")
    values = [
        (i, *(row[name] for name in texts), *(float(row[name]) if row[name] else None for name in numbers))
        for i, row in enumerate(rows)
    ]
    base.executemany(f"INSERT INTO documents VALUES ({','.join('?' * (1 + len(columns)))})", values)
    cursor = base.execute(sql.strip().rstrip(";"))
    names = [each[0] for each in cursor.description]
    found = {row[names.index("id")]: row[-1] for row in cursor}
    return np.array([found[i] for i in range(len(rows))], float)
