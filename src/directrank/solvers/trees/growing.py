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
from directrank.kernels.plugins import by_type, register_kernel
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
#: Where missing values go: to the right, to the left, or, where there are none in the leaf, with most others;
#: or that a set of bins goes to the left.
RIGHT, LEFT, WITH_MOST, BY_SET = 0, 1, 2, 3
#: Numbers of what `Growth.state` counts.
NODES, LEAVES, SMALL, LARGE, WAITING = range(5)
#: Whole numbers of a node: its part of `Growth.rows`, its packed sum, its depth, the place of its histogram,
#: its first child or −1 (the second is the next node), and its best split: the column, the last bin on the
#: left, where missing values go, and the bins of a set, in four words.
BEGIN, END, TOTAL, DEPTH, SLOT, CHILD, COLUMN, BIN, TO_LEFT, WORDS = range(10)


class Columns(NamedTuple):
    """Columns of bins that thresholds divide, and where the bins of each begin in a histogram."""

    tiles: np.ndarray  # uint64 (n_tiles * n_docs,): column k is byte k % 8 of words from k // 8 * n_docs on
    by_document: np.ndarray  # uint64 (n_docs * n_tiles,): the same, for small leaves; it may be missing
    start: np.ndarray  # int64 (8 * n_tiles + 1,): bytes that are no column's share the last bin
    n_values: np.ndarray  # int64 (n_columns,): the bins of a column, without that of missing values


class MixedColumns(NamedTuple):
    """Columns of which some are categories; what sets need is compiled for these alone."""

    tiles: np.ndarray
    by_document: np.ndarray
    start: np.ndarray
    n_values: np.ndarray
    kind: np.ndarray  # uint8 (n_columns,)


class Limits(NamedTuple):
    """What a tree may be; curvature is in units of `packed`."""

    leaves: int
    depth: int
    curvature: float  # least of a leaf, at least 1
    documents: int  # least number in a leaf, by their curvature
    penalty: float
    common: float  # least of a category in a set, and what is added to it when categories are ordered
    #: 1 if columns of a leaf are compared by their gains, which are rounded: of equal ones any may be taken;
    #: 0 if by G_A² / (H_A + λ) + G_B² / (H_B + λ), exactly: threads may then divide the columns.
    subtracted: float


class Growth(NamedTuple):
    """A tree in growth, and space for its sums.

    Code for each array is compiled into each kernel, so that what has one type is one array.
    """

    state: np.ndarray  # int64 (5,)
    nodes: np.ndarray  # int64 (n_nodes, WORDS + 4)
    gain: np.ndarray  # float64 (n_nodes,): of a node's best split; see `Limits.subtracted`
    closed: np.ndarray  # bool (n_nodes, n_columns): columns on which no split gains anything
    rows: np.ndarray  # uint32 (n_docs,)
    spare: np.ndarray  # uint32 (n_docs,)
    ordered: np.ndarray  # int64 (n_docs,): packed, in the order of the smaller child's rows
    sums: np.ndarray  # int64 (n_leaves, n_bins)
    goes: np.ndarray  # uint8 (256,): which bins go to the left at the last split
    room: np.ndarray  # int64 (2, 256): scratch
    gains: np.ndarray  # float64 (256,): scratch

    def of_thread(self) -> "Growth":
        """Return a growth whose search writes no splits of this one, nor its scratch."""
        arrays = "nodes", "gain", "room", "gains"
        return self._replace(**{name: getattr(self, name).copy() for name in arrays})

    def take_best(self, of_threads: "list[Growth]") -> None:
        """Write the best splits that threads have found, in the order of their columns."""
        for node in self.state[[SMALL, LARGE]].tolist():
            for other in of_threads if node >= 0 else ():
                if other.gain[node] > self.gain[node]:
                    self.gain[node], self.nodes[node, COLUMN:] = other.gain[node], other.nodes[node, COLUMN:]


