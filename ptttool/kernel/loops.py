"""Requests and their completions, one record after the other; and how many requests are outstanding.

This is plain Python. With the C types of ``loops.pxd`` it is compiled at install; without a compiler it runs as it is, and finds the same.
The rules are those of the PCIe base specification 6.x, sections 2.2.9 and 2.3.1.1 (completions).
"""

from __future__ import annotations

from typing import Any

import numpy as np

ENTRY = (
    "key", "state", "request", "first", "last", "at", "segment", "to_first", "limit", "expected", "requested", "received", "completions",
    "status", "kind", "row", "own", "front", "sent", "went", "mine", "level", "posted", "quiet", "more", "more_ends",
    "more_index",
)  # fmt: skip
"""The last request with a key, or the completions in front of any; `more` of them cannot be those of an earlier request.

`own` and `front` are those of :data:`WAITS`; `sent`, `went` and `mine` are the running sums at the request: bytes and completions that
went to devices, and bytes of those for its requester.
"""

ANSWER = ("key", "index", "at", "segment", "status", "bytes", "count", "ends", "is_hidden", "own", "sent", "went", "mine")
"""A completion in front of the first request with its key: its bytes of the request, its Byte Count; its bytes on the link, sums."""

ENDED = (
    "request", "first", "last", "key", "kind", "requested", "received", "completions", "status", "ending", "is_cut", "has_end", "at",
    "to_first", "to_last", "row", "sent", "went", "mine", "own", "front", "level", "posted", "quiet",
)  # fmt: skip
"""A request that has ended."""

WAITS = ENDED[16:]
"""What went to devices, on the link, behind a request up to the completion that ended it, that one with it: bytes, completions, bytes of
completions for the same requester, bytes of its own ones; completions in front of its first one. Then how many more requests of devices
than last completions for them stand in front of it in the part; and the bytes of posted requests of devices behind the last TLP that went
to devices, or -1 less those since the part began where none went. At last the longest time in ticks without any TLP since the last
request of devices, or completion for one, in front of it, or -1 less the longest since the part began where there is none;
:data:`UNSEEN` where it is not known.
"""

FLOWS = ("sent", "went", "level", "lowest", "posted", "knows", "quiet", "acts")
"""Running sums at the end of a part: as of :data:`WAITS`; `lowest`: the lowest `level` in it, its start with it; `knows`: whether a TLP
went to devices, or records were missing, in it; `acts`: whether there was a request of devices, or a completion for one, in it.
"""

UNSEEN = 1 << 62
"""A time that is not known: longer than any."""

ORPHAN = ("key", "index", "count")
"""Completions without a request, behind a request with their key."""

STATES = ANSWERS, ANSWERED, OPEN, CLOSED = range(1, 5)
"""Of an entry: completions only, which may be of an earlier request, or which have ended it; an open request; a request that has ended."""

ENDINGS = COMPLETE, ERROR, SHORT, INSIDE, END = range(5)
"""How a request ends: all bytes came; with an error; bytes are missing; no completion came; it is open where its AUX stream ends."""

ROLES = FIXED, WRITE, HAS_DATA, COMPLETION, REQUEST, POSTED = 1, 2, 4, 8, 16, 32
"""Of a TLP, by its kind. The first two are of requests: four bytes whatever is asked for, and an answer without data."""

DIRECTIONS = INBOUND, OUTBOUND, UNKNOWN = range(3)
"""Of a TLP; completions whose direction is not known count as those that go to devices."""

AROUND = 20
"""Bytes of a TLP on the link besides its data, as they are counted here: a header of three DWs, framing and LCRC."""

# The same names as C numbers.
(
    _KEY, _STATE, _REQUEST, _FIRST, _LAST, _AT, _SEGMENT, _TO_FIRST, _LIMIT, _EXPECTED, _REQUESTED, _RECEIVED, _COMPLETIONS,
    _STATUS, _KIND, _ROW, _OWN, _FRONT, _SENT, _WENT, _MINE, _LEVEL, _POSTED, _QUIET, _MORE, _MORE_ENDS, _MORE_INDEX,
) = range(len(ENTRY))  # fmt: skip
_ANSWERS, _ANSWERED, _OPEN, _CLOSED = STATES
_COMPLETE, _ERROR, _SHORT, _INSIDE, _END = ENDINGS
_IS_FIXED, _IS_WRITE, _HAS_DATA, _IS_COMPLETION, _IS_REQUEST, _IS_POSTED = ROLES
_GOES_OUT, _NOT_KNOWN = OUTBOUND, UNKNOWN
_AROUND = AROUND
_UNSEEN = UNSEEN
_WORD = (1 << 64) - 1
# Columns of sums of levels.
_SUMS = 5
# A read asks for at most so many bytes.
_MOST_BYTES = 4096


