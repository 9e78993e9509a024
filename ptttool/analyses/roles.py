"""What inbound writes mean for the devices that make them: a read of a disk, or a received packet, is inbound writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ptttool.machine.topology import functions_by_id
from ptttool.wording import in_words

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PciFunction

# Base classes of PCI functions (PCI Code and ID Assignment Specification): what inbound writes and inbound reads of one are.
_STORAGE, _NETWORK = 0x01, 0x02
_SENTENCES = {
    _STORAGE: "a read of a disk is inbound writes: the disk ({names}) writes the data into memory; its inbound reads fetch commands and "
    "the data that the host writes to it",
    _NETWORK: "received packets are inbound writes: the adapter ({names}) writes them into memory; its inbound reads fetch descriptors and "
    "the packets that the host sends",
    None: "inbound writes are data that a device puts into memory, as for a read of a disk or a received packet; inbound reads fetch data "
    "for it",
}
# Devices that a sentence names.
_MOST_NAMED = 4


def sentence_on_writes() -> str:
    """Return what inbound writes mean, where no device is known."""
    return _SENTENCES[None]


def sentence_on_unknown(unknown: int, records: int, buses: Sequence[str] = ()) -> str:
    """Return the share of TLPs of unknown direction, and what would tell it; ``buses``: those that requesters are on."""
    more = ", …" if len(buses) > _MOST_NAMED else ""
    hint = f"; requesters are on bus {', '.join(buses[:_MOST_NAMED])}{more}" if buses else ""
    share = f"{unknown:,} TLPs ({100 * unknown / records:.1f} %)"
    return f"the direction of {share} is unknown: --downstream BUSES says which buses are behind the traced root ports{hint}"


def sentences_on_writes(written: Mapping[int, int], machine: Machine | None) -> list[str]:
    """Return what the inbound writes of a recording mean, a sentence for each role of a device; none without inbound writes.

    Parameters
    ----------
    written : Mapping[int, int]
        Bytes of inbound writes by Requester ID.
    machine : Machine or None
        The machine, for roles and names.
    """
    functions = {} if machine is None else functions_by_id(machine)
    by_role: dict[int | None, list[tuple[int, str]]] = {}
    for requester, size in written.items():
        if size:
            function = functions.get(requester)
            by_role.setdefault(_role_of(function), []).append((-size, "" if function is None else _name(function)))
    sentences = []
    for role, named in by_role.items():
        names = [name for _, name in sorted(named)]
        more = ["others"] if len(names) > _MOST_NAMED else []
        sentences.append(_SENTENCES[role].format(names=in_words(names[:_MOST_NAMED] + more)))
    return sentences


def _role_of(function: PciFunction | None) -> int | None:
    base = None if function is None or function.class_code is None else function.class_code >> 16
    return base if base in _SENTENCES else None


def _name(function: PciFunction) -> str:
    return function.kernel_names[0] if function.kernel_names else function.address.short
