"""Transactions near a place, and what lies between two places: matched from the parts around them alone.

What a request is answered with depends on nothing in front of it, so that matching may begin with any part. It goes on until the requests
that are asked for have ended, or for :data:`MOST_ROWS` TLPs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.api.viewing.pages import Place, Step
from ptttool.kernel.matching import REQUEST
from ptttool.table.values import Array
from ptttool.tlp.columns import DIRECTIONS
from ptttool.tlp.transactions import Ending, Transactions

if TYPE_CHECKING:
    from ptttool.analyses.scope import Scope
    from ptttool.api.viewing.pages import Pages

MOST_ROWS = 1 << 20
"""TLPs that are looked at behind a request, or in front of a completion."""
# TLPs in front of the first marker where requests may stand that are open there, and as many behind the second one.
_AROUND = 1 << 17
_PLENTY = 1 << 62
_KEY = ("segment", "requester", "tag")


class _Ended(MatchingAnalysis[None]):
    """The requests that have ended, part by part."""

    name = "view-transactions"
    meaning = "requests that have ended, part by part"

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.ended: list[Transactions] = []

    def add(self, ended: Transactions) -> None:
        """Keep them."""
        self.ended.append(ended)

    def merge_sums(self, later: _Ended) -> None:
        """Do nothing: parts come in order."""

    def finish(self, context: AnalysisContext) -> None:
        """Do nothing."""

    def taken(self) -> list[Transactions]:
        """Return those that have ended since the last call."""
        ended, self.ended = self.ended, []
        return ended

    def has_open(self, index: int) -> bool:
        """Return whether a request in front of a row is open, by the number of the row."""
        return self._part is not None and bool((self._part.state.opened[:, REQUEST] < index).any())


class Transaction(Struct, frozen=True):
    """A request and what became of it.

    Parameters
    ----------
    place : Place
        The request.
    completions : int
        Number of completions.
    requested, received : int
        Bytes asked for, and bytes that completions brought.
    to_first, to_last : int or None
        Ticks to the first completion and to the one that ended it; None where that is not known.
    ending : Ending or None
        How it ended; None where it was open behind as many TLPs as are looked at.
    first, last : int
        Numbers of the request and of its last completion, as :meth:`Pages.begin_of` counts.
    """

    place: Place
    completions: int
    requested: int
    received: int
    to_first: int | None
    to_last: int | None
    ending: Ending | None
    first: int
    last: int


class Requests:
    """The transactions whose request stands in a part.

    Parameters
    ----------
    part, begin : int
        The part, and the number of its first row.
    ended : Transactions
        The transactions.
    is_sure : bool
        Whether all TLPs were looked at that may belong to them.
    """

    def __init__(self, part: int, begin: int, ended: Transactions, *, is_sure: bool) -> None:
        self._part, self._begin, self._is_sure = part, begin, is_sure
        self._ended = ended.take(np.argsort(ended.request, kind="stable"))

    def get(self, row: int) -> Transaction | None:
        """Return the transaction of a request, by its row in the part; None where nothing answers such a TLP."""
        ended, number = self._ended, np.uint64(self._begin + row)
        at = int(np.searchsorted(ended.request, number))
        if at == len(ended) or ended.request[at] != number:
            return None
        one = {name: getattr(ended, name)[at].item() for name in _KEPT}
        is_known = self._is_sure or one["has_end"] or one["ending"] != Ending.END
        return Transaction(
            Place(self._part, row), one["completions"], one["requested"], one["received"], _known(one["to_first"]), _known(one["to_last"]),
            Ending(one["ending"]) if is_known else None, one["request"], one["last"],
        )  # fmt: skip


def transactions_in(pages: Pages, scope: Scope, part: int) -> Requests:
    """Return the transactions whose request stands in a part."""
    begin = pages.begin_of(part)
    end = begin + len(pages.rows_of(part))
    matching = _Ended(scope)
    is_sure = False
    for at in range(part, min(part + _parts(pages, MOST_ROWS), pages.parts)):
        decoded = pages.decoded(at)
        if decoded.size:
            matching.update(decoded.batch(_Ended.columns))
        is_sure = not matching.has_open(end) or (at == pages.parts - 1 and pages.is_whole)
        if is_sure:
            break
    matching.result(AnalysisContext(pages.recording.path, pages.recording.contents))
    mine = [ended.take(np.flatnonzero((ended.request >= begin) & (ended.request < end))) for ended in matching.taken()]
    names = Transactions.arrays()
    parts: Any = {name: np.concatenate([getattr(one, name) for one in mine] or [np.zeros(0, dtype=np.int64)]) for name in names}
    return Requests(part, begin, Transactions(**parts), is_sure=is_sure)


_KEPT = ("request", "last", "requested", "received", "completions", "to_first", "to_last", "ending", "has_end")


def _known(ticks: int) -> int | None:
    return None if ticks < 0 else ticks


def transaction_of(pages: Pages, scope: Scope, place: Place, step: Step = lambda _: None) -> tuple[Transaction | None, list[Place]]:
    """Return the transaction of a TLP, and the places of its TLPs; None and the TLP alone where no transaction was found.

    Parameters
    ----------
    pages : Pages
        The rows.
    scope : Scope
        How time is read.
    place : Place
        A request or a completion.
    step : callable
        See :data:`~.pages.Step`.
    """
    (row,) = pages.frame([place], ("class", *_KEY)).to_dicts()
    if row["class"] not in ("NP", "CPL") or row["tag"] is None:
        return None, [place]
    key = tuple(row[name] or 0 for name in _KEY)
    part, before = place.part, place.row + 1
    transaction = None
    for done in range(min(_parts(pages, MOST_ROWS), place.part + 1)):
        step(done)
        requests = _of_key(pages, part, "NP", key)
        requests = requests[requests < before]
        if len(requests):
            transaction = transactions_in(pages, scope, part).get(int(requests[-1]))
            break
        part, before = part - 1, _PLENTY
    index = pages.begin_of(place.part) + place.row
    if transaction is None or transaction.last < index:
        return None, [place]
    found = [transaction.place]
    for at in range(transaction.place.part, pages.parts):
        begin = pages.begin_of(at)
        if begin > transaction.last:
            break
        rows = _of_key(pages, at, "CPL", key)
        numbers = rows + begin
        found += [Place(at, one) for one in rows[(numbers > transaction.first) & (numbers <= transaction.last)].tolist()]
    return transaction, found


def _parts(pages: Pages, rows: int) -> int:
    return -(-rows // pages.part_rows)


def _of_key(pages: Pages, part: int, name: str, key: Sequence[int]) -> Array:
    """Return the rows of a part with a class, a segment, a Requester ID and a tag."""
    decoded = pages.decoded(part)
    batch = decoded.batch(("class", *_KEY))
    classes = pages.schema["class"].values
    mask = batch.values("class").filled(decoded.size, len(classes)) == classes.index(name)
    for column, value in zip(_KEY, key, strict=True):
        mask &= batch.values(column).filled(decoded.size) == value
    return np.flatnonzero(mask)


class Between(Struct, frozen=True):
    """What lies between two TLPs, both included.

    Parameters
    ----------
    tlps : int
        Number of TLPs.
    bytes : dict of str to int
        Bytes that they carry, by direction.
    ticks : int or None
        From the first to the last one; None where time is not known.
    outstanding : tuple of int and float, or None
        Requests that are open behind a TLP: fewest, mean over time (None where time is not known), most. Those count whose completions
        were seen, too. None without requests that are to be answered.
    left_out : int
        Requests that ended far behind, which do not count: there are at least as many open as it says.
    """

    tlps: int
    bytes: dict[str, int]
    ticks: int | None
    outstanding: tuple[int, float | None, int] | None
    left_out: int


class _Part(NamedTuple):
    """Of a part between the markers: how many requests begin less those that end at each row, ticks of the rows, and the rows."""

    number: int
    begin: int
    changes: Array
    ticks: Array | None
    rows: slice


def between(pages: Pages, scope: Scope, first: Place, last: Place, step: Step = lambda _: None) -> Between:
    """Return what lies between two places.

    Parameters
    ----------
    pages : Pages
        The rows.
    scope : Scope
        How time is read.
    first, last : Place
        The places, in order.
    step : callable
        See :data:`~.pages.Step`.
    """
    first, last = min(first, last), max(first, last)
    matching = _Ended(scope)
    waiting: deque[_Part] = deque()
    sums = _Sums()
    clock = scope.clock
    around = _parts(pages, _AROUND)
    begin = max(first.part - around, 0)
    for part in range(begin, min(last.part + around + 1, pages.parts)):
        step(part - begin)
        decoded = pages.decoded(part)
        if not decoded.size:
            continue
        batch = decoded.batch(tuple(dict.fromkeys((*_Ended.columns, "payload_bytes", "direction"))))
        matching.update(batch)
        start = pages.begin_of(part)
        rows = slice(first.row if part == first.part else 0, last.row + 1 if part == last.part else decoded.size)
        if first.part <= part <= last.part:
            payload = batch.values("payload_bytes").filled(decoded.size)[rows]
            codes = batch.values("direction").filled(decoded.size, DIRECTIONS.index("unknown"))[rows]
            sums.bytes += np.bincount(codes, payload, len(DIRECTIONS)).astype(np.int64)
            sums.tlps += rows.stop - rows.start
        waiting.append(_Part(part, start, np.zeros(decoded.size + 1, dtype=np.int64), clock.ticks(batch).at, rows))
        for ended in matching.taken():
            sums.spread(ended, waiting)
        if len(waiting) > around:
            sums.take(waiting.popleft(), first.part, last.part)
    while waiting:
        sums.take(waiting.popleft(), first.part, last.part)
    return sums.result()


class _Sums:
    """What was summed up so far."""

    def __init__(self) -> None:
        self.tlps = 0
        self.bytes = np.zeros(len(DIRECTIONS), dtype=np.int64)
        self._level = self._left_out = self._requests = 0
        self._least, self._most = _PLENTY, 0
        self._weighed = 0
        self._begin: int | None = None
        self._end: int | None = None
        self._before = 0  # the level behind the last row that counts

    def spread(self, ended: Transactions, waiting: deque[_Part]) -> None:
        """Note where requests begin and end that were seen whole."""
        whole = ended.take(np.flatnonzero(ended.has_end & (ended.ending < Ending.INSIDE)))
        late = whole.request.astype(np.int64) < waiting[0].begin
        self._left_out += int(late.sum())
        whole = whole.take(~late)
        self._requests += len(whole)
        for change, numbers in ((1, whole.request), (-1, whole.last)):
            for part in waiting:
                rows = numbers.astype(np.int64) - part.begin
                np.add.at(part.changes, rows[(rows >= 0) & (rows < len(part.changes) - 1)], change)

    def take(self, part: _Part, first: int, last: int) -> None:
        """Sum a part up: no request that begins in it is open any more."""
        levels = self._level + np.cumsum(part.changes[:-1])
        self._level = int(levels[-1])
        if not first <= part.number <= last:
            return
        levels = levels[part.rows]
        self._least, self._most = min(self._least, int(levels.min())), max(self._most, int(levels.max()))
        if part.ticks is None:
            return
        ticks = part.ticks[part.rows]
        if self._end is not None:
            self._weighed += self._before * (int(ticks[0]) - self._end)
        self._begin = int(ticks[0]) if self._begin is None else self._begin
        self._weighed += int((levels[:-1] * np.diff(ticks)).sum())
        self._end, self._before = int(ticks[-1]), int(levels[-1])

    def result(self) -> Between:
        """Return the sums."""
        elapsed = None if self._begin is None or self._end is None else self._end - self._begin
        mean = self._weighed / elapsed if elapsed else None
        amounts = {name: int(count) for name, count in zip(DIRECTIONS, self.bytes, strict=True) if count or name != "unknown"}
        outstanding = (self._least, mean, self._most) if self._requests and self._most >= self._least else None
        return Between(self.tlps, amounts, elapsed, outstanding, self._left_out)
