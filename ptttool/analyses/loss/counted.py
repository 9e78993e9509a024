"""TLPs that a recording lacks, by the counters of the ``hisi_pcie`` PMU: what the device itself overwrote has no other sign.

The counters were on for a time within that of the trace, and perf did not scale their values. So of each kind at least that many TLPs were
traced: fewer in the recording are a loss, however the two times differ; more are what came before the counters were on, or after.
Only like is compared with like: events count memory reads and writes of one direction at root ports. Messages, completions and the TLPs of
one requester have no event that counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ptttool.analyses.tally import Tally
from ptttool.capture.perf.counters import COUNTED_TLPS, LinkCounters
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.wording import in_words

CODE = "fewer-than-counted"


class CountedTlps(Struct, frozen=True):
    """TLPs of one kind that a counter counted beside a trace, and those in the recording.

    Parameters
    ----------
    event : str
        The counter's event, such as ``rx_mwr_cnt``.
    direction : str
        ``inbound`` or ``outbound``.
    kinds : tuple of str
        The kinds of TLPs that it counts.
    recorded : int
        Those in the recording; where directions cannot be told apart, also those that may be of the other one.
    counted : int
        Those that the counter counted: at least as many were traced.
    """

    event: str
    direction: str
    kinds: tuple[str, ...]
    recorded: int
    counted: int

    @property
    def missing(self) -> int:
        """How many are missing from the recording, at least."""
        return max(self.counted - self.recorded, 0)

    @property
    def text(self) -> str:
        """The comparison in words."""
        what = f"{self.direction} {'/'.join(self.kinds)}"
        if self.missing:
            return f"recorded {self.recorded:,} of at least {self.counted:,} {what}"
        return f"recorded {self.recorded:,} {what}, {self.counted:,} counted"


def compared(counters: LinkCounters | None, tally: Tally) -> list[CountedTlps]:
    """Compare counters with the TLPs of the recording.

    Parameters
    ----------
    counters : LinkCounters or None
        What was counted beside it.
    tally : Tally
        All of its TLPs, with what tells their direction.

    Returns
    -------
    list of CountedTlps
        One for each event that counts TLPs; empty without counters, for those of one requester, and where no TLP was decoded.
    """
    here = [] if counters is None else [(event, value) for event in COUNTED_TLPS if (value := counters.value(event)) is not None]
    cells = tally.cells() if here else []
    rows = []
    for event, value in here if cells else ():
        direction, _, kinds = COUNTED_TLPS[event]
        recorded = sum(cell.records for cell in cells if cell.kind in kinds and cell.direction in (direction, "unknown"))
        rows.append(CountedTlps(event, direction, kinds[:1], recorded, value))
    return rows


def signs_in_counters(counters: LinkCounters | None, rows: Iterable[CountedTlps]) -> Iterator[Diagnostic]:
    """Yield a sign where counters counted more TLPs than the recording has.

    Parameters
    ----------
    counters : LinkCounters or None
        What was counted.
    rows : iterable of CountedTlps
        The comparison.
    """
    less = [row for row in rows if row.missing]
    if counters is None or not less:
        return
    missing = sum(row.missing for row in less)
    message = (
        f"{in_words(row.text for row in less)}: {missing:,} are missing at least, by {counters.pmu}, which counted for "
        f"{counters.seconds:.6g} s within the trace"
    )
    details = {"pmu": counters.pmu, "seconds": counters.seconds, "missing": missing}
    details |= {row.event: {"recorded": row.recorded, "counted": row.counted} for row in less}
    hint = "trace one requester, or one type, or 4DW records: fewer bytes a second"
    yield Diagnostic(Severity.WARNING, CODE, message, hint=hint, details=details)
