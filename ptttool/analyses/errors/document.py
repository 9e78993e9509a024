"""The result of the analysis ``errors``."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.shown import Column, Facts, Names, Note, Part, Table, Unit, named, text_column
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document

# Rows of a table that people see; the JSON has more.
_SHOWN = 20


class RequesterErrors(Struct, frozen=True):
    """Errors of a kind, or messages, of one requester.

    Parameters
    ----------
    requester : str or None
        Requester ID; None for TLPs without one.
    count : int
        Number of them.
    index : int
        Number of the first one in the recording.
    """

    requester: str | None
    count: int
    index: int


class ErrorKind(Struct, frozen=True):
    """Errors of a kind.

    Parameters
    ----------
    code : str
        The kind, a stable word.
    meaning : str
        What it is.
    severity : Severity
        How much it matters.
    count : int
        Number of errors.
    of : str
        What they are counted among: ``TLPs``, ``completions``, ``requests``.
    share : float
        Their share of these, from 0 to 1.
    index : int
        Number of the first one in the recording.
    indexes : list of int
        Numbers of the first ones; of completions without a request, that of the first one alone.
    requesters : list of RequesterErrors
        By requester, the most first; a completion counts for the requester of its request.
    more_requesters : int
        Requesters that are left out.
    """

    code: str
    meaning: str
    severity: Severity
    count: int
    of: str
    share: float
    index: int
    indexes: list[int]
    requesters: list[RequesterErrors]
    more_requesters: int


class MessageCount(Struct, frozen=True):
    """Messages with one Message Code. Most are no errors: they say how often power, latency tolerance or translations change.

    Parameters
    ----------
    code : str
        The code: ``0x10``.
    name : str
        Its name.
    count : int
        How many.
    index : int
        Number of the first one.
    requesters : list of RequesterErrors
        By requester, the most first.
    more_requesters : int
        Requesters that are left out.
    """

    code: str
    name: str
    count: int
    index: int
    requesters: list[RequesterErrors]
    more_requesters: int


@document("errors")
class Errors(Shown, Struct, frozen=True):
    """What went wrong, or looks as if.

    Parameters
    ----------
    tlps, completions, requests : int
        Number of TLPs, of completions, and of requests that are to be answered.
    errors : int
        Number of errors of all kinds.
    kinds : list of ErrorKind
        The kinds of errors that were seen; the worst first.
    guard_ticks : int or None
        A request that is open at the end counts as unanswered where it is older than this: the longest time that one took. None where
        that is not known: then requests that are open at the end are not counted.
    open_at_end : int
        Requests that are open at the end and not counted.
    not_traced : int
        Requests without a completion where completions are not traced, or may not be; they are not counted.
    not_seen : list of str
        Codes of the kinds that cannot be seen in this recording.
    messages : list of MessageCount
        All messages by their code, those of errors among them.
    notes : list of Diagnostic
        What else is to be known.
    """

    tlps: int
    completions: int
    requests: int
    errors: int
    kinds: list[ErrorKind]
    guard_ticks: int | None
    open_at_end: int
    not_traced: int
    not_seen: list[str]
    messages: list[MessageCount]
    notes: list[Diagnostic]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the kinds, the requesters, what is not seen."""
        facts = [
            ("Looked at", f"{self.tlps:,} TLPs: {self.requests:,} requests to be answered, {self.completions:,} completions"),
            ("Errors", f"{self.errors:,}" if self.errors else "none was seen"),
            ("Open at the end", f"{self.open_at_end:,} requests, which is normal"),
        ]
        if self.not_traced:
            facts.append(("Not traced", f"the completions of {self.not_traced:,} requests"))
        yield Facts(facts)
        if self.kinds:
            yield self._kinds()
            yield self._requesters(names)
        if self.messages:
            yield self._messages(names)
        for note in self.notes:
            yield Note(note.text, note.severity)

    def _kinds(self) -> Table:
        columns = (
            text_column("Error"), text_column("What", weight=1), Column("Count"), Column("Share", Unit.PERCENT),
            text_column("Of", weight=2), Column("First", Unit.INDEX),
        )  # fmt: skip
        rows = [(each.code, each.meaning, each.count, 100 * each.share, each.of, each.index) for each in self.kinds]
        return Table("Errors", columns, rows)

    def _messages(self, names: Names) -> Table:
        columns = (
            text_column("Code"), text_column("Message"), text_column("Requester"), text_column("Name", weight=2), Column("Count"),
            Column("First", Unit.INDEX),
        )  # fmt: skip
        rows = [
            (message.code, message.name, each.requester, named(names, each.requester), each.count, each.index)
            for message in self.messages
            for each in message.requesters
        ]
        return Table(
            "Messages", columns, rows[:_SHOWN], more=max(len(rows) - _SHOWN, 0) + sum(each.more_requesters for each in self.messages)
        )

    def _requesters(self, names: Names) -> Table:
        columns = (
            text_column("Requester"), text_column("Name", weight=2), text_column("Error"), Column("Count"), Column("First", Unit.INDEX),
        )  # fmt: skip
        rows = [
            (each.requester, named(names, each.requester), kind.code, each.count, each.index)
            for kind in self.kinds
            for each in kind.requesters
        ]
        more = sum(kind.more_requesters for kind in self.kinds)
        return Table("By requester", columns, rows[:_SHOWN], more=max(len(rows) - _SHOWN, 0) + more)
