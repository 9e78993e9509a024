"""Streams of RISC-V E-Trace of every shape that its parameters allow, of one encoder or several."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.decoders.riscv.encap_encoder import Writer, normal, null
from tests.decoders.riscv.etrace import Draw, Layout, packed, parameters_of, units
from tests.decoders.streams import Stream, Sync
from tests.decoders.streams.riscv_encap import forms
from tests.decoders.streams.riscv_encap import parameters_of as parameters_of_form


def extended(layout: Layout) -> tuple[int, int]:
    """The payload without the bits from its end on that say nothing new, as a (perhaps negative) number, and its bits."""
    number, bits = packed(layout)
    if number >> (bits - 1) & 1:
        number -= 1 << bits
    while bits > 1 and (number >> (bits - 2)) in (0, -1):
        bits -= 1
    return number, bits


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    form, unit = draw(forms().filter(lambda form: form.type_bits <= 2)), draw(units())
    sources = sorted({value & (1 << form.srcid_bits) - 1 for value in (0, 1, 5)})
    writer, syncs, reserved = Writer(form), [], []
    encoders = {source: Draw(draw, unit) for source in sources}
    room = 248 - form.srcid_bits % 8 - form.type_bits

    def add(source: int, layout: Layout) -> int | None:
        number, bits = extended(layout)
        if bits > room:
            return None
        held = bits + form.srcid_bits % 8 + form.type_bits
        bits += draw(st.sampled_from((0, -held % 8)))
        time = draw(st.none() | st.integers(0, (1 << 8 * form.ts_bytes) - 1)) if form.ts_bytes else None
        sign = -1 if number < 0 else 0
        return writer.packet(normal(form, number & (1 << bits) - 1, bits, channel=source, timestamp=time, padding=sign))

    def synchronise() -> None:
        """After this a decoder has the options and the address of every source."""
        start = len(writer.data)
        writer.synchronise()
        whole = True
        for source, encoder in encoders.items():
            whole &= add(source, encoder.support(0)) is not None
            whole &= add(source, encoder.start()) is not None
        if whole:
            syncs.append(Sync(start, len(writer.data)))

    if form.anywhere:
        writer.synchronise()
    for _ in range(draw(st.integers(0, 12))):
        what = draw(st.integers(0, 9))
        if what == 0:
            synchronise()
        elif what == 1 and not form.unframed:
            writer.packet(null(alignment=draw(st.booleans()), flow=draw(st.integers(0, 3))))
        else:
            source = draw(st.sampled_from(sources))
            before = encoders[source].ioptions
            layout, odd = encoders[source].any()
            place = add(source, layout)
            if place is None:
                encoders[source].ioptions = before
            elif odd:
                reserved.append(place)
    parameters = {**parameters_of_form(form), **parameters_of(unit)}
    return Stream(bytes(writer.data), parameters, tuple(syncs), tuple(reserved))
