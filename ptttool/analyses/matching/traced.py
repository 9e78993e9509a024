"""Which requests cannot have their completions in a recording, because its event does not ask for them: one rule for all analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.needs import Captured, captured
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.tlp.columns import DIRECTIONS
from ptttool.tlp.transactions import ENDING_BITS, ENDING_MASK, REQUESTER_BITS, UNKNOWN_DIRECTION, Ending, direction_keys

if TYPE_CHECKING:
    from ptttool.analyses.matching.analysis import Totals

Array = npt.NDArray[Any]

_INBOUND, _OUTBOUND = DIRECTIONS.index("inbound"), DIRECTIONS.index("outbound")
# Completions of requests of the processor, or of anything else than other devices: what most outbound requests have.
_USUAL_ANSWERS: Final = ("CPL", "CPL A")


class Untraced(NamedTuple):
    """Requests whose completions are not traced.

    Parameters
    ----------
    keys : ndarray of int64
        Their directions and requesters, as :func:`~ptttool.tlp.transactions.direction_keys` makes them, ascending.
    inside, end : int
        Their number, by :class:`~ptttool.tlp.transactions.Ending`.
    """

    keys: Array
    inside: int
    end: int

    @property
    def requests(self) -> int:
        """Number of all of them."""
        return self.inside + self.end

    @property
    def note(self) -> Diagnostic:
        """What is to be said of them."""
        return Diagnostic(
            Severity.INFO, "completions-not-traced",
            f"{self.requests:,} requests have no completion: their completions are not traced, or may not be where the event filters for "
            "one requester; whether they were answered is not seen",
            details={"requests": self.requests},
        )  # fmt: skip

    def among(self, directions: Array, requesters: Array) -> Array:
        """Return which requests of these directions and requesters are among them: ndarray of bool."""
        mask: Array = np.isin(direction_keys(directions, requesters), self.keys)
        return mask

    def requesters(self, direction: int) -> Array:
        """Return the Requester IDs in a direction."""
        requesters: Array = self.keys[self.keys >> REQUESTER_BITS == direction] & ((1 << REQUESTER_BITS) - 1)
        return requesters

    def has(self, direction: str | None, requester: int) -> bool:
        """Return whether a request is among them."""
        code = UNKNOWN_DIRECTION if direction is None else DIRECTIONS.index(direction)
        return bool(self.among(np.array([code]), np.array([requester]))[0])


def untraced_answers(context: AnalysisContext, totals: Totals) -> Untraced:
    """Return the requests whose completions are not traced.

    The recording's event says it: it has to ask for completions, and for those of the request's direction; of a request whose direction is
    not known, for those of both. A requester of which any request in that direction has a completion counts as traced, whatever the
    event says: peer-to-peer requests are answered by other completions than those of the processor.

    Parameters
    ----------
    context : AnalysisContext
        The recording.
    totals : Totals
        How its requests ended.
    """
    rows, counts = totals.counts.rows()
    keys, endings = rows >> ENDING_BITS, rows & ENDING_MASK
    doubtful = np.isin(keys >> REQUESTER_BITS, list(_doubtful(captured(context.contents, machine=context.machine))))
    doubtful &= ~np.isin(keys, keys[endings < Ending.INSIDE])
    inside, end = (int(counts[doubtful & (endings == each)].sum()) for each in (Ending.INSIDE, Ending.END))
    return Untraced(np.unique(keys[doubtful]), inside, end)


def _doubtful(event: Captured) -> set[int]:
    """Return the directions of requests whose completions may not be traced; none where the recording does not say."""
    flow = event.flow
    if flow is None:
        return set()
    if event.requester is not None:  # no document says which completions pass a filter for a requester
        return set(range(len(DIRECTIONS)))
    directions = set()
    if not any(group.startswith("CPL") for group in flow.outbound):
        directions.add(_INBOUND)
    if not any(group in _USUAL_ANSWERS for group in flow.inbound):
        directions.add(_OUTBOUND)
    return directions | {UNKNOWN_DIRECTION} if directions else directions
