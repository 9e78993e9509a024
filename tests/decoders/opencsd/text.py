"""Elements as OpenCSD's own lister prints them, and where it says that they are: what decoding is compared with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ptttool.decoders.elements.model import Element

_LINE = re.compile(r"Idx:(\d+); ID:([0-9a-f]+); OCSD_GEN_TRC_ELEM_([A-Z_]+)\((.*)\)\s*$")
_REASONS = {
    "unknown": "undefined", "init": "init-decoder", "reset": "reset-decoder", "overflow": "overflow", "discard": "discard",
    "bad_packet": "bad-packet", "bad_image": "bad-program-image", "eot": "end-of-trace", "normal": "begin or filter",
    "debug_exit": "debug restart",
}  # fmt: skip
_ISAS = {"a32": "A32", "t32": "T32", "a64": "A64", "tee": "TEE", "jazelle": "Jaz", "custom": "Cst", "unknown": "Unk"}
_SECURITY = {"secure": "S", "nonsecure": "N", "root": "Root", "realm": "Realm"}
_TYPES = {
    "other": "---", "br": "BR", "br_indirect": "iBR", "isb": "ISB", "dsb_dmb": "DSB.DMB", "wfi_wfe": "WFI.WFE", "tstart": "TSTART",
}  # fmt: skip
_SUBTYPES = {"none": "", "br_link": "b+link", "v8_ret": "A64:ret", "v8_eret": "A64:eret", "v7_implied_ret": "V7:impl ret"}


def listed(lines: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Index, trace ID and text of every element in a listing; spaces, of which releases print more or fewer, left out."""
    for line in lines:
        found = _LINE.search(line)
        if found is not None:
            # Newer releases add the memory space that was asked.
            yield int(found[1]), int(found[2], 16), squeezed(f"{found[3]}({found[4].split('; Memspace')[0]})")


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def text_of(element: Element) -> str:
    """An element's text."""
    text = _BODIES.get(element.kind, lambda _: "")(element)
    if "cycle_count" in element.fields:
        text += f" [CC={element.fields['cycle_count']}]; "
    return squeezed(f"{element.kind.upper()}({text})")


def _context(element: Element) -> str:
    fields = element.fields
    level = f"EL{fields['exception_level']}" if "exception_level" in fields else ""
    text = f"(ISA={_ISAS[fields['isa']]}) {level}{_SECURITY[fields['security_level']]}; {'64' if fields['bits64'] else '32'}-bit; "
    text += f"VMID=0x{fields['vmid']:x}; " if "vmid" in fields else ""
    return text + (f"CTXTID=0x{fields['context_id']:x}; " if "context_id" in fields else "")


def _range(element: Element) -> str:
    fields = element.fields
    text = f"exec range=0x{fields['st_addr']:x}:[0x{fields['en_addr']:x}] num_i({fields['num_instr_range']}) "
    text += f"last_sz({fields['last_instr_sz']}) (ISA={_ISAS[fields['isa']]}) {'E' if fields['last_instr_exec'] else 'N'} "
    return text + _TYPES[fields["last_i_type"]] + _SUBTYPES[fields["last_i_subtype"]] + ("<cond>" if fields["last_instr_cond"] else "")


def _exception(element: Element) -> str:
    fields = element.fields
    text = f"excep num (0x{fields.get('exception_number', 0):02x})"
    if "en_addr" not in fields:
        return text
    return f"pref ret addr:0x{fields['en_addr']:x}{' [addr also prev br tgt]' if fields['excep_ret_addr_br_tgt'] else ''}; {text}"


def _software(element: Element) -> str:
    fields = element.fields
    if fields["global_error"]:
        return "{Global Error.}"
    text = f"(Ma:0x{fields['master_id']:02x}; Ch:0x{fields['swt_channel']:02x}) " if "master_id" in fields else "(Ma:0x??; Ch:0x??) "
    bits = fields["payload_bits"]
    if bits:
        text += f"0x{int.from_bytes(fields['payload'], 'little') & ((1 << bits) - 1):0{bits // 4}x}; "
    text += ("+Mrk " if fields["marker"] else "") + ("Trig " if fields["trigger"] else "")
    text += "" if element.timestamp is None else f" [ TS=0x{element.timestamp:012x}]; "
    return text + ("Freq" if fields["frequency"] else "") + ("{Master Error.}" if fields["master_error"] else "")


_BODIES = {
    "no_sync": lambda element: f"[{_REASONS[element.fields['reason']]}]",
    "eo_trace": lambda element: f"[{_REASONS[element.fields['reason']]}]",
    "trace_on": lambda element: f"[{_REASONS[element.fields['reason']]}]",
    "pe_context": _context,
    "instr_range": _range,
    "addr_nacc": lambda element: f"0x{element.fields['st_addr']:x}",
    "exception": _exception,
    "timestamp": lambda element: f"[ TS=0x{element.timestamp:012x}]; ",
    "swtrace": _software,
}  # fmt: skip


def indexes_of_the_library(frames: bytes) -> dict[int, int]:
    """For each data byte of frames in memory, the index that the library's own deformatter gives it.

    It counts the bytes of one ID in one frame from where they begin: the frame's start, or the place of the ID's byte.
    """
    found: dict[int, int] = {}
    current = None
    for start in range(0, len(frames) // 16 * 16, 16):
        frame = frames[start : start + 16]
        begin, count, later = start, 0, None
        for place in range(15):
            value = frame[place]
            if place % 2 == 0 and value & 1:
                if value >> 1 != current:
                    current = value >> 1
                    if frame[15] >> place // 2 & 1:
                        later = start + place
                    else:
                        begin, count = start + place, 0
                continue
            found[start + place] = begin + count
            count += 1
            if later is not None:
                begin, count, later = later, 0, None
    return found