def _numbers(rows: int, fields: int) -> Any:
    """Return room for numbers; pages that nothing is written to take no memory."""
    room: Any = np.empty((rows, fields), dtype=np.int64)
    return memoryview(room)


def _places(count: int) -> Any:
    places: Any = np.zeros(count, dtype=np.int32)
    return memoryview(places)


def _zeros(count: int) -> Any:
    zeros: Any = np.zeros(count, dtype=np.int64)
    return memoryview(zeros)


class Matcher:
    """A hash table of entries, one for each key, and what was found.

    Parameters
    ----------
    room : int
        The most requests that may end, completions in front, and orphans.
    seed : int
        Of the hash, odd, of 64 bits: whoever makes a recording chooses its keys.

    Attributes
    ----------
    entries : int64, shape (n, 27)
        :data:`ENTRY`; the first `used` count.
    ended : int64, shape (room, 24)
        :data:`ENDED`; the first `ends` count.
    answers, orphans : int64, shapes (room, 13), (room, 3)
        :data:`ANSWER` and :data:`ORPHAN`; the first `fronts` and `groups` count.
    early, early_ends : int
        Completions whose request stands in front of a hole, and how many of them ended one.
    front : ndarray of int64, shape (k, 27), or None
        The entries at the first hole.
    is_split : bool
        Whether there was a hole.
    gap : int
        How requests ended that were open at the first hole and had no completion.
    sent, went, level, lowest, posted, knows, quiet, acts : int
        :data:`FLOWS`, up to where the loop is.
    mine : int64, shape (65536,)
        Bytes of completions on the link, by requester.
    """

    def __init__(self, room: int, seed: int) -> None:
        self.seed = seed
        self.entries = _numbers(512, len(ENTRY))
        self.table = _places(1024)
        self.ended = _numbers(room, len(ENDED))
        self.answers = _numbers(room, len(ANSWER))
        self.orphans = _numbers(room, len(ORPHAN))
        self.used = self.ends = self.fronts = self.groups = 0
        self.early = self.early_ends = 0
        self.is_split = False
        self.front: Any = None
        self.gap = _INSIDE
        self.sent = self.went = self.level = self.lowest = self.posted = self.quiet = 0
        self.knows = self.acts = False
        self.mine = _zeros(1 << 16)

    def load(self, entries: Any) -> None:
        """Take entries whose keys are not known yet: :data:`ENTRY`."""
        for row in range(len(entries)):
            number = self._added(entries[row, _KEY])
            for field in range(_STATE, _MORE_INDEX + 1):
                self.entries[number, field] = entries[row, field]

    def begin(self, answers: Any, front: Any, gap: int) -> None:
        """Begin behind a part: :data:`ANSWER`, and the attributes of the same name."""
        for row in range(len(answers)):
            for field in range(len(ANSWER)):
                self.answers[row, field] = answers[row, field]
        self.fronts, self.front, self.is_split, self.gap = len(answers), front, front is not None, gap

    def rows(
        self, roles: Any, kinds: Any, requesters: Any, tags: Any, segments: Any, lengths: Any, asked: Any, statuses: Any, counts: Any,
        lowers: Any, hidden: Any, index: Any, start: int, at: Any, breaks: Any, holes: Any, gaps: Any, directions: Any,
    ) -> None:  # fmt: skip
        """Take the rows of a batch; `kinds` and `roles` (by kind) tell how many there are.

        Columns that no row needs are empty; so are `segments`, `hidden`, `index` (then rows are numbered from `start` on), `at` (then
        time is not known) and `directions` (then none is known). `breaks` and `holes` are rows, ascending, `gaps` how requests end at the
        holes.
        """
        hole = part = last = 0
        for row in range(len(kinds)):
            if hole < len(holes) and holes[hole] == row:
                self.hole(gaps[hole])
                hole += 1
            while part < len(breaks) and breaks[part] <= row:
                part += 1
                self.quiet = _UNSEEN
            if len(at):
                if row:
                    self.quiet = max(self.quiet, at[row] - last)
                last = at[row]
            role = roles[kinds[row]]
            if not role & (_IS_COMPLETION | _IS_REQUEST | _IS_POSTED):
                continue
            way = directions[row] if len(directions) else _NOT_KNOWN
            size = 4 * lengths[row]
            wire = _AROUND + size if role & (_HAS_DATA | _IS_WRITE) else _AROUND
            is_sent = way == _GOES_OUT or (way == _NOT_KNOWN and role & _IS_COMPLETION)
            if is_sent:
                self.sent += wire
                self.posted, self.knows = 0, True
            elif role & _IS_POSTED:
                self.posted += wire
            if not role & (_IS_COMPLETION | _IS_REQUEST):
                continue
            key = segments[row] if len(segments) else 0
            key = key << 16 | requesters[row]
            key = key << 16 | tags[row]
            number = index[row] if len(index) else start + row
            now = at[row] if len(at) else -1
            if role & _IS_REQUEST:
                self._request(key, number, now, part, kinds[row], role, asked[row], size, row)
                if way != _GOES_OUT:
                    self.level += 1
                    self.quiet, self.acts = 0, True
                continue
            left = piece = 0
            ends = True
            if role & _HAS_DATA and not statuses[row]:
                room = size - (lowers[row] & 3)
                left = counts[row]
                ends = left <= room
                piece = left if ends else room
            if not is_sent:
                wire = 0
            else:
                self.went += 1
                self.quiet, self.acts = 0, True
                self.mine[requesters[row]] += wire
                self.level -= ends
                self.lowest = min(self.lowest, self.level)
            self.completion(
                key, number, now, part, statuses[row], piece, left, ends, bool(len(hidden) and hidden[row]), wire, self.sent, self.went,
                self.mine[requesters[row]],
            )  # fmt: skip

    def _request(self, key: int, number: int, at: int, segment: int, kind: int, role: int, asked: int, size: int, row: int) -> None:
        entry = self._found(key)
        if entry < 0:
            entry = self._added(key)
        elif self.entries[entry, _STATE] == _OPEN:
            self._close(entry, _INSIDE, False, False, -1, 0, 0, 0)
        expected = asked if asked else 1  # the completion of a zero-length read has Byte Count 1
        if role & _IS_FIXED:  # completions of I/O and configuration reads, whatever their byte enables
            size = expected = 4
        self.entries[entry, _STATE] = _OPEN
        self.entries[entry, _REQUEST] = self.entries[entry, _FIRST] = self.entries[entry, _LAST] = number
        self.entries[entry, _AT], self.entries[entry, _SEGMENT], self.entries[entry, _TO_FIRST] = at, segment, -1
        self.entries[entry, _LIMIT], self.entries[entry, _EXPECTED] = size, 0 if role & _IS_WRITE else expected
        self.entries[entry, _REQUESTED], self.entries[entry, _KIND], self.entries[entry, _ROW] = asked, kind, row
        self.entries[entry, _RECEIVED] = self.entries[entry, _COMPLETIONS] = self.entries[entry, _STATUS] = 0
        self.entries[entry, _OWN] = self.entries[entry, _FRONT] = 0
        self.entries[entry, _SENT], self.entries[entry, _WENT], self.entries[entry, _MINE] = (
            self.sent,
            self.went,
            self.mine[key >> 16 & 0xFFFF],
        )
        self.entries[entry, _LEVEL], self.entries[entry, _POSTED] = self.level, self.posted if self.knows else -1 - self.posted
        self.entries[entry, _QUIET] = self.quiet if self.acts else -1 - self.quiet

    def completion(
        self, key: int, index: int, at: int, segment: int, status: int, piece: int, count: int, ends: bool, hides: bool, wire: int,
        sent: int, went: int, mine: int,
    ) -> None:  # fmt: skip
        """Take a completion; `piece`: its bytes of the request; `hides`: it does not count if it has no request; `wire`: to devices."""
        entry = self._found(key)
        if entry < 0 and not self.is_split:
            entry = self._added(key)
        if entry < 0:
            self.early += not hides
            self.early_ends += ends and not hides
        else:
            self._answer(entry, key, index, at, segment, status, piece, count, ends, hides, wire, sent, went, mine)

    def _answer(
        self, entry: int, key: int, index: int, at: int, segment: int, status: int, piece: int, count: int, ends: bool, hides: bool,
        wire: int, sent: int, went: int, mine: int,
    ) -> None:  # fmt: skip
        state = self.entries[entry, _STATE]
        if state == _OPEN and count > self.entries[entry, _LIMIT] - self.entries[entry, _RECEIVED]:
            # It has more bytes than are left of the request: it belongs to another one, which was not seen.
            self._close(entry, _INSIDE, False, False, -1, 0, 0, 0)
            state = _CLOSED
        if state == _OPEN:
            since = at - self.entries[entry, _AT] if at >= 0 and segment == self.entries[entry, _SEGMENT] else -1
            if not self.entries[entry, _COMPLETIONS]:
                self.entries[entry, _FIRST], self.entries[entry, _TO_FIRST] = index, since
                self.entries[entry, _FRONT] = went - self.entries[entry, _WENT] - (wire > 0)
            self.entries[entry, _COMPLETIONS] += 1
            self.entries[entry, _RECEIVED] += piece
            self.entries[entry, _OWN] += wire
            self.entries[entry, _LAST], self.entries[entry, _STATUS] = index, status
            if ends:
                self._close(entry, _INSIDE, False, True, since, sent, went, mine)
        elif state == _ANSWERS:
            front = self.fronts
            self.answers[front, 0], self.answers[front, 1], self.answers[front, 2], self.answers[front, 3] = key, index, at, segment
            self.answers[front, 4], self.answers[front, 5], self.answers[front, 6] = status, piece, count
            self.answers[front, 7], self.answers[front, 8], self.answers[front, 9] = ends, hides, wire
            self.answers[front, 10], self.answers[front, 11], self.answers[front, 12] = sent, went, mine
            self.fronts += 1
            if ends or count > _MOST_BYTES - self.entries[entry, _RECEIVED]:
                self.entries[entry, _STATE] = _ANSWERED
            self.entries[entry, _RECEIVED] += piece
        elif not hides:
            self._spare(entry, index, 1, ends)

    def _spare(self, entry: int, index: int, count: int, ends: int) -> None:
        """Count completions that no request can own any more."""
        if self.entries[entry, _STATE] >= _OPEN:
            group = self.groups
            self.orphans[group, 0], self.orphans[group, 1], self.orphans[group, 2] = self.entries[entry, _KEY], index, count
            self.groups += 1
        else:
            if not self.entries[entry, _MORE]:
                self.entries[entry, _MORE_INDEX] = index
            self.entries[entry, _MORE] += count
            self.entries[entry, _MORE_ENDS] += ends

    def follow(self, entries: Any, answers: Any, is_split: bool) -> None:
        """Take the front of a part that follows without a hole; parameters are those of :meth:`load`."""
        for row in range(len(answers)):
            self.completion(
                answers[row, 0], answers[row, 1], answers[row, 2], answers[row, 3], answers[row, 4], answers[row, 5], answers[row, 6],
                answers[row, 7], answers[row, 8], answers[row, 9], answers[row, 10], answers[row, 11], answers[row, 12],
            )  # fmt: skip
        for row in range(len(entries)):
            entry = self._found(entries[row, _KEY])
            if entries[row, _MORE]:
                if entry >= 0:
                    self._spare(entry, entries[row, _MORE_INDEX], entries[row, _MORE], entries[row, _MORE_ENDS])
                else:
                    self.early += entries[row, _MORE]
                    self.early_ends += entries[row, _MORE_ENDS]
            if entries[row, _STATE] < _OPEN:
                continue
            if entry < 0:
                entry = self._added(entries[row, _KEY])
            elif self.entries[entry, _STATE] == _OPEN:
                self._close(entry, _INSIDE, False, False, -1, 0, 0, 0)
            for field in range(_STATE, _MORE):
                self.entries[entry, field] = entries[row, field]
            if is_split:
                self.entries[entry, _STATE] = _CLOSED

    def hole(self, gap: int) -> None:
        """End all open requests; `gap`: how those end that have no completion. Nothing is matched across."""
        for number in range(self.used):
            if self.entries[number, _STATE] == _OPEN:
                self._close(number, gap, True, False, -1, 0, 0, 0)
        if not self.is_split:
            self.is_split, self.gap, self.front = True, gap, np.array(self.entries[: self.used])
        # Backwards, since an entry may stand behind those that came before it.
        for number in range(self.used - 1, -1, -1):
            self.table[self._place(self.entries[number, _KEY])] = 0
        self.used = 0
        self.posted, self.knows = 0, True

    def _place(self, key: int) -> int:
        """Return where a key stands in the table, or where it belongs."""
        mask = len(self.table) - 1
        place = (key * self.seed & _WORD) >> 32 & mask
        while self.table[place] and self.entries[self.table[place] - 1, _KEY] != key:
            place = place + 1 & mask
        return place

    def _found(self, key: int) -> int:
        """Return the number of the entry with a key; -1 without one."""
        number: int = self.table[self._place(key)] - 1
        return number

    def _added(self, key: int) -> int:
        """Add an entry for a key that is not known; return its number."""
        number = self.used
        if number == len(self.entries):
            former, self.entries, self.table = self.entries, _numbers(2 * number, len(ENTRY)), _places(4 * number)
            np.asarray(self.entries)[:number] = former
            for entry in range(number):
                self.table[self._place(self.entries[entry, _KEY])] = entry + 1
        self.table[self._place(key)] = number + 1
        for field in range(_STATE + 1, _MORE_INDEX + 1):
            self.entries[number, field] = 0
        self.entries[number, _KEY], self.entries[number, _STATE] = key, _ANSWERS
        self.used = number + 1
        return number

    def _close(self, number: int, gap: int, is_cut: bool, has_end: bool, to_last: int, sent: int, went: int, mine: int) -> None:
        """End an open request; `gap`: how it ends if it has no completion; running sums at the completion that ends it, or 0."""
        end = self.ends
        completions, received = self.entries[number, _COMPLETIONS], self.entries[number, _RECEIVED]
        ending = gap
        if self.entries[number, _STATUS]:
            ending = _ERROR
        elif has_end:
            ending = _COMPLETE if received >= self.entries[number, _EXPECTED] else _SHORT
        elif completions and gap == _INSIDE:
            ending = _SHORT
        self.ended[end, 0], self.ended[end, 1], self.ended[end, 2] = (
            self.entries[number, _REQUEST],
            self.entries[number, _FIRST],
            self.entries[number, _LAST],
        )
        self.ended[end, 3], self.ended[end, 4], self.ended[end, 5] = (
            self.entries[number, _KEY],
            self.entries[number, _KIND],
            self.entries[number, _REQUESTED],
        )
        self.ended[end, 6] = min(received, self.entries[number, _REQUESTED])
        self.ended[end, 7], self.ended[end, 8], self.ended[end, 9] = completions, self.entries[number, _STATUS], ending
        self.ended[end, 10], self.ended[end, 11], self.ended[end, 12] = is_cut, has_end, self.entries[number, _AT]
        self.ended[end, 13], self.ended[end, 14], self.ended[end, 15] = self.entries[number, _TO_FIRST], to_last, self.entries[number, _ROW]
        if has_end:
            self.ended[end, 16], self.ended[end, 17] = sent - self.entries[number, _SENT], went - self.entries[number, _WENT]
            self.ended[end, 18] = mine - self.entries[number, _MINE]
        else:
            self.ended[end, 16] = self.ended[end, 17] = self.ended[end, 18] = 0
        self.ended[end, 19], self.ended[end, 20] = self.entries[number, _OWN], self.entries[number, _FRONT]
        self.ended[end, 21], self.ended[end, 22], self.ended[end, 23] = (
            self.entries[number, _LEVEL],
            self.entries[number, _POSTED],
            self.entries[number, _QUIET],
        )
        self.ends = end + 1
        self.entries[number, _STATE] = _CLOSED


