"""One transaction: the request, its completions, how long they took and what they brought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.drawing.numbers import number_text
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.analyses.matching.traced import Untraced, untraced_answers
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Cell, Column, Facts, Names, Part, Table, Unit, text_column
from ptttool.analyses.time.facts import TimeFacts
from ptttool.documents import ErrorBody, document
from ptttool.tlp.transactions import Ending, Transactions

Row = Mapping[str, Any]
"""A TLP, by column: IDs and addresses as text."""


class Followed(StrEnum):
    """What became of the transaction of a TLP."""

    COMPLETE = "complete"
    ERROR = "error"
    SHORT = "short"
    UNANSWERED = "unanswered"
    OPEN = "open-at-end"
    NOT_TRACED = "not-traced"
    NO_REQUEST = "no-request"
    POSTED = "posted"
    UNKNOWN = "unknown-tlp"


_OF_ENDING = {
    Ending.COMPLETE: Followed.COMPLETE,
    Ending.ERROR: Followed.ERROR,
    Ending.SHORT: Followed.SHORT,
    Ending.INSIDE: Followed.UNANSWERED,
    Ending.END: Followed.OPEN,
}
_WITHOUT_TRANSACTION = {"CPL": Followed.NO_REQUEST, "NP": Followed.UNANSWERED, "P": Followed.POSTED}
_MEANING = {
    Followed.COMPLETE: "complete",
    Followed.ERROR: "ended by a completion with an error status",
    Followed.SHORT: "bytes are missing: not all completions were seen",
    Followed.UNANSWERED: "no completion was seen: the tag was used again, or records are missing behind the request",
    Followed.OPEN: "open at the end of its AUX stream",
    Followed.NOT_TRACED: "the recording's event does not ask for the completions of such requests",
    Followed.NO_REQUEST: "the request of this completion was not seen",
    Followed.POSTED: "posted: there is no completion",
    Followed.UNKNOWN: "not a known TLP: nothing belongs to it",
}


class Matched(NamedTuple):
    """What matching says of one TLP: its transaction alone, or None; what is known of time; which requests have no traced answers."""

    transaction: Transactions | None
    time: TimeFacts
    untraced: Untraced


@document("follow")
class Follow(Shown, Struct, frozen=True):
    """One transaction.

    Parameters
    ----------
    path : str
        The recording.
    index : int
        Number of the TLP that was asked for.
    state : Followed
        What became of the transaction: ``complete``, ``error`` (a status), ``short`` (bytes are missing), ``unanswered``,
        ``open-at-end``, ``not-traced`` (its completions are not traced, or may not be), ``no-request`` (of a completion), ``posted``,
        ``unknown-tlp``.
    requester : str or None
        Requester ID.
    tag : int or None
        The tag.
    requested_bytes, received_bytes : int or None
        Bytes asked for, and bytes that completions brought; null without a transaction.
    ticks_to_first, ticks_to_last : int or None
        Ticks from the request to its first completion, and to the one that ended it; null where that is not known.
    tick_ns : float or None
        Nanoseconds of a tick; null where they are not known.
    time : TimeFacts or None
        What is known of time; null where no transaction was looked for.
    request : Mapping or None
        The request, by column; null where it was not seen.
    completions : list of Mapping
        The completions, by column; of a completion without a request, that one.
    left_out : int
        Completions that are not listed.
    error : ErrorBody or None
        With what the command ends, where the recording is damaged.
    """

    json_omits_none: ClassVar = ("error",)

    path: str
    index: int
    state: Followed
    requester: str | None
    tag: int | None
    requested_bytes: int | None
    received_bytes: int | None
    ticks_to_first: int | None
    ticks_to_last: int | None
    tick_ns: float | None
    time: TimeFacts | None
    request: Row | None
    completions: Sequence[Row]
    left_out: int = 0
    error: ErrorBody | None = None

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the state, bytes and latency, then the TLPs."""
        facts = [("transaction", _MEANING[self.state])]
        if self.requester is not None:
            name = names(self.requester)
            tag = "" if self.tag is None else f", tag {self.tag} ({self.tag:#x})"
            facts.append(("requester", f"{self.requester}{'' if name == self.requester else f' ({name})'}{tag}"))
        if self.requested_bytes is not None and self.received_bytes is not None:
            completions = len(self.completions) + self.left_out
            number = f"{completions:,} completion{'' if completions == 1 else 's'}"
            facts.append(("bytes", f"{self.requested_bytes:,} asked for, {self.received_bytes:,} brought by {number}"))
        facts += [
            (label, self._time(ticks)) for label, ticks in (("to first", self.ticks_to_first), ("to last", self.ticks_to_last)) if ticks
        ]
        if self.time is not None and self.tick_ns is not None and (self.ticks_to_first or self.ticks_to_last):
            facts.append(("tick", self.time.tick_text))
        yield Facts(facts)
        rows = [*([] if self.request is None else [self.request]), *self.completions]
        yield Table("TLPs", _COLUMNS, [self._row(row) for row in rows], more=self.left_out)

    def _time(self, ticks: int) -> str:
        return f"{ticks:,} ticks" if self.tick_ns is None else f"{ticks:,} ticks, {number_text(ticks * self.tick_ns)} ns"

    def _row(self, row: Row) -> list[Cell]:
        target = next((row[name] for name in ("address", "destination") if row[name] is not None), None)
        if target is not None and row["register"] is not None:
            target = f"{target} reg {row['register']:#x}"
        return [
            "=>" if row["index"] == self.index else None, row["index"], row["time"], row["kind"], row["direction"],
            None if target is None else str(target), row["requested_bytes"], row["payload_bytes"], to_come(row), row["status"],
            row["completer"],
        ]  # fmt: skip


