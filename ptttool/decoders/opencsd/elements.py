"""Elements of libopencsd in the form of all protocols: each kind has only the fields that are valid for it.

Source: OpenCSD, ``docs/prog_guide/prog_guide_generic_pkts.md``, ``include/opencsd/trc_gen_elem_types.h``.
"""

from __future__ import annotations

import numpy as np

from ptttool.decoders.elements.arrays import I64, U8, U64, Array, Elements, Strings
from ptttool.decoders.elements.model import CODES, FIELDS_BY_NAME, KINDS, REASON_CODES
from ptttool.decoders.opencsd.library import Library, LibraryElements
from ptttool.table.schema import Column

# Bits of an element's flags.
_EXECUTED, _CYCLES, _RETURN, _DATA_MARKER, _TIMED, _CONDITIONAL, _RETURN_IS_TARGET = (1 << bit for bit in (0, 4, 6, 7, 9, 10, 11))
# Bits of its context.
_BITS64, _HAS_CONTEXT_ID, _HAS_VMID, _HAS_LEVEL = 1, 2, 4, 8
# Bits of its software trace.
_MARKER, _MASTER_ERROR, _GLOBAL_ERROR, _TRIGGER, _FREQUENCY, _HAS_MASTER = (1 << bit for bit in (16, 19, 20, 21, 22, 23))
_NUMBERED = 2  # type of an event
_TRACE_ON: U8 = np.array([REASON_CODES[name] for name in ("normal", "overflow", "debug_exit")], dtype=np.uint8)
_WITH_CYCLES = [CODES[kind.name] for kind in KINDS if "cycle_count" in kind.optional or "cycle_count" in kind.fields]
_PAYLOADS = [FIELDS_BY_NAME["itm_packet"].values.index(name) for name in ("swit_payload", "dwt_payload")]

FIELDS: tuple[Column, ...] = tuple(
    FIELDS_BY_NAME[name]
    for name in dict.fromkeys(name for kind in KINDS if kind.origin != "ptttool" for name in (*kind.fields, *kind.optional))
    if name != "address"
)


def elements_of(protocol: str, library: Library, found: LibraryElements, index: U64, size: Array, raw: Strings) -> Elements:
    """Return elements.

    Parameters
    ----------
    protocol : str
        Name of the protocol.
    library : Library
        The library that made them.
    found : LibraryElements
        What it made.
    index, size, raw
        As in :class:`~ptttool.decoders.elements.arrays.Elements`.
    """
    elements = found.elements
    kinds = library.kinds[np.minimum(elements["kind"], 255)]
    timed = kinds == CODES["timestamp"]
    software = (kinds == CODES["swtrace"]) | (kinds == CODES["itmtrace"])
    timed |= software & (elements["flags"] & _TIMED != 0)
    made = Elements(protocol, index, size, kind=kinds, timestamp=elements["timestamp"], timed=timed, raw=raw)
    fill = _Fill(made, elements, kinds)
    fill.reasons(library)
    fill.context()
    fill.ranges()
    fill.exceptions()
    fill.events()
    fill.software(found.payloads)
    fill.later()
    rows = fill.of(*_WITH_CYCLES, flag=_CYCLES)
    fill.put(rows, cycle_count="cycle_count")
    return made


