"""A model of the PTT device whose truth is known: it records coded reads as the event asks, rightly or with one thing wrong.

As a program (``python -m tests.selftest.device EVENT READS OUTPUT WRONG BEGIN END``) it writes what the stand-in perf is to have recorded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.explain import explain, terms_for
from ptttool.capture.event.parse import parse_event, pmu_of
from ptttool.capture.event.terms import Format
from ptttool.machine.model import FilterKind
from ptttool.pci import PciAddress
from ptttool.perfdata import writer
from ptttool.recording.auxtrace import DMA_BUFFER, HISI_PTT
from ptttool.selftest.coded_reads import gaps, offsets
from tests.support.records import eight, four, packed

CFGRD0, CPLD, MRD = 0x04, 0x4A, 0x00
# A completion for the function; the others are for the processor.
OWN_CPLD = 0x100 | CPLD
PMU_TYPE = 11
FUNCTION = PciAddress.parse("0000:01:00.0")
PORT_BITS = 0x80001
BEGIN = 1_000_000_000


@dataclass(frozen=True)
class Device:
    """The device, and what is wrong with it.

    Attributes
    ----------
    tick_ns, small_tick_ns : float
        Of 8DW, and of 4DW.
    model : str
        ``counter``, ``delta`` or ``full`` (differences that stay at their largest value).
    requester : int
        The requester of the processor's reads.
    completions : int
        The direction that records completions of the processor: 3 (CPL A) or 2.
    """

    tick_ns: float = 4.0007
    small_tick_ns: float = 4.0007
    model: str = "counter"
    requester: int = 0
    completions: int = 3
    first_be: int = 15
    so: int = 0
    reserved: int = 0
    swapped: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    strangers: Mapping[int, Sequence[int]] = field(default_factory=dict)
    any_port: bool = False
    any_requester: bool = False
    padding: int = 0
    late: bool = False

    def wrong(self, name: str) -> Device:
        """The same with one thing wrong."""
        return replace(self, **WRONG[name])

    def record(self, event: Explanation, made: Mapping[str, Any], path: Path) -> None:
        """Write the recording of an event while reads were made."""
        rows = self._passed(event, made["reads"]) if self._selects(event) else []
        if event.kind is FilterKind.REQUESTER and event.filter == FUNCTION.routing_id:
            rows = sorted([*rows, *self._own(made["reads"])])
        is_8dw = event.format is Format.DW8
        tick = self.tick_ns if is_8dw else self.small_tick_ns
        bits = 32 if is_8dw else 11
        records, last = [], 0
        for at, kind, offset, tag in rows:
            now = int(at / tick)
            time = now % (1 << bits)
            if self.model != "counter":
                time = min(now - last, (1 << bits) - 1) if self.model == "full" else (now - last) % (1 << bits)
            last = now
            records.append(self._words(kind, offset, tag, time, is_8dw=is_8dw))
        data = packed(records)
        if self.padding:
            data += packed([self._words(MRD, 0, 0, 0, is_8dw=is_8dw)]) * (self.padding // (32 if is_8dw else 16))
        write(path, event, data, late=self.late)

    def _selects(self, event: Explanation) -> bool:
        if event.kind is FilterKind.REQUESTER:
            return self.any_requester or event.filter == self.requester
        return self.any_port or bool(event.filter & PORT_BITS & 0xFFFF)

    def _passed(self, event: Explanation, reads: Sequence[tuple[int, str, int, int]]) -> list[tuple[int, int, int, int]]:
        """What passes and is recorded: moment, kind, register and tag."""
        direction, is_8dw = event.fields["direction"], event.format is Format.DW8
        outbound = direction == 1 or not is_8dw
        inbound = direction == self.completions or (direction == 0 and not is_8dw)
        outbound = outbound and direction != 0
        rng = np.random.default_rng(1)
        rows: list[tuple[int, int, int, int]] = []
        for number, (offset, _, before, after) in enumerate(reads):
            if number in self.lost:
                continue
            rows += [(before, CFGRD0, other, 200) for other in self.strangers.get(number, ())]
            middle = (before + after) // 2 - int(rng.integers(0, max((after - before) // 16, 1)))
            pair = []
            if outbound and "np" in event.types:
                pair.append((middle, CFGRD0, offset, number % 200))
            if inbound and "cpl" in event.types:
                pair.append((middle + (after - before) // 8, CPLD, 0, number % 200))
            if number in self.swapped and len(pair) == 2:
                pair = [(pair[0][0], *pair[1][1:]), (pair[1][0], *pair[0][1:])]
            rows += pair
        return rows

    def _own(self, reads: Sequence[tuple[int, str, int, int]]) -> list[tuple[int, int, int, int]]:
        """What the function itself asks for, and what it is answered."""
        at = [each[2] for each in reads[::7]]
        return [(moment + later, kind, 0, 77) for moment in at for later, kind in ((0, MRD), (300, OWN_CPLD))]

    def _words(self, kind: int, offset: int, tag: int, time: int, *, is_8dw: bool) -> tuple[int, ...]:
        if kind == CFGRD0:
            header = self.requester << 16 | tag << 8 | self.first_be, FUNCTION.routing_id << 16 | offset, 0
        elif kind == MRD:
            header = FUNCTION.routing_id << 16 | tag << 8 | 15, 0x1000, 0
        elif kind == OWN_CPLD:
            kind, header = CPLD, (4, FUNCTION.routing_id << 16 | tag << 8, 0)
        else:
            header = FUNCTION.routing_id << 16 | 4, self.requester << 16 | tag << 8, 0
        if is_8dw:
            words = eight(kind << 24 | 1, *header, time=time)
            return (*words[:6], self.reserved, words[7])
        return four(kind, *header, time=time, so=self.so)


WRONG: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "delta": {"model": "delta"},
    "full": {"model": "full"},
    "small-tick": {"small_tick_ns": 4.4},
    "order": {"swapped": (7, 40)},
    "requester": {"requester": 0x80},
    "completions": {"completions": 2},
    "fields": {"first_be": 14},
    "reserved": {"reserved": 5},
    "lost": {"lost": (20, 21)},
    "any-port": {"any_port": True},
    "any-requester": {"any_requester": True},
    "late": {"padding": 3 * DMA_BUFFER, "late": True},
    "early": {"padding": 3 * DMA_BUFFER},
    "so": {"so": 1},
    "strangers": {"strangers": {5: tuple(range(0, 64, 4)), 90: (0, 4, 8)}},
}


def make_reads(count: int, took: tuple[int, int] = (900, 2500)) -> dict[str, Any]:
    """Readings as a machine makes them whose reads take so many nanoseconds, least and most."""
    rng = np.random.default_rng(3)
    now, reads = 5_000_000_000, []
    for offset, gap in zip(offsets(), gaps(count), strict=False):
        after = now + int(rng.integers(*took))
        reads.append((offset, "00000000", now, after))
        now = after + 60 + int(gap * 1e9)
    columns = ["offset", "data", "before_ns", "after_ns"]
    return {"bdf": str(FUNCTION), "clock": "CLOCK_MONOTONIC", "columns": columns, "reads": reads, "problem": None}


def explained(event: str) -> Explanation:
    """What an event string traces."""
    return explain(parse_event(event, terms_for(pmu_of(event), None)).config, pmu=pmu_of(event))


def write(path: Path, event: Explanation, data: bytes, *, late: bool) -> None:
    """Write a perf.data, whose driver commits each buffer as it is full, or all at the end."""
    said = writer.Event(f"{event.device}/config={event.config:#x}/", PMU_TYPE, event.config, (0,))
    sizes = [len(data)] if late else [min(DMA_BUFFER, len(data) - start) for start in range(0, len(data), DMA_BUFFER)]

    def parts() -> list[bytes | int]:
        made: list[bytes | int] = [writer.beginning(said, HISI_PTT, (PMU_TYPE,)), writer.comm(said, "load", BEGIN)]
        offset = 0
        for number, size in enumerate(sizes):
            made.append(writer.aux(said, offset, size, BEGIN + 1000 * (number + 1), 0))
            offset += size
        if data:
            made += [writer.auxtrace(said, 0, len(data), 0, 1), len(data)]
        return [*made, writer.exit_of(said, BEGIN + 1_000_000)]

    features = {
        "hostname": writer.string("secret-host"),
        "osrelease": writer.string("6.12.0"),
        "version": writer.string("6.12.0"),
        "arch": writer.string("aarch64"),
        "event_desc": writer.event_desc(said),
        "pmu_mappings": writer.pmu_mappings({PMU_TYPE: event.device or "hisi_ptt0_0"}),
    }
    with path.open("wb") as file:
        writer.write(file, said, features, parts, writer.supply_of(iter([memoryview(data)])))


def main(event: str, reads: str, output: str, wrong: str, begin: str = "0", end: str = str(1 << 62)) -> None:
    """Record the reads that were made while the event was on."""
    made = json.loads(Path(reads).read_text(encoding="utf-8"))
    made["reads"] = [each for each in made["reads"] if int(begin) <= each[2] and each[3] <= int(end)]
    Device().wrong(wrong).record(explained(event), made, Path(output))


if __name__ == "__main__":
    main(*sys.argv[1:])
