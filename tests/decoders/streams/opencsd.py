"""ETMv4 trace without frames, and of several sources in frames. Without memory: every range is an address that cannot be read."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.decoders.coresight.frames import FSYNC, frames
from tests.decoders.opencsd import etm4
from tests.decoders.streams import Stream, Sync

ADDRESSES = st.integers(0, (1 << 62) - 1).map(lambda value: value << 2)


@st.composite
def trace(draw: st.DrawFn) -> bytes:
    """From synchronisation on."""
    data = etm4.SYNC + etm4.INFO + etm4.ON + etm4.address(draw(ADDRESSES))
    packets = st.one_of(
        st.sampled_from([etm4.EXECUTED, etm4.NOT_EXECUTED, etm4.RETURN, b"\xf8", b"\xdb"]),
        ADDRESSES.map(etm4.address_alone),
        ADDRESSES.map(etm4.address),
        st.integers(0, (1 << 64) - 1).map(etm4.timestamp),
        st.tuples(st.integers(1, 31), ADDRESSES).map(lambda drawn: etm4.exception(*drawn)),
    )
    for _ in range(draw(st.integers(0, 8))):
        data += draw(packets)
    return data


@st.composite
def alone(draw: st.DrawFn) -> Stream:
    # What comes before the first synchronisation is of a trace that began earlier.
    before = draw(st.just(b"") | st.binary(min_size=1, max_size=20).map(lambda data: data.replace(b"\0", b"\xf7")))
    return Stream(before + draw(trace()), {**etm4.PARAMETERS, "framing": "none"})


@st.composite
def behind_frames(draw: st.DrawFn) -> Stream:
    data, syncs = b"", []
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            syncs.append(Sync(len(data), len(data) + 16))
            data += 4 * FSYNC
        first, second = draw(trace()), draw(trace())
        cut = draw(st.integers(0, len(first)))
        data += frames([(0x10, first[:cut]), (0x11, second), (0x10, first[cut:])], delay=draw(st.booleans()))
    return Stream(data, etm4.PARAMETERS, tuple(syncs))


def streams() -> st.SearchStrategy[Stream]:
    return alone() | behind_frames()
