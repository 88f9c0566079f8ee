"""Growth of one tree, leaf by leaf, on bins and exact sums.

The gradient and the curvature of a document are two whole numbers in one int64, the gradient in its upper
half: a bin takes one addition, and a sum does not depend on the order of its terms. Both halves of a sum over
any documents can be read, as the units follow from the sums of absolute values over all documents
(`packed`). A leaf's value is from finer whole numbers, which are added up once a tree.

A split of a leaf L into A and B gains :math:`G_A^2 / (H_A + λ) + G_B^2 / (H_B + λ) - G_L^2 / (H_L + λ)`, with
sums G of gradients and H of curvatures. Of thresholds with equal gains the largest is taken, of columns the
first. A column on which no split of a leaf gains is not tried in its children. The documents of a bin are
counted by its share of the leaf's curvature, rounded to a whole number, and a side needs one at least. All
three are LightGBM's rules, whose trees are these. Documents without a value are tried on both sides.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.prefetching import fetch_line

#: What is read of a packed sum.
HALF, LOWER, BYTE = np.int64(32), np.int64(2**32 - 1), np.uint64(255)
#: Fewer columns of a tile than these are added up one by one.
FEW_OF_TILE = 4
#: Leaves of less than one document in so many read words document by document, some at a time: they and their
#: sums stay in the processor's cache.
SMALL_LEAF, BLOCK_ROWS = 5, 1024
#: Documents whose derivatives are rounded at a time.
PIECE = 2**16
#: Gains below this share of the leaf's own are rounding.
ROUNDING = 1e-10
#: How a column divides documents: by a threshold, by a set of categories, or one category from all others.
THRESHOLDS, SETS, SINGLE = 0, 1, 2
#: Where missing values go: to the right, to the left, or, where there are none in the leaf, with most others.
RIGHT, LEFT, WITH_MOST = 0, 1, 2
#: Numbers of what `Growth.state` counts.
NODES, LEAVES, SMALL, LARGE, WAITING = range(5)
#: Whole numbers of a node: its part of `Growth.rows`, its packed sum, its depth, the place of its histogram,
#: its first child or −1 (the second is the next node), the column of its best split, and this split as in
#: `Growth.best`: the last bin on the left, where missing values go, and the bins of a set, in four words.
BEGIN, END, TOTAL, DEPTH, SLOT, CHILD, COLUMN, BIN, TO_LEFT, WORDS = range(10)


class Columns(NamedTuple):
    """Columns of bins: where the bins of each begin in a histogram, and what they mean."""

    tiles: np.ndarray  # uint64 (n_tiles, n_docs): column k is byte k % 8 of tile k // 8
    by_document: np.ndarray  # uint64 (n_docs, n_tiles): the same, for small leaves; it may be missing
    start: np.ndarray  # int64 (n_columns,)
    n_values: np.ndarray  # int64 (n_columns,)
    missing: np.ndarray  # bool (n_columns,)
    kind: np.ndarray  # uint8 (n_columns,)


class Limits(NamedTuple):
    """What a tree may be; curvature is in units of `packed`."""

    leaves: int
    depth: int
    curvature: float  # least of a leaf
    documents: int  # least number in a leaf, by their curvature
    penalty: float
    common: float  # least of a category in a set, and what is added to it when categories are ordered


class Growth(NamedTuple):
    """A tree in growth, and space for its sums.

    Code for each array is compiled into each kernel, so that what has one type is one array.
    """

    state: np.ndarray  # int64 (5,)
    nodes: np.ndarray  # int64 (n_nodes, WORDS + 4)
    gain: np.ndarray  # float64 (n_nodes,): of a node's best split
    closed: np.ndarray  # bool (n_nodes, n_columns): columns on which no split gains anything
    rows: np.ndarray  # uint32 (n_docs,)
    spare: np.ndarray  # uint32 (n_docs,)
    ordered: np.ndarray  # int64 (n_docs,): packed, in the order of the smaller child's rows
    sums: np.ndarray  # int64 (n_leaves, n_bins)
    nowhere: np.ndarray  # int64 (n_columns, 256): a row for each thread at least
    best_gain: np.ndarray  # float64 (2, n_columns): of both children
    best: np.ndarray  # int64 (2, n_columns, 6): their splits


def space(columns: Columns, n_docs: int, n_leaves: int) -> Growth:
    """Return the arrays of trees of so many leaves, for so many of the columns' documents."""
    n_here = n_docs if columns.tiles.size else 0  # Shards divide their documents where these are.
    n_nodes, n_columns = 2 * n_leaves - 1, len(columns.start)
    n_bins = int((columns.n_values + columns.missing).sum())
    return Growth(
        np.zeros(5, np.int64), np.zeros((n_nodes, WORDS + 4), np.int64), np.zeros(n_nodes),
        np.zeros((n_nodes, n_columns), np.bool_), np.zeros(n_docs, np.uint32), np.zeros(n_here, np.uint32),
        np.zeros(n_here, np.int64), np.zeros((n_leaves, n_bins), np.int64),
        np.zeros((n_columns, 256), np.int64), np.zeros((2, n_columns)),
        np.zeros((2, n_columns, WORDS + 4 - BIN), np.int64),
    )  # fmt: skip


