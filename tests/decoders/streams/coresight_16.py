"""Streams of CoreSight frames: in memory, and of a trace port."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.decoders.coresight.frames import FSYNC, frames, with_syncs
from tests.decoders.streams import Stream, Sync

IDS = (0x01, 0x10, 0x11, 0x6F, 0x7B, 0x7D)
RESERVED = (0x70, 0x7C, 0x7E)


def begins_with_id(frame: bytes) -> bool:
    """Whether all of a frame is known from itself."""
    return bool(frame[0] & 1 and not frame[15] & 1 and not frame.startswith(FSYNC))


@st.composite
def some_frames(draw: st.DrawFn) -> bytes:
    sources = st.sampled_from(IDS) | (st.sampled_from(RESERVED) if draw(st.integers(0, 3)) == 0 else st.sampled_from(IDS))
    chunks = draw(st.lists(st.tuples(sources, st.binary(min_size=1, max_size=40)), max_size=8))
    return frames(chunks, delay=draw(st.booleans()))


@st.composite
def in_memory(draw: st.DrawFn) -> Stream:
    data, syncs = bytearray(), []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            start = len(data)
            data += draw(st.integers(1, 3)) * 4 * FSYNC
            syncs.append(Sync(start, len(data)))
        start = len(data)
        data += draw(some_frames())
        syncs += [Sync(at, at) for at in range(start, len(data), 16) if begins_with_id(bytes(data[at : at + 16]))]
    return Stream(bytes(data), {}, tuple(syncs), reserved_in(bytes(data)))


def reserved_in(data: bytes) -> tuple[int, ...]:
    """First bytes of what reserved IDs have in each frame, by a reading of its own."""
    found: list[int] = []
    current: int | None = None
    for at in range(0, len(data), 16):
        frame = data[at : at + 16]
        if frame == 4 * FSYNC:
            current = None
            continue
        owners = [current] * 16
        now = current
        for place in range(0, 15, 2):
            if frame[place] & 1:
                now = frame[place] >> 1
                begin = 16 if place == 14 else place + 2 * (frame[15] >> place // 2 & 1)
                owners[begin:] = [now] * (16 - begin)
        found += [at + place for place in range(15) if owners[place] in RESERVED and (not place or owners[place - 1] != owners[place])]
        current = now
    return tuple(found)


@st.composite
def of_a_port(draw: st.DrawFn) -> Stream:
    # An ID in every frame's first byte, as every frame comes alone.
    contents = draw(st.lists(st.tuples(st.sampled_from(IDS), st.binary(min_size=1, max_size=9)), max_size=12))
    data = b"".join(frames([content]) for content in contents)
    halves = draw(st.sets(st.integers(0, max(len(data) // 2 - 1, 0)), max_size=12))
    every = draw(st.integers(1, 4))
    stream, syncs = with_syncs(data, sorted(halves), every)
    return Stream(stream, {"frames": "stream"}, tuple(Sync(start, end) for start, end in syncs))


def streams() -> st.SearchStrategy[Stream]:
    return in_memory() | of_a_port()
