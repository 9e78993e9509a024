"""RISC-V E-Trace packets of format 3: where trace begins, traps, contexts, and the settings of the encoder.

Sources: as of :mod:`~.fields`.
"""

from __future__ import annotations

import numpy as np

from ptttool.decoders.elements.arrays import I64, U64
from ptttool.decoders.elements.model import ADDR, EO_TRACE, EVENT, EXCEPTION, NO_SYNC, PE_CONTEXT
from ptttool.decoders.packets import field as bits
from ptttool.decoders.riscv.etrace.bits import bit_of, cut, merged
from ptttool.decoders.riscv.etrace.found import PacketFields
from ptttool.decoders.riscv.etrace.setup import EtraceSettings

START, TRAP, CONTEXT, SUPPORT = range(4)  # subformats
# By qual_status: no change, tracing ended, packets were lost, tracing ended.
_KINDS_BY_STATUS = np.array([EVENT, EO_TRACE, NO_SYNC, EO_TRACE], dtype=np.uint8)
_KINDS_BY_SUBFORMAT = np.array([ADDR, EXCEPTION, PE_CONTEXT, EVENT], dtype=np.uint8)


class SyncReader:
    """Reads the fields of packets of format 3.

    Parameters
    ----------
    settings : EtraceSettings
        Parameters of the encoder.

    Attributes
    ----------
    options : int
        The ioptions in force behind the last packet.
    """

    def __init__(self, settings: EtraceSettings) -> None:
        self.settings = settings
        self.options = settings.ioptions

    def read(self, packet_fields: PacketFields, words: list[U64], rows: I64) -> U64 | None:
        """Read packets of format 3; return the options in force at every packet of the feed, None where they do not change."""
        words = [word[rows] for word in words]
        subformat = bits(words, 2, 2)
        packet_fields.kind[rows] = _KINDS_BY_SUBFORMAT[subformat.astype(np.intp)]
        packet_fields.subformats = (rows, subformat)
        options = None
        mine = np.flatnonzero(subformat == SUPPORT)
        if len(mine):
            options = self._support(packet_fields, [word[mine] for word in words], rows[mine])
        mine = np.flatnonzero(subformat == CONTEXT)
        if len(mine):
            self._moved(packet_fields, [word[mine] for word in words], rows[mine])
        mine = np.flatnonzero(subformat == START)
        if len(mine):
            self._start(packet_fields, [word[mine] for word in words], rows[mine])
        mine = np.flatnonzero(subformat == TRAP)
        if len(mine):
            self._traps(packet_fields, [word[mine] for word in words], rows[mine], options)
        return options

    def _support(self, packet_fields: PacketFields, words: list[U64], rows: I64) -> U64:
        settings = self.settings
        layout = [("ienable", 1), ("encoder_mode", settings.encoder_mode_bits), ("qual_status", 2), ("ioptions", settings.ioptions_bits)]
        if settings.data_trace and not settings.old:
            layout += [("denable", 1), ("dloss", 1), ("doptions", settings.doptions_bits)]
        fields, need = cut(words, layout)
        packet_fields.need[rows] = need
        packet_fields.add(rows, **fields)
        status = fields["qual_status"]
        packet_fields.kind[rows] = _KINDS_BY_STATUS[status.astype(np.intp)]
        changed = np.flatnonzero(status)
        packet_fields.ended = (rows[changed], status[changed])
        packet_fields.lost.append(rows[status == 2])
        # Each packet has the options of the last support packet before it.
        before = np.array([self.options], dtype=np.uint64)
        options = np.concatenate([before, fields["ioptions"] if "ioptions" in fields else np.repeat(before, len(rows))])
        self.options = int(options[-1])
        after: U64 = np.repeat(options, np.diff(rows, prepend=0, append=len(packet_fields.format)))
        return after

    def _moved(self, packet_fields: PacketFields, words: list[U64], rows: I64) -> None:
        settings = self.settings
        before = [] if settings.old else [("privilege", settings.privilege_width_p), ("time", settings.time_bits)]
        fields, packet_fields.need[rows] = cut(words, [*before, ("context", settings.moved_context_bits)])
        packet_fields.add(rows, **fields)
        if "context" in fields:
            packet_fields.add(rows, context_id=fields["context"])

    def _where(self) -> list[tuple[str, int]]:
        """Return the fields that formats 3.0 and 3.1 begin with."""
        settings = self.settings
        context, privilege = ("context", settings.context_bits), ("privilege", settings.privilege_width_p)
        if settings.old:
            return [context, privilege, ("branch", 1)]
        return [("branch", 1), privilege, ("time", settings.time_bits), context]

    def _start(self, packet_fields: PacketFields, words: list[U64], rows: I64) -> None:
        fields, packet_fields.need[rows] = cut(words, [*self._where(), ("address_field", self.settings.address_bits)])
        address = fields["address_field"]
        packet_fields.starts = (rows, address)
        packet_fields.add(rows, branch=fields.pop("branch"), address_field=fields.pop("address_field"))
        packet_fields.context = fields
        if "context" in fields:
            packet_fields.context["context_id"] = fields["context"]

    def _traps(self, packet_fields: PacketFields, words: list[U64], rows: I64, options: U64 | None) -> None:
        """Read format 3.1, in groups of packets that have the same fields."""
        settings = self.settings
        address, tval = ("address_field", settings.address_bits), ("tval", settings.tval_bits)
        cause = [("ecause", settings.ecause_width_p), ("interrupt", 1)]
        if settings.old:
            groups = [(np.arange(len(rows)), [*self._where(), address, *cause, tval])]
            handled = np.ones(len(rows), dtype=np.bool_)
        else:
            layout = [*self._where(), *cause, ("thaddr", 1)]
            begin, _ = cut(words, layout)
            implicit = bit_of((self.options if options is None else options[rows]), settings.implicit_exception_bit) & (
                begin["thaddr"] == 1
            )
            interrupt = begin["interrupt"] == 1
            handled = begin["thaddr"] == 1
            groups = []
            for left_out in (False, True):
                for exception in (False, True):
                    mine = np.flatnonzero((implicit == left_out) & (interrupt != exception))
                    groups.append((mine, [*layout, *([] if left_out else [address]), *([tval] if exception else [])]))
        packet_fields.handlers = rows[handled]
        for mine, layout in groups:
            if not len(mine):
                continue
            fields, packet_fields.need[rows[mine]] = cut([word[mine] for word in words], layout)
            packet_fields.add(rows[mine], **fields, exception_number=fields["ecause"])
            if "address_field" not in fields:
                packet_fields.lost.append(rows[mine])
                continue
            tells = handled[mine]
            packet_fields.traps = merged(packet_fields.traps, (rows[mine[tells]], fields["address_field"][tells]))
            if "tval" in fields:
                packet_fields.returns = merged(packet_fields.returns, (rows[mine[~tells]], fields["address_field"][~tells]))