def packed(gradient: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return two arrays of whole numbers as one, in the units that are returned too.

    |Σ gradient| < 2³¹ and 0 ≤ Σ curvature < 2³² over any of the documents, as each is rounded by ½ at most.
    """
    n, size, total = len(gradient), int(np.abs(gradient).sum()), int(curvature.sum())
    by_gradient, by_curvature = size / (2**31 - 2 - n) or 1.0, total / (2**32 - 2 - n) or 1.0
    numbers = np.empty(n, np.int64)
    for some in pieces(n):
        numbers[some] = np.rint(gradient[some] / by_gradient)
        numbers[some] <<= HALF
        numbers[some] += np.rint(curvature[some] / by_curvature).astype(np.int64)
    return numbers, by_gradient, by_curvature


def pieces(n_docs: int) -> Iterator[slice]:
    """Yield runs of documents, whose intermediate results are small beside arrays of all."""
    for first in range(0, n_docs, PIECE):
        yield slice(first, min(first + PIECE, n_docs))


def begin(growth: Growth, n_docs: int, total: int) -> None:
    """Begin a tree with its root, of so many documents with this packed total, whose sums wait."""
    root = growth.nodes[0]
    root[[BEGIN, END, TOTAL, DEPTH, SLOT, CHILD]] = 0, n_docs, total, 0, 0, -1
    growth.gain[0], growth.closed[0] = 0.0, False
    growth.state[[NODES, LEAVES, SMALL, LARGE, WAITING]] = 1, 1, 0, -1, 1


@kernel
def grow(growth, columns, chosen, numbers, limits, most):
    """Split leaves until no split gains; return False, or True where sums of more than `most` values wait.

    The caller then fills them by `search`, possibly a few columns a thread, and calls again.
    """
    state, nodes, goes = growth.state, growth.nodes, np.empty(256, np.uint8)
    while True:
        if state[WAITING] == 1:
            state[WAITING] = 2
            small = state[SMALL]
            if (nodes[small, END] - nodes[small, BEGIN]) * len(chosen) > most:
                return True
            search(growth, columns, chosen, limits)
        node, left_total = best_leaf(growth, columns, chosen, limits, goes)
        if node < 0:
            return False
        column, first, last = nodes[node, COLUMN], nodes[node, BEGIN], nodes[node, END]
        rows, tile = growth.rows[first:last], columns.tiles[column >> 3]
        n_left = part(rows, growth.spare, tile, np.uint64(8 * (column & 7)), goes)
        divide(growth, node, n_left, left_total, 2 * n_left <= last - first, limits)
        small = state[SMALL]
        rows = growth.rows[nodes[small, BEGIN] : nodes[small, END]]
        for i in range(len(rows)):
            growth.ordered[i] = numbers[rows[i]]


@kernel
def best_leaf(growth, columns, chosen, limits, goes):
    """Return the leaf whose split gains most, and the sum of its left side; −1 if none is to be split.

    The bins that go to the left are written to `goes`. Splits that were searched since are compared first.
    """
    state, nodes, left_total = growth.state, growth.nodes, np.int64(0)
    if state[WAITING] == 2:
        state[WAITING] = 0
        for child in range(2):
            node = state[SMALL + child]
            for k in range(len(chosen) if node >= 0 else 0):
                column = chosen[k]
                if growth.best_gain[child, column] > growth.gain[node]:
                    growth.gain[node], nodes[node, COLUMN] = growth.best_gain[child, column], column
                    for number in range(growth.best.shape[2]):
                        nodes[node, BIN + number] = growth.best[child, column, number]
    node, gain = np.int64(-1), 0.0
    for k in range(state[NODES]):
        if nodes[k, CHILD] < 0 and growth.gain[k] > gain:
            node, gain = k, growth.gain[k]
    if node < 0 or state[LEAVES] >= limits.leaves:
        return np.int64(-1), left_total
    column = nodes[node, COLUMN]
    sums, start, n_values = growth.sums[nodes[node, SLOT]], columns.start[column], columns.n_values[column]
    if nodes[node, TO_LEFT] == WITH_MOST:
        for code in range(nodes[node, BIN] + 1):
            left_total += sums[start + code]
        below, all_of = left_total & LOWER, nodes[node, TOTAL] & LOWER
        nodes[node, TO_LEFT] = LEFT if 2 * below >= all_of else RIGHT
        left_total = np.int64(0)
    for code in range(n_values + columns.missing[column]):
        if columns.kind[column] != THRESHOLDS:
            goes[code] = (nodes[node, WORDS + (code >> 6)] >> (code & 63)) & 1
        elif code < n_values:
            goes[code] = code <= nodes[node, BIN]
        else:
            goes[code] = nodes[node, TO_LEFT] == LEFT
        if goes[code]:
            left_total += sums[start + code]
    return node, left_total


@kernel
def divide(growth, node, n_left, left_total, left_is_small, limits):
    """Give a leaf two children; the sums of one of them wait, unless neither may be split."""
    state, nodes = growth.state, growth.nodes
    first, last, left = nodes[node, BEGIN], nodes[node, END], state[NODES]
    small, large = (left, left + 1) if left_is_small else (left + 1, left)
    for child in range(left, left + 2):
        is_left = child == left
        nodes[child, BEGIN] = first if is_left else first + n_left
        nodes[child, END] = first + n_left if is_left else last
        nodes[child, TOTAL] = left_total if is_left else nodes[node, TOTAL] - left_total
        nodes[child, DEPTH], nodes[child, CHILD], growth.gain[child] = nodes[node, DEPTH] + 1, -1, 0.0
        for k in range(growth.closed.shape[1]):  # As a whole, numba compiles a message of shapes.
            growth.closed[child, k] = growth.closed[node, k]
    nodes[node, CHILD] = left
    # The sums of the larger child replace those of its parent.
    nodes[large, SLOT], nodes[small, SLOT] = nodes[node, SLOT], state[LEAVES]
    state[SMALL], state[LARGE] = small, large
    state[NODES] += 2
    state[LEAVES] += 1
    if state[LEAVES] < limits.leaves and nodes[left, DEPTH] < limits.depth:
        state[WAITING] = 1


@kernel
def part(rows, spare, tile, shift, goes):
    """Move the rows that go to the left to the front, stably; return their number."""
    n_left, n_right = 0, 0
    for i in range(len(rows)):
        row = rows[i]
        side = goes[(tile[row] >> shift) & BYTE]
        rows[n_left], spare[n_right] = row, row
        n_left += side
        n_right += 1 - side
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left


@inline_kernel
def search(growth, columns, chosen, limits):
    """Add up the numbers of the smaller child, subtract them from its parent's, and find the best splits."""
    node = growth.nodes[growth.state[SMALL]]
    rows, sums = growth.rows[node[BEGIN] : node[END]], growth.sums[node[SLOT]]
    add_up(growth.nowhere, columns, chosen, rows, growth.ordered, sums)
    find_splits(growth, columns, chosen, limits)


@kernel
def find_splits(growth, columns, chosen, limits):
    """Find the best splits of both children from the sums of the smaller one."""
    sums, gained = growth.sums[growth.nodes[growth.state[SMALL], SLOT]], np.zeros(2)
    running, counts, gains = np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256)
    for column in chosen:
        first = columns.start[column]
        last = first + columns.n_values[column] + columns.missing[column]
        of_small = sums[first:last]
        for child in range(2):  # One call, as each is compiled into its place.
            node = growth.state[SMALL + child]
            if node < 0:
                continue
            of_child = growth.sums[growth.nodes[node, SLOT], first:last]
            if child == 1:
                for code in range(len(of_child)):
                    of_child[code] -= of_small[code]
            gained[child] = _best_of(
                growth, child, node, column, of_child, columns, limits, running, counts, gains, gained[child]
            )


