"""A slow and literal count of NVMe commands and network packets, an access at a time. Shares no code with ptttool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

PAGE, SECTOR, ENTRY, SLOT = 4096, 512, 64, 16


class Access(NamedTuple):
    """A memory read or write of one requester.

    `size` is 4 × Length, `enabled` what is not disabled of it, `number` that of its TLP in the recording.
    """

    is_read: bool
    address: int
    size: int
    enabled: int
    number: int


@dataclass
class Page:
    """How a page was walked through."""

    slots: int = 0
    count: int = 0
    exact: int = 0
    steps: int = 0
    starts: int = 0
    jumps: int = 0
    bytes: int = 0
    behind: int | None = None
    followed: int = 0

    def see(self, address: int, size: int, slot: int) -> None:
        offset = address % PAGE
        if self.behind is not None:
            if offset == self.behind:
                self.steps += 1
            elif offset == 0:
                self.starts += 1
            else:
                self.jumps += 1
        self.behind = offset + size
        self.count += 1
        self.slots += size // slot
        self.exact += size == slot
        self.bytes += size


def walked(accesses: Iterable[tuple[int, int]], slot: int) -> dict[int, Page]:
    """The pages of accesses, by number."""
    pages: dict[int, Page] = {}
    for address, size in accesses:
        pages.setdefault(address // PAGE, Page()).see(address, size, slot)
    return pages


def rings(pages: dict[int, Page], counts_once: Callable[[int], bool]) -> set[int]:
    """The pages that belong to rings; `counts_once`: whether a page that was accessed once does."""
    in_order = {number for number, page in pages.items() if page.jumps * 2 <= page.count}
    found = {number for number in in_order if pages[number].steps and pages[number].exact}
    found |= {number for number, page in pages.items() if page.count == page.exact == 1 and counts_once(number)}
    while True:
        more = {
            number
            for number in in_order - found
            if (pages[number].steps or pages[number].count == 1) and (number - 1 in found or number + 1 in found)
        }
        if not more:
            return found
        found |= more


@dataclass
class DriveFound:
    """What is known of a drive."""

    submitted: int = 0
    completed: int = 0
    commands: int = 0
    read: int = 0
    written: int = 0
    lists: int = 0
    peak: int | None = None
    peak_index: int | None = None


@dataclass
class Listed:
    """How a page was read between fetches."""

    sure: list[int] = field(default_factory=list)
    alone_tail: list[int] = field(default_factory=list)
    alone_page: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    has_data: bool = False


def is_fetch(access: Access) -> bool:
    return access.is_read and access.size == ENTRY and access.address % ENTRY == 0


def is_record(access: Access) -> bool:
    return not access.is_read and access.size == SLOT and access.address % SLOT == 0


def may_be_records(access: Access) -> bool:
    """Several records in one write, by its size."""
    is_aligned = access.size % SLOT == access.address % SLOT == 0
    return not access.is_read and SLOT < access.size <= 128 and is_aligned and access.enabled == access.size


def together(accesses: Sequence[Access]) -> list[Access]:
    """Writes that may be of several records: those that do not go on where larger ones end."""
    writes = [access for access in accesses if not access.is_read]
    return [
        access
        for number, access in enumerate(writes)
        if may_be_records(access)
        and not (
            number
            and writes[number - 1].size > SLOT
            and not may_be_records(writes[number - 1])
            and writes[number - 1].address + writes[number - 1].size == access.address
        )
    ]


def data_writes(accesses: Sequence[Access]) -> list[Access]:
    """Writes that are data wherever they go."""
    found, before = [], None
    for access in accesses:
        if access.is_read:
            continue
        follows = before is not None and before.size >= SLOT and before.address + before.size == access.address
        if (access.size >= SLOT and not is_record(access)) or (access.size < SLOT and follows):
            found.append(access)
        before = access
    return found


def drive(accesses: Sequence[Access]) -> DriveFound:
    """Count a drive's commands; both reads and writes were traced, without a hole."""
    entries = walked(
        (
            (access.address, access.size)
            for access in accesses
            if access.is_read and access.size % ENTRY == 0 and access.size < SECTOR and access.address % ENTRY == 0
        ),
        ENTRY,
    )
    records = walked(((access.address, access.size) for access in accesses if is_record(access)), SLOT)
    entry_pages, record_pages = rings(entries, lambda _: True), rings(records, lambda _: True)
    at_once = sum(access.size for access in together(accesses) if access.address // PAGE in record_pages)
    found = DriveFound(
        submitted=sum(entries[page].slots for page in entry_pages),
        completed=sum(records[page].slots for page in record_pages) + at_once // SLOT,
    )
    found.read = sum(access.enabled for access in data_writes(accesses)) - at_once
    found.read += sum(records[page].bytes for page in records.keys() - record_pages)
    flight = lowest = highest = 0
    for access in accesses:
        flight += is_fetch(access) - is_record(access)
        lowest = min(lowest, flight)
        if flight > highest:
            highest, found.peak_index = flight, access.number
    singles = sum(page.exact for page in entries.values())
    followed = (
        not at_once and singles == found.submitted == sum(entries[page].exact for page in entry_pages) and records.keys() == record_pages
    )
    found.commands = max(found.submitted - (lowest if followed else 0), found.completed)
    found.peak = highest - lowest if followed else None
    several = sum(entries[page].bytes - ENTRY * entries[page].exact for page in entry_pages)
    _sort_reads(accesses, found, singles, several, is_whole=followed and lowest == 0 and flight == 0)
    return found


def _groups(accesses: Sequence[Access]) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Runs of reads between two fetches, and those at both ends of the recording."""
    groups: list[list[tuple[int, int]]] = [[]]
    for access in accesses:
        if is_fetch(access):
            groups.append([])
        elif access.is_read and access.size >= SLOT:
            group = groups[-1]
            if group and sum(group[-1]) == access.address and group[-1][0] // PAGE == access.address // PAGE:
                group[-1] = (group[-1][0], group[-1][1] + access.size)
            else:
                group.append((access.address, access.size))
    return groups[1:-1], [groups[0]] if len(groups) == 1 else [groups[0], groups[-1]]


def _sort_reads(accesses: Sequence[Access], found: DriveFound, fetches: int, several: int, *, is_whole: bool) -> None:
    inside, ends = _groups(accesses)
    pages: dict[int, Listed] = {}
    for group in [*inside, *(end for end in ends if end)]:
        if group:
            _sort_group(group, pages, found)
    in_a_row, before = 0, None
    for access in accesses:
        if access.is_read:
            in_a_row += before is not None and is_fetch(before) and is_fetch(access)
            before = access
    one_by_one = not several and in_a_row * 8 <= fetches
    lone = _lone_lists(accesses) if is_whole else set()
    empty, alone, left = sum(not group for group in inside), 0, []
    for number, page in pages.items():
        sure = bool(page.sure) or number in lone
        first = sure or one_by_one
        tail = sure or (bool(page.first) and first and any(size < PAGE for size in page.first)) or not page.has_data
        holds = sure or (bool(page.first) and first) or (bool(page.alone_tail) and tail)
        for sizes, is_list in ((page.sure, True), (page.first, first), (page.alone_tail, tail)):
            if is_list:
                found.lists += sum(sizes)
            else:
                found.written += sum(sizes)
        if holds:
            found.lists += sum(page.alone_page)
        else:
            alone += len(page.alone_page)
            left += page.alone_page
    if alone and empty * 8 <= alone and found.read > 2 * PAGE * empty and found.read > 2 * PAGE * alone:
        found.lists += sum(left)
    else:
        found.written += sum(left)
    found.lists = max(found.lists - several, 0)


def _sort_group(group: list[tuple[int, int]], pages: dict[int, Listed], found: DriveFound) -> None:
    address, size = group[0]
    page = pages.setdefault(address // PAGE, Listed())
    uneven = [(at, length) for at, length in group if length % SECTOR]
    odd = [(at, length) for at, length in uneven if at % PAGE == 0 or (at + length) % PAGE == 0]
    inner = [run for run in uneven if run not in odd]
    odd_bytes = sum(length for _, length in odd)
    rest = sum(length for _, length in group[1:])
    ends = address % PAGE + size == PAGE
    if not inner and group[0] in odd and (odd_bytes - size) % SECTOR == 0:
        page.sure.append(size)
        found.written += rest
    elif size % SECTOR == 0 and len(group) == 1:
        if ends:
            (page.alone_page if size == PAGE else page.alone_tail).append(size)
        else:
            page.has_data = True
            found.written += size
    elif (
        not inner
        and size % SECTOR == odd_bytes % SECTOR == 0
        and len(group) > 3
        and ends
        and any(sum(one) != other[0] for one, other in pairwise(group))
    ):
        page.first.append(size)
        found.written += rest
    else:
        lists = sum(length for _, length in inner) + (odd_bytes if odd_bytes % SECTOR else 0)
        found.lists += lists
        found.written += size + rest - lists


def _lone_lists(accesses: Sequence[Access]) -> set[int]:
    """Pages that the only command in flight read as a whole, before it wrote data and completed."""
    data = {id(access) for access in data_writes(accesses)}
    found: set[int] = set()
    for number, access in enumerate(accesses):
        before = sum(is_fetch(each) - is_record(each) for each in accesses[:number])
        if not is_fetch(access) or before:
            continue
        runs = _groups(accesses[number:])[0]
        reads = runs[0] if runs else _groups(accesses[number:])[1][-1]
        has_written, completes = False, False
        for each in accesses[number + 1 :]:
            if is_fetch(each) or is_record(each):
                completes = is_record(each)
                break
            has_written |= id(each) in data
        if completes and has_written and len(reads) == 1 and reads[0][0] % PAGE == 0 and reads[0][1] == PAGE:
            found.add(reads[0][0] // PAGE)
    return found


@dataclass
class ControllerFound:
    """What is known of a network controller."""

    rx_packets: int
    rx_bytes: int
    tx_bytes: int
    descriptors: int | None
    with_data: int | None


def controller(accesses: Sequence[Access]) -> ControllerFound:
    """Count a controller's packets; both reads and writes were traced."""
    reads = [access for access in accesses if access.is_read]

    def is_descriptor(access: Access) -> bool:
        return access.size == SLOT and access.address % SLOT == 0

    read = walked(((each.address, each.size) for each in reads if is_descriptor(each)), SLOT)
    for one, other in pairwise(reads):
        if is_descriptor(one) and not is_descriptor(other):
            read[one.address // PAGE].followed += 1
    written = walked(((each.address, each.size) for each in accesses if is_record(each)), SLOT)
    data = data_writes(accesses)
    small = {each.address // PAGE for each in accesses if not each.is_read and each.size < SLOT and each not in data}
    descriptor_pages = rings(read, lambda page: page in written or page in small)
    record_pages = rings(written, lambda page: page in read or page in small)
    if descriptor_pages:
        record_pages &= descriptor_pages
    entries = [each for each in reads if each.size % ENTRY == 0 and each.size < SECTOR and each.address % ENTRY == 0]
    sending = descriptor_pages - record_pages
    # Several descriptors in one read: how many is not known.
    at_once = any(each.address // PAGE in sending for each in entries)
    not_data = sum(read[page].bytes for page in descriptor_pages)
    not_data += sum(each.size for each in entries if each.address // PAGE in descriptor_pages | record_pages)
    return ControllerFound(
        rx_packets=sum(written[page].slots for page in record_pages),
        rx_bytes=sum(each.enabled for each in data) + sum(written[page].bytes for page in written.keys() - record_pages),
        tx_bytes=sum(each.enabled for each in reads) - not_data,
        descriptors=None if at_once else sum(read[page].slots for page in sending),
        with_data=None if at_once else sum(read[page].followed for page in sending),
    )