def space(columns: Columns | MixedColumns, n_docs: int, n_leaves: int) -> Growth:
    """Return the arrays of trees of so many leaves, for so many of the columns' documents."""
    n_here = n_docs if columns.tiles.size else 0  # Shards divide their documents where these are.
    n_nodes, n_columns = 2 * n_leaves - 1, len(columns.n_values)
    return Growth(
        np.zeros(5, np.int64), np.zeros((n_nodes, WORDS + 4), np.int64), np.zeros(n_nodes),
        np.zeros((n_nodes, n_columns), np.bool_), np.zeros(n_docs, np.uint32), np.zeros(n_here, np.uint32),
        np.zeros(n_here, np.int64), np.zeros((n_leaves, columns.start[-1] + 1), np.int64),
        np.zeros(256, np.uint8), np.zeros((2, 256), np.int64), np.zeros(256),
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
    state, nodes = growth.state, growth.nodes
    while True:
        if state[WAITING] == 1:
            state[WAITING] = 0
            small = state[SMALL]
            if (nodes[small, END] - nodes[small, BEGIN]) * len(chosen) > most:
                return True
            search(growth, columns, chosen, limits)
        node, left_total = best_leaf(growth, columns, limits)
        if node < 0:
            return False
        column, first, last = nodes[node, COLUMN], nodes[node, BEGIN], nodes[node, END]
        rows, tile = growth.rows[first:last], columns.tiles[(column >> 3) * len(numbers) :]
        n_left = part(rows, growth.spare, tile, np.uint64(8 * (column & 7)), growth.goes)
        left_is_small = 2 * n_left <= last - first
        divide(state, nodes, growth.gain, growth.closed, node, n_left, left_total, left_is_small, limits)
        first, last = nodes[state[SMALL], BEGIN], nodes[state[SMALL], END]
        for i in range(last - first):
            growth.ordered[i] = numbers[growth.rows[first + i]]


@inline_kernel
def best_leaf(growth, columns, limits):
    """Return the leaf whose split gains most, and the sum of its left side; −1 if none is to be split.

    The bins that go to the left are written.
    """
    state, nodes, gain, goes, left_total = growth.state, growth.nodes, growth.gain, growth.goes, np.int64(0)
    best, most = np.int64(-1), 0.0
    for node in range(state[NODES]):
        if nodes[node, CHILD] < 0 and gain[node] > 0.0:
            gained = gain[node] - (1.0 - limits.subtracted) * _alone(nodes[node, TOTAL], limits)
            if gained > most:
                best, most = node, gained
    if best < 0 or state[LEAVES] >= limits.leaves:
        return np.int64(-1), left_total
    gain[best] = most
    leaf = nodes[best]
    column, last, to_left = leaf[COLUMN], leaf[BIN], leaf[TO_LEFT]
    sums = growth.sums[leaf[SLOT], columns.start[column] : columns.start[column + 1]]
    if to_left == WITH_MOST:
        below = np.int64(0)
        for code in range(last + 1):
            below += sums[code]
        to_left = LEFT if 2 * (below & LOWER) >= leaf[TOTAL] & LOWER else RIGHT
        leaf[TO_LEFT] = to_left
    for code in range(len(sums)):
        is_left = code <= last if code < columns.n_values[column] else to_left == LEFT
        if to_left == BY_SET:
            is_left = (leaf[WORDS + (code >> 6)] >> (code & 63)) & 1 == 1
        goes[code] = is_left
        if is_left:
            left_total += sums[code]
    return best, left_total


@inline_kernel
def divide(state, nodes, gain, closed, node, n_left, left_total, left_is_small, limits):
    """Give a leaf two children; the sums of one of them wait, unless neither may be split."""
    parent, left = nodes[node], state[NODES]
    small, large = (left, left + 1) if left_is_small else (left + 1, left)
    middle = parent[BEGIN] + n_left
    for child in range(left, left + 2):
        of_child = nodes[child]
        of_child[BEGIN] = parent[BEGIN] if child == left else middle
        of_child[END] = middle if child == left else parent[END]
        of_child[TOTAL] = left_total if child == left else parent[TOTAL] - left_total
        of_child[DEPTH], of_child[CHILD], gain[child] = parent[DEPTH] + 1, -1, 0.0
        for k in range(closed.shape[1]):  # As a whole, numba compiles a message of shapes.
            closed[child, k] = closed[node, k]
    parent[CHILD] = left
    # The sums of the larger child replace those of its parent.
    nodes[large, SLOT], nodes[small, SLOT] = parent[SLOT], state[LEAVES]
    state[SMALL], state[LARGE] = small, large
    state[NODES] += 2
    state[LEAVES] += 1
    if state[LEAVES] < limits.leaves and parent[DEPTH] + 1 < limits.depth:
        state[WAITING] = 1


@inline_kernel
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
    """Add up the numbers of the smaller child, subtract them from its parent's, and find the best splits.

    Threads share no tile of columns.
    """
    node = growth.nodes[growth.state[SMALL]]
    rows, sums = growth.rows[node[BEGIN] : node[END]], growth.sums[node[SLOT]]
    add_up(columns, chosen, rows, growth.ordered, sums)
    find_splits(growth, columns, chosen, limits)


@kernel
def find_splits(growth, columns, chosen, limits):
    """Find the best splits of both children from the sums of the smaller one."""
    nodes, closed, gain = growth.nodes, growth.closed, growth.gain
    small = growth.sums[nodes[growth.state[SMALL], SLOT]]
    for k in range(len(chosen)):
        column = chosen[k]
        first, last = columns.start[column], columns.start[column + 1]
        for child in range(2):  # One call, as each is compiled into its place.
            node = growth.state[SMALL + child]
            if node < 0:
                continue
            leaf = nodes[node]
            sums = growth.sums[leaf[SLOT], first:last]
            if child == 1:
                for code in range(len(sums)):
                    sums[code] -= small[first + code]
            if closed[node, column]:
                continue
            gained, closed[node, column] = _best_of(
                columns, column, sums, leaf, limits, gain[node], growth.room, growth.gains
            )
            if gained > 0.0:
                gain[node], leaf[COLUMN] = gained, column


@kernel
def add_up(columns, chosen, rows, ordered, sums):
    """Write the sums of some columns' bins over rows, whose numbers are the first that are `ordered`.

    Of a tile, sums of columns that are not chosen are written too; nobody reads them.
    """
    for k in range(len(chosen)):
        for code in range(columns.start[chosen[k]], columns.start[chosen[k] + 1]):
            sums[code] = 0
    n_tiles = len(columns.start) >> 3
    n_docs = len(columns.tiles) // n_tiles
    words, step, stride, size = columns.tiles, n_docs, 1, max(len(rows), 1)
    if len(columns.by_document) > 0 and len(rows) * SMALL_LEAF < n_docs:
        words, step, stride, size = columns.by_document, 1, n_tiles, BLOCK_ROWS
    for first in range(0, len(rows), size):
        some, numbers = rows[first : first + size], ordered[first:]
        if stride > 1:
            _fetch(words, stride, chosen[0] >> 3, (chosen[-1] >> 3) + 1, some)
        k = 0
        while k < len(chosen):
            tile, of_tile = chosen[k] >> 3, k
            while k < len(chosen) and chosen[k] >> 3 == tile:
                k += 1
            offset, unit = np.uint64(tile * step), np.uint64(stride)
            if k - of_tile >= FEW_OF_TILE:
                _add_words(words, offset, unit, some, numbers, columns.start[8 * tile :], sums)
                continue
            for place in range(of_tile, k):
                shift, start = np.uint64(8 * (chosen[place] & 7)), np.uint64(columns.start[chosen[place]])
                for i in range(len(some)):
                    byte = (words[offset + unit * np.uint64(some[i])] >> shift) & BYTE
                    sums[start + byte] += numbers[i]


@inline_kernel
def _fetch(words, n_tiles, first, stop, rows):
    """Ask for some tiles' words of documents, each of which would be waited for."""
    for i in range(len(rows)):
        place = np.int64(rows[i]) * n_tiles
        for line in range((place + first) >> 3, ((place + stop - 1) >> 3) + 1):
            fetch_line(words, line)


@kernel
def _add_words(words, offset, stride, rows, numbers, start, sums):
    a, b, c, d = np.uint64(start[0]), np.uint64(start[1]), np.uint64(start[2]), np.uint64(start[3])
    e, f, g, h = np.uint64(start[4]), np.uint64(start[5]), np.uint64(start[6]), np.uint64(start[7])
    for i in range(len(rows)):
        word, number = words[offset + stride * np.uint64(rows[i])], numbers[i]
        sums[a + (word & BYTE)] += number
        sums[b + ((word >> np.uint64(8)) & BYTE)] += number
        sums[c + ((word >> np.uint64(16)) & BYTE)] += number
        sums[d + ((word >> np.uint64(24)) & BYTE)] += number
        sums[e + ((word >> np.uint64(32)) & BYTE)] += number
        sums[f + ((word >> np.uint64(40)) & BYTE)] += number
        sums[g + ((word >> np.uint64(48)) & BYTE)] += number
        sums[h + (word >> np.uint64(56))] += number


@inline_kernel
def _alone(total, limits):
    """Return G² / (H + λ) of a leaf that is not split."""
    G, H = np.float64(total >> HALF), np.float64(total & LOWER)
    return G * G / (H + limits.penalty)


@inline_kernel
def _best_of(columns, column, sums, leaf, limits, least_gain, room, gains):
    """Write a column's best split of a node; return its gain, and whether no split gains anything.

    The gain is 0 if it is not more than `least_gain`.
    """
    n_docs, G, H = leaf[END] - leaf[BEGIN], np.float64(leaf[TOTAL] >> HALF), np.float64(leaf[TOTAL] & LOWER)
    if 2.0 * limits.curvature > H:
        return 0.0, False
    of_leaf = _alone(leaf[TOTAL], limits)
    lowest, bound = of_leaf * (1.0 + ROUNDING), limits.subtracted * of_leaf + least_gain
    if lowest > bound:
        bound = lowest
    best, most = best_division(
        columns, column, sums, n_docs, n_docs / H, G, H, limits, bound, room, gains, leaf
    )
    return best - limits.subtracted * of_leaf if best > bound else 0.0, most <= lowest


@by_type
def best_division(columns, column, sums, n_docs, of_one, G, H, limits, bound, room, gains, split):
    """Write the best division of a node by a column, if it gains more than `bound`.

    Return its gain, or `bound` if that is more, and the most that one gains.
    """


@register_kernel(best_division, Columns)
@kernel
def _best_threshold(columns, column, sums, n_docs, of_one, G, H, limits, bound, room, gains, split):
    n_values, documents, running, counts = columns.n_values[column], limits.documents, room[0], room[1]
    left, n_left, most, without, to_left = np.int64(0), np.int64(0), 0.0, np.int64(0), LEFT
    if len(sums) > n_values:
        without = sums[n_values]
        to_left = WITH_MOST if without == 0 else LEFT
    for place in range(n_values):
        left += sums[place]
        n_left += np.int64(np.float64(sums[place] & LOWER) * of_one + 0.5)
        running[place], counts[place] = left, n_left
    # Of equal gains the last threshold, with missing values on its left.
    for is_right in range(1 if without == 0 else 2):
        first, stop, fewest, largest = 0, n_values - 1, documents + n_left - n_docs, n_left - documents
        if is_right:
            stop, fewest, largest, without, to_left = (
                n_values,
                documents,
                n_docs - documents,
                np.int64(0),
                RIGHT,
            )
        while first < stop and counts[first] < fewest:
            first += 1
        while stop > first and counts[stop - 1] > largest:
            stop -= 1
        gained = _gains(running[first:stop], without, gains, G, H, limits)
        if gained > most:
            most = gained
        if gained > bound:
            code = 0 if is_right else stop - first - 1
            while gains[code] != gained:
                code += 1 if is_right else -1
            bound, split[BIN], split[TO_LEFT] = gained, first + code, to_left
    return bound, most


@register_kernel(best_division, MixedColumns)
@kernel
def _best_of_kind(columns, column, sums, n_docs, of_one, G, H, limits, bound, room, gains, split):
    if columns.kind[column] == THRESHOLDS:
        return _best_threshold(columns, column, sums, n_docs, of_one, G, H, limits, bound, room, gains, split)
    least = max(limits.curvature, (limits.documents - 0.5) / of_one)
    most = _best_set(sums, columns.kind[column], G, H, least, limits, bound, gains, room[0], split[WORDS:])
    if most > bound:
        bound, split[TO_LEFT] = most, BY_SET
    return bound, most


@inline_kernel
def _gains(sides, more, gains, G, H, limits):
    """Write what divisions of a leaf gain, by the sum of one side less `more`; return the most."""
    least, penalty = limits.curvature, limits.penalty
    for k in range(len(sides)):
        side = sides[k] + more
        g, h = np.float64(side >> HALF), np.float64(side & LOWER)
        rest, other = G - g, H - h
        over, under = h + penalty, other + penalty
        gained = (g * g * under + rest * rest * over) / (over * under)
        gains[k] = gained if h >= least and other >= least else 0.0
    # Numbers ≥ 0 are ordered as their bits are, whose maximum is vectorised.
    most = np.int64(0)
    for k in range(len(sides)):
        bits = np.float64(gains[k]).view(np.int64)
        most = bits if bits > most else most
    return np.int64(most).view(np.float64)


@kernel
def _best_set(sums, kind, G, H, least, limits, bound, ratio, order, words):
    """Return the gain of the best set, which goes to the left; write its bins if that is more than `bound`.

    A set is a run from either end in the order of g / (h + `common`), of categories with at least that much
    curvature in the leaf, and of at most half of them; or a single category. `ratio` and `order` are
    scratch.
    """
    n, penalty, common = 0, limits.penalty, limits.common
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
    best, last, from_end, most = 0.0, -1, 0, (n + 1) // 2 if kind == SETS else n
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
    if best > bound:
        for word in range(4):
            words[word] = 0
        for k in range(last + 1 if kind == SETS else 1):
            code = order[(k if from_end == 0 else n - 1 - k) if kind == SETS else last]
            words[code >> 6] |= np.int64(1) << (code & 63)
    return best


@kernel
def add_leaves(nodes, rows, gradient, curvature, by_gradient, by_curvature, penalty, rate, value, scores):
    """Write the value of each leaf, by exact sums, and add it to scores; return whether one has changed."""
    changes = False
    for node in range(len(value)):
        value[node] = 0.0
        if nodes[node, CHILD] >= 0:
            continue
        of_leaf = rows[nodes[node, BEGIN] : nodes[node, END]]
        g, h = np.int64(0), np.int64(0)
        for i in range(len(of_leaf)):
            g += gradient[of_leaf[i]]
            h += curvature[of_leaf[i]]
        size = np.float64(h) * by_curvature + penalty
        value[node] = -rate * (np.float64(g) * by_gradient) / size if size > 0.0 else 0.0
        for i in range(len(of_leaf)):
            score = scores[of_leaf[i]]
            scores[of_leaf[i]] = score + value[node]
            changes |= scores[of_leaf[i]] != score
    return changes


@kernel
def place(growth, rows, leaf):
    """Bring documents into the order of the leaves, of which `leaf` has the node for each row."""
    filled = growth.nodes[:, BEGIN].copy()
    for i in range(len(rows)):
        node = leaf[rows[i]]
        growth.rows[filled[node]] = rows[i]
        filled[node] += 1