@kernel
def add_up(nowhere, columns, chosen, rows, ordered, sums):
    """Write the sums of some columns' bins over rows, whose numbers are the first that are `ordered`.

    Of `nowhere`, (n_columns, 256), the first of these columns has its row, which nobody reads.
    """
    for column in chosen:
        start = columns.start[column]
        sums[start : start + columns.n_values[column] + columns.missing[column]] = 0
    n_tiles, n_docs = columns.tiles.shape
    words, step, stride, size = columns.tiles.reshape(-1), n_docs, 1, max(len(rows), 1)
    if columns.by_document.size > 0 and len(rows) * SMALL_LEAF < n_docs:
        words, step, stride, size = columns.by_document.reshape(-1), 1, n_tiles, BLOCK_ROWS
    for first in range(0, len(rows), size):
        some, numbers = rows[first : first + size], ordered[first : min(first + size, len(rows))]
        if stride > 1:
            _fetch(words, stride, some)
        k = 0
        while k < len(chosen):
            tile, of_tile = chosen[k] >> 3, k
            while k < len(chosen) and chosen[k] >> 3 == tile:
                k += 1
            offset, unit = np.uint64(tile * step), np.uint64(stride)
            if k - of_tile < FEW_OF_TILE:
                for column in chosen[of_tile:k]:
                    shift, of_column = np.uint64(8 * (column & 7)), sums[columns.start[column] :]
                    _add_byte(words, offset, unit, shift, some, numbers, of_column)
                continue
            # Columns that are not wanted, or not there, are added up where nobody reads.
            unread = nowhere[chosen[0]]
            a, b, c, d, e, f, g, h = unread, unread, unread, unread, unread, unread, unread, unread
            for column in chosen[of_tile:k]:
                of_column, place = sums[columns.start[column] :], column & 7
                a = of_column if place == 0 else a
                b = of_column if place == 1 else b
                c = of_column if place == 2 else c
                d = of_column if place == 3 else d
                e = of_column if place == 4 else e
                f = of_column if place == 5 else f
                g = of_column if place == 6 else g
                h = of_column if place == 7 else h
            _add_words(words, offset, unit, some, numbers, a, b, c, d, e, f, g, h)


