"""The code that touched registers, from the kernel's side of a recording: joined with the outbound requests, and named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.joined.registers import (
    DEPTH,
    PAGE_BITS,
    READ,
    WANTED,
    WRITE,
    Touch,
    kernel_accesses,
    kinds_of,
    offset_of,
    pages_of,
    touches_of,
)
from ptttool.analyses.mmio.accesses import Accesses, flow_of
from ptttool.analyses.mmio.document import CodeUse, KernelCode, Mmio
from ptttool.analyses.mmio.sums import OPERATIONS
from ptttool.analyses.registers import Space
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError
from ptttool.perfdata.tracepoints.samples import Samples, events_of, read_samples
from ptttool.perfdata.tracepoints.symbols import Symbols

KALLSYMS: Final = Path("/proc/kallsyms")
MODULES: Final = Path("/proc/modules")
# Frames that are shown of what called the code.
_SHOWN: Final = 3
_SPACE_SHIFT: Final = 60


def has_accesses(path: str) -> bool:
    """Return whether the kernel's side holds accesses to registers."""
    try:
        return not events_of(path).isdisjoint((READ, WRITE))
    except InputError:
        return False  # which the analysis of commands says


def with_code(result: Mmio, path: str, link: Accesses) -> Mmio:
    """Return the result of the analysis ``mmio`` with the code that touched the registers; a file that cannot be read is a note in it."""
    try:
        samples = read_samples(path, WANTED, DEPTH)
    except InputError as error:
        note = Diagnostic(Severity.WARNING, error.code, str(error), where=path)
        return replace(result, code=KernelCode(path, link.total, 0, 0, False, [], 0, [note]))
    kernel = kernel_accesses(samples.events, _SHOWN)
    notes = [*samples.problems, *_refusals(samples, link)]
    spaces, operations = flow_of(link.rows)
    pages = spaces.astype(np.uint64) << np.uint64(_SPACE_SHIFT) | link.rows["target"] >> np.uint64(PAGE_BITS)
    found = pages_of(pages, kinds_of(link.rows["target"], operations, link.rows["dws"]), kernel) if not notes else []
    if found is None:
        notes.append(_note("too-many-pages", "there are too many pages to be tried: nothing is joined", path))
    touches = touches_of(found or [], kernel)
    if not notes and not touches:
        message = "no page of the link is one of the kernel for certain: fewer than 32 requests, made by programs, or the order differs"
        notes.append(_note("no-page", message, path))
    symbols = _symbols(samples) if touches else Symbols(())
    if touches and not symbols.is_known:
        message = "code has addresses, no names: the symbols of this machine are not those of the kernel that was recorded, or need root"
        notes.append(_note("symbols-unknown", message, path, "analyze it as root on the machine that was recorded, before its next boot"))
    code = KernelCode(
        file=path,
        requests=link.total,
        joined=sum(page.size for page in found or ()),
        seen=sum(samples.counts.get(name, 0) for name in (READ, WRITE)),
        resolved=symbols.is_known,
        uses=list(_uses(result, touches[:MAX_LISTED], symbols)),
        more=max(len(touches) - MAX_LISTED, 0),
        notes=notes,
    )
    return replace(result, code=code)


def _note(code: str, message: str, path: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(Severity.INFO, code, message, hint, where=path)


def _refusals(samples: Samples, link: Accesses) -> Iterator[Diagnostic]:
    """Yield why nothing can be joined."""
    if samples.lost or samples.unread:
        message = f"{samples.lost + samples.unread:,} samples of the kernel are lost: its accesses are not joined with the requests"
        yield Diagnostic(Severity.WARNING, "kernel-samples-lost", message, where=samples.path, details={"lost": samples.lost})
    if link.total > len(link.rows):
        message = f"{link.total:,} requests are more than can be joined with the kernel's accesses"
        yield Diagnostic(Severity.WARNING, "too-many-requests", message, where=samples.path, details={"requests": link.total})


def _symbols(samples: Samples) -> Symbols:
    """Return the symbols of this machine if its kernel is the one that was recorded, and else the places of modules alone."""
    here = os.uname()
    if samples.system != (here.nodename, here.release):
        return Symbols(samples.maps)
    try:
        with KALLSYMS.open(errors="replace") as kallsyms, MODULES.open(errors="replace") as modules:
            return Symbols(samples.maps, kallsyms, modules)
    except OSError:
        return Symbols(samples.maps)


def _uses(result: Mmio, touches: list[Touch], symbols: Symbols) -> Iterator[CodeUse]:
    known = {(one.space, int(one.address, 16)): (one.register, one.name) for one in result.registers} if result.register_bytes == 1 else {}
    for one in touches:
        space = Space(one.page >> _SPACE_SHIFT).title
        address = (one.page & (1 << _SPACE_SHIFT) - 1) << PAGE_BITS | offset_of(one.kind)
        register, name = known.get((space, address), (hex(address), None))
        yield CodeUse(
            register=register,
            name=name,
            space=space,
            address=hex(address),
            operation=OPERATIONS[one.kind & 3],
            code=symbols.text(one.caller),
            code_address=hex(one.caller),
            callers=[symbols.text(frame) for frame in one.frames],
            requests=one.requests,
            seen=one.seen,
        )
