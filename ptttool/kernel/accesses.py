"""Reads and writes of devices, one after the other: pages that are walked through slot by slot, commands, and what is read between them.

This is plain Python. With the C types of ``accesses.pxd`` it is compiled at install; without a compiler it runs as it is, and finds the
same. Parts of a recording join: a part keeps what its first accesses are, since what they mean depends on the part before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROLES = READ, WRITE, ANSWER = range(1, 4)
"""Of a TLP, by its kind: a memory read, a memory write, a completion with data."""

WALKED = (
    "key", "accesses", "slots", "exact", "steps", "jumps", "bytes", "followed", "after", "inside", "times", "first", "last", "lowest",
    "highest",
)  # fmt: skip
"""How a page was walked through, in slots of one size.

- ``accesses``, ``slots``, ``bytes``: accesses, and what they covered.
- ``exact``: accesses of exactly one slot.
- ``steps``, ``jumps``: those that began where the one before in this page ended, and those that began neither there nor with the page.
- ``followed``: reads of slots that a read of anything else followed (of several entries: one that cannot be of entries); writes that data
  continued, or of 16 bytes that went on where data ended.
- ``after``, ``inside``: writes directly behind one of data; and how many of these had the next data go on where those before ended.
- ``times``: the sum of the slots' ticks, modulo 2^64.
- ``first``, ``last``: offsets of the first access, and behind the last one.
- ``lowest``, ``highest``: of accesses of less than a slot, their extreme offsets.
"""

LISTED = ("key", "accesses", "sure", "alone_tail", "alone_page", "first_page", "first_tail", "data", "lone")
"""What a page may hold that was read first between two fetches: bytes of the reads, but for the last two.

- ``sure``: reads that can be of a list only.
- ``alone_tail``, ``alone_page``: reads from inside the page to its end, and of the whole page, alone between two fetches.
- ``first_page``, ``first_tail``: the same before reads of more than two others.
- ``data``: how many reads were of whole sectors that end inside the page, alone between two fetches.
- ``lone``: 1 less the lowest level at which a command read the whole page, wrote data and completed with nothing in between; 0 for none.
"""

_GROUP = ("count", "first", "first_bytes", "last", "last_bytes", "total", "odd", "inner", "gaps")
REQUESTER = (
    "key", "tlps", "writes", "write_bytes", "data_write_bytes", "reads", "read_bytes", "read_data", "read_lists", "empty", "in_a_row",
    "completions", "entry_completions", "slot_completions", "uneven",
    "bursts",
    "first_read", "last_read", "last_page",
    "front", "front_address", "front_size", "front_bytes", "front_next", "front_what", "has_end", "end", "wrote",
    "has_data", "first_data", "data_end", "after_page", "after_what",
    "level", "lowest", "highest", "highest_index", "is_lost", "first_event", "front_written", "window", "since",
    *(f"head_{name}" for name in _GROUP), *(f"tail_{name}" for name in _GROUP),
)  # fmt: skip
"""What a requester did. Sums:

- ``data_write_bytes``: bytes of writes that are data wherever they go: not of a slot, and not small ones by themselves.
- ``read_data``, ``read_lists``: bytes of reads between fetches: data, and lists without those in the table of pages.
- ``empty``: fetches that no read but a fetch followed.
- ``in_a_row``: fetches that followed on a fetch, with not even a small read between.
- ``entry_completions``, ``slot_completions``: completions that answer a read of an entry or of a slot as a whole.
- ``uneven``: reads and completions of a slot or more, of no whole number of 8 bytes: neither sectors nor entries of lists.
- ``bursts``: writes of data, but those in tables of pages, that did not go on where the data before ended.

Both ends of the part:

- ``first_read``, ``last_read``, ``last_page``: what the first and the last read is, and the key of the page of the last one.
- ``front``, ``front_address``, ``front_size``, ``front_bytes``: the first write: what it is may depend on the write before.
- ``front_next``, ``front_what``: the page of what is directly behind that one, and its table, if that one may prove to be data.
- ``has_end``, ``end``: what the last write is, if that was not small, and the address behind it.
- ``wrote``: whether the last write was of data, as far as is known; not kept where its size says so.
- ``has_data``, ``first_data``, ``data_end``: the address of the first data, and that behind the last.
- ``after_page``, ``after_what``: the page of the completion directly behind the last data, and its table.

Commands that were fetched, less those that were completed:

- ``level``, ``lowest``, ``highest``, ``highest_index``: at the end, the extremes, and number of the fetch that first led to the highest.
- ``is_lost``: whether ticks are not known, or there were too many levels.
- ``first_event``, ``front_written``: whether a fetch or a completion is first, and whether data were written before.
- ``window``, ``since``: what was seen since the last fetch; the level before it.

Reads before the first fetch (head) and behind the last one (tail): runs of consecutive addresses, each within a page.