@inline_kernel
def _fetch(words, n_tiles, rows):
    """Ask for the words of some documents, each of which would be waited for."""
    for i in range(len(rows)):
        first = np.int64(rows[i]) * n_tiles
        for line in range(first >> 3, ((first + n_tiles - 1) >> 3) + 1):
            fetch_line(words, line)


@inline_kernel
def _add_byte(words, offset, stride, shift, rows, numbers, sums):
    for i in range(len(rows)):
        sums[(words[offset + stride * np.uint64(rows[i])] >> shift) & BYTE] += numbers[i]


@kernel
def _add_words(words, offset, stride, rows, numbers, a, b, c, d, e, f, g, h):
    for i in range(len(rows)):
        word, number = words[offset + stride * np.uint64(rows[i])], numbers[i]
        a[word & BYTE] += number
        b[(word >> np.uint64(8)) & BYTE] += number
        c[(word >> np.uint64(16)) & BYTE] += number
        d[(word >> np.uint64(24)) & BYTE] += number
        e[(word >> np.uint64(32)) & BYTE] += number
        f[(word >> np.uint64(40)) & BYTE] += number
        g[(word >> np.uint64(48)) & BYTE] += number
        h[word >> np.uint64(56)] += number


@kernel
def _best_of(growth, child, node, column, sums, columns, limits, running, counts, gains, least_gain):
    """Write a column's best split of a node if it gains more than `least_gain`; return the larger of both."""
    total, n_values = growth.nodes[node, TOTAL], columns.n_values[column]
    G, H = np.float64(total >> HALF), np.float64(total & LOWER)
    n_docs, documents = growth.nodes[node, END] - growth.nodes[node, BEGIN], limits.documents
    least, penalty, of_one = max(limits.curvature, 1.0), limits.penalty, n_docs / max(H, 1.0)
    growth.best_gain[child, column] = 0.0
    if growth.closed[node, column] or 2.0 * least > H:
        return least_gain
    of_leaf = G * G / (H + penalty)
    lowest = of_leaf * (1.0 + ROUNDING)
    best, code, to_left, most = max(lowest, of_leaf + least_gain), -1, RIGHT, 0.0
    if columns.kind[column] == THRESHOLDS:
        without = sums[n_values] if columns.missing[column] else np.int64(0)
        to_left = WITH_MOST if columns.missing[column] and without == 0 else LEFT
        left, n_left = np.int64(0), np.int64(0)
        for place in range(n_values):
            left += sums[place]
            n_left += np.int64(np.float64(sums[place] & LOWER) * of_one + 0.5)
            running[place], counts[place] = left, n_left
        # Of equal gains the last threshold, with missing values on its left.
        last = n_values - 1
        first, stop = _possible(counts[:last], documents + n_left - n_docs, n_left - documents)
        gains[:first], gains[stop:last] = 0.0, 0.0
        most = _gains(running[first:stop], without, gains[first:stop], G, H, least, penalty)
        if most > best:
            best, code = most, last - 1
            while gains[code] != most:
                code -= 1
        if without != 0:
            none = np.int64(0)
            first, stop = _possible(counts[:n_values], documents, n_docs - documents)
            gains[:first], gains[stop:n_values] = 0.0, 0.0
            more = _gains(running[first:stop], none, gains[first:stop], G, H, least, penalty)
            if more > best:
                best, code, to_left = more, 0, RIGHT
                while gains[code] != more:
                    code += 1
            most = max(most, more)
        growth.best[child, column, 0] = code
    else:
        words, least = growth.best[child, column, WORDS - BIN :], max(least, (documents - 0.5) / of_one)
        best, code = _best_set(sums, columns.kind[column], G, H, least, penalty, limits.common, best, words)
        most = best if code >= 0 or best > lowest else 0.0
    growth.best[child, column, TO_LEFT - BIN] = to_left
    growth.closed[node, column] = most <= lowest
    if code < 0:
        return least_gain
    growth.best_gain[child, column] = best - of_leaf
    return best - of_leaf


