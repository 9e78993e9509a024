"""The packets of a network controller: how it reports them, and the counts of one that works as Intel's do.

Such a one writes each descriptor back to where it read it. Others are in :mod:`ptttool.analyses.io.completed`. What the trace shows
decides; a driver that is known to be of another kind forbids.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ptttool.analyses.io.completed import MLX5, MODELS, completed
from ptttool.analyses.io.requester import RequesterTrace, Rings
from ptttool.analyses.io.results import FRAME_CHECK_SEQUENCE, By, Controller
from ptttool.pci import format_id

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
    found = None
    if driver is None or driver in WRITE_BACK | _PASSED_ON:
        found = _written_back(trace, by)
        if found is None and driver not in WRITE_BACK:
            found = completed(trace, by, MLX5)
            # Whoever is not known to be of the model has to show more of it: packets and what is sent.
            found = found if found is not None and found.rx_packets_least and found.tx_sends_most else None
    else:
        for model in MODELS:
            if driver in model.drivers:
                found = completed(trace, by, model)
    if found is not None:
        return found
    written = trace.sum("write_bytes") if trace.visible.writes else None
    asked = trace.sum("read_bytes") if trace.visible.reads else None
    return Controller(format_id(trace.sum("key")), by, is_understood=False, written_bytes=written, asked_bytes=asked)


def _written_back(trace: RequesterTrace, by: By) -> Controller | None:
    """Return what is to be said of a controller that writes descriptors of 16 bytes back; None where it does not."""
    visible = trace.visible
    received, descriptors = rings(trace)
    if not writes_back(trace, received, descriptors):
        return None
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
        requester=format_id(trace.sum("key")),
        by=by,
        is_understood=True,
        model="write-back",
        written_bytes=trace.sum("write_bytes") if visible.writes else None,
        asked_bytes=trace.sum("read_bytes") if visible.reads else None,
        rx_packets=packets,
        rx_packets_least=packets,
        rx_packets_most=packets,
        rx_bytes=bytes_,
        rx_bytes_least=bytes_,
        rx_bytes_most=bytes_,
        rx_wire_bytes=None if packets is None or bytes_ is None else bytes_ + FRAME_CHECK_SEQUENCE * packets,
        tx_descriptors=fetched,
        tx_sends_least=least,
        tx_sends_most=with_data,
        tx_bytes=sent,
        tx_bytes_least=sent,
        tx_bytes_most=sent,
        interrupts=trace.interrupts(beside=pages),
    )
