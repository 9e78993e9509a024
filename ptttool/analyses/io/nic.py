"""The packets of a network controller that works as Intel's do: it writes each descriptor back to where it read it.

Others have rings of completions beside those of descriptors, compress them, or put several packets into a buffer: of these, only bytes
are known. What the trace shows decides; a driver that is known to be of another kind forbids.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ptttool.analyses.io.requester import RequesterTrace, Rings
from ptttool.analyses.io.results import By, Controller
from ptttool.pci import format_id

FRAME_CHECK_SEQUENCE = 4
"""Bytes at the end of an Ethernet frame, which do not go to memory."""
WRITE_BACK: Final = frozenset({"e1000", "e1000e", "igb", "igbvf", "igc", "ixgbe", "ixgbevf", "i40e"})
"""Drivers of controllers that write descriptors back."""
# Drivers that say nothing of the device: it is passed on to a program or a guest.
_PASSED_ON: Final = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio"})
# One write of a descriptor in so many may be out of order where each packet has one: more are where several are written at once.
_OUT_OF_ORDER: Final = 8


def rings(trace: RequesterTrace) -> tuple[Rings, Rings]:
    """Return where descriptors of received packets are written, and where descriptors are read."""
    read, written, state = (trace.pages[name]["key"] for name in ("descriptors", "records", "small_writes"))
    records = trace.rings("records", together=np.concatenate((read, state)))
    descriptors = trace.rings("descriptors", together=np.concatenate((written, state)))
    if trace.visible.reads and descriptors.is_ring.any():
        records = Rings(records.rows, records.is_ring & np.isin(records.rows["key"], descriptors.keys))
    return records, descriptors


def writes_back(trace: RequesterTrace, received: Rings, descriptors: Rings) -> bool:
    """Return whether descriptors were seen to be written back, whole or in part, one after the other."""
    state = trace.pages["small_writes"]["key"]
    if descriptors.is_ring.any():
        is_written = bool(np.isin(descriptors.keys, np.concatenate((received.keys, state))).any())
    else:
        is_written = not trace.visible.reads and bool(np.isin(received.keys, state).any())
    return is_written and received.total("jumps") * _OUT_OF_ORDER <= received.total("accesses")


def controller_of(trace: RequesterTrace, by: By, driver: str | None) -> Controller:
    """Return what is to be said of a network controller; `driver`: its driver, where that is known."""
    visible = trace.visible
    requester = format_id(trace.sum("key"))
    received, descriptors = rings(trace)
    written = trace.sum("write_bytes") if visible.writes else None
    asked = trace.sum("read_bytes") if visible.reads else None
    is_other = driver is not None and driver not in WRITE_BACK | _PASSED_ON
    if is_other or not writes_back(trace, received, descriptors):
        return Controller(requester, by, is_understood=False, written_bytes=written, asked_bytes=asked)
    # Which ring is for transmission, only the writes tell: nothing of 16 bytes is written back there.
    sending = descriptors.without(received.keys)
    packets = bytes_ = sent = fetched = with_data = least = None
    if visible.writes:
        packets = received.total("slots")
        bytes_ = trace.sum("data_write_bytes") + received.others("bytes")
    pages = np.concatenate((descriptors.keys, received.keys))
    if visible.reads:
        entries = trace.pages["entries"]
        several = int(entries["bytes"][np.isin(entries["key"], pages)].sum())
        sent = trace.sum("read_bytes") - descriptors.total("bytes") - several
        if visible.writes and not np.isin(entries["key"], sending.keys).any():
            fetched, with_data = sending.total("slots"), sending.total("followed")
            least = min(fetched - with_data, with_data) or with_data
    return Controller(
        requester=requester,
        by=by,
        is_understood=True,
        written_bytes=written,
        asked_bytes=asked,
        rx_packets=packets,
        rx_bytes=bytes_,
        rx_wire_bytes=None if packets is None or bytes_ is None else bytes_ + FRAME_CHECK_SEQUENCE * packets,
        tx_descriptors=fetched,
        tx_sends_least=least,
        tx_sends_most=with_data,
        tx_bytes=sent,
        interrupts=trace.interrupts(beside=pages),
    )
