"""What the kernel counted of packets, by interface.

Packets have no numbers in headers of TLPs, and segments are merged and cut before the kernel counts them. So nothing is joined: counts
stand beside counts.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ptttool.analyses.joined.document import Interface
from ptttool.perfdata.tracepoints.samples import Samples, text_of

RECEIVED: Final = "net:netif_receive_skb"
SENT: Final = "net:net_dev_xmit"
POLLED: Final = "napi:napi_poll"
WANTED: Final = {RECEIVED: ("name", "len"), SENT: ("name", "len"), POLLED: ("dev_name", "work")}


def interfaces_of(samples: Samples) -> list[Interface]:
    """Return what the kernel counted, those interfaces with most packets first."""
    names: set[bytes] = set()
    counted: dict[str, dict[bytes, tuple[int, int]]] = {}
    for event, (name, amount) in WANTED.items():
        rows = samples.events.get(event)
        fields = () if rows is None else rows.dtype.names or ()
        if (
            rows is None
            or name not in fields
            or amount not in fields
            or rows[name].dtype.kind != "S"
            or rows[amount].dtype.kind not in "iu"
        ):
            continue
        keys, numbers, counts = np.unique(rows[name], return_inverse=True, return_counts=True)
        sums = np.bincount(numbers, weights=rows[amount], minlength=len(keys))
        counted[event] = {key: (int(count), int(total)) for key, count, total in zip(keys.tolist(), counts, sums, strict=True)}
        names.update(counted[event])
    found = []
    for key in names:
        each = [counted[event].get(key, (0, 0)) if event in counted else (None, None) for event in WANTED]
        (received, received_bytes), (sent, sent_bytes), (polls, polled) = each
        found.append(Interface(text_of(key), received, received_bytes, sent, sent_bytes, polls, polled))
    return sorted(found, key=lambda one: (-(one.received or 0) - (one.sent or 0), one.name))
