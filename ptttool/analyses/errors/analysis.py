"""The analysis ``errors``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_ERROR_SUMS, MAX_LISTED
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.errors.document import ErrorKind, Errors, MessageCount, RequesterErrors
from ptttool.analyses.errors.headers import COLUMNS, header_errors
from ptttool.analyses.errors.kinds import KINDS, Of
from ptttool.analyses.errors.sums import ID_BITS, NO_REQUESTER, ErrorSums, of_no_requester
from ptttool.analyses.matching.analysis import MatchingAnalysis, Transactions
from ptttool.analyses.matching.traced import Untraced, untraced_answers
from ptttool.analyses.needs import Need
from ptttool.analyses.scope import Scope
from ptttool.analyses.sums import SumTable, summed
from ptttool.capture.event.terms import Format
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.pci import format_id
from ptttool.table.batch import Batch
from ptttool.table.values import Values
from ptttool.tlp.codes import message_name
from ptttool.tlp.columns import CLASSES, DIRECTIONS, STATUSES
from ptttool.tlp.columns import KINDS as TLP_KINDS
from ptttool.tlp.transactions import Ending, Orphans

Array = npt.NDArray[Any]

_CPL = CLASSES.index("CPL")
_UR = STATUSES.index("UR")
_IS_CONFIG = np.array([kind.startswith("Cfg") for kind in TLP_KINDS])
# Only 8DW records hold these.
_ONLY_8DW = ("poisoned", "attributes")
_GROUPED = ("completion-without-request", "completion-tag-bits")
_NO_TIME = -1


class ErrorsAnalysis(MatchingAnalysis[Errors]):
    """Adds errors up.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "errors"
    meaning = "error completions and messages, poisoned data, unanswered requests, illegal headers, misused tags"
    columns = (*COLUMNS, "class")
    needs = (
        Need("completions of requests of devices", "--format 4dw --direction both", outbound=("CPL",)),
        Need("completions of requests of the processor", "--direction inbound --type cpl", inbound=("CPL A",), is_vital=False),
        Need("poisoned data, attributes", "--format 8dw", format=Format.DW8),
    )

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._sums = ErrorSums()
        # Requests that count only if their completions are traced, by direction.
        self._doubtful = [ErrorSums() for _ in DIRECTIONS]
        self._tlps, self._completions = 0, 0
        # Messages by code and requester: how many, and the number of the first one.
        self._messages = SumTable(np.add, np.minimum, most=MAX_ERROR_SUMS, fewer=of_no_requester)
        self._longest = _NO_TIME
        self._config_ur = 0
        self._open: Transactions | None = None
        # Keys of unanswered requests with Tag[9:8], without those bits; by key, completions without a request and without these bits.
        self._upper: Array = np.empty(0, dtype=np.uint32)
        self._low = SumTable(np.minimum, np.add)

    def add_rows(self, batch: Batch, shift: int) -> None:
        """Look at headers."""
        self._tlps += batch.size
        classes = batch.values("class")
        if classes.array is not None:
            is_completion = np.asarray(classes.array) == _CPL
            self._completions += int(np.count_nonzero(is_completion if classes.valid is None else is_completion & classes.valid))
        index: Any = batch.values("index").array
        requesters = batch.values("requester")
        self._add_messages(batch.values("message"), requesters, index)
        for code, rows in header_errors(batch):
            ids = None if requesters.array is None or code == "unknown-tlp" else np.asarray(requesters.array)[rows]
            self._sums.add(code, ids, _numbers(index, rows))

    def _add_messages(self, message: Values, requesters: Values, index: Any) -> None:
        """Count messages, which are few."""
        if message.array is None or requesters.array is None:
            return
        codes = np.asarray(message.array)
        rows = np.flatnonzero(message.valid) if message.valid is not None else np.arange(len(codes))
        keys = codes[rows].astype(np.int64) << ID_BITS | np.asarray(requesters.array)[rows]
        self._messages.add(*summed((np.add, np.minimum), keys, None, _numbers(index, rows)))

    def add(self, ended: Transactions) -> None:
        """Look at how requests ended."""
        if self.is_over:
            self._open = ended
            return
        self._longest = max(self._longest, int(ended.to_last.max(initial=_NO_TIME)))
        if (ended.ending == Ending.COMPLETE).all():
            return
        self._config_ur += int(np.count_nonzero((ended.status == _UR) & _IS_CONFIG[ended.kind]))
        is_short = (ended.ending == Ending.SHORT) & ~ended.is_cut
        is_empty = is_short & ended.has_end & (ended.received == 0)
        for code, which in (
            ("answered-without-data", is_empty),
            ("short", is_short & ended.has_end & ~is_empty),
            ("tag-reused", is_short & ~ended.has_end),
        ):
            self._sums.add(code, ended.requester[which], ended.request[which])
        self._add_unanswered(ended, (ended.ending == Ending.INSIDE) & ~ended.is_cut)

    def _add_unanswered(self, ended: Transactions, which: Array) -> None:
        if not which.any():
            return
        directions = ended.directions
        for number, sums in enumerate(self._doubtful):
            here = which & (directions == number)
            sums.add("unanswered", ended.requester[here], ended.request[here])
        wide = which & (ended.tag & 0x300 != 0)
        if wide.any() and len(self._upper) < MAX_ERROR_SUMS:
            self._upper = np.union1d(self._upper, _low_keys(ended.requester[wide], ended.tag[wide]))

    def add_orphans(self, orphans: Orphans) -> None:
        """Look at completions without a request."""
        self._sums.add("completion-without-request", orphans.requester, orphans.index, orphans.count)
        self._add_low(orphans)

    def _add_low(self, orphans: Orphans) -> None:
        low = orphans.tag & 0x300 == 0
        if len(self._low) < MAX_ERROR_SUMS:
            self._low.add(_low_keys(orphans.requester[low], orphans.tag[low]), orphans.index[low].astype(np.uint64), orphans.count[low])

    def merge_sums(self, later: ErrorsAnalysis) -> None:
        """Add the errors behind."""
        self._sums.merge(later._sums)
        for mine, theirs in zip(self._doubtful, later._doubtful, strict=True):
            mine.merge(theirs)
        self._tlps += later._tlps
        self._messages.merge(later._messages)
        self._completions += later._completions
        self._longest = max(self._longest, later._longest)
        self._config_ur += later._config_ur
        if len(later._upper):
            self._upper = np.union1d(self._upper, later._upper)
        if len(self._low) < MAX_ERROR_SUMS:
            self._low.merge(later._low)

    def finish(self, context: AnalysisContext) -> Errors:
        """Return what was seen, and what cannot be seen."""
        untraced = untraced_answers(context, self.totals)
        guard = self._longest if self._longest >= 0 else None
        open_at_end = self.totals.open_at_end - untraced.end - self._old(guard, untraced)
        is_told = True
        for direction, sums in enumerate(self._doubtful):
            is_told &= sums.leave_out(untraced.requesters(direction))
            self._sums.merge(sums)
        self._add_low(self.before)
        low, index, count = self._low.rows()
        is_short_of_bits = np.isin(low, self._upper)
        self._sums.add("completion-tag-bits", low[is_short_of_bits] >> 8, index[is_short_of_bits], count[is_short_of_bits])
        among = {Of.TLPS: self._tlps, Of.COMPLETIONS: self._completions, Of.REQUESTS: self.totals.requests}
        kinds = [row for code in KINDS if (row := self._kind(code, among)) is not None]
        kinds.sort(key=lambda kind: kind.severity.rank)
        not_seen = list(_ONLY_8DW) if self.clock.bits < 32 else []
        if not is_told or (self.totals.requests and untraced.requests == self.totals.requests):
            not_seen.append("unanswered")
        return Errors(
            tlps=self._tlps,
            completions=self._completions,
            requests=self.totals.requests,
            errors=sum(kind.count for kind in kinds),
            kinds=kinds,
            guard_ticks=guard,
            open_at_end=open_at_end,
            not_traced=untraced.requests,
            not_seen=not_seen,
            messages=self._message_counts(),
            notes=list(self._notes({kind.code for kind in kinds}, untraced)),
        )

    def _message_counts(self) -> list[MessageCount]:
        """Return the messages by their code, in its order, each with its requesters, the most messages first."""
        by_code: dict[int, list[tuple[int, int, int]]] = {}
        for key, count, index in zip(*(column.tolist() for column in self._messages.rows()), strict=True):
            by_code.setdefault(key >> ID_BITS, []).append((key & NO_REQUESTER * 2 - 1, count, index))
        counts = []
        for code, rows in by_code.items():
            rows.sort(key=lambda row: (-row[1], row[0]))
            total, first = sum(row[1] for row in rows), min(row[2] for row in rows)
            counts.append(MessageCount(f"{code:#04x}", message_name(code), total, first, _listed(rows), max(len(rows) - MAX_LISTED, 0)))
        return counts

    def _old(self, guard: int | None, untraced: Untraced) -> int:
        """Count the requests that are open at the end, and too old for it, as unanswered; return how many that are."""
        ended = self._open
        if ended is None or guard is None or not len(ended):
            return 0
        is_old = (self.clock.elapsed - ended.at > guard) & (ended.completions == 0)
        is_old &= ~untraced.among(ended.directions, ended.requester)
        self._add_unanswered(ended, is_old)
        return int(np.count_nonzero(is_old))

    def _kind(self, code: str, among: dict[Of, int]) -> ErrorKind | None:
        rows = self._sums.of(code)
        if not rows:
            return None
        kind = KINDS[code]
        count = sum(row[1] for row in rows)
        first = min(row[2] for row in rows)
        return ErrorKind(
            code=code,
            meaning=kind.meaning,
            severity=kind.severity,
            count=count,
            of=kind.of.value,
            share=count / max(among[kind.of], 1),
            index=first,
            # Of those that are counted in groups, the number of the first one alone is known.
            indexes=[first] if code in _GROUPED else self._sums.examples(code),
            requesters=_listed(rows),
            more_requesters=max(len(rows) - MAX_LISTED, 0),
        )

    def _notes(self, codes: set[str], untraced: Untraced) -> Iterator[Diagnostic]:
        if self.clock.bits < 32 and self._tlps:
            yield Diagnostic(
                Severity.INFO,
                "only-8dw",
                "4DW records keep neither EP nor attributes: poisoned data are not seen",
                "--format 8dw records them",
            )
        if untraced.requests:
            yield untraced.note
        if self._config_ur:
            yield Diagnostic(
                Severity.INFO, "config-ur",
                f"{self._config_ur:,} of the Unsupported Requests answer configuration requests: normal where a kernel looks for devices",
                details={"requests": self._config_ur},
            )  # fmt: skip
        if codes & {"unanswered", "tag-reused", "short", "completion-without-request"}:
            yield Diagnostic(
                Severity.INFO, "lost-or-unanswered",
                "a TLP that is missing from the recording looks the same as one that was never sent: 'ptttool info' shows signs of loss",
            )  # fmt: skip
        if not self._sums.has_requesters:
            yield Diagnostic(Severity.WARNING, "too-many-requesters", "too many requesters: errors are summed up over all of them")


def _listed(rows: list[tuple[int, int, int]]) -> list[RequesterErrors]:
    """Return the first of some requesters, each with a count and the number of its first TLP."""
    return [RequesterErrors(None if who == NO_REQUESTER else format_id(who), count, index) for who, count, index in rows[:MAX_LISTED]]


def _low_keys(requesters: Array, tags: Array) -> Array:
    return requesters.astype(np.uint32) << np.uint32(8) | (tags & 0xFF).astype(np.uint32)


ANALYSES.add("errors", ErrorsAnalysis)


def _numbers(index: Any, rows: Array) -> Array:
    """Return the numbers of rows of a batch in the recording; `index`: its column, a range where the rows follow each other."""
    numbers: Array = (rows + index.start).astype(np.uint64) if isinstance(index, range) else index[rows].astype(np.uint64, copy=False)
    return numbers
