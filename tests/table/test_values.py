"""Values of columns."""

from __future__ import annotations

import numpy as np

from ptttool.table.values import Strings, Values


def test_joined_strings_hold_shared_bytes_once() -> None:
    shared = np.frombuffer(b"abcdef", dtype=np.uint8)
    own = np.frombuffer(b"xyz", dtype=np.uint8)
    parts = [
        Strings(shared, np.array([0, -1]), np.array([2, 0])),
        Strings(own, np.array([1]), np.array([2])),
        Strings(shared, np.array([4]), np.array([2])),
        Strings.none(1),
    ]
    joined = Strings.join(parts)
    assert [joined[row] for row in range(len(joined))] == [b"ab", None, b"yz", b"ef", None]
    assert len(joined.data) == len(shared) + len(own)


def test_numbers_of_all_rows() -> None:
    numbers = np.array([7, 8, 9], dtype=np.uint8)
    assert Values(numbers, np.array([True, False, True])).filled(3, 255).tolist() == [7, 255, 9]
    assert Values(numbers, rows=np.array([0, 2, 3])).filled(5).tolist() == [7, 0, 8, 9, 0]
    assert Values(range(4, 10, 2)).filled(3).tolist() == [4, 6, 8]
    assert Values(None).filled(2, 1).tolist() == [1, 1]