_COLUMNS = (
    text_column(""),
    Column("Index", Unit.INDEX),
    Column("Time, raw", Unit.INDEX, weight=2),
    text_column("Kind"),
    text_column("Direction", 1),
    text_column("Target", 1),
    Column("Asked for", Unit.BYTES),
    Column("Carried", Unit.BYTES),
    Column("To come", Unit.BYTES),
    text_column("Status", 1),
    text_column("Completer", 3),
)


def to_come(row: Row) -> int | None:
    """Return the bytes that are still to come behind a completion with data; None for another TLP."""
    if row["kind"] not in ("CplD", "CplDLk") or row["byte_count"] is None:
        return None
    carried = int(row["payload_bytes"]) - ((row["lower_address"] or 0) & 3)
    return max((int(row["byte_count"]) or 4096) - carried, 0)


class FollowAnalysis(MatchingAnalysis[Matched]):
    """Looks for the transaction of one TLP.

    Parameters
    ----------
    scope : Scope or None
        What is known of the recording.
    index : int
        Number of the TLP.
    requester, tag : int
        Its Requester ID and tag.
    """

    name = "follow"
    meaning = "the transaction of one TLP"

    def __init__(self, scope: Scope | None = None, *, index: int = 0, requester: int = 0, tag: int = 0) -> None:
        super().__init__(scope)
        self._index = index
        self._key = requester, tag
        self._found: Transactions | None = None

    def add(self, ended: Transactions) -> None:
        """Look at requests that have ended."""
        requester, tag = self._key
        mask = (ended.request <= self._index) & (ended.last >= self._index) & (ended.requester == requester) & (ended.tag == tag)
        rows = np.flatnonzero(mask)
        self._found = ended.take(rows[-1:]) if len(rows) else self._found

    def merge_sums(self, later: FollowAnalysis) -> None:
        """Take what the part behind has found."""
        self._found = later._found if self._found is None else self._found

    def finish(self, context: AnalysisContext) -> Matched:
        """Return what was found."""
        facts = self.scope.time_facts(self.clock, context)
        return Matched(self._found, facts, untraced_answers(context, self.totals))


def followed(path: str, row: Row, matched: Matched | None, request: Row | None, completions: Sequence[Row]) -> Follow:
    """Return the transaction of a TLP.

    Parameters
    ----------
    path : str
        The recording.
    row : Mapping
        The TLP.
    matched : Matched or None
        What matching says of it; None where nothing can belong to it.
    request : Mapping or None
        The request, where it was seen.
    completions : sequence of Mapping
        The completions, as many as are listed.
    """
    time = None if matched is None else matched.time
    tick_ns = None if time is None else time.tick_ns
    if matched is None or matched.transaction is None:
        state = _WITHOUT_TRANSACTION.get(row["class"], Followed.UNKNOWN)
        alone = (None, [row]) if state is Followed.NO_REQUEST else (row, [])
        return Follow(path, row["index"], state, row["requester"], row["tag"], None, None, None, None, tick_ns, time, *alone)
    transaction = matched.transaction
    state = _OF_ENDING[Ending(transaction.ending.item())]
    count = transaction.completions.item()
    if not count and request is not None and matched.untraced.has(request["direction"], transaction.requester.item()):
        state = Followed.NOT_TRACED
    to_first, to_last = (None if ticks < 0 else ticks for ticks in (transaction.to_first.item(), transaction.to_last.item()))
    return Follow(
        path=path,
        index=row["index"],
        state=state,
        requester=row["requester"],
        tag=row["tag"],
        requested_bytes=transaction.requested.item(),
        received_bytes=transaction.received.item(),
        ticks_to_first=to_first,
        ticks_to_last=to_last,
        tick_ns=tick_ns,
        time=time,
        request=request,
        completions=completions,
        left_out=max(count - len(completions), 0),
    )
