"""Sums of TLPs by requester, direction and operation, as groups of the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ptttool.analyses.link import FRAMING
from ptttool.analyses.payload.document import Alignment, Limit, Operation, PartialLines, PayloadGroup
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.topology import functions_by_id
from ptttool.pci import format_id

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PciFunction

SIZES: Final = 1025
"""Lengths of a TLP in DWs, 0 among them."""
LONG, FIRST, SECOND, THIRD = range(4)
"""What is counted beside sizes: headers of four DWs; of writes those that begin, and that end, at a multiple of 64 bytes; of completions
those that more follow, and of these those that end at a multiple of 64 and of 128 bytes."""
LINES: Final = {64: 4, 128: 7}
"""Of writes and lines of so many bytes: where three numbers of lines stand that a write fills partly: such writes, lines, bytes in them."""
COUNTS: Final = 10
"""How many numbers these are."""
_WITHOUT_DATA: Final = (Operation.READ, Operation.TRANSLATION)
# Sizes that a group lists, the most frequent ones.
_LISTED: Final = 16

Sums = npt.NDArray[np.int64]


class GroupSums(NamedTuple):
    """The sums of a group.

    Parameters
    ----------
    requester : int or None
        Requester ID; None for those beyond the budget.
    direction : str
        Direction of its TLPs.
    operation : Operation
        What they do.
    sizes : ndarray of int64, shape (:data:`SIZES`,)
        TLPs by length in DWs.
    counts : list of int
        What is counted beside sizes, :data:`COUNTS` numbers.
    first : ndarray of int64, shape (:data:`SIZES`,), or None
        Numbers of the first TLPs of these lengths.
    """

    requester: int | None
    direction: str
    operation: Operation
    sizes: Sums
    counts: list[int]
    first: Sums | None

    @property
    def largest(self) -> int:
        """Bytes of the largest TLP."""
        return 4 * int(np.flatnonzero(self.sizes)[-1])


def groups_of(group_sums: Iterable[GroupSums], machine: Machine | None) -> list[PayloadGroup]:
    """Return groups with the limits that a machine sets, most bytes first.

    Parameters
    ----------
    group_sums : iterable of GroupSums
        Their sums, each with at least one TLP.
    machine : Machine or None
        The machine, where it is known.
    """
    functions = {} if machine is None else functions_by_id(machine)
    limited = []
    for sums in group_sums:
        function = None if sums.requester is None else functions.get(sums.requester)
        limit = None if sums.requester is not None and sums.requester < 1 << 8 else _limit(sums.operation, function)
        limited.append((sums, limit, _boundary(machine, function)))
    exceeded = {
        (sums.requester, limit.name) for sums, limit, _ in limited if limit is not None and limit.is_known and sums.largest > limit.bytes
    }
    groups = [
        _group(
            sums, Limit(limit.name, 0, False, None, limit.bytes) if limit and (sums.requester, limit.name) in exceeded else limit, boundary
        )
        for sums, limit, boundary in limited
    ]
    return sorted(groups, key=lambda each: (-each.bytes, each.requester or "~", each.direction, each.operation))


def _boundary(machine: Machine | None, function: PciFunction | None) -> int | None:
    """Return the RCB of the root port above a function: its completions are split there."""
    port = None if machine is None or function is None else machine.root_port_of(function.address)
    above = None if machine is None or port is None else machine.functions.get(port)
    return None if above is None or above.transfers is None else above.transfers.read_boundary


def _limit(operation: Operation, function: PciFunction | None) -> Limit | None:
    """Return the limit that the machine knows; a size of 0 stands for the largest that was seen."""
    if operation in (Operation.SMALL_WRITE, Operation.TRANSLATION):
        return None
    name = "MRRS" if operation is Operation.READ else "MPS"
    transfers = None if function is None else function.transfers
    size = None if transfers is None else transfers.max_read_request if operation is Operation.READ else transfers.max_payload
    supported = None if transfers is None or operation is Operation.READ else transfers.max_payload_supported
    return Limit(name, size or 0, size is not None, supported)


def _group(sums: GroupSums, limit: Limit | None, boundary: int | None) -> PayloadGroup:
    sizes, counts, operation = sums.sizes, sums.counts, sums.operation
    present = np.flatnonzero(sizes)
    tlps, size = int(sizes.sum()), int((sizes * np.arange(SIZES)).sum()) * 4
    largest = 4 * int(present[-1])
    frequent = sorted(present.tolist(), key=lambda dws: (-int(sizes[dws]), dws))[:_LISTED]
    powers: dict[str, int] = {}
    for dws in present.tolist():
        power = str(4 << (dws.bit_length() - 1))
        powers[power] = powers.get(power, 0) + int(sizes[dws])
    if limit is not None and not limit.is_known:
        limit = replace(limit, bytes=largest)
    at_limit = None if limit is None else (int(sizes[limit.bytes // 4]) / tlps if limit.bytes // 4 < SIZES else 0.0)
    overhead = (12 + FRAMING) * tlps + 4 * counts[LONG]
    return PayloadGroup(
        requester=None if sums.requester is None else format_id(sums.requester),
        direction=sums.direction,
        operation=operation,
        tlps=tlps,
        bytes=size,
        smallest=4 * int(present[0]),
        largest=largest,
        smallest_index=None if sums.first is None else int(sums.first[present[0]]),
        largest_index=None if sums.first is None else int(sums.first[present[-1]]),
        mean=size / tlps,
        sizes={str(4 * dws): int(sizes[dws]) for dws in frequent},
        other_sizes=tlps - sum(int(sizes[dws]) for dws in frequent),
        powers=powers,
        limit=limit,
        at_limit=at_limit,
        efficiency=None if operation in _WITHOUT_DATA else size / (size + overhead),
        alignment=_aligned(operation, tlps, counts, boundary),
        partial=_partial(sums),
    )


def _aligned(operation: Operation, tlps: int, counts: list[int], boundary: int | None) -> Alignment | None:
    if operation is Operation.COMPLETION:
        return Alignment(counts[FIRST], None, counts[SECOND], counts[THIRD], boundary)
    return None if operation in _WITHOUT_DATA else Alignment(tlps, counts[FIRST], counts[SECOND], None)


def _partial(sums: GroupSums) -> list[PartialLines] | None:
    """Return the lines that writes fill partly; None of what does not go to memory."""
    if sums.operation not in (Operation.WRITE, Operation.SMALL_WRITE) or sums.direction == "outbound":
        return None
    return [PartialLines(line, *sums.counts[at : at + 3]) for line, at in LINES.items()]


def notes_on(groups: list[PayloadGroup], is_mixed: bool) -> Iterator[Diagnostic]:
    """Yield what is not known of the limits of groups, and what stands out; `is_mixed`: whether reads may ask for translations."""
    if is_mixed and any(group.operation is Operation.READ and group.direction != "outbound" for group in groups):
        message = "addresses of devices are translated (SMMU): where a device has ATS on, its translation requests are among the reads"
        yield Diagnostic(Severity.INFO, "translations-in-reads", message, "--format 8dw tells them apart")
    most: dict[str, int] = {}
    for group in groups:
        if group.limit is not None and not group.limit.is_known:
            most[group.limit.name] = max(most.get(group.limit.name, 0), group.largest)
    if most:
        sizes = ", ".join(f"{name} is at least {size}" for name, size in sorted(most.items()))
        message = f"the limits of some functions are not known (the sidecar of a recording, or --sysfs, has them); seen: {sizes}"
        yield Diagnostic(Severity.INFO, "limits-unknown", message, details={"largest": most})
    for group in groups:
        limit = group.limit
        if limit is None or group.requester is None:
            continue
        if limit.doubted is not None and group.largest > limit.doubted:
            what = f"{group.requester}: a {group.operation.value} of {group.largest} bytes is larger than {limit.name} {limit.doubted}"
            message = (
                f"{what}: either the TLP breaks the rule, or that setting is not the one that held while recording; so nothing is said of "
                "this limit"
            )
            details = {"requester": group.requester, "operation": group.operation.value, "largest": group.largest, "limit": limit.doubted}
            yield Diagnostic(Severity.WARNING, "above-limit", message, details=details)
        if limit.is_known and limit.supported is not None and limit.supported > limit.bytes and group.operation is Operation.WRITE:
            message = f"{group.requester} supports payloads of {limit.supported} bytes, but its MPS is set to {limit.bytes}"
            details = {"requester": group.requester, "supported": limit.supported, "set": limit.bytes}
            yield Diagnostic(Severity.WARNING, "mps-below-support", message, details=details)
