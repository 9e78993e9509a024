"""Whether TLPs go in or out at the traced root ports: inbound is from a device to the root port, outbound the other direction.

Some recordings hold one direction, and say so. In the others the direction follows from the IDs of a TLP and the buses behind the traced
ports:

- A request is inbound where its requester is behind the ports, else outbound. Configuration requests are always outbound.
- A completion is inbound where its completer is behind the ports, else outbound where its requester is.
- A message has a direction by its code, or by its routing (to the root complex, or a broadcast from it); else its requester decides.

A direction stays unknown where the buses are not known, or the IDs do not decide: a device that was not configured yet completes with ID 0,
and some messages have the Requester ID 0.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from ptttool.errors import UsageError
from ptttool.tlp.bulk import CLASS_MASK, CLASS_SHIFT, COMPLETION, CONFIG, KIND_MASK, MESSAGE, NO_RECORD, TRAITS
from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.tlp.bulk import U8, U32, Array, Headers

INBOUND, OUTBOUND, UNKNOWN = (DIRECTIONS.index(name) for name in ("inbound", "outbound", "unknown"))

# Sections 2.2.8 and 10: messages that only a device sends, and those that only a root complex sends. All others go either way.
MESSAGES_IN = (0x02, 0x04, 0x10, 0x18, 0x1B, *range(0x20, 0x28), 0x30, 0x31, 0x33, 0x52)
MESSAGES_OUT = (0x00, 0x01, 0x05, 0x12, 0x14, 0x19, 0x50, 0x53)
# Table 2-20: routed to the root complex, broadcast from it, gathered and sent to it.
ROUTINGS = {0b000: INBOUND, 0b011: OUTBOUND, 0b101: INBOUND}

# Whether a bus is behind the traced ports.
_NO, _YES, _MAYBE = range(3)
_LAST_BUS = 0xFF
# The traits that decide, as an index: class, whether it is known, whether it has data, completion, configuration, message.
_TRAIT_BITS = 7
_TRAITS_MASK = (1 << _TRAIT_BITS) - 1
# Stands for the direction of a completion whose completer is not behind the ports: then the requester decides.
_BY_REQUESTER = len(DIRECTIONS)

_NO_ROWS: Array = np.zeros(0, dtype=np.intp)

Buses = tuple[tuple[int, int], ...]
"""Ranges of buses, first and last, ascending."""


def parse_buses(text: str, where: str = "downstream") -> Buses:
    """Return the buses that a text such as ``01-03,05`` means; numbers are hexadecimal, as in PCI addresses.

    Parameters
    ----------
    text : str
        Buses and ranges of buses, commas between them.
    where : str
        What it was given for, for the message.

    Raises
    ------
    UsageError
        The text does not mean buses (code ``bad-parameter``).
    """
    ranges = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        numbers = [_bus(number) for number in ((first, last) if dash else (first,))]
        if None in numbers or numbers[0] > numbers[-1]:  # type: ignore[operator]
            raise UsageError(
                f"{where}: {text[:80]} does not name buses",
                hint="such as 01 or 01-03,05: numbers of buses as in PCI addresses, 01 to ff",
                code="bad-parameter",
            )
        ranges.append((numbers[0], numbers[-1]))
    return tuple(sorted(ranges))  # type: ignore[arg-type]


def _bus(text: str) -> int | None:
    text = text.strip().lower().removeprefix("0x")
    if not 0 < len(text) <= 2 or not all(digit in "0123456789abcdef" for digit in text):
        return None
    return int(text, 16) or None


def format_buses(buses: Buses) -> str:
    """Return the text that :func:`parse_buses` reads: ``01-03,05``."""
    return ",".join(f"{first:02x}" if first == last else f"{first:02x}-{last:02x}" for first, last in buses)


class DirectionRule(Struct, frozen=True):
    """How the direction of a recording's TLPs is found; it can be pickled.

    Parameters
    ----------
    inbound, outbound : tuple of str
        Classes of TLPs that the recording can hold in each direction. A class that it can hold in neither counts as any other.
    buses : tuple of (int, int), or None
        The buses behind the traced root ports; None where they are not known.
    has_all_buses : bool
        Whether no other bus is behind the ports.
    """

    inbound: tuple[str, ...] = CLASSES
    outbound: tuple[str, ...] = CLASSES
    buses: Buses | None = None
    has_all_buses: bool = True

    @property
    def constant(self) -> int | None:
        """The direction of all TLPs; None where the recording can hold both."""
        if self.inbound and self.outbound:
            return None
        return INBOUND if self.inbound else OUTBOUND if self.outbound else None

    def codes(self, headers: Headers) -> U8:
        """Return the direction of TLPs.

        Parameters
        ----------
        headers : Headers
            Their headers.

        Returns
        -------
        ndarray of uint8, shape (n,)
            Positions in :data:`~ptttool.tlp.columns.DIRECTIONS`; any value for headers of kind Unknown.
        """
        if self.constant is not None:
            return np.full(len(headers.dw0), self.constant, dtype=np.uint8)
        behind, _ = _tables(self)
        index = (headers.traits >> CLASS_SHIFT & _TRAITS_MASK) << 8
        index |= headers.dw1 >> 24
        directions: U8 = _first_table(self).take(index.astype(np.intp))
        if headers.some & COMPLETION and self.buses is not None and self._is_open("CPL"):
            rows = np.flatnonzero(directions == _BY_REQUESTER)
            directions[rows] = _OF_COMPLETER_ABOVE.take(behind.take((headers.dw2[rows] >> 24).astype(np.intp)).astype(np.intp))
        if headers.some & MESSAGE and self._is_open("P"):
            rows = np.flatnonzero(headers.traits & MESSAGE)
            directions[rows] = self._of_messages(headers.dw0[rows], headers.dw1[rows], behind)
        return directions

    def own(self, headers: Headers) -> tuple[Array, U8]:
        """Return the headers whose direction is not that of :meth:`implied`, or may not be, and their directions: shapes (m,), (m,)."""
        rows: list[Array] = [_NO_ROWS]
        parts: list[Array] = [_NO_ROWS]
        if self.constant is None:
            behind, decided = _tables(self)
            if headers.some & COMPLETION and self.buses is not None and self._is_open("CPL"):
                completions = np.flatnonzero(headers.traits & COMPLETION)
                completer = behind.take((headers.dw1[completions] >> 24).astype(np.intp))
                completions, completer = (each[completer != _NO] for each in (completions, completer))
                requester = behind.take((headers.dw2[completions] >> 24).astype(np.intp))
                index = _indexes(headers.traits[completions]) | completer << 2 | requester
                rows.append(completions)
                parts.append(decided.take(index.astype(np.intp)))
            if headers.some & MESSAGE and self._is_open("P"):
                rows.append(np.flatnonzero(headers.traits & MESSAGE))
                parts.append(self._of_messages(headers.dw0[rows[-1]], headers.dw1[rows[-1]], behind))
        if len(rows) <= 2:
            return rows[-1], parts[-1].astype(np.uint8)
        both = np.concatenate(rows)
        order = np.argsort(both)
        return both[order], np.concatenate(parts)[order].astype(np.uint8)

    def implied(self, requesters: Array) -> U8:
        """Return the direction that follows from requester and kind alone.

        Parameters
        ----------
        requesters : ndarray of integers, shape (n,)
            Requester IDs.

        Returns
        -------
        ndarray of uint8, shape (n, 32)
            By requester and by the code of the kind. For completions it is that of a completer that is not behind the ports; for messages
            it means nothing. :meth:`own` has those that differ.
        """
        if self.constant is not None:
            return np.full((len(requesters), KIND_MASK + 1), self.constant, dtype=np.uint8)
        behind, decided = _tables(self)
        kinds = [_indexes(NO_RECORD)] * (KIND_MASK + 1)
        for traits in TRAITS.tolist():
            kinds[traits & KIND_MASK] = _indexes(traits)
        index = np.array(kinds)[None, :] | behind.take(requesters.astype(np.intp) >> 8)[:, None]
        directions: U8 = decided.take(index.astype(np.intp))
        return directions

    def _is_open(self, tlp_class: str) -> bool:
        """Tell whether a class can have either direction."""
        return (tlp_class in self.inbound) == (tlp_class in self.outbound)

    def _of_messages(self, dw0: U32, dw1: U32, behind: U32) -> U8:
        by_code, by_routing = _message_tables()
        requester = dw1 >> 16
        directions = np.array((OUTBOUND, INBOUND, UNKNOWN), dtype=np.uint8).take(behind.take((requester >> 8).astype(np.intp)))
        directions[requester == 0] = UNKNOWN
        for table, index in ((by_routing, dw0 >> 24 & 0x7), (by_code, dw1 & 0xFF)):
            own = table.take(index.astype(np.intp))
            directions = np.where(own == UNKNOWN, directions, own)
        return directions


def _indexes(traits: Any) -> Any:
    """Return where headers of these traits are in the table of directions, with both IDs not behind the ports."""
    return ((traits >> CLASS_SHIFT) & _TRAITS_MASK) << 4


EITHER = DirectionRule()
"""The rule where nothing is known of a recording."""


@lru_cache(maxsize=16)
def _tables(rule: DirectionRule) -> tuple[U32, U8]:
    """Return which buses are behind the ports, shape (256,), and the direction by traits and buses, shape (2048,)."""
    behind = np.full(_LAST_BUS + 1, _NO if rule.buses is not None and rule.has_all_buses else _MAYBE, dtype=np.uint32)
    for first, last in rule.buses or ():
        behind[first : last + 1] = _YES
    behind[0] = _NO  # a root bus
    decided = np.full(1 << (_TRAIT_BITS + 4), UNKNOWN, dtype=np.uint8)
    for first in {_indexes(traits) for traits in TRAITS.tolist()}:
        for completer, requester in product((_NO, _YES, _MAYBE), repeat=2):
            decided[first | completer << 2 | requester] = _decision(rule, first >> 4 << CLASS_SHIFT, completer, requester)
    return behind, decided


@lru_cache(maxsize=16)
def _first_table(rule: DirectionRule) -> U8:
    """Return the direction by traits and the bus in DW 1, which is that of a completer or of a requester: shape (32768,)."""
    behind, decided = _tables(rule)
    traits, bus = np.arange(1 << _TRAIT_BITS)[:, None], behind[None, :].astype(np.intp)
    table: U8 = decided[traits << 4 | bus << 2 | bus]
    if rule.buses is not None and rule._is_open("CPL"):
        completions = (traits << CLASS_SHIFT & COMPLETION) != 0
        table[completions & (bus == _NO)] = _BY_REQUESTER
    flat: U8 = table.reshape(-1)
    return flat


def _decision(rule: DirectionRule, traits: int, completer: int, requester: int) -> int:
    """Return the direction of a TLP, given whether the buses of its two IDs are behind the ports."""
    number = traits >> CLASS_SHIFT & CLASS_MASK
    if number == len(CLASSES):
        return UNKNOWN
    if not rule._is_open(CLASSES[number]):
        return INBOUND if CLASSES[number] in rule.inbound else OUTBOUND
    if traits & CONFIG:
        return OUTBOUND
    if traits & COMPLETION:
        if completer == _YES:
            return INBOUND
        return OUTBOUND if completer == _NO and requester == _YES else UNKNOWN
    return {_YES: INBOUND, _NO: OUTBOUND}.get(requester, UNKNOWN)


# By what is known of the requester's bus.
_OF_COMPLETER_ABOVE: U8 = np.array([{_NO: UNKNOWN, _YES: OUTBOUND, _MAYBE: UNKNOWN}[bus] for bus in range(3)], dtype=np.uint8)


@lru_cache(maxsize=1)
def _message_tables() -> tuple[U8, U8]:
    """Return the direction of messages by code, shape (256,), and by routing, shape (8,)."""
    by_code, by_routing = np.full(256, UNKNOWN, dtype=np.uint8), np.full(8, UNKNOWN, dtype=np.uint8)
    by_code[list(MESSAGES_IN)] = INBOUND
    by_code[list(MESSAGES_OUT)] = OUTBOUND
    for routing, direction in ROUTINGS.items():
        by_routing[routing] = direction
    return by_code, by_routing
