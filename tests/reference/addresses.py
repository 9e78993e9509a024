"""A slow and literal summing up of requests by address, a TLP at a time. Shares no code with ptttool."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

OPERATIONS = {
    "MRd": "read", "MRdLk": "read", "MWr": "write", "DMWr": "write", "FetchAdd": "atomic", "Swap": "atomic", "CAS": "atomic",
    "IORd": "io-read", "IOWr": "io-write",
}  # fmt: skip


class Tlp(NamedTuple):
    """A TLP, as far as its address matters."""

    kind: str
    direction: str
    requester: int
    address: int | None
    length_dw: int
    requested_bytes: int
    first_be: int = 0xF

    @property
    def begin(self) -> int:
        """The first byte that is asked for or written."""
        assert self.address is not None
        return self.address + next((byte for byte in range(4) if self.first_be >> byte & 1), 0)


class Range(NamedTuple):
    """A named range of addresses; ``kind`` as in the result."""

    first: int
    last: int
    name: str
    kind: str


def region_of(tlp: Tlp, regions: Sequence[Range]) -> Range | None:
    """The narrowest range that the address is in; of several, the last one of the list."""
    assert tlp.address is not None
    wanted = OPERATIONS[tlp.kind].startswith("io-")
    found = [one for one in regions if (one.kind == "io-bar") is wanted and one.first <= tlp.address <= one.last]
    return min(reversed(found), key=lambda one: one.last - one.first, default=None)


def summed(tlps: Sequence[Tlp], regions: Sequence[Range]) -> dict[str, Any]:
    """Everything that can be said without bounds."""
    by_region: dict[tuple[str | None, str, str], list[int]] = {}
    pages: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    crossings = []
    aligned: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    widths: dict[str, list[int]] = {}
    doorbells: dict[tuple[int, int], list[int]] = {}
    small: dict[tuple[int, int], list[int]] = {}
    peers: dict[tuple[int, str, str], list[int]] = {}
    senders: dict[int, list[int]] = {}

    def add(table: dict[Any, list[int]], key: Any, size: int, index: int) -> None:
        entry = table.setdefault(key, [0, 0, index])
        entry[0] += 1
        entry[1] += size

    for index, tlp in enumerate(tlps):
        if tlp.address is None:
            continue
        operation, size = OPERATIONS[tlp.kind], tlp.requested_bytes
        region = region_of(tlp, regions)
        add(by_region, (region and region.name, tlp.direction, operation), size, index)
        is_memory = not operation.startswith("io-")
        if is_memory:
            counts = pages[tlp.address // 4096, tlp.direction]
            counts.update(("requests", operation))
            counts["bytes"] += size
            widths.setdefault(tlp.direction, [0, 0])[tlp.address >= 1 << 32] += 1
        if operation in ("read", "write") and tlp.address % 4096 + 4 * tlp.length_dw > 4096:
            crossings.append(index)
        if size >= 64:
            counts = aligned[tlp.direction, operation]
            counts["requests"] += 1
            for limit in (64, 128, 256):
                counts[f"aligned_{limit}"] += tlp.begin % limit == 0
            counts["whole_lines"] += tlp.begin % 64 == 0 and (tlp.begin + size) % 64 == 0
        if tlp.kind == "MWr" and tlp.length_dw <= 2 and size <= 8:
            if tlp.direction == "outbound":
                add(doorbells, (tlp.address, 4 if tlp.length_dw == 1 else 8), size, index)
            elif tlp.direction == "inbound" and tlp.length_dw == 1:
                add(small, (tlp.address, tlp.requester), size, index)
        if tlp.direction == "inbound" and region is not None and region.kind in ("bar", "io-bar"):
            add(peers, (tlp.requester, region.name, operation), size, index)
        if tlp.direction == "outbound":
            add(senders, tlp.requester, size, index)
    return {
        "regions": by_region, "pages": pages, "crossings": crossings, "aligned": aligned, "widths": widths, "doorbells": doorbells,
        "interrupts": _interrupts(tlps, small, regions), "peers": peers, "senders": senders,
    }  # fmt: skip


def _interrupts(
    tlps: Sequence[Tlp], small: dict[tuple[int, int], list[int]], regions: Sequence[Range]
) -> tuple[str | None, dict[Any, Any]]:
    """Interrupts: in a doorbell's range, else to an address that is alone in its page, in no memory and no BAR."""

    def kind_at(address: int) -> str | None:
        region = region_of(Tlp("MWr", "inbound", 0, address, 1, 4), regions)
        return None if region is None else region.kind

    named = {key: entry for key, entry in small.items() if kind_at(key[0]) == "doorbell"}
    if named:
        return "doorbell", named
    found = {}
    for (address, requester), entry in small.items():
        page = address // 4096
        inbound = [t for t in tlps if t.address is not None and t.direction == "inbound" and not OPERATIONS[t.kind].startswith("io-")]
        others = [t for t in inbound if t.address is not None and t.address // 4096 == page]
        alone = all(t.kind == "MWr" and t.length_dw == 1 and t.requested_bytes <= 8 and t.address == address for t in others)
        if alone and kind_at(address) in (None, "window"):
            found[address, requester] = entry
    return ("pattern" if found else None), found


def coarsened(requests: Sequence[tuple[int, int, int]], shift: int, most: int, kept: int) -> tuple[int, dict[tuple[int, int], list[int]]]:
    """Sums of (address, code, size) by range and code: bits of the code are dropped, then ranges double, until there are few enough."""
    level = 0
    while True:
        by = shift + max(level - 1, 0)
        sums: dict[tuple[int, int], list[int]] = {}
        for index, (address, code, size) in enumerate(requests):
            entry = sums.setdefault((address >> by << by, code if level == 0 else code & kept), [0, 0, index])
            entry[0] += 1
            entry[1] += size
        if len(sums) <= most or by >= 63:
            return by, sums
        level += 1
