"""Streams of RISC-V packet encapsulation, of every shape that the parameters allow."""

from __future__ import annotations

from hypothesis import strategies as st

from ptttool.decoders.riscv.encap.framing import LENGTH, EncapSettings
from tests.decoders.riscv.encap_encoder import Writer, normal, null
from tests.decoders.streams import Stream, Sync


def parameters_of(form: EncapSettings) -> dict[str, str]:
    return {name: str(getattr(form, name)) for name in ("srcid_bits", "ts_bytes", "type_bits", "block_size", "sync", "start")}


def forms() -> st.SearchStrategy[EncapSettings]:
    return st.builds(
        EncapSettings,
        srcid_bits=st.sampled_from((0, 0, 4, 6, 8, 11, 16)) | st.integers(0, 16),
        ts_bytes=st.integers(0, 8),
        type_bits=st.sampled_from((0, 0, 1, 2, 9)),
        sync=st.sampled_from(("framed", "unframed")),
        block_size=st.sampled_from((0, 0, 48, 64, 100)),
        start=st.sampled_from(("packet", "anywhere")),
    )


@st.composite
def packets(draw: st.DrawFn, form: EncapSettings) -> bytes:
    """One packet, any of its fields anything."""
    room = 248 - form.srcid_bits % 8 - form.type_bits
    least = 1 if form.srcid_bits % 8 + form.type_bits == 0 else 0
    bits = draw(st.integers(least, 40) | st.integers(least, room))
    return normal(
        form,
        draw(st.integers(0, (1 << bits) - 1)),
        bits,
        flow=draw(st.integers(0, 3)),
        channel=draw(st.integers(0, (1 << form.srcid_bits) - 1) | st.integers(0, min(2, (1 << form.srcid_bits) - 1))),
        timestamp=draw(st.none() | st.integers(0, (1 << 8 * form.ts_bytes) - 1)) if form.ts_bytes else None,
        type=draw(st.integers(0, (1 << form.type_bits) - 1)),
        padding=draw(st.sampled_from((0, -1))),
    )


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    form = draw(forms())
    writer = Writer(form)
    syncs = []
    if form.anywhere:
        syncs.append(Sync(0, writer.synchronise()))
    reserved = []
    for _ in range(draw(st.integers(0, 30))):
        what = draw(st.integers(0, 9))
        if what == 0:
            start = len(writer.data)
            syncs.append(Sync(start, writer.synchronise()))
        elif what == 1 and not form.unframed:
            for _ in range(draw(st.integers(1, 5))):
                writer.packet(null(alignment=draw(st.booleans()), flow=draw(st.integers(0, 3))))
        elif what == 1:
            writer.pad(draw(st.integers(1, 5)))
        elif what == 2 and form.type_bits > 8:  # shorter than its own type field
            rest = form.srcid_bits // 8 + 1
            reserved.append(writer.packet(bytes([1, *draw(st.binary(min_size=rest, max_size=rest))])))
        else:
            writer.packet(draw(packets(form)))
    if form.block_size:
        # Where a run of null packets goes on into a block it began before it, damaged or not.
        block_starts = range(form.block_size, len(writer.data), form.block_size)
        syncs += [Sync(start, start) for start in block_starts if writer.data[start] & LENGTH]
    return Stream(bytes(writer.data), parameters_of(form), tuple(sorted(syncs, key=lambda sync: sync.end)), tuple(reserved))
