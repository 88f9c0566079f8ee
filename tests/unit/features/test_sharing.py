"""What is computed once for several fits, and when it goes."""

import weakref

import numpy as np

from directrank.features.sharing import once, sharing


def test_a_result_goes_with_what_it_is_of():
    data = np.arange(6.0)
    with sharing():
        first = once("scaled", (data, "log"), lambda: data + 1.0)
        table = once("sums", (first, None, 3), np.zeros(2).copy)
        assert once("sums", (first, None, 3), lambda: 0) is table
        dead = [weakref.ref(first), weakref.ref(table)]
        del first, table

        def second() -> np.ndarray:
            assert [reference() for reference in dead] == [None, None]
            return data + 2.0

        assert once("scaled", (data, "standard"), second) is once("scaled", (data, "standard"), list)
        assert once("scaled", (data.copy(), "standard"), lambda: 7) == 7
