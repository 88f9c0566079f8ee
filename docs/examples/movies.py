"""A year of ratings of films, as a table of users and films: ``python movies.py`` writes it.

``movies.csv`` has a row for every user and film: ``rating`` and ``timestamp`` are those of a film that the
user has rated, and 0 and nothing of the others. ``test.csv`` has the last film of each user and all that the
user has not rated, ``sampled.csv`` 99 of these. ``users.csv`` says whether the last film of a user is cold:
fewer than ten other users had rated it before.
"""

import numpy as np
import pandas as pd

N_USERS, N_FILMS, N_FACTORS = 100, 300, 6
rng = np.random.default_rng(1)
tastes = rng.normal(size=(N_USERS, N_FACTORS))
films = rng.normal(size=(N_FILMS, N_FACTORS))
popularity = rng.gumbel(size=N_FILMS)
liking = tastes @ films.T / N_FACTORS**0.5 + popularity

# Each user rates 8 to 40 films, above all those that suit the user, in random order.
rating, time = np.zeros((N_USERS, N_FILMS), int), np.full((N_USERS, N_FILMS), -1)
for user in range(N_USERS):
    seen = np.argsort(-(1.5 * liking[user] + rng.gumbel(size=N_FILMS)))[: rng.integers(8, 41)]
    rating[user, seen] = np.clip(np.round(3 + liking[user, seen] / 2 + rng.normal(0, 0.5, len(seen))), 1, 5)
    time[user, rng.permutation(seen)] = np.sort(rng.integers(1_735_689_600, 1_767_225_600, len(seen)))

# What is known before the last two films of each user: features may not know what validates and tests.
last = np.sort(time, axis=1)[:, -2:]
known = ((time >= 0) & (time < last[:, :1])).astype(float)
together = known.T @ known
norms = np.maximum(np.diag(together), 1.0) ** 0.5
np.fill_diagonal(together, 0.0)
# Films of the user that others saw with this one: the user alone is no witness of a film of the user's.
weights = known / norms
similar = (weights @ together - known * (weights.sum(axis=1, keepdims=True) - weights)) / norms

table = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(1, N_USERS + 1), N_FILMS),
        "item_id": np.tile(np.arange(1, N_FILMS + 1), N_USERS),
        "rating": rating.ravel(),
        "timestamp": pd.Series(time.ravel()).where(time.ravel() >= 0).astype("Int64"),
        "year": np.tile(rng.integers(1960, 2025, N_FILMS), N_USERS),
        "genre": np.tile(rng.choice(["comedy", "crime", "drama", "war"], N_FILMS), N_USERS),
        # Others that have rated the film.
        "raters": (known.sum(axis=0) - known).astype(int).ravel(),
        "similar": similar.round(5).ravel(),
    }
)
table.to_csv("movies.csv", index=False)
tests = (time < 0) | (time == last[:, 1:])
table[tests.ravel()].to_csv("test.csv", index=False)
latest = time.argmax(axis=1)
cold = np.where(known.sum(axis=0)[latest] < 10, "cold", "warm")
pd.DataFrame({"user_id": np.arange(1, N_USERS + 1), "last_film": cold}).to_csv("users.csv", index=False)
unseen = [rng.choice(np.flatnonzero(time[user] < 0), 99, replace=False) for user in range(N_USERS)]
rows = np.concatenate([user * N_FILMS + np.append(unseen[user], latest[user]) for user in range(N_USERS)])
table.loc[rows].to_csv("sampled.csv", index=False)
