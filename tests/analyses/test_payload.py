"""Sizes against a count, one TLP at a time; any cutting gives the same; the limits of a machine."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.payload.analysis import PayloadAnalysis
from ptttool.analyses.payload.document import Operation, PartialLines, Payload
from ptttool.api.machine import find_machine
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.units import LoadedTlpUnit
from ptttool.generate import tlps
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import open_source, require_machine
from ptttool.machine.model import PciFunctions
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents, Mode
from tests.reference import hisi_ptt as reference
from tests.support.captures import path_of
from tests.support.records import Words, loaded, packed, records_4dw, records_8dw
from tests.support.traffic import Traffic

CONTEXT = AnalysisContext("perf.data", Contents(Mode.RAW))
Key = tuple[str, str, str]


def key_of(row: dict[str, Any]) -> Key | None:
    """Requester, direction and operation of a TLP whose size is looked at."""
    kind = row["kind"]
    if kind not in ("MWr", "MRd", "MRdLk", "CplD", "CplDLk"):
        return None
    is_small = row["length_dw"] == 1
    read = "translation" if row["at"] == 1 else "read"
    operation = "completion" if kind.startswith("Cpl") else read if kind.startswith("MRd") else "small-write" if is_small else "write"
    return format_id(row["requester"]), row["direction"], operation


def written(row: dict[str, Any]) -> list[int]:
    """The address of each byte that a write writes."""
    enables = [row["first_be"], *[15] * (row["length_dw"] - 2), *([row["last_be"]] if row["length_dw"] > 1 else [])]
    return [row["address"] + 4 * dw + byte for dw, enabled in enumerate(enables) for byte in range(4) if enabled >> byte & 1]


def counted(rows: list[dict[str, Any]]) -> tuple[dict[Key, Counter[int]], dict[Key, list[int]], int]:
    """Sizes, counts (long headers, then alignment) and the number of other TLPs."""
    sizes: dict[Key, Counter[int]] = {}
    counts: dict[Key, list[int]] = {}
    others = 0
    for row in rows:
        key, size = key_of(row), 4 * (row["length_dw"] or 0)
        if key is None:
            others += 1
            continue
        operation = key[2]
        sizes.setdefault(key, Counter())[size] += 1
        seen = counts.setdefault(key, [0, 0, 0, 0] + [0] * 6)
        if operation == "completion":
            carried = size - row["lower_address"] % 4
            if row["byte_count"] > carried:
                end = row["lower_address"] + carried
                seen[1] += 1
                seen[2] += end % 64 == 0
                seen[3] += end % 128 == 0
            continue
        seen[0] += row["address"] >= 1 << 32
        if operation not in ("read", "translation"):
            # The bytes that are written, from the first to the last one; of none, where they would begin.
            last = size - 4
            bytes_ = [byte for byte in range(4) if row["first_be"] >> byte & 1]
            ends = [last + byte for byte in range(4) if (row["last_be"] if last else row["first_be"]) >> byte & 1]
            seen[1] += (row["address"] + (bytes_ or [0])[0]) % 64 == 0
            seen[2] += (row["address"] + (ends[-1] + 1 if ends else 0)) % 64 == 0
            for place, line in ((4, 64), (7, 128)):
                parts = [count for count in Counter(at // line for at in written(row)).values() if count < line]
                for number, amount in enumerate((bool(parts), len(parts), sum(parts))):
                    seen[place + number] += amount
    return sizes, counts, others


def check(result: Payload, rows: list[dict[str, Any]]) -> None:
    sizes, counts, others = counted(rows)
    assert result.other_tlps == others
    assert {(group.requester, group.direction, group.operation.value) for group in result.groups} == set(sizes)
    for group in result.groups:
        key = (str(group.requester), group.direction, group.operation.value)
        expected, (long, first, second, third, *partial) = sizes[key], counts[key]
        assert (group.tlps, group.bytes) == (expected.total(), sum(size * count for size, count in expected.items()))
        assert (group.smallest, group.largest) == (min(expected), max(expected))
        for extreme, index in ((group.smallest, group.smallest_index), (group.largest, group.largest_index)):
            assert index == next(number for number, row in enumerate(rows) if key_of(row) == key and 4 * row["length_dw"] == extreme)
        assert {int(size): count for size, count in group.sizes.items()}.items() <= expected.items()
        assert sum(group.sizes.values()) + group.other_sizes == sum(group.powers.values()) == group.tlps
        for power, count in group.powers.items():
            assert count == sum(number for size, number in expected.items() if int(power) <= size < 2 * int(power))
        is_write = key[2].endswith("write") and key[1] != "outbound"
        found_lines = None if group.partial is None else [(each.line, each.writes, each.lines, each.bytes) for each in group.partial]
        assert found_lines == ([(64, *partial[:3]), (128, *partial[3:])] if is_write else None)
        if key[2] in ("read", "translation"):
            assert group.efficiency is None and group.alignment is None
            continue
        assert group.efficiency == pytest.approx(group.bytes / (group.bytes + 20 * group.tlps + 4 * long))
        found = group.alignment
        assert found is not None
        if key[2] == "completion":
            assert (found.tlps, found.end_at_64, found.end_at_128) == (first, second, third)
        else:
            assert (found.tlps, found.begin_at_64, found.end_at_64) == (group.tlps, first, second)


def summed(words: list[Words], layout: Layout, start: int = 0) -> PayloadAnalysis:
    array = np.frombuffer(packed(words), dtype="<u4").reshape(-1, layout.dws)
    analysis = PayloadAnalysis()
    rows, _ = LoadedTlpUnit(loaded(array, layout)).decoded(start)
    analysis.update(rows.batch(PayloadAnalysis.columns))
    return analysis


@given(data=st.data(), eight_dw=st.booleans())
def test_any_records_in_any_parts(data: st.DataObject, eight_dw: bool) -> None:
    # All-zero records are no rows: those behind them would have other numbers.
    words: list[Words] = data.draw(st.lists((records_8dw() if eight_dw else records_4dw()).filter(any), max_size=40))
    layout = Layout(eight_dw)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(words)), max_size=3)))
    # All-zero records have no number.
    whole, *parts = [
        summed(words[start:stop], layout, sum(map(any, words[:start]))) for start, stop in zip([0, *cuts], [*cuts, len(words)], strict=True)
    ]
    for part in parts:
        whole.merge(pickle.loads(pickle.dumps(part)))
    result = whole.result(CONTEXT)
    assert result == summed(words, layout).result(CONTEXT)
    check(result, [row for _, row in reference.decode_bytes(packed(words), eight_dw=eight_dw)])


@pytest.mark.parametrize("name", ["6.12/s-8dw-ports-dir2", "6.12/s-4dw-ports-dir1", "6.12/m-4dw-port10-type7-dir2"])
def test_recordings(name: str, tmp_path: Path) -> None:
    path = path_of(name, tmp_path)
    with ptttool.open(path, parameters={"downstream": "01"}) as recording:
        result = recording.analyze("payload", jobs=2)
    check(result, list(reference.read_recording(path, {1})))


def test_a_disk_against_its_limits(tmp_path: Path) -> None:
    """Each read of 4096 bytes is 16 writes of 256 bytes, the MPS; an entry of 16 bytes is written, one of 64 fetched for each."""
    path = path_of("workloads/w-randread-8dw", tmp_path)
    source = open_source(None, True)
    machine = with_details(source, require_machine(source, tune=False))
    with ptttool.open(path) as recording:
        known, unknown = recording.analyze("payload", machine=machine), recording.analyze("payload")
    for result, is_known in ((known, True), (unknown, False)):
        write, read, small = result.groups
        assert (write.operation, write.sizes) == ("write", {"256": 64000, "16": 4000})
        assert (read.operation, read.sizes["64"]) == ("read", 4000)
        assert (small.operation, small.limit) == ("small-write", None)
        assert (write.limit.name, write.limit.bytes, write.limit.is_known) == ("MPS", 256, is_known)
        assert (read.limit.name, read.limit.bytes, read.limit.is_known) == ("MRRS", 512 if is_known else 64, is_known)
        assert write.at_limit == pytest.approx(64000 / 68000)
    assert [note.code for note in unknown.notes] == ["limits-unknown"]
    assert unknown.notes[0].details == {"largest": {"MPS": 256, "MRRS": 64}}


def test_lines_that_a_drive_fills_partly(tmp_path: Path) -> None:
    """4,000 commands of 4 KiB: data fill lines, and each completion entry of 16 bytes does not."""
    with ptttool.open(path_of("workloads/w-randread-8dw", tmp_path)) as recording:
        found = recording.analyze("payload")
    [writes] = [group for group in found.groups if group.operation is Operation.WRITE]
    assert writes.partial == [PartialLines(line, 4000, 4000, 64_000) for line in (64, 128)]


@pytest.mark.parametrize("form", ["4dw", "8dw"])
def test_requests_for_translations_are_no_reads(form: str) -> None:
    """A device asks 7 times for a translation of 8 bytes, and reads 3 times 64 bytes: 4DW records do not keep the difference."""
    made = Traffic(eight_dw=form == "8dw")
    for number in range(10):
        tlp = tlps.request(tlps.MRD, 0x0100, number, 0x1000 * number, 8 if number < 7 else 64)
        made.add(tlp._replace(dw0=tlp.dw0 | 1 << 10) if number < 7 else tlp, number)
    analysis = PayloadAnalysis()
    for batch in made.batches((4,), PayloadAnalysis.columns):
        analysis.update(batch)
    machine = find_machine(demo=True)
    translated = {address: replace(each, iommu="DMA") for address, each in machine.functions.items()}
    for functions, told in ((machine.functions, False), (PciFunctions(translated), form == "4dw")):
        found = analysis.result(AnalysisContext("made", CONTEXT.contents, machine=replace(machine, functions=functions)))
        groups = {group.operation.value: group.sizes for group in found.groups}
        assert groups == ({"read": {"8": 7, "64": 3}} if form == "4dw" else {"read": {"64": 3}, "translation": {"8": 7}})
        assert ("translations-in-reads" in [note.code for note in found.notes]) is told


def test_requesters_beyond_the_budget_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.analyses.payload.analysis.MAX_PAYLOAD_REQUESTERS", 2)
    from tests.support.records import eight

    words = [eight(0x40000004, requester << 16, 0x1000, 0) for requester in range(0x100, 0x105)]
    whole = summed(words[:2], Layout(True))
    whole.merge(summed(words[2:], Layout(True), 2))
    groups = {group.requester: group.tlps for group in whole.result(CONTEXT).groups}
    assert groups == {"01:00.0": 1, "01:00.1": 1, None: 3}
