"""Sorting inside kernels, where NumPy's sort would cost seconds of compilation."""

from directrank.jit import kernel


@kernel
def sort_descending(s, order, spare):
    """Fill `order` with the places of s by descending value, stably; `spare` is as long as s."""
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
