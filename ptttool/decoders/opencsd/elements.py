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
_WITH_CYCLES = [kind.name for kind in KINDS if "cycle_count" in kind.optional or "cycle_count" in kind.fields]
_PAYLOADS = [FIELDS_BY_NAME["itm_packet"].values.index(name) for name in ("swit_payload", "dwt_payload")]

FIELDS: tuple[Column, ...] = tuple(
    FIELDS_BY_NAME[name]
    for name in dict.fromkeys(name for kind in KINDS if kind.origin != "ptttool" for name in (*kind.fields, *kind.optional))
    if name != "address"
)


# Fields that all elements of some kinds have, with the field of the library that each is copied from.
_COPIED: dict[tuple[str, ...], dict[str, str]] = {
    ("pe_context",): {"security_level": "security_level", "isa": "isa"},
    ("instr_range", "i_range_nopath"): {"isa": "isa", "st_addr": "st_addr", "en_addr": "en_addr", "num_instr_range": "union"},
    ("instr_range",): {"last_i_type": "i_type", "last_i_subtype": "i_subtype"},
    ("addr_nacc",): {"st_addr": "st_addr"},
    ("event",): {"ev_type": "union_u16"},
    # Kinds that newer releases have.
    ("sync_marker",): {"marker_type": "union", "marker_value": "union_1"},
    ("memtrans",): {"mem_trans": "union"},
    ("instrumentation",): {"el": "union_u8", "value": "union_u64_1"},
    ("itmtrace",): {"itm_packet": "union"},
}
# Fields that are bits of a field of the library.
_BITS: dict[str, tuple[str, dict[str, int]]] = {
    "pe_context": ("context", {"bits64": _BITS64}),
    "instr_range": ("flags", {"last_instr_exec": _EXECUTED, "last_instr_cond": _CONDITIONAL}),
    "swtrace": (
        "union_1",
        {"marker": _MARKER, "trigger": _TRIGGER, "frequency": _FREQUENCY, "master_error": _MASTER_ERROR, "global_error": _GLOBAL_ERROR},
    ),
    "itmtrace": ("union_u8_12", {"itm_overflow": 0xFF}),
}


def elements_of(protocol: str, library: Library, library_elements: LibraryElements, index: U64, size: Array, raw: Strings) -> Elements:
    """Return elements.

    Parameters
    ----------
    protocol : str
        Name of the protocol.
    library : Library
        The library that made them.
    library_elements : LibraryElements
        What it made.
    index, size, raw
        As in :class:`~ptttool.decoders.elements.arrays.Elements`.
    """
    elements = library_elements.elements
    kinds = library.kinds[np.minimum(elements["kind"], 255)]
    timed = kinds == CODES["timestamp"]
    software = (kinds == CODES["swtrace"]) | (kinds == CODES["itmtrace"])
    timed |= software & (elements["flags"] & _TIMED != 0)
    made = Elements(protocol, index, size, kind=kinds, timestamp=elements["timestamp"], timed=timed, raw=raw)
    there = set(np.unique(kinds).tolist())

    def of(*names: str) -> I64:
        """Return the rows of some kinds."""
        codes = there.intersection(CODES[name] for name in names)
        return np.flatnonzero(np.isin(kinds, list(codes))) if codes else np.empty(0, dtype=np.int64)

    def put(rows: I64, **names: str) -> None:
        """Put fields, named by keyword, from the library's fields."""
        if len(rows):
            for name, source in names.items():
                made.put(name, elements[source][rows], rows)

    def put_bits(rows: I64, source: str, names: dict[str, int]) -> None:
        if len(rows):
            bits = elements[source][rows]
            for name, mask in names.items():
                made.put(name, (bits & mask) != 0, rows)

    for kind_names, copied in _COPIED.items():
        put(of(*kind_names), **copied)
    for kind_name, (source, names) in _BITS.items():
        put_bits(of(kind_name), source, names)
    # Why trace begins, ends or cannot be decoded.
    for rows, reasons in ((of("no_sync", "eo_trace"), library.reasons), (of("trace_on"), _TRACE_ON)):
        made.put("reason", reasons[np.minimum(elements["union"][rows], len(reasons) - 1)], rows)
    # What the trace unit does not trace of a context is absent.
    rows = of("pe_context")
    valid = elements["context"][rows]
    put(rows[(valid & _HAS_LEVEL != 0) & (elements["exception_level"][rows] >= 0)], exception_level="exception_level")
    put(rows[valid & _HAS_CONTEXT_ID != 0], context_id="context_id")
    put(rows[valid & _HAS_VMID != 0], vmid="vmid")
    rows = of("instr_range")
    made.put("last_instr_sz", elements["flags"][rows] >> 1 & 7, rows)
    # A data marker of an exception does not have a number, and a return address is there only if it is traced.
    rows = of("exception")
    flags = elements["flags"][rows]
    put(rows[flags & _DATA_MARKER == 0], exception_number="union")
    put_bits(rows[flags & _DATA_MARKER != 0], "flags", {"excep_data_marker": _DATA_MARKER})
    put(rows[flags & _RETURN != 0], en_addr="en_addr")
    put_bits(rows[flags & _RETURN != 0], "flags", {"excep_ret_addr_br_tgt": _RETURN_IS_TARGET})
    rows = of("event")
    put(rows[elements["union_u16"][rows] == _NUMBERED], ev_number="union_u16_1")
    # After a global error, software trace (STM) has neither master nor channel.
    rows = of("swtrace")
    described = elements["union_1"][rows]
    put(rows[(described & _HAS_MASTER != 0) & (described & _GLOBAL_ERROR == 0)], master_id="union_u16", swt_channel="union_u16_1")
    made.put("payload_bits", described & 0xFF, rows)
    made.put("payload_packets", described >> 8 & 0xFF, rows)
    if library_elements.payloads:
        rows = np.array(sorted(library_elements.payloads), dtype=np.int64)
        length = np.array([len(library_elements.payloads[row]) for row in rows.tolist()], dtype=np.int64)
        data = np.frombuffer(b"".join(library_elements.payloads[row] for row in rows.tolist()), dtype=np.uint8)
        made.put("payload", Strings(data, np.cumsum(length) - length, length), rows)
    rows = of("itmtrace")
    with_value = rows[np.isin(elements["union"][rows], _PAYLOADS)]
    put(with_value, source_id="union_u8_4", payload_size="union_u8_5", value="union_2")
    rows = of(*_WITH_CYCLES)
    put(rows[elements["flags"][rows] & _CYCLES != 0], cycle_count="cycle_count")
    return made
