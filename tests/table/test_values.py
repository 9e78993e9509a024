"""Values of columns."""

from __future__ import annotations

import numpy as np

from ptttool.table.values import Strings


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
