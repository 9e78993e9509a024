"""Streams of RISC-V E-Trace with their program: any path through any program, of one hart or several."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.decoders.riscv.bits import Memory
from tests.decoders.riscv.encap_encoder import Writer, normal, null
from tests.decoders.riscv.etrace_encoder import Cycle, Encoder, Packet, Settings
from tests.decoders.riscv.random_programs import Hart, Program, program, watched
from tests.decoders.streams import Stream, Sync
from tests.decoders.streams.riscv_encap import forms
from tests.decoders.streams.riscv_encap import parameters_of as parameters_of_form

PROGRAMS = 24


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()  # gone when the process is


@functools.cache
def _program(number: int) -> tuple[Path, Program, Memory]:
    """One of a few programs; the even ones are of 64 bits."""
    made = program(Random(number), 20, bits64=number % 2 == 0)
    path = Path(_folder().name) / f"{number}.elf"
    return path, made, made.write(path)


@st.composite
def settings_of(draw: st.DrawFn, *, bits64: bool) -> Settings:
    """Encoders of all kinds."""
    return Settings(
        address_width=64 if bits64 else 32,
        address_lsb=draw(st.sampled_from((0, 1))),
        context_width=draw(st.sampled_from((0, 4))),
        time_width=draw(st.sampled_from((0, 0, 8))),
        irdepth_width=draw(st.sampled_from((0, 0, 3))),
        full_address=draw(st.booleans()),
        resync=draw(st.none() | st.integers(0, 3)),
        early=draw(st.booleans()),
        undefined=draw(st.sampled_from((0, 0x1234, 0xFFFF_FFFE))),
    )


@st.composite
def _walk(draw: st.DrawFn, code: Memory, made: Program) -> list[Cycle]:
    """A few steps; the first is an instruction that is traced."""
    chance = Random(draw(st.integers(0, 1 << 32)))
    hart = Hart(chance, code, made, calls_retire=chance.random() < 0.5, trap_chance=chance.choice((0.0, 0.05, 0.2)))
    run = hart.run(draw(st.integers(1, 25)))
    cycles = watched(chance, run, off=chance.choice((0.0, 0.05)), notify=chance.choice((0.0, 0.1)), context=0.05).cycles
    for number, cycle in enumerate(cycles):
        if cycle.retired and cycle.traced and (number == 0 or cycles[number - 1].trap is None):
            return list(cycles[number:])
    return []


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    form = draw(forms().filter(lambda form: form.type_bits <= 2))
    number = draw(st.integers(0, PROGRAMS - 1))
    path, made, code = _program(number)
    chosen = draw(settings_of(bits64=made.bits64))
    wrong = draw(st.integers(0, 4)) == 0  # the decoder is given another program
    if wrong:
        path = _program((number + 2) % PROGRAMS)[0]
    sources = sorted({value & (1 << form.srcid_bits) - 1 for value in draw(st.sampled_from(((0,), (0, 1))))})
    writer, syncs = Writer(form), []

    def add(source: int, packet: Packet) -> None:
        payload = int.from_bytes(packet.payload, "little", signed=True)
        bits = max((payload if payload >= 0 else ~payload).bit_length() + 1, 1)
        sign = -1 if payload < 0 else 0
        time = draw(st.none() | st.integers(0, (1 << 8 * form.ts_bytes) - 1)) if form.ts_bytes else None
        writer.packet(normal(form, payload & (1 << bits) - 1, bits, channel=source, timestamp=time, padding=sign))

    if form.anywhere:
        writer.synchronise()
    for _ in range(draw(st.integers(0, 4))):
        walks = {source: Encoder(chosen).encode(draw(_walk(code, made))) for source in sources}
        if draw(st.booleans()):
            start = len(writer.data)
            writer.synchronise()
            # A support packet and one of format 3.0: after these a decoder has everything it needs.
            for source, packets in walks.items():
                for packet in packets[:2]:
                    add(source, packet)
            if all(len(packets) > 1 and packets[1].sync for packets in walks.values()):
                syncs.append(Sync(start, len(writer.data)))
            walks = {source: packets[2:] for source, packets in walks.items()}
        while any(walks.values()):
            source = draw(st.sampled_from([source for source, packets in walks.items() if packets]))
            add(source, walks[source].pop(0))
            if draw(st.integers(0, 19)) == 0 and not form.unframed:
                writer.packet(null(alignment=draw(st.booleans()), flow=draw(st.integers(0, 3))))
    parameters = {**parameters_of_form(form), **chosen.parameters(), "elf": str(path)}
    return Stream(bytes(writer.data), parameters, tuple(syncs), bad=wrong)