@kernel
def _possible(counts, least, most):
    """Return the part of counts, which do not fall, that are between two numbers."""
    first, stop = 0, len(counts)
    while first < stop and counts[first] < least:
        first += 1
    while stop > first and counts[stop - 1] > most:
        stop -= 1
    return first, stop


@kernel
def _gains(sides, more, gains, G, H, least, penalty):
    """Write what divisions of a leaf gain, by the sum of one side less `more`; return the most."""
    for k in range(len(sides)):
        side = sides[k] + more
        g, h = np.float64(side >> HALF), np.float64(side & LOWER)
        rest, other = G - g, H - h
        over, under = h + penalty, other + penalty
        gained = (g * g * under + rest * rest * over) / (over * under)
        gains[k] = gained if h >= least and other >= least else 0.0
    # Numbers ≥ 0 are ordered as their bits are, whose maximum is vectorised.
    most = np.int64(0)
    for k in range(len(gains)):
        most = max(most, np.float64(gains[k]).view(np.int64))
    return np.int64(most).view(np.float64)


@kernel
def _best_set(sums, kind, G, H, least, penalty, common, best, words):
    """Write the bins of the best set, which goes to the left; return its gain; −1 if it is not above `best`.

    A set is a run from either end in the order of g / (h + `common`), of categories with at least that much
    curvature in the leaf, and of at most half of them; or a single category.
    """
    n, ratio, order = 0, np.empty(len(sums)), np.empty(len(sums), np.int64)
    for code in range(len(sums)):
        h = np.float64(sums[code] & LOWER)
        if h < (common if kind == SETS else 1.0):
            continue
        value, place = np.float64(sums[code] >> HALF) / (h + common), n
        while kind == SETS and place > 0 and ratio[place - 1] > value:
            ratio[place], order[place] = ratio[place - 1], order[place - 1]
            place -= 1
        ratio[place], order[place] = value, code
        n += 1
    last, from_end, most = -1, 0, (n + 1) // 2 if kind == SETS else n
    for end in range(2 if kind == SETS else 1):
        left = np.int64(0)
        for k in range(most):
            number = sums[order[k if end == 0 else n - 1 - k]]
            left = left + number if kind == SETS else number
            h, g = np.float64(left & LOWER), np.float64(left >> HALF)
            if h < least or H - h < least:
                continue
            rest, over, under = G - g, h + penalty, H - h + penalty
            gained = (g * g * under + rest * rest * over) / (over * under)
            if gained > best:
                best, last, from_end = gained, k, end
    if last >= 0:
        for word in range(len(words)):
            words[word] = 0
        for k in range(last + 1 if kind == SETS else 1):
            code = order[(k if from_end == 0 else n - 1 - k) if kind == SETS else last]
            words[code >> 6] |= np.int64(1) << (code & 63)
    return best, last


@kernel
def add_leaves(growth, gradient, curvature, by_gradient, by_curvature, penalty, rate, value, scores):
    """Write the value of each leaf, by exact sums, and add it to scores; return whether one has changed."""
    changes = False
    for node in range(growth.state[NODES]):
        value[node] = 0.0
        if growth.nodes[node, CHILD] >= 0:
            continue
        rows = growth.rows[growth.nodes[node, BEGIN] : growth.nodes[node, END]]
        g, h = np.int64(0), np.int64(0)
        for i in range(len(rows)):
            g += gradient[rows[i]]
            h += curvature[rows[i]]
        size = np.float64(h) * by_curvature + penalty
        value[node] = -rate * (np.float64(g) * by_gradient) / size if size > 0.0 else 0.0
        for i in range(len(rows)):
            score = scores[rows[i]]
            scores[rows[i]] = score + value[node]
            changes |= scores[rows[i]] != score
    return changes


@kernel
def place(growth, rows, leaf):
    """Bring documents into the order of the leaves, of which `leaf` has the node for each row."""
    filled = growth.nodes[:, BEGIN].copy()
    for i in range(len(rows)):
        node = leaf[rows[i]]
        growth.rows[filled[node]] = rows[i]
        filled[node] += 1
