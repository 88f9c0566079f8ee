"""Sorting inside kernels, where NumPy's sort would take seconds to compile."""

from directrank.kernels.compile import inline_kernel

# Up to this length counting, which vectorises, is faster than merging.
LONGEST_COUNTED = 512


@inline_kernel
def sort_descending(s, order, spare):
    """Fill `order` with the indices of s by descending value, stably; `spare` is a scratch array."""
    if len(s) <= LONGEST_COUNTED:
        _count(s, order)
    else:
        _merge(s, order, spare)


@inline_kernel
def _count(s, order):
    for i in range(len(s)):
        ahead, value = 0, s[i]
        before, after = s[:i], s[i:]
        for j in range(len(before)):
            ahead += before[j] >= value
        for j in range(len(after)):
            ahead += after[j] > value
        order[ahead] = i


@inline_kernel
def _merge(s, order, spare):
    n = len(s)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            a, b = low, middle
            for k in range(low, high):
                if a < middle and (b >= high or s[order[a]] >= s[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        for k in range(n):
            order[k] = spare[k]
        width *= 2
