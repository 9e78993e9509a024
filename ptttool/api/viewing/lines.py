"""Rows as a viewer shows them: a line each, and everything of one row, bit by bit. Nothing in it is obeyed by a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from ptttool.decoders.hisi_ptt.layout import LOST_IN_4DW, standard_dw0
from ptttool.exporters.contract import EXPORTERS, ExportContext
from ptttool.exporters.table import layout_of
from ptttool.pci import format_id
from ptttool.table.text import as_shown
from ptttool.tlp import codes
from ptttool.tlp.columns import DW_COLUMNS
from ptttool.tlp.header import decode_header
from ptttool.tlp.places import Bits, places_of
from ptttool.tlp.transactions import Ending
from ptttool.wording import clean

if TYPE_CHECKING:
    import polars as pl

    from ptttool.api.viewing.commands import Command
    from ptttool.api.viewing.pages import Pages, Place
    from ptttool.api.viewing.transactions import Transaction
    from ptttool.exporters.tables.columns import TableLayout
    from ptttool.machine.details.registers import NamedRegisters
    from ptttool.machine.model import Machine

# Terminals that are narrower get fewer columns, cut at their width; others scroll sideways.
_NARROW, _NARROWER = 80, 70
# Bytes of a packet that are shown bit by bit.
_MOST_BYTES = 32
_ENDINGS = {
    Ending.COMPLETE: "complete",
    Ending.ERROR: "error", Ending.SHORT: "short", Ending.INSIDE: "no completion seen", Ending.END: "open at end",
}  # fmt: skip


class _Column(NamedTuple):
    """A column: its head, how it is aligned and how wide it is, and the width of the narrowest terminal that has it."""

    head: str
    form: str
    needs: int = 0


class Line(Struct, frozen=True):
    """A row on the screen: its place, its text, and whether it is an error."""

    place: Place
    text: str
    is_error: bool = False


class Lines:
    """Makes lines of rows.

    Parameters
    ----------
    pages : Pages
        The rows.
    machine : Machine or None
        The machine that was recorded, for names.
    """

    def __init__(self, pages: Pages, machine: Machine | None) -> None:
        self.pages = pages
        self.machine = machine
        self._named: NamedRegisters | None = None
        self._layouts: dict[int | None, tuple[TableLayout, tuple[str, ...]]] = {}

    def rows(self, places: Sequence[Place], width: int) -> tuple[str, list[Line]]:
        """Return the head and the lines of rows; `width`: columns that there is room for."""
        # What packets say is cut at any width of a table, so that they scroll sideways.
        layout, names = self._layout(width if width < _NARROW and self.pages.recording.is_ptt else None)
        frame = self.pages.frame(places, names)
        head, lines = layout.table(frame)
        errors = self._errors(frame)
        return clean(head), [Line(*one) for one in zip(places, map(clean, lines.to_list()), errors, strict=False)]

    def transactions(
        self, places: Sequence[Place], found: Sequence[Transaction | None], tick_ns: float | None, width: int
    ) -> tuple[str, list[Line]]:
        """Return the head and the lines of requests with what became of them, and of posted TLPs."""
        from ptttool.machine.topology import kernel_names_by_id

        names = ("index", "time", "kind", "class", "direction", "requester", "tag", "address", "destination", "register", "requested_bytes",
                 "payload_bytes", "status", "ep", "message")  # fmt: skip
        frame = self.pages.frame(places, names)
        devices = kernel_names_by_id(self.machine) if width >= _NARROW else {}
        unit = "ticks" if tick_ns is None else "ns"
        rows: list[tuple[Any, ...]] = []
        errors = self._errors(frame)
        registers = self._registers(frame)
        for number, (row, one, register) in enumerate(zip(frame.to_dicts(), found, registers, strict=True)):
            requester = "" if row["requester"] is None else f"{format_id(row['requester'])} {devices.get(row['requester'], '')}"
            got, count, first, last, state = "", "", "", "", "posted" if row["class"] == "P" else ""
            if one is not None:
                got, count = f"{one.received}", f"{one.completions}"
                first, last = (_scaled(ticks, tick_ns) for ticks in (one.to_first, one.to_last))
                state = "open behind a million TLPs" if one.ending is None else _ENDINGS[one.ending]
                errors[number] = errors[number] or one.ending is Ending.ERROR
            target = "" if row["address"] is None else f"{row['address']:#x}"
            if row["register"] is not None:
                target = f"{format_id(row['destination'])} reg {row['register']:#x}"
            elif row["message"] is not None:
                target = codes.message_name(row["message"]) if row["message"] in codes.MESSAGES else f"message {row['message']:#04x}"
            target += "" if register is None else f"  {register}"
            size = row["requested_bytes"] if row["class"] == "NP" else row["payload_bytes"]
            direction = {"inbound": "in", "outbound": "out"}.get(row["direction"], "?")
            rows.append((row["index"], direction, row["kind"], size, got, count, first, last, requester, row["tag"], state, target))
        columns = (
            _Column("index", ">8"), _Column("dir", "<3", _NARROWER), _Column("kind", "<8"), _Column("bytes", ">5"),
            _Column("got", ">5", _NARROW), _Column("cpl", ">3", _NARROWER), _Column(f"first {unit}", ">11", _NARROW),
            _Column(f"last {unit}", ">11"), _Column("requester", "<20"), _Column("tag", ">5", _NARROW), _Column("state", "<18"),
            _Column("target", "<0"),
        )  # fmt: skip
        head, *lines = _fitted(columns, rows, width)
        return head, [Line(*each) for each in zip(places, lines, errors, strict=True)]

    def commands(self, found: Sequence[tuple[Place, Command]], tick_ns: float | None, width: int) -> tuple[str, list[Line]]:
        """Return the head and the lines of TLPs that fetched commands."""
        frame = self.pages.frame([place for place, _ in found], ("index", "requester"))
        unit = "ticks" if tick_ns is None else "ns"
        columns = (
            _Column("index", ">8"), _Column("drive", "<7", _NARROWER), _Column("queue", ">5"), _Column("command", ">9"),
            _Column("count", ">5", _NARROWER), _Column(f"at least {unit}", ">14"), _Column(f"entry {unit}", ">11"), _Column("entry", "<0"),
        )  # fmt: skip
        rows = [
            (index, drive if drive is None else format_id(drive), "?" if one.queue < 0 else one.queue, one.number, one.count,
             _scaled(one.at_least, tick_ns), _scaled(one.to_entry, tick_ns), one.entry)
            for (_, one), index, drive in zip(found, frame["index"], frame["requester"], strict=True)
        ]  # fmt: skip
        head, *lines = _fitted(columns, rows, width)
        return head, [Line(place, line) for (place, _), line in zip(found, lines, strict=True)]

    def details(self, place: Place) -> list[str]:
        """Return everything of one row, line by line: each field with its bits, and what it means."""
        if not self.pages.recording.is_ptt:
            return [clean(line) for line in self._packet(place)]
        return [clean(line) for line in self._tlp(place)]

    def _layout(self, width: int | None) -> tuple[TableLayout, tuple[str, ...]]:
        if width not in self._layouts:
            recording = self.pages.recording
            context = ExportContext(
                recordings=(recording.path,),
                protocol=recording.protocol,
                machine=self.machine,
                width=width,
                layout=recording.stack.protocol.layout,
            )
            names = EXPORTERS.get("table").columns(self.pages.schema, context)
            self._layouts[width] = layout_of(self.pages.schema.select(names), context), names
        return self._layouts[width]

    def _registers(self, frame: pl.DataFrame) -> list[str | None]:
        """Return the names of the registers that requests address, where the machine tells them."""
        from ptttool.exporters.tables.tlp import register_names
        from ptttool.machine.details.registers import NamedRegisters

        if self.machine is not None and self._named is None:
            self._named = NamedRegisters(self.machine)
        return register_names(frame, self._named).to_list()

    def _errors(self, frame: pl.DataFrame) -> list[bool]:
        if not self.pages.recording.is_ptt:
            return [False] * frame.height
        from ptttool.exporters.tables.tlp import are_errors

        return are_errors(frame).to_list()

    def _packet(self, place: Place) -> Iterator[str]:
        names = self.pages.schema.names
        frame = self.pages.frame([place], names)
        (row,) = as_shown(frame, self.pages.schema.select(names)).to_dicts()
        raw = frame["raw"][0] or b"" if "raw" in names else b""
        shown = {name: value for name, value in row.items() if value is not None and value != ""}
        width = max(map(len, shown), default=0) + 2
        for name, value in shown.items():
            meaning = self.pages.schema[name].meaning
            yield f"{name:<{width}}{value}" + (f"  ({meaning})" if meaning else "")
        for at in range(0, min(len(raw), _MOST_BYTES), 4):
            part = raw[at : at + 4]
            yield f"byte {at:<3} {part.hex(' '):12}  " + " ".join(f"{byte >> 4:04b} {byte & 15:04b}" for byte in part)
        if len(raw) > _MOST_BYTES:
            yield f"and {len(raw) - _MOST_BYTES} more bytes"

    def _tlp(self, place: Place) -> Iterator[str]:
        names = ("index", "offset", "cpu", "time", "kind", "direction", "address", "so", "prefix", "layout", *DW_COLUMNS)
        frame = self.pages.frame([place], names)
        ((row,), (register,)) = frame.to_dicts(), self._registers(frame)
        is_4dw, pattern = row["layout"].startswith("4dw"), int(row["layout"].endswith("v1"))
        cpu = "" if row["cpu"] is None else f"  CPU {row['cpu']}"
        time = "" if row["time"] is None else f"  time {row['time']}"
        yield f"TLP {row['index']}  {row['kind']}  {row['direction'] or ''}{time}  {row['layout']} record at {row['offset']:#x}{cpu}"
        words = [row[name] for name in DW_COLUMNS]
        for number, word in enumerate(words):
            yield f"DW{number}  {word:08x}  " + " ".join(f"{word >> shift & 15:04b}" for shift in range(28, -4, -4))
        if row["kind"] == "Unknown":
            yield "not a known TLP: no check word, or an unknown Fmt/Type code"
            return
        standard: Any = standard_dw0(_array(words[0]))[0].item() if is_4dw else words[0]
        header = decode_header([standard, *words[1:]], pattern=pattern, prefix=row["prefix"])
        kind = codes.TYPES[standard >> 24]
        places = places_of(kind, pattern=pattern, th=bool(header.fields["th"]), is_4dw=is_4dw)
        texts = {name: text for name, text in header.texts() if not (is_4dw and name in LOST_IN_4DW)}
        if is_4dw:
            texts |= {"so": str(row["so"]), "time": str(row["time"])}
        texts = dict(sorted(texts.items(), key=lambda one: _order(places.get(one[0], ()))))
        for name, text in texts.items():
            meaning = header.meaning.get(name, "")
            if name == "address" and register is not None:
                meaning = "; ".join(filter(None, (meaning, register)))
            yield f"{name:<17} {_bits(places.get(name, ())):<22} {text}" + (f"  ({meaning})" if meaning else "")
        for diagnostic in header.diagnostics:
            yield f"{diagnostic.severity.value}: {diagnostic.message}"


def _fitted(columns: Sequence[_Column], rows: Sequence[Sequence[object]], width: int) -> list[str]:
    """Return the head and the lines of rows of cells, one for each column; on narrow terminals, columns are no wider than their cells."""
    parts = []
    for column, *cells in zip(columns, *rows, strict=True):
        if width >= column.needs:
            texts = [column.head, *("" if cell is None else clean(f"{cell}").rstrip() for cell in cells)]
            form = f"{column.form[0]}{max(map(len, texts))}" if width < _NARROW else column.form
            parts.append([f"{text:{form}}" for text in texts])
    return ["  ".join(line).rstrip() for line in zip(*parts, strict=True)]


def _scaled(ticks: int | None, tick_ns: float | None) -> str:
    return "" if ticks is None else f"{ticks:,}" if tick_ns is None else f"{ticks * tick_ns:,.0f}"


def _array(word: int) -> Any:
    import numpy as np

    return np.array([word], dtype=np.uint32)


def _bits(places: Sequence[Bits]) -> str:
    return " ".join(f"DW{dw} {high}" if high == low else f"DW{dw} {high}:{low}" for dw, high, low in places)


def _order(places: Sequence[Bits]) -> tuple[int, int]:
    """Return where a field comes among others: by its lowest bits; what has no bits of its own comes last."""
    return (places[-1][0], -places[-1][1]) if places else (9, 0)
