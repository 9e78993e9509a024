"""CoreSight frames against a plain reading of the format, and a recording of a real board."""

from __future__ import annotations

import gzip
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.coresight.deformat import NO_ID, deformat
from tests import ROOT
from tests.decoders.coresight.frames import FSYNC, frames, taken_apart
from tests.decoders.streams import Stream, elements

JUNO = ROOT.parent / "shared" / "vectors" / "opencsd"


@given(data=st.binary(max_size=40).map(lambda seed: seed * 16), current=st.sampled_from((NO_ID, 0x10)))
def test_any_frames_against_the_plain_reading(data: bytes, current: int) -> None:
    taken = deformat(np.frombuffer(data, dtype=np.uint8), current)
    found = {}
    for number, values, mine in taken.streams():
        found.update({int(at): (number, int(value)) for at, value in zip(np.flatnonzero(mine), values, strict=True)})
    plain = taken_apart(data, None if current == NO_ID else current)
    assert found == {at: (NO_ID if number is None else number, value) for at, number, value in plain}


@given(
    st.lists(st.tuples(st.sampled_from((1, 0x10, 0x6F)), st.binary(max_size=50)), max_size=10),
    st.booleans(),
)
def test_what_was_put_in_comes_out(chunks: list[tuple[int, bytes]], delay: bool) -> None:
    taken = deformat(np.frombuffer(frames(chunks, delay=delay), dtype=np.uint8))
    wanted: dict[int, bytes] = {}
    for number, data in chunks:
        wanted[number] = wanted.get(number, b"") + data
    found = {number: data.tobytes() for number, data, _ in taken.streams() if number}
    assert found == {number: data for number, data in wanted.items() if data}


def test_one_frame_by_hand() -> None:
    """ID 10 at once; ID 11 one byte late; byte 14 with an ID for the next frame."""
    frame = bytes([0x21, 0xA0, 0x02, 0xA1, 0x23, 0xA2, 0x04, 0xB0, 0x06, 0xB1, 0x08, 0xB2, 0x0A, 0xB3, 0x21, 0b0110_0110])
    found = elements("coresight-16", Stream(frame + frame))
    shown = [(each.index, each.size, each.channel, each.fields["payload"].hex()) for each in found]
    first = [(0, 6, 0x10, "a003a1a2"), (6, 10, 0x11, "04b006b109b20bb3")]
    assert shown == [*first, *((index + 16, size, channel, payload) for index, size, channel, payload in first)]


def test_filling_of_perf_ends_what_an_id_means() -> None:
    data = frames([(0x10, b"0123")]) + 8 * FSYNC + bytes([0x02] * 15 + [0])
    found = elements("coresight-16", Stream(data))
    assert [(each.kind, each.size) for each in found[-2:]] == [("custom", 32), ("no_sync", 16)]
    assert found[-1].fields["reason"] == "reset"


@pytest.mark.skipif(not JUNO.is_dir(), reason="the recordings of others do not come with the project")
def test_a_recording_of_a_board() -> None:
    """Six sources: OpenCSD's own listing has as many bytes of each."""
    data = (JUNO / "juno_r1_1" / "cstrace.bin").read_bytes()
    found = elements("coresight-16", Stream(data), (1000, 1001, 40000))
    sizes: Counter[int | None] = Counter()
    for each in found:
        if each.fields.get("packet") == "data":
            sizes[each.channel] += len(each.fields["payload"])
    listed: Counter[int] = Counter()
    with gzip.open(JUNO / "juno_r1_1.ppl.gz", "rt") as file:
        for line in file:
            packet = re.match(r"Idx:\d+; ID:([0-9a-f]+); \[([^\]]*)\]", line)
            if packet:
                listed[int(packet[1], 16)] += len(packet[2].split())
    assert sizes == listed
    assert sizes[0x10] == 55273
    # The first ID stands at 86; OpenCSD has its first packet there.
    assert (found[0].kind, found[0].size, found[1].index, found[1].channel) == ("no_sync", 86, 86, 0x10)
