"""pcapng, for Wireshark and what else reads captures: a packet for each TLP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from ptttool.errors import UsageError
from ptttool.exporters.contract import EXPORTERS, SEGMENT, ExportContext, Exporter, Timing, Writer
from ptttool.exporters.packets import blocks
from ptttool.pci import format_id
from ptttool.table.schema import Schema
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.table.batch import Batch

# LINKTYPE_USER0: for private use; ptttool's dissector is registered for it.
LINK_TYPE = 147
# One unit of a timestamp, as a negative power of ten: without a known unit a tick is written as a nanosecond.
NANOSECONDS, PICOSECONDS = 9, 12
# Most names of PCI functions that the description of an interface lists.
MOST_NAMES = 512
_NO_TIME = "Timestamps are 0: it is not known how the Time field counts. It is in each packet, raw (pcie.tlp.time)."
_TICKS = "Timestamps are ticks of the Time field since the first TLP, not seconds: a tick is written as 1 ns. It is read as a {}."
_NANOSECONDS = "Timestamps are nanoseconds since the first TLP, if a tick of the Time field is {:.6g} ns, {}. It is read as a {}."


class Pcapng(Exporter):
    """A packet for each TLP, with its header in the order of the link and a pseudo-header in front."""

    name = "pcapng"
    meaning = "capture file for Wireshark, a packet for each TLP; 'ptttool wireshark install' installs its dissector"
    suffixes = (".pcapng",)
    is_binary = True
    protocols = ("hisi-ptt",)
    rows = 1 << 14
    names_devices = True
    needs_time = True

    def columns(self, schema: Schema, context: ExportContext) -> tuple[str, ...]:
        """Return the columns that packets are made of."""
        from ptttool.exporters.packets.records import COLUMNS

        return COLUMNS

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Return a writer of blocks.

        Raises
        ------
        UsageError
            Columns were chosen, and some that packets are made of are not among them (code ``columns-fixed``).
        """
        missing = [name for name in self.columns(schema, context) if name not in schema]
        if missing:
            raise UsageError(
                "a packet holds all fields of a TLP: --columns does not apply to pcapng", hint="leave it out", code="columns-fixed"
            )
        return PcapngFile(file, context)


class PcapngFile(Writer):
    """A capture file that is being written.

    Parameters
    ----------
    file : IO[bytes]
        Where to.
    context : ExportContext
        The facts, the machine, and what is known once all rows are written.
    """

    def __init__(self, file: IO[bytes], context: ExportContext) -> None:
        from ptttool._version import __version__

        self._file = file
        self._context = context
        self._interfaces: dict[str, int] = {}
        self._counts: list[int] = []
        self._held: tuple[Batch, int, int] | None = None
        self._segment = 0
        self._resolution, self._unit = _resolution(context.timing)
        facts = [f"{name.removeprefix('ptttool.')}: {value}" for name, value in context.facts.items()]
        file.write(
            blocks.section_header(
                [
                    blocks.text_option(blocks.SECTION_USER_APPLICATION, f"ptttool {__version__}"),
                    blocks.text_option(blocks.COMMENT, "\n".join([*facts, _time_text(context.timing)])),
                    *(blocks.text_option(blocks.COMMENT, clean(diagnostic.message)) for diagnostic in context.diagnostics),
                ]
            )
        )

    def add(self, piece: Batch) -> None:
        """Write rows. The last one waits: it gets a comment if it is the last of all."""
        from ptttool.exporters.packets.records import packets

        if not piece.size:
            return
        self._write_held()
        number = self._interface(_file_of(piece))
        self._counts[number] += piece.size
        first = piece.part(0, piece.size - 1)
        self._file.write(packets(first, number, self._segment, self._unit))
        if first.size:
            self._segment = _last_segment(first)
        self._held = piece.part(piece.size - 1, piece.size), number, self._segment
        self._segment = _last_segment(piece)

    def close(self) -> None:
        """Write the last packet, with what is known of the recording as a whole, and what was counted."""
        remarks = [clean(diagnostic.message) for diagnostic in self._context.ending()]
        self._write_held(remarks)
        for number, count in enumerate(self._counts):
            options = [(blocks.RECEIVED_PACKETS, count.to_bytes(8, "little"))]
            options += [blocks.text_option(blocks.COMMENT, remark) for remark in remarks]
            self._file.write(blocks.statistics(number, 0, options))

    def _write_held(self, comments: Sequence[str] = ()) -> None:
        from ptttool.exporters.packets.records import packets

        if self._held is not None:
            row, number, segment = self._held
            self._file.write(packets(row, number, segment, self._unit, comments))
            self._held = None

    def _interface(self, file: str) -> int:
        """Return the number of a recording's interface, which is described when the first of its packets comes."""
        number = self._interfaces.get(file)
        if number is None:
            number = self._interfaces[file] = len(self._interfaces)
            self._counts.append(0)
            self._segment = 0
            facts = self._context.facts
            device = facts.get("ptttool.event", "").partition("/")[0] or "ptt"
            name = clean(file) if file else device
            self._file.write(
                blocks.interface(
                    LINK_TYPE,
                    [
                        blocks.text_option(blocks.INTERFACE_NAME, name),
                        blocks.text_option(blocks.INTERFACE_TEXT, names_text(self._context.machine)),
                        (blocks.TIMESTAMP_RESOLUTION, bytes([self._resolution])),
                    ],
                )
            )
        return number


def _resolution(timing: Timing) -> tuple[int, int]:
    """Return the resolution of timestamps, and how many units a tick is."""
    if timing.tick_ns is None:
        return NANOSECONDS, 1
    if timing.tick_ns == int(timing.tick_ns):
        return NANOSECONDS, int(timing.tick_ns)
    return PICOSECONDS, max(1, round(timing.tick_ns * 1000))


def _time_text(timing: Timing) -> str:
    if timing.model == "unknown":
        return _NO_TIME
    if timing.tick_ns is None:
        return _TICKS.format(timing.model)
    resolution, unit = _resolution(timing)
    return _NANOSECONDS.format(unit / 10 ** (resolution - NANOSECONDS), timing.source, timing.model)


def _last_segment(batch: Batch) -> int:
    segments: Any = batch.values(SEGMENT.name).array
    return int(segments[-1])


def names_text(machine: Machine | None) -> str:
    """Return the names of PCI functions as a text that the dissector reads: ``PCIe TLPs; names: 01:00.0=nvme0 02:00.0=eth1``."""
    from ptttool.machine.topology import kernel_names_by_id

    named = [f"{format_id(number)}={name.replace(' ', '_')}" for number, name in sorted(kernel_names_by_id(machine).items())]
    left = len(named) - MOST_NAMES
    more = f" and {left} more" if left > 0 else ""
    return f"PCIe TLPs; names: {' '.join(named[:MOST_NAMES])}{more}" if named else "PCIe TLPs"


def _file_of(batch: Batch) -> str:
    """Return the recording that rows are of, where there are several."""
    from ptttool.table.values import Texts

    values = batch.values("file").array if "file" in batch.schema else None
    return values.texts[int(values.codes[0])] if isinstance(values, Texts) else ""


EXPORTERS.add("pcapng", Pcapng())