def sum_levels(events: Any, times: Any, end: int, series_shift: int, entries: Any) -> int:
    """Sum up how long each level lasts in each block of a series; return how many sums there are.

    Parameters
    ----------
    events : int64, shape (n,)
        Ascending: the series, from bit `series_shift` on, the row, and in the lowest two bits 0 where a block begins, 1 where the level
        rises, 2 where it falls. A series begins with a block; at its end its level is 0.
    times : int64, shape (n,)
        Ticks at each.
    end : int
        Ticks at the end of all series.
    entries : int64, shape (n, 5)
        The sums: where the block begins, the level, how long it lasts, where it is first, and how often it is reached from below; places
        are series and row in one number. Those of a block follow each other.

    Raises
    ------
    IndexError
        A level is below 0, or the shapes differ.
    """
    count = len(events)
    if times.shape[0] != count or entries.shape[0] < count or entries.shape[1] != _SUMS:
        raise IndexError
    # The last sum of each level, counted from 1.
    sums = _places(count + 1)
    used = before = level = block = rises = 0
    for at in range(count):
        what, place = events[at] & 3, events[at] >> 2
        if what == 0:
            block, before = place, used
        elif what == 1:
            level += 1
            rises += 1
        else:
            level -= 1
        if at + 1 < count and events[at + 1] >> 2 == place:
            continue  # of events at the same row the last one gives the level
        if not 0 <= level <= count:
            raise IndexError
        number = sums[level]
        if number <= before:
            entries[used, 0], entries[used, 1], entries[used, 2], entries[used, 3], entries[used, 4] = block, level, 0, place, 0
            used += 1
            sums[level] = number = used
        is_last = at + 1 == count or events[at + 1] >> series_shift != events[at] >> series_shift
        entries[number - 1, 2] += (end if is_last else times[at + 1]) - times[at]
        entries[number - 1, 4] += rises
        rises = 0
    return used
