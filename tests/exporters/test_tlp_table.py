"""Lines of TLPs for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.documents import Hex
from ptttool.exporters.tables.columns import ColumnLayout
from ptttool.exporters.tables.tlp import LINE_COLUMNS, WITH_INDEX, WITH_NAMES, WITH_TAG, TlpLayout
from ptttool.machine.model import Bar, Hex16, Hex24, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress
from ptttool.tlp.columns import ALL_COLUMNS, DIRECTIONS, TLP_SCHEMA
from tests.support import captures
from tests.support.records import Words, decode_block, eight, four, packed
from tests.support.rows import Read

MACHINE = Machine(
    origin="a test",
    functions=PciFunctions(
        {
            address: PciFunction(address, Hex16(0x1B36), Hex16(0x10), Hex24(0x010802), "a drive", kernel_names=names)
            for address, names in ((PciAddress(0, 1, 0, 0), ("nvme0", "nvme0n1")), (PciAddress(0, 2, 0, 0), ()))
        }
    ),
)


def frame_of(records: Sequence[Words], columns: Sequence[str] = LINE_COLUMNS) -> pl.DataFrame:
    words = np.frombuffer(packed(records), dtype="<u4").reshape(len(records), -1)
    return decode_block(words, Layout(eight_dw=words.shape[1] == 8), columns)


def cells_of(record: Words, machine: Machine | None = None, width: int | None = None) -> list[str]:
    """The cells of a line; empty ones are lost."""
    _, lines = TlpLayout(machine, width).table(frame_of([record]))
    return re.split(r" {2,}", lines[0].strip())


ID, MEMORY = 0x0100_0000, 0x2000_1000
LINES: list[tuple[str, Words, list[str]]] = [
    ("MWr", eight(0x40000004, ID | 0x1EFF, MEMORY, 0), ["?", "MWr", "01:00.0", "30", "16", "0x20001000"]),
    ("MWr 64", eight(0x60000001, ID | 0x1E0F, 0x12, 0x3450), ["?", "MWr", "01:00.0", "30", "4", "0x1200003450"]),
    ("MRd", eight(0x00000000, ID | 0x1EFF, MEMORY, 0), ["?", "MRd", "01:00.0", "30", "4096", "0x20001000"]),
    ("partial", eight(0x40000002, ID | 0x1E3C, MEMORY, 0), ["?", "MWr", "01:00.0", "30", "8", "0x20001000", "BE 0011 1100"]),
    ("flush", eight(0x00000001, ID, MEMORY, 0), ["?", "MRd", "01:00.0", "0", "0", "0x20001000", "BE 0000 0000"]),
    ("CfgRd0", eight(0x04000001, 0x0000_010F, 0x0100_0010, 0), ["out", "CfgRd0", "00:00.0", "1", "4", "01:00.0 reg 0x10"]),
    ("CplD", eight(0x4A000010, 0x0080_0040, 0x0100_0500, 0), ["?", "CplD", "01:00.0", "5", "64", "by 00:10.0", "SC, last"]),
    ("Cpl UR", eight(0x0A000000, 0x0080_2004, 0x0100_0500, 0), ["?", "Cpl", "01:00.0", "5", "0", "by 00:10.0", "UR"]),
    ("Msg", eight(0x34000000, ID | 0x0020, 0, 0), ["in", "Msg", "01:00.0", "0", "0", "Assert_INTA"]),
    ("Msg unnamed", eight(0x34000000, ID | 0x00EE, 0, 0), ["?", "Msg", "01:00.0", "0", "0", "message 0xee"]),
    ("Msg by ID", eight(0x32000000, ID | 0x0002, 0x0200_0000, 0), ["in", "Msg", "01:00.0", "0", "0", "Invalidate Completion to 02:00.0"]),
    ("TPH", eight(0x40010001, ID | 0x120F, MEMORY | 2, 0), ["?", "MWr", "01:00.0", "4", "0x20001000", "TH ST 0x12 PH 2"]),
    ("poisoned", eight(0x40004001, ID | 0x0F, MEMORY, 0), ["?", "MWr", "01:00.0", "0", "4", "0x20001000", "poisoned"]),
    (
        "PASID",
        eight(0x40000001, ID | 0x0F, MEMORY, 0, prefix=0x91000007),
        [*"? MWr 01:00.0 0 4 0x20001000".split(), "prefix 0x91000007"],
    ),
    ("flit code", eight(0x03000001, 1, 2, 3), ["Unknown", "words 03000001 00000001 00000002 00000003"]),
    ("no record", eight(0x40000001, 1, 2, 3, check=5), ["Unknown", "words 40000001 00000001 00000002 00000003"]),
    ("4DW", four(0x60, ID | 0x1E0F, 0, MEMORY, t8=1), ["?", "MWr", "01:00.0", "286", "4", "0x20001000"]),
    ("4DW unknown", four(0x1F, 1, 2, 3), ["Unknown", "words 3e000801 00000001 00000002 00000003"]),
]


@pytest.mark.parametrize(("record", "cells"), [line[1:] for line in LINES], ids=[line[0] for line in LINES])
def test_a_line_says_what_a_tlp_is(record: Words, cells: list[str]) -> None:
    index, *rest = cells_of(record)
    assert index == "0"
    if record[:1] != (5,):
        time, *rest = rest
        assert time == "1"
    assert rest == cells


def test_names_where_the_machine_is_known() -> None:
    known, unknown = LINES[0][1], eight(0x40000004, 0x0200_1EFF, MEMORY, 0)
    assert "01:00.0 nvme0" in cells_of(known, MACHINE)
    assert "01:00.0 nvme0" in cells_of(known, MACHINE, WITH_NAMES)
    assert "02:00.0" in cells_of(unknown, MACHINE)


@pytest.mark.parametrize("width", [30, 60, 80, 140, 1000])
@pytest.mark.parametrize("name", ["6.12/s-8dw-ports-dir2", "6.12/s-4dw-ports-dir0"])
def test_lines_fit_the_terminal(name: str, width: int) -> None:
    with Read(captures.FOLDER / f"{name}.data") as trace:
        frame = next(trace.frames(LINE_COLUMNS)).head(200)
    head, lines = TlpLayout(MACHINE, width).table(frame)
    texts = [head, *lines.to_list()]
    assert len(texts) == 201
    assert max(map(len, texts)) <= width
    assert all(text == text.rstrip() for text in texts)
    titles = head.split()
    assert ("index" in titles) == (width >= WITH_INDEX)
    assert ("tag" in titles) == (width >= WITH_TAG)
    if "8dw" in name:
        assert any(text.endswith("…") for text in texts) == (width <= 80)


def test_columns_stand_below_their_titles() -> None:
    head, lines = TlpLayout(None, 200).table(frame_of([line[1] for line in LINES[:15]]))
    for title in ("kind", "requester", "target", "details"):
        at = head.index(title)
        assert {line[at - 1] for line in lines if len(line) > at} <= {" "}
    for title in ("time", "tag", "bytes"):
        end = head.index(title) + len(title)
        assert {line[end] for line in lines if len(line) > end} <= {" "}


def test_frames_of_a_pipe_have_the_same_columns() -> None:
    heads = {TlpLayout(MACHINE, None).table(frame_of([line[1]]))[0] for line in LINES[:15]}
    assert len(heads) == 1


def test_no_rows_are_no_lines() -> None:
    head, lines = TlpLayout(None, 80).table(frame_of([LINES[0][1]])[:0])
    assert "kind" in head
    assert len(lines) == 0


def column_lines(frame: pl.DataFrame, width: int | None) -> tuple[str, list[str]]:
    head, *lines = ColumnLayout(TLP_SCHEMA.select(frame.columns), width).lines(frame).decode().splitlines()
    return head, lines


def test_columns_as_they_are() -> None:
    frame = frame_of([line[1] for line in LINES[:8]], ALL_COLUMNS)
    head, lines = column_lines(frame, None)
    assert tuple(head.split()) == ALL_COLUMNS
    head, lines = column_lines(frame.select("kind", "requester", "address", "first_be", "tag", "status"), None)
    assert head.split() == ["kind", "requester", "address", "first_be", "tag", "status"]
    assert lines[0].split() == ["MWr", "01:00.0", "0x20001000", "0xf", "30"]
    assert lines[6].split() == ["CplD", "01:00.0", "5", "SC"]
    assert TLP_SCHEMA["first_be"].style == "int"
    assert max(map(len, column_lines(frame, 80)[1])) == 80


def test_words_stand_beside_the_line() -> None:
    """As an AER log has them, so that they can be handed on."""
    head, lines = TlpLayout(None, None, dws=True).table(frame_of([eight(0x60000001, 0x01001E0F, 4, 0x02810040)]))
    assert "header DWs" in head
    assert "60000001 01001e0f 00000004 02810040" in lines.item()


def test_lines_of_errors_are_red_where_there_is_colour() -> None:
    frame = frame_of([line[1] for line in LINES[:15]])
    plain = TlpLayout(None, None).lines(frame).decode().splitlines()
    coloured = TlpLayout(None, None, coloured=True).lines(frame).decode().splitlines()
    assert coloured[0] == f"\x1b[1m{plain[0]}\x1b[0m"
    red = [number for number, line in enumerate(coloured) if line == f"\x1b[31m{plain[number]}\x1b[0m"]
    assert red
    assert all(line == plain[number] for number, line in enumerate(coloured) if number and number not in red)
    odd = [number for number, line in enumerate(plain) if {"UR", "CA", "CRS", "RRS", "poisoned"} & set(line.replace(",", " ").split())]
    assert set(odd) <= set(red)
    assert 1 not in red


def test_names_of_registers() -> None:
    """Where the machine's BARs are known, outbound requests say what they address; those of devices do not, whatever their address is."""
    address = PciAddress(0, 1, 0, 0)
    drive = replace(MACHINE.functions[address], bars=(Bar(0, Hex(MEMORY - 0x1000), Hex(MEMORY + 0xFFF), "memory", False),))
    machine = replace(MACHINE, functions=PciFunctions({address: drive}))
    words = eight(0x40000001, 0x0F, MEMORY + 8, 0)
    frame = frame_of([words] * 3).with_columns(direction=pl.Series(["outbound", "inbound", "unknown"], dtype=pl.Enum(DIRECTIONS)))
    for known, expected in ((machine, [True, False, False]), (MACHINE, [False] * 3), (None, [False] * 3)):
        _, lines = TlpLayout(known, None).table(frame)
        assert ["SQ 1 tail doorbell" in line for line in lines] == expected