- ``first``, ``first_bytes``, ``last``, ``last_bytes``, ``total``: address and bytes of the first and of the last run; bytes of all.
- ``odd``, ``inner``: bytes of other runs of no whole sectors: those that begin or end with their page, as the ends of data may, and those
  inside of it, as data never are.
- ``gaps``: runs that do not begin where the one before ends.
"""

LEVEL = ("key", "fetched", "ended")
"""Ticks of the last fetch that led up to a level, and of the first completion that led down from it to a new lowest one."""

REQUESTER_BIT, LEVEL_BIT = 47, 32
"""Where the Requester ID begins in the key of a page, and of a level."""

# The same names as C numbers.
_READ, _WRITE, _ANSWER = ROLES
(
    _KEY, _ACCESSES, _SLOTS, _EXACT, _STEPS, _JUMPS, _BYTES, _FOLLOWED, _AFTER, _INSIDE, _TIMES, _FIRST, _LAST, _LOWEST_OFFSET,
    _HIGHEST_OFFSET,
) = range(len(WALKED))  # fmt: skip
_SURE, _ALONE_TAIL, _ALONE_PAGE, _FIRST_PAGE, _FIRST_TAIL, _DATA, _LONE = range(2, len(LISTED))
(
    _TLPS, _WRITES, _WRITE_BYTES, _DATA_WRITE_BYTES, _READS, _READ_BYTES, _READ_DATA, _READ_LISTS, _EMPTY, _IN_A_ROW, _COMPLETIONS,
    _ENTRY_COMPLETIONS, _SLOT_COMPLETIONS, _UNEVEN, _BURSTS, _FIRST_READ, _LAST_READ, _LAST_PAGE, _FRONT, _FRONT_ADDRESS,
    _FRONT_SIZE, _FRONT_BYTES, _FRONT_NEXT, _FRONT_WHAT, _HAS_END, _END, _HAS_WROTE, _HAS_DATA, _FIRST_DATA, _DATA_END,
    _AFTER_PAGE, _AFTER_WHAT, _LEVEL, _LOWEST, _HIGHEST, _HIGHEST_INDEX, _IS_LOST, _FIRST_EVENT, _FRONT_WRITTEN, _WINDOW, _SINCE, _HEAD,
) = range(1, len(REQUESTER) - 2 * len(_GROUP) + 1)  # fmt: skip
_TAIL = _HEAD + len(_GROUP)
_COUNT, _RUN, _RUN_BYTES, _LAST_RUN, _LAST_BYTES, _TOTAL, _ODD, _INNER, _GAPS = range(len(_GROUP))
_GROUP_SIZE = len(_GROUP)
_FETCHED, _ENDED = 1, 2
# What a write is, and whether it was of data: not, so it is, or so it is if the first write of the part is.
_SMALL, _RECORD, _SEVERAL, _BULK = range(1, 5)
_WROTE_DATA, _WROTE_FRONT = 1, 2
# What a read is, and an event; and what was seen since the last fetch: nothing, data, then a completion, or any other event.
_OTHER, _DESCRIPTOR, _FETCH, _COMPLETION, _FETCHES = range(1, 6)
_WAITS, _WROTE, _IS_ALONE, _IS_OVER = range(1, 5)
# Bytes of a page, of a logical block at least, of an entry of a submission queue, and of one of a completion queue or a descriptor. As many
# entries as make a sector are taken for data.
_PAGE_BITS, _PAGE, _SECTOR, _ENTRY, _SLOT = 12, 4096, 512, 64, 16
# The largest entry of a ring of completions, and the smallest one. A write may begin so many bytes behind the one before: where entries are
# reported together, up to seven of the largest are left out.
_LARGEST, _ELEMENT, _REACH = 128, 8, 7 * 128
# Pages of a command that need no list: the two that its entry names.
_PAGES_OF_ENTRY = 2
_PAGES = (1 << 47) - 1
_BITS, _WORD, _HALF_WORD, _HALF_LEVELS = 64, (1 << 64) - 1, 1 << 63, 1 << 31
_REQUESTER_BIT, _LEVEL_BIT = REQUESTER_BIT, LEVEL_BIT
# Rows of a new table: a power of two.
_ROOM = 16


def _numbers(rows: int, columns: int) -> Any:
    room: Any = np.zeros((rows, columns), dtype=np.int64)
    return memoryview(room)


def _places(count: int) -> Any:
    places: Any = np.zeros(count, dtype=np.int32)
    return memoryview(places)


class Table:
    """Numbers by key, in a hash table.

    Parameters
    ----------
    columns : int
        How many numbers are in a row; the first one is the key.
    seed : int
        Of the hash, odd, of 64 bits: whoever makes a recording chooses its keys.

    Attributes
    ----------
    rows : int64, shape (n, columns)
        The first `used` count.
    """

    def __init__(self, columns: int, seed: int) -> None:
        self.seed = seed
        self.used = 0
        self._make_room(_ROOM, columns)

    def load(self, rows: Any) -> None:
        """Take rows of different keys in place of those that are here."""
        room = _ROOM
        while room < len(rows):
            room *= 2
        self.used = 0
        self._make_room(room, self.rows.shape[1])
        for number in range(len(rows)):
            at = self.row(rows[number, _KEY])
            for column in range(self.rows.shape[1]):
                self.rows[at, column] = rows[number, column]

    def row(self, key: int) -> int:
        """Return where the row of a key is; a new one is of zeros."""
        place = self._place(key)
        if not self.places[place]:
            if self.used == len(self.rows):
                former = self.rows
                self._make_room(2 * self.used, former.shape[1])
                np.asarray(self.rows)[: self.used] = former
                for number in range(self.used):
                    self.places[self._place(self.rows[number, _KEY])] = number + 1
                place = self._place(key)
            self.rows[self.used, _KEY] = key
            self.used += 1
            self.places[place] = self.used
        at: int = self.places[place] - 1
        return at

    def _make_room(self, rows: int, columns: int) -> None:
        self.rows, self.places = _numbers(rows, columns), _places(2 * rows)
        self.shift = _BITS + 1 - len(self.places).bit_length()

    def _place(self, key: int) -> int:
        mask = len(self.places) - 1
        # The uppermost bits, which all bits of the key have a say in: keys may differ in their uppermost bits only.
        place = (key * self.seed & _WORD) >> self.shift
        while self.places[place] and self.rows[self.places[place] - 1, _KEY] != key:
            place = place + 1 & mask
        return place


class Accesses:
    """What a part of a recording holds.

    Parameters
    ----------
    seed : int
        Of the hashes: :class:`Table`.
    most : int
        Levels of a requester, both above and below the one at the start, whose ticks are kept.

    Attributes
    ----------
    requesters : Table
        By Requester ID: :data:`REQUESTER`.
    entries : Table
        By page (above it the Requester ID): :data:`WALKED` of reads of 64 bytes, or some times 64, which fetch commands.
    descriptors : Table
        The same of reads of 16 bytes.
    records : Table
        The same of writes of 16 bytes: completion queue entries, descriptors written back.
    completions : Table
        The same of writes of 8 bytes, and of 32 to 128 in steps of 16 that do not go on where data end: each is one slot.
    small_writes, small_reads : Table
        The same of less than 16 bytes: interrupts, shadow doorbells.
    lists : Table
        By page: :data:`LISTED`.
    levels : Table
        By requester and level: :data:`LEVEL`.
    """

    def __init__(self, seed: int, most: int) -> None:
        self.most = most
        self.is_timed = False
        self.requesters = Table(len(REQUESTER), seed)
        self.entries, self.descriptors, self.records = Table(len(WALKED), seed), Table(len(WALKED), seed), Table(len(WALKED), seed)
        self.completions = Table(len(WALKED), seed)
        self.small_writes, self.small_reads = Table(len(WALKED), seed), Table(len(WALKED), seed)
        self.lists = Table(len(LISTED), seed)
        self.levels = Table(len(LEVEL), seed)

    def add(
        self,
        roles: Any,
        kinds: Any,
        valid: Any,
        requesters: Any,
        addresses: Any,
        lengths: Any,
        asked: Any,
        counts: Any,
        index: Any,
        at: Any,
    ) -> None:
        """Take the rows of a batch; `roles` are by kind, `at` is empty where ticks are not known; so is `valid` if all have a requester."""
        self.is_timed = len(at) > 0
        for row in range(len(kinds)):
            if len(valid) and not valid[row]:
                continue
            who = self.requesters.row(requesters[row])
            self.requesters.rows[who, _TLPS] += 1
            role = roles[kinds[row]]
            now = at[row] if self.is_timed else 0
            if role == _READ:
                self._read(who, addresses[row], 4 * lengths[row], asked[row], now, index[row])
            elif role == _WRITE:
                self._write(who, addresses[row], 4 * lengths[row], asked[row], now)
            elif role == _ANSWER:
                self._answer(who, 4 * lengths[row], counts[row])

    def _answer(self, who: int, size: int, asked: int) -> None:
        rows = self.requesters.rows
        rows[who, _COMPLETIONS] += 1
        rows[who, _ENTRY_COMPLETIONS] += size == _ENTRY and asked == _ENTRY
        rows[who, _SLOT_COMPLETIONS] += size == _SLOT and asked == _SLOT
        rows[who, _UNEVEN] += asked >= _SLOT and asked & 7 != 0

    def _read(self, who: int, address: int, size: int, asked: int, now: int, number: int) -> None:
        rows = self.requesters.rows
        key = self._page(who, address)
        what = _OTHER
        if size == _ENTRY and not address & (_ENTRY - 1):
            what = _FETCH
        elif size == _SLOT and not address & (_SLOT - 1):
            what = _DESCRIPTOR
        elif _SLOT < size < _SECTOR and not (size | address) & (_ENTRY - 1):
            what = _FETCHES
        self._see_reads(who, what, what, key)
        rows[who, _READS] += 1
        rows[who, _READ_BYTES] += asked
        if size < _SLOT:
            self._see_small(self.small_reads, key, address, asked)
            return
        rows[who, _UNEVEN] += (asked | address) & 7 != 0
        if what == _DESCRIPTOR:
            self._walk(self.descriptors, key, address, size, _SLOT, now)
        elif what != _OTHER:
            self._walk(self.entries, key, address, size, _ENTRY, now)
        if what == _FETCH:
            self._see_event(who, _FETCH)
            if rows[who, _WINDOW]:
                self._sort(who, _TAIL)
            rows[who, _WINDOW], rows[who, _SINCE] = _WAITS, rows[who, _LEVEL]
            rows[who, _LEVEL] += 1
            if rows[who, _LEVEL] > rows[who, _HIGHEST]:
                rows[who, _HIGHEST], rows[who, _HIGHEST_INDEX] = rows[who, _LEVEL], number
            self._keep(who, rows[who, _LEVEL], _FETCHED, now)
            rows[who, _IS_LOST] |= not self.is_timed
        else:
            self._see_run(who, _TAIL if rows[who, _WINDOW] else _HEAD, address, size)

    def _write(self, who: int, address: int, size: int, asked: int, now: int) -> None:
        rows = self.requesters.rows
        rows[who, _WRITES] += 1
        rows[who, _WRITE_BYTES] += asked
        end = ((address + _HALF_WORD + size) & _WORD) - _HALF_WORD
        if size > _LARGEST and rows[who, _HAS_END] == _BULK and rows[who, _END] == address:
            # Data that go on at once: what most writes are.
            rows[who, _DATA_WRITE_BYTES] += asked
            rows[who, _END] = rows[who, _DATA_END] = end
            self._see_data(who)
            return
        what = _BULK
        if size < _SLOT:
            what = _SMALL
        elif size <= _LARGEST and not (size | address) & (_SLOT - 1):
            if size == _SLOT:
                what = _RECORD
            elif asked == size:
                what = _SEVERAL
        if rows[who, _WRITES] == 1:
            rows[who, _FRONT], rows[who, _FRONT_ADDRESS], rows[who, _FRONT_SIZE], rows[who, _FRONT_BYTES] = what, address, size, asked
            rows[who, _HAS_WROTE] = _WROTE_FRONT
        if what == _BULK:
            if rows[who, _HAS_END] == _SEVERAL:
                self._see_continued(who, address)
            if rows[who, _HAS_DATA] and rows[who, _DATA_END] != address:
                rows[who, _BURSTS] += 1
                rows[who, _DATA_END], rows[who, _AFTER_WHAT] = end, 0
            else:
                self._see_burst(who, address, size)
        elif rows[who, _WRITES] > 1 and self._see_write(who, what, address, size, asked):
            self._see_data(who)
        if what == _SMALL:
            rows[who, _HAS_END] = 0
            return
        rows[who, _HAS_END], rows[who, _END] = what, end
        if what == _RECORD:
            self._walk(self.records, self._page(who, address), address, size, _SLOT, now)
            self._see_event(who, _COMPLETION)
            level = rows[who, _LEVEL]
            rows[who, _LEVEL] = level - 1
            if level == rows[who, _LOWEST]:
                rows[who, _LOWEST] = level - 1
                self._keep(who, level, _ENDED, now)
            rows[who, _IS_LOST] |= not self.is_timed
        else:
            rows[who, _DATA_WRITE_BYTES] += asked
            self._see_data(who)

    def _see_continued(self, who: int, address: int) -> None:
        """Note that data go on behind the last write, if that looked like a completion."""
        rows = self.requesters.rows
        if rows[who, _HAS_END] == _SEVERAL and rows[who, _END] == address:
            at = self.completions.row(self._page(who, address - 1))
            self.completions.rows[at, _FOLLOWED] += 1

    def _see_burst(self, who: int, address: int, size: int) -> None:
        """Add a write of data."""
        rows = self.requesters.rows
        if not rows[who, _HAS_DATA]:
            rows[who, _FIRST_DATA] = address
        rows[who, _BURSTS] += not self._goes_on(who, address)
        rows[who, _HAS_DATA], rows[who, _DATA_END], rows[who, _AFTER_WHAT] = 1, ((address + _HALF_WORD + size) & _WORD) - _HALF_WORD, 0
        rows[who, _HAS_WROTE] = _WROTE_DATA

    def _goes_on(self, who: int, address: int) -> bool:
        """Return whether data begin where the data before ended; a completion between them is noted."""
        rows = self.requesters.rows
        if not rows[who, _HAS_DATA] or rows[who, _DATA_END] != address:
            return False
        if rows[who, _AFTER_WHAT]:
            table = self.records if rows[who, _AFTER_WHAT] == _RECORD else self.completions
            at = table.row(rows[who, _AFTER_PAGE])
            table.rows[at, _INSIDE] += 1
        return True

    def _see_write(self, who: int, what: int, address: int, size: int, asked: int) -> bool:
        """Add what a write is, if that depends on the one before; return whether it is the end of data."""
        rows = self.requesters.rows
        key, is_behind = self._page(who, address), rows[who, _HAS_END] and rows[who, _END] == address
        if is_behind and (what == _SMALL or (what == _SEVERAL and rows[who, _HAS_END] == _BULK)):
            if what == _SMALL:
                rows[who, _DATA_WRITE_BYTES] += asked
                self._see_continued(who, address)
            self._see_burst(who, address, size)
            return True
        if is_behind and what == _RECORD and rows[who, _HAS_END] == _BULK:
            at = self.records.row(key)
            self.records.rows[at, _FOLLOWED] += 1
            self._see_burst(who, address, size)
            return False
        wrote = _WROTE_DATA if rows[who, _HAS_END] == _BULK else rows[who, _HAS_WROTE]
        rows[who, _HAS_WROTE] = 0
        self._see_alone(key, what, address, size, asked)
        if what == _SMALL and asked != _ELEMENT:
            return False
        if wrote == _WROTE_DATA:
            self._see_after(who, what, key)
        elif wrote == _WROTE_FRONT:
            rows[who, _FRONT_NEXT], rows[who, _FRONT_WHAT] = key, what
        return False

    def _see_alone(self, key: int, what: int, address: int, size: int, asked: int) -> None:
        """Add a write that is no end of data."""
        if what == _SMALL:
            self._see_small(self.small_writes, key, address, asked)
        if what == _SEVERAL or (what == _SMALL and asked == _ELEMENT):
            self._walk(self.completions, key, address, size, size, 0)

    def _see_after(self, who: int, what: int, key: int) -> None:
        """Note that a write that is no data, in this page, is directly behind data."""
        table = self.records if what == _RECORD else self.completions
        at = table.row(key)
        table.rows[at, _AFTER] += 1
        self.requesters.rows[who, _AFTER_WHAT], self.requesters.rows[who, _AFTER_PAGE] = what, key

    def _page(self, who: int, address: int) -> int:
        """Return the key of a page, which sorts by requester first. Addresses of pages have 59 bits at most."""
        key: int = self.requesters.rows[who, _KEY] << _REQUESTER_BIT | (address >> _PAGE_BITS & _PAGES)
        return key

    def _walk(self, table: Table, key: int, address: int, size: int, slot: int, now: int) -> None:
        at = table.row(key)
        rows, offset, slots = table.rows, address & (_PAGE - 1), size // slot
        self._see_first(table, at, offset, _REACH if table is self.completions else 0)
        rows[at, _ACCESSES] += 1
        rows[at, _SLOTS] += slots
        rows[at, _EXACT] += slots == 1
        rows[at, _BYTES] += size
        rows[at, _LAST] = offset + size
        self._add_time(table, at, now * slots)

    def _see_first(self, table: Table, at: int, offset: int, reach: int) -> None:
        """Note where an access begins, or the first one of a later part: a step may leave out so many bytes."""
        rows = table.rows
        if not rows[at, _ACCESSES]:
            rows[at, _FIRST] = offset
        elif rows[at, _LAST] <= offset <= rows[at, _LAST] + reach:
            rows[at, _STEPS] += 1
        elif offset > reach:
            rows[at, _JUMPS] += 1

    def _add_time(self, table: Table, at: int, ticks: int) -> None:
        table.rows[at, _TIMES] = ((table.rows[at, _TIMES] + ticks + _HALF_WORD) & _WORD) - _HALF_WORD

    def _see_small(self, table: Table, key: int, address: int, asked: int) -> None:
        offset, at = address & (_PAGE - 1), table.row(key)
        self._see_offsets(table, at, offset, offset)
        rows = table.rows
        rows[at, _ACCESSES] += 1
        rows[at, _BYTES] += asked

    def _see_offsets(self, table: Table, at: int, lowest: int, highest: int) -> None:
        rows = table.rows
        if not rows[at, _ACCESSES]:
            rows[at, _LOWEST_OFFSET], rows[at, _HIGHEST_OFFSET] = lowest, highest
        rows[at, _LOWEST_OFFSET] = min(rows[at, _LOWEST_OFFSET], lowest)
        rows[at, _HIGHEST_OFFSET] = max(rows[at, _HIGHEST_OFFSET], highest)

    def _see_reads(self, who: int, first: int, last: int, page: int) -> None:
        """Note what a read is, or the first and the last one of a later part."""
        rows = self.requesters.rows
        before = rows[who, _LAST_READ]
        if not before:
            rows[who, _FIRST_READ] = first
        elif before == _FETCH and first == _FETCH:
            rows[who, _IN_A_ROW] += 1
        elif before == _DESCRIPTOR and first != _DESCRIPTOR:
            at = self.descriptors.row(rows[who, _LAST_PAGE])
            self.descriptors.rows[at, _FOLLOWED] += 1
        elif (before == _FETCH and first != _FETCH) or (before == _FETCHES and first == _OTHER):
            at = self.entries.row(rows[who, _LAST_PAGE])
            self.entries.rows[at, _FOLLOWED] += 1
        rows[who, _LAST_READ], rows[who, _LAST_PAGE] = last, page

    def _see_data(self, who: int) -> None:
        """Note that data are written."""
        rows = self.requesters.rows
        if not rows[who, _FIRST_EVENT]:
            rows[who, _FRONT_WRITTEN] = 1
        if rows[who, _WINDOW] == _WAITS:
            rows[who, _WINDOW] = _WROTE

    def _see_event(self, who: int, what: int) -> None:
        """Note that a command is fetched, or completed."""
        rows = self.requesters.rows
        if not rows[who, _FIRST_EVENT]:
            rows[who, _FIRST_EVENT] = what
        if rows[who, _WINDOW] == _WROTE and what == _COMPLETION:
            rows[who, _WINDOW] = _IS_ALONE
        elif rows[who, _WINDOW] == _WAITS or rows[who, _WINDOW] == _WROTE:
            rows[who, _WINDOW] = _IS_OVER

    def _keep(self, who: int, level: int, column: int, now: int) -> None:
        """Keep the ticks of a level, unless they are too many."""
        rows = self.requesters.rows
        rows[who, _IS_LOST] |= rows[who, _LEVEL] - rows[who, _LOWEST] > self.most or -rows[who, _LOWEST] > self.most
        if not rows[who, _IS_LOST]:
            at = self.levels.row(rows[who, _KEY] << _LEVEL_BIT | (level + _HALF_LEVELS))
            self.levels.rows[at, column] = now

    def _see_run(self, who: int, group: int, address: int, size: int) -> None:
        """Add a read, or the first run of a later part, to the reads between two fetches."""
        rows = self.requesters.rows
        last, count = rows[who, group + _LAST_RUN], rows[who, group + _COUNT]
        rows[who, group + _TOTAL] += size
        follows = count and (last + rows[who, group + _LAST_BYTES] - address) & _WORD == 0
        if follows and last >> _PAGE_BITS == address >> _PAGE_BITS:
            rows[who, group + _LAST_BYTES] += size
            if count == 1:
                rows[who, group + _RUN_BYTES] += size
            return
        if not count:
            rows[who, group + _RUN], rows[who, group + _RUN_BYTES] = address, size
        elif not follows:
            rows[who, group + _GAPS] += 1
        self._end_run(who, group)
        rows[who, group + _LAST_RUN], rows[who, group + _LAST_BYTES] = address, size
        rows[who, group + _COUNT] += 1

    def _end_run(self, who: int, group: int) -> None:
        """Note what the last run is, if it is not the first one as well."""
        rows = self.requesters.rows
        if rows[who, group + _COUNT] > 1:
            self._see_uneven(who, group, rows[who, group + _LAST_RUN], rows[who, group + _LAST_BYTES])

    def _see_uneven(self, who: int, group: int, address: int, size: int) -> None:
        if size & (_SECTOR - 1):
            is_end = not address & (_PAGE - 1) or not (address + size) & (_PAGE - 1)
            self.requesters.rows[who, group + (_ODD if is_end else _INNER)] += size

    def _sort(self, who: int, group: int) -> None:
        """Tell lists from data in what was read between two fetches, and forget the reads.

        What cannot be data is of lists, or of several entries at once: a drive does not read lists to the end of their page.
        """
        rows = self.requesters.rows
        count, address, size = rows[who, group + _COUNT], rows[who, group + _RUN], rows[who, group + _RUN_BYTES]
        if not count:
            rows[who, _EMPTY] += 1
            return
        self._end_run(who, group)
        self._see_uneven(who, group, address, size)
        odd, inner = rows[who, group + _ODD], rows[who, group + _INNER]
        is_whole, ends = size == _PAGE and not address & (_PAGE - 1), (address & (_PAGE - 1)) + size == _PAGE
        is_odd = size & (_SECTOR - 1) != 0
        column = listed = 0
        if is_odd and not inner and not (odd - size) & (_SECTOR - 1):
            # An odd read in front is a list, unless it is the head of data whose other end is odd too. Several odd ones are several lists.
            column, listed = _SURE, size
        elif not is_odd and count == 1:
            column = _DATA
            if ends:
                column, listed = _ALONE_PAGE if is_whole else _ALONE_TAIL, size
        elif not (is_odd or inner or odd & (_SECTOR - 1)) and ends and count > _PAGES_OF_ENTRY + 1 and rows[who, group + _GAPS]:
            column, listed = _FIRST_PAGE if is_whole else _FIRST_TAIL, size
        else:
            listed = inner + (odd if odd & (_SECTOR - 1) else 0)
            rows[who, _READ_LISTS] += listed
        rows[who, _READ_DATA] += rows[who, group + _TOTAL] - listed
        if column:
            at = self.lists.row(self._page(who, address))
            self.lists.rows[at, _ACCESSES] += 1
            self.lists.rows[at, column] += 1 if column == _DATA else size
            is_lone = group == _TAIL and rows[who, _WINDOW] == _IS_ALONE and rows[who, _SINCE] == rows[who, _LOWEST]
            if column == _ALONE_PAGE and is_lone:
                self.lists.rows[at, _LONE] = max(self.lists.rows[at, _LONE], 1 - rows[who, _LOWEST])
        for field in range(_GROUP_SIZE):
            rows[who, group + field] = 0

    def join(self, later: Accesses, ticks: int) -> None:
        """Add the part behind, whose ticks begin so many later."""
        self._join_pages(self.entries, later.entries, ticks)
        self._join_pages(self.descriptors, later.descriptors, ticks)
        self._join_pages(self.records, later.records, ticks)
        self._join_pages(self.small_writes, later.small_writes, 0)
        self._join_pages(self.small_reads, later.small_reads, 0)
        for number in range(later.lists.used):
            at = self.lists.row(later.lists.rows[number, _KEY])
            for column in range(_ACCESSES, _LONE):
                self.lists.rows[at, column] += later.lists.rows[number, column]
            if later.lists.rows[number, _LONE]:
                who = self.requesters.row(later.lists.rows[number, _KEY] >> _REQUESTER_BIT)
                lone = later.lists.rows[number, _LONE] - self.requesters.rows[who, _LEVEL]
                self.lists.rows[at, _LONE] = max(self.lists.rows[at, _LONE], lone)
        for number in range(later.requesters.used):
            self._join_requester(self.requesters.row(later.requesters.rows[number, _KEY]), later, number, ticks)
        self._join_pages(self.completions, later.completions, 0)

    def _join_pages(self, table: Table, later: Table, ticks: int) -> None:
        for number in range(later.used):
            at = table.row(later.rows[number, _KEY])
            if later.rows[number, _ACCESSES]:
                reach = _REACH if table is self.completions else 0
                self._see_first(table, at, later.rows[number, _FIRST], reach)
                self._see_offsets(table, at, later.rows[number, _LOWEST_OFFSET], later.rows[number, _HIGHEST_OFFSET])
                table.rows[at, _LAST] = later.rows[number, _LAST]
            for column in range(_ACCESSES, _TIMES):
                table.rows[at, column] += later.rows[number, column]
            self._add_time(table, at, later.rows[number, _TIMES])
            self._add_time(table, at, later.rows[number, _SLOTS] * ticks)

    def _join_requester(self, who: int, later: Accesses, number: int, ticks: int) -> None:
        rows, behind = self.requesters.rows, later.requesters.rows
        self._join_levels(who, later, number, ticks)
        if behind[number, _WRITES]:
            self._join_writes(who, later, number)
        if behind[number, _READS]:
            self._see_reads(who, behind[number, _FIRST_READ], behind[number, _LAST_READ], behind[number, _LAST_PAGE])
        if behind[number, _FRONT_WRITTEN]:
            self._see_data(who)
        if behind[number, _FIRST_EVENT]:
            self._see_event(who, behind[number, _FIRST_EVENT])
        self._join_head(who, _TAIL if rows[who, _WINDOW] else _HEAD, later, number)
        if behind[number, _WINDOW]:
            if rows[who, _WINDOW]:
                self._sort(who, _TAIL)
            for field in range(_GROUP_SIZE):
                rows[who, _TAIL + field] = behind[number, _TAIL + field]
            rows[who, _WINDOW] = behind[number, _WINDOW]
            rows[who, _SINCE] = rows[who, _LEVEL] - behind[number, _LEVEL] + behind[number, _SINCE]
        for column in range(_TLPS, _FIRST_READ):
            rows[who, column] += behind[number, column]

    def _join_writes(self, who: int, later: Accesses, number: int) -> None:
        rows, behind = self.requesters.rows, later.requesters.rows
        if not rows[who, _WRITES]:
            for column in range(_FRONT, _AFTER_WHAT + 1):
                rows[who, column] = behind[number, column]
            return
        front, address = behind[number, _FRONT], behind[number, _FRONT_ADDRESS]
        if front == _BULK:
            self._see_continued(who, address)
        else:
            self._see_write(who, front, address, behind[number, _FRONT_SIZE], behind[number, _FRONT_BYTES])
            if rows[who, _HAS_WROTE] == _WROTE_DATA and behind[number, _FRONT_WHAT]:
                self._see_after(who, behind[number, _FRONT_WHAT], behind[number, _FRONT_NEXT])
        if behind[number, _HAS_DATA]:
            rows[who, _BURSTS] -= self._goes_on(who, behind[number, _FIRST_DATA])
            if not rows[who, _HAS_DATA]:
                rows[who, _FIRST_DATA] = behind[number, _FIRST_DATA]
            for column in range(_HAS_DATA, _AFTER_WHAT + 1):
                rows[who, column] = behind[number, column]
        rows[who, _HAS_END], rows[who, _END] = behind[number, _HAS_END], behind[number, _END]
        if behind[number, _HAS_WROTE] != _WROTE_FRONT:
            rows[who, _HAS_WROTE] = behind[number, _HAS_WROTE]

    def _join_head(self, who: int, group: int, later: Accesses, number: int) -> None:
        """Add the reads before the first fetch of the part behind."""
        rows, behind = self.requesters.rows, later.requesters.rows
        count = behind[number, _HEAD + _COUNT]
        if not count:
            return
        self._see_run(who, group, behind[number, _HEAD + _RUN], behind[number, _HEAD + _RUN_BYTES])
        rows[who, group + _TOTAL] += behind[number, _HEAD + _TOTAL] - behind[number, _HEAD + _RUN_BYTES]
        for field in range(_ODD, _GROUP_SIZE):
            rows[who, group + field] += behind[number, _HEAD + field]
        if count > 1:
            self._end_run(who, group)
            rows[who, group + _COUNT] += count - 1
            rows[who, group + _LAST_RUN] = behind[number, _HEAD + _LAST_RUN]
            rows[who, group + _LAST_BYTES] = behind[number, _HEAD + _LAST_BYTES]

    def _join_levels(self, who: int, later: Accesses, number: int, ticks: int) -> None:
        """Add the commands under way in the part behind."""
        rows, behind = self.requesters.rows, later.requesters.rows
        level, lowest = rows[who, _LEVEL], rows[who, _LOWEST]
        if level + behind[number, _HIGHEST] > rows[who, _HIGHEST]:
            rows[who, _HIGHEST], rows[who, _HIGHEST_INDEX] = level + behind[number, _HIGHEST], behind[number, _HIGHEST_INDEX]
        rows[who, _LEVEL] = level + behind[number, _LEVEL]
        rows[who, _LOWEST] = min(lowest, level + behind[number, _LOWEST])
        rows[who, _IS_LOST] |= behind[number, _IS_LOST]
        for step in range(behind[number, _LOWEST] + 1, max(behind[number, _LEVEL], 0) + 1):
            if rows[who, _IS_LOST]:
                break
            at = later.levels.row(behind[number, _KEY] << _LEVEL_BIT | (step + _HALF_LEVELS))
            if step <= 0 and level + step <= lowest:
                self._keep(who, level + step, _ENDED, later.levels.rows[at, _ENDED] + ticks)
            if step <= behind[number, _LEVEL]:
                self._keep(who, level + step, _FETCHED, later.levels.rows[at, _FETCHED] + ticks)

    def close(self) -> None:
        """Add what is still open at both ends of the recording, since nothing more comes; it is taken out."""
        rows = self.requesters.rows
        for who in range(self.requesters.used):
            if rows[who, _FRONT] == _SMALL or rows[who, _FRONT] == _SEVERAL:
                self._see_first_of_all(who)
                rows[who, _FRONT] = 0
            if rows[who, _HEAD + _COUNT]:
                self._sort(who, _HEAD)
            if rows[who, _TAIL + _COUNT]:
                self._sort(who, _TAIL)

    def _see_first_of_all(self, who: int) -> None:
        """Add the first write of the recording, in front of those that were added."""
        front = self.requesters.rows
        address, size = front[who, _FRONT_ADDRESS], front[who, _FRONT_SIZE]
        key = self._page(who, address)
        at = self.completions.row(key)
        rows = self.completions.rows
        first, last, count = rows[at, _FIRST], rows[at, _LAST], rows[at, _ACCESSES]
        rows[at, _ACCESSES] = 0
        self._see_alone(key, front[who, _FRONT], address, size, front[who, _FRONT_BYTES])
        if count and rows[at, _ACCESSES]:
            self._see_first(self.completions, at, first, _REACH)
            rows[at, _LAST] = last
        rows[at, _ACCESSES] += count
