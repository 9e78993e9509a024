"""Names of NVMe registers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.machine.nvme import Doorbell, doorbell_of, dstrd_of, register_name


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0x00, "CAP"), (0x04, "CAP, upper half"), (0x08, "VS"), (0x14, "CC"), (0x1C, "CSTS"), (0x24, "AQA"), (0x28, "ASQ"),
        (0x34, "ACQ, upper half"), (0x38, "CMBLOC"), (0xE18, "PMRMSCU"), (0x1000, "SQ 0 tail doorbell"), (0x1004, "CQ 0 head doorbell"),
        (0x1008, "SQ 1 tail doorbell"), (0x100C, "CQ 1 head doorbell"),
        # Reserved, not a multiple of the distance, and where an MSI-X table may be.
        (0x18, None), (0x6C, None), (0x02, None), (0x1001, None), (0x2000, None), (-4, None), (1 << 63, None),
    ],
)  # fmt: skip
def test_names(offset: int, name: str | None) -> None:
    assert register_name(offset) == name


@given(st.integers(0, 0xFFFF), st.booleans(), st.integers(0, 15))
def test_doorbells_of_all_queues(queue: int, is_completion: bool, dstrd: int) -> None:
    """The formula of the specification, read literally."""
    offset = 0x1000 + (2 * queue + (1 if is_completion else 0)) * (4 << dstrd)
    assert doorbell_of(offset, dstrd) == Doorbell(queue, is_completion)
    word = "CQ {} head doorbell" if is_completion else "SQ {} tail doorbell"
    assert register_name(offset, dstrd, end=1 << 40) == word.format(queue)
    assert doorbell_of(offset + 1, dstrd) is None


def test_no_doorbell_behind_the_last_queue() -> None:
    assert doorbell_of(0x1000 + 2 * 0x10000 * 4) is None


@given(st.sets(st.integers(0, 20), min_size=2), st.integers(0, 3))
def test_distance_from_offsets(queues: set[int], dstrd: int) -> None:
    """Both doorbells of two queues or more tell the distance, wherever it could be told at all."""
    offsets = [0x1000 + (2 * queue + side) * (4 << dstrd) for queue in queues for side in (0, 1)]
    assert dstrd_of(offset for offset in [*offsets, 0x14] if offset < 0x2000) == dstrd


@pytest.mark.parametrize("offsets", [[], [0x1000], [0x1008, 0x1010], [0x1008, 0x1018, 0x1028, 0x1038], [0x1000, 0x1010, 0x1020, 0x1028]])
def test_too_little_for_a_distance(offsets: list[int]) -> None:
    """Tail doorbells alone, as of shadow doorbells, are no evidence of a larger distance."""
    assert dstrd_of(offsets) == 0