class _Fill:
    """Puts the fields of each kind."""

    def __init__(self, made: Elements, elements: Array, kinds: U8) -> None:
        self.made, self.elements, self.kinds = made, elements, kinds
        self._there = set(np.unique(kinds).tolist())

    def of(self, *kinds: str | int, flag: int = 0) -> I64:
        """Return the rows of some kinds, if `flag` is given only those with one of these flags."""
        codes = [CODES[kind] if isinstance(kind, str) else kind for kind in kinds]
        codes = [code for code in codes if code in self._there]
        if not codes:
            return np.empty(0, dtype=np.int64)
        chosen = np.isin(self.kinds, codes)
        if flag:
            chosen &= (self.elements["flags"] & flag) != 0
        return np.flatnonzero(chosen)

    def put(self, rows: I64, **names: str) -> None:
        """Put fields, named by keyword, from the library's fields."""
        if len(rows):
            for name, of in names.items():
                self.made.put(name, self.elements[of][rows], rows)

    def bit(self, rows: I64, of: str, **names: int) -> None:
        """Put fields, named by keyword, that are one bit each of a field of the library."""
        if len(rows):
            bits = self.elements[of][rows]
            for name, mask in names.items():
                self.made.put(name, (bits & mask) != 0, rows)

    def reasons(self, library: Library) -> None:
        """Put why trace begins, ends or cannot be decoded."""
        rows = self.of("no_sync", "eo_trace")
        if len(rows):
            self.made.put("reason", library.reasons[np.minimum(self.elements["union"][rows], 255)], rows)
        rows = self.of("trace_on")
        if len(rows):
            self.made.put("reason", _TRACE_ON[np.minimum(self.elements["union"][rows], len(_TRACE_ON) - 1)], rows)

    def context(self) -> None:
        """Put the context of the processor; what the trace unit does not trace is absent."""
        rows = self.of("pe_context")
        if not len(rows):
            return
        valid = self.elements["context"][rows]
        self.put(rows, security_level="security_level", isa="isa")
        self.bit(rows, "context", bits64=_BITS64)
        self.put(rows[(valid & _HAS_LEVEL != 0) & (self.elements["exception_level"][rows] >= 0)], exception_level="exception_level")
        self.put(rows[valid & _HAS_CONTEXT_ID != 0], context_id="context_id")
        self.put(rows[valid & _HAS_VMID != 0], vmid="vmid")

    def ranges(self) -> None:
        """Put the instructions that were executed."""
        rows = self.of("instr_range", "i_range_nopath")
        self.put(rows, isa="isa", st_addr="st_addr", en_addr="en_addr", num_instr_range="union")
        rows = self.of("instr_range")
        self.put(rows, last_i_type="i_type", last_i_subtype="i_subtype")
        self.bit(rows, "flags", last_instr_exec=_EXECUTED, last_instr_cond=_CONDITIONAL)
        if len(rows):
            self.made.put("last_instr_sz", self.elements["flags"][rows] >> 1 & 7, rows)
        self.put(self.of("addr_nacc"), st_addr="st_addr")

    def exceptions(self) -> None:
        """Put exceptions: a data marker does not have a number, and a return address is there only if it is traced."""
        rows = self.of("exception")
        if not len(rows):
            return
        marker = (self.elements["flags"][rows] & _DATA_MARKER) != 0
        self.put(rows[~marker], exception_number="union")
        self.bit(rows[marker], "flags", excep_data_marker=_DATA_MARKER)
        rows = self.of("exception", flag=_RETURN)
        self.put(rows, en_addr="en_addr")
        self.bit(rows, "flags", excep_ret_addr_br_tgt=_RETURN_IS_TARGET)

    def events(self) -> None:
        """Put events; only numbered events have a number."""
        rows = self.of("event")
        self.put(rows, ev_type="union_u16")
        self.put(rows[self.elements["union_u16"][rows] == _NUMBERED], ev_number="union_u16_1")

    def software(self, payloads: dict[int, bytes]) -> None:
        """Put software trace (STM); after a global error there is neither master nor channel."""
        rows = self.of("swtrace")
        if not len(rows):
            return
        described = self.elements["union_1"][rows]
        self.put(rows[(described & _HAS_MASTER != 0) & (described & _GLOBAL_ERROR == 0)], master_id="union_u16", swt_channel="union_u16_1")
        self.made.put("payload_bits", described & 0xFF, rows)
        self.made.put("payload_packets", described >> 8 & 0xFF, rows)
        self.bit(
            rows, "union_1", marker=_MARKER, trigger=_TRIGGER, frequency=_FREQUENCY, master_error=_MASTER_ERROR, global_error=_GLOBAL_ERROR
        )
        if payloads:
            rows = np.array(sorted(payloads), dtype=np.int64)
            length = np.array([len(payloads[row]) for row in rows.tolist()], dtype=np.int64)
            data = np.frombuffer(b"".join(payloads[row] for row in rows.tolist()), dtype=np.uint8)
            self.made.put("payload", Strings(data, np.cumsum(length) - length, length), rows)

    def later(self) -> None:
        """Put kinds that newer releases have."""
        self.put(self.of("sync_marker"), marker_type="union", marker_value="union_1")
        self.put(self.of("memtrans"), mem_trans="union")
        rows = self.of("instrumentation")
        if len(rows):
            self.put(rows, el="union_u8", value="union_u64_1")
        rows = self.of("itmtrace")
        if len(rows):
            self.put(rows, itm_packet="union")
            self.bit(rows, "union_u8_12", itm_overflow=0xFF)
            self.put(
                rows[np.isin(self.elements["union"][rows], _PAYLOADS)], source_id="union_u8_4", payload_size="union_u8_5", value="union_2"
            )
