"""The packets of a network controller that works as Intel's do: it writes each descriptor back to where it read it.

Others have rings of completions beside those of descriptors, compress them, or put several packets into a buffer: of these, only bytes
are known. What the trace shows decides; a driver that is known to be of another kind forbids.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ptttool.analyses.io.counts import Sum
from ptttool.analyses.io.requester import RequesterTrace
from ptttool.analyses.io.results import By, Controller
from ptttool.analyses.io.rings import Rings, rings_of
from ptttool.analyses.io.tables import PageColumn
from ptttool.pci import format_id

FRAME_CHECK_SEQUENCE = 4
"""Bytes at the end of an Ethernet frame, which do not go to memory."""
WRITE_BACK: Final = frozenset({"e1000", "e1000e", "igb", "igbvf", "igc", "ixgbe", "ixgbevf", "i40e"})
"""Drivers of controllers that write descriptors back."""
# Drivers that say nothing of the device: it is passed on to a program or a guest.
_PASSED_ON: Final = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio"})
# One write of a descriptor in so many may be out of order where each packet has one: more are where several are written at once.
_OUT_OF_ORDER: Final = 8


def rings(seen: RequesterTrace) -> tuple[Rings, Rings]:
    """Return where descriptors of received packets are written, and where descriptors are read."""
    counts, requester = seen.counts, seen.requester
    read, written, state = (table.of(requester)[0] for table in (counts.descriptors, counts.records, counts.small_writes))
    records = rings_of(counts.records, requester, together=np.concatenate((read, state)))
    descriptors = rings_of(counts.descriptors, requester, together=np.concatenate((written, state)))
    if seen.visible.reads and descriptors.pages:
        records = records.within(descriptors.ring_keys)
    return records, descriptors


def writes_back(seen: RequesterTrace, received: Rings, descriptors: Rings) -> bool:
    """Return whether descriptors were seen to be written back, whole or in part, one after the other."""
    state = seen.counts.small_writes.of(seen.requester)[0]
    if descriptors.pages:
        found = bool(np.isin(descriptors.ring_keys, np.concatenate((received.ring_keys, state))).any())
    else:
        found = not seen.visible.reads and bool(np.isin(received.ring_keys, state).any())
    return found and received.total(PageColumn.JUMPS) * _OUT_OF_ORDER <= received.total(PageColumn.ACCESSES)


def controller_of(seen: RequesterTrace, by: By, driver: str | None) -> Controller:
    """Return what is to be said of a network controller; `driver`: its driver, where that is known."""
    counts, requester, visible = seen.counts, seen.requester, seen.visible
    received, descriptors = rings(seen)
    written = seen.sum(Sum.WRITE_BYTES) if visible.writes else None
    asked = seen.sum(Sum.READ_BYTES) if visible.reads else None
    is_other = driver is not None and driver not in WRITE_BACK | _PASSED_ON
    if is_other or not writes_back(seen, received, descriptors):
        return Controller(format_id(requester), by, is_understood=False, written_bytes=written, asked_bytes=asked)
    # Which ring is for transmission, only the writes tell: nothing of 16 bytes is written back there.
    sending = descriptors.without(received.ring_keys) if visible.writes else None
    packets = received.total(PageColumn.SLOTS) if visible.writes else None
    bytes_ = seen.sum(Sum.DATA_WRITE_BYTES) + received.others(PageColumn.BYTES) if visible.writes else None
    sent = with_data = fetched = None
    if visible.reads:
        pages = np.concatenate((descriptors.ring_keys, received.ring_keys))
        keys, rows = counts.entries.of(requester)
        several = int(rows[np.isin(keys, pages), PageColumn.BYTES].sum())
        at_once = np.isin(keys, descriptors.without(received.ring_keys).ring_keys).any()
        sent = seen.sum(Sum.READ_BYTES) - descriptors.total(PageColumn.BYTES) - several
        if sending is not None and not at_once:
            fetched, with_data = sending.total(PageColumn.SLOTS), sending.total(PageColumn.FOLLOWED)
    contexts = None if fetched is None or with_data is None else fetched - with_data
    return Controller(
        requester=format_id(requester),
        by=by,
        is_understood=True,
        written_bytes=written,
        asked_bytes=asked,
        rx_packets=packets,
        rx_bytes=bytes_,
        rx_wire_bytes=None if packets is None or bytes_ is None else bytes_ + FRAME_CHECK_SEQUENCE * packets,
        tx_descriptors=fetched,
        tx_sends_least=None if contexts is None or with_data is None else min(contexts, with_data) or with_data,
        tx_sends_most=with_data,
        tx_bytes=sent,
        interrupts=seen.interrupts(beside={*descriptors.ring_keys.tolist(), *received.ring_keys.tolist()}),
    )
