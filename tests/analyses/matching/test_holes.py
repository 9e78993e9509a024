"""Every sign of loss that has a place in the AUX stream is a hole: nothing is matched across it, and no time passes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.generate import tlps
from ptttool.perfdata.model import AUX_OVERWRITE, AUX_PARTIAL, AUX_TRUNCATED
from tests.support import captures
from tests.support.recordings import build_perfdata
from tests.support.traffic import Traffic

SIZE = 16
LOST = range(1000, 1200)
# 4DW, root port, all types, both directions.
CONFIG = 0x0720_0000 | 0x80001


def reads() -> bytes:
    """Reads of 32 tags, each of which is answered some TLPs later."""
    made, waiting = Traffic(eight_dw=False), []
    for number in range(1100):
        time = 100 * number
        made.add(tlps.request(tlps.MRD, 0x0100, number % 32, 0x1000, 128), time)
        waiting.append(number % 32)
        if len(waiting) > 8:
            tag = waiting.pop(0)
            made.add(tlps.completion(tlps.CPLD, 0, 0x0100, tag, size=128, byte_count=128), time + 50)
    return b"".join(struct.pack("<4I", *words) for _, _, words in made.records)


Event = tuple[int, int, int]
"""Offset, size and flags of an AUX event."""


def results(folder: Path, events: Sequence[Event], payloads: Sequence[tuple[int, bytes]], jobs: int = 1) -> dict[str, Any]:
    path = folder / "made.data"
    aux = [(0, offset, size, flags, 10**9 + number) for number, (offset, size, flags) in enumerate(events)]
    path.write_bytes(build_perfdata([(0, *each) for each in payloads], config=CONFIG, name="hisi_ptt0_0//", aux_events=aux))
    with ptttool.open(path) as recording:
        errors, latency, bandwidth = (recording.analyze(name, jobs=jobs) for name in ("errors", "latency", "bandwidth"))
    return {
        "errors": {kind.code: kind.count for kind in errors.kinds},
        "unmatched": latency.unmatched,
        "ticks": latency.ticks,
        "holes": bandwidth.time.holes,
        "elapsed": bandwidth.time.elapsed_ticks,
        "idle": bandwidth.idle,
    }


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_loss_is_the_same_whatever_shows_it(jobs: int, tmp_path: Path) -> None:
    data = reads()
    head, tail = data[: LOST.start * SIZE], data[LOST.stop * SIZE :]
    both, cut = head + tail, len(head)
    gap = results(tmp_path, [(0, cut, 0), (cut + 4096, len(tail), 0)], [(0, head), (cut + 4096, tail)], jobs)
    assert gap["holes"] == 1
    assert not gap["errors"]
    signs: dict[str, list[Event]] = {
        "restart": [(0, cut, 0), (cut, len(tail), 0)],
        "truncated": [(0, cut, AUX_TRUNCATED), (cut, len(tail), 0)],
        "overwritten": [(0, cut, 0), (cut, len(tail), AUX_OVERWRITE)],
        "empty": [(0, cut, 0), (cut, 0, AUX_TRUNCATED), (cut, len(tail), 0)],
    }
    for name, events in signs.items():
        for payloads in ([(0, both)], [(0, head), (cut, tail)], [(0, both[: cut + 800]), (cut + 800, both[cut + 800 :])]):
            assert results(tmp_path, events, payloads, jobs) == gap, name
    # A cut that leaves no sign.
    unseen = results(tmp_path, [(0, len(both), 0)], [(0, both)], jobs)
    assert unseen["holes"] == 0
    assert unseen["errors"]
    # Gaps somewhere in the bytes of an event: both of its ends.
    inside = results(
        tmp_path, [(0, cut, 0), (cut, SIZE * 100, AUX_PARTIAL), (cut + SIZE * 100, len(tail) - SIZE * 100, 0)], [(0, both)], jobs
    )
    assert inside["holes"] == 2


def test_whole_buffers_are_committed_without_a_hole(tmp_path: Path) -> None:
    buffer = 4 << 20
    data = reads()
    data = (data * (2 * buffer // len(data) + 1))[: 2 * buffer + 4096]
    events = [(0, buffer, 0), (buffer, buffer, 0), (2 * buffer, 4096, 0)]
    assert results(tmp_path, events, [(0, data)])["holes"] == 0
    assert results(tmp_path, [(0, 2 * buffer, 0), (2 * buffer, 4096, 0)], [(0, data)])["holes"] == 0


@pytest.mark.parametrize(
    ("name", "holes"),
    [
        ("6.1/x-compress-z", 0), ("6.12/m-4dw-port10-type7-dir2", 0), ("6.12/x-with-cpu-clock", 0), ("6.12/x-pipe", 0),
        ("workloads/w-randread-8dw", 0), ("faults/filter-not-in-force", 0), ("faults/cpu-went-offline", 1),
    ],
)  # fmt: skip
def test_holes_of_real_recordings(name: str, holes: int, tmp_path: Path) -> None:
    with ptttool.open(captures.path_of(name, tmp_path)) as recording:
        assert recording.analyze("bandwidth").time.holes == holes
