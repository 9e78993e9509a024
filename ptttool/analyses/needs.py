"""What an analysis needs of a recording, and what it cannot see where the recording's event did not ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from ptttool.capture.event.decode import decode
from ptttool.capture.event.explain import terms_for
from ptttool.capture.event.parse import pmu_of
from ptttool.capture.event.terms import Flow, Format
from ptttool.diagnostics import Severity
from ptttool.machine.model import REQUESTER
from ptttool.pci import format_id
from ptttool.recording.identity import pmu_names, ptt_attribute
from ptttool.wording import in_words

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.perfdata.model import Contents


# Groups of TLPs, as the subject of a sentence.
_WORDS = {
    "P": "posted requests",
    "NP": "non-posted requests",
    "CPL": "completions",
    "CPL A": "completions A",
    "CPL B": "completions B",
}


class LackCode(StrEnum):
    """Why something is not to be seen."""

    NOT_TRACED = "not-traced"
    """The event does not ask for these TLPs."""
    FORMAT = "format"
    """Records of this format do not hold it."""
    FILTERED = "filtered"
    """The event asks for one requester: it is not documented which completions pass its filter."""
    COLUMNS = "missing-columns"
    """The rows of this protocol do not have the columns."""


class Lack(Struct, frozen=True):
    """Something that an analysis cannot see in a recording.

    Parameters
    ----------
    code : LackCode
        Why, as a stable word.
    what : str
        What is not to be seen.
    why : str
        What the recording does not have.
    options : str or None
        Options of ``ptttool trace`` that bring it; None where no recording has it.
    is_vital : bool
        Whether the result says little without it.
    in_part : bool
        Whether some of it is to be seen.
    """

    code: LackCode
    what: str
    why: str
    options: str | None = None
    is_vital: bool = True
    in_part: bool = False

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return Severity.WARNING if self.is_vital else Severity.INFO

    @property
    def message(self) -> str:
        """One sentence for people."""
        hint = "" if self.options is None else f"; to see {'all' if self.in_part else 'it'}: ptttool trace {self.options}"
        return f"{self.what}: {self.seen}, since {self.why}{hint}"

    @property
    def seen(self) -> str:
        """How much of it is to be seen."""
        return "seen in part" if self.in_part else "not seen"


@dataclass(frozen=True)
class Need:
    """Something that an analysis looks at.

    Parameters
    ----------
    what : str
        What it looks at, as the subject of a sentence.
    options : str
        Options of ``ptttool trace`` that bring it.
    inbound, outbound : tuple of str
        Groups of TLPs that have to be traced: ``P``, ``NP``, ``CPL`` (inbound: ``CPL A`` or ``CPL B``; ``CPL`` is either).
    format : Format or None
        The format of records that holds it; None for any.
    unfiltered : bool
        Whether a filter for one requester may hide some of it.
    is_vital : bool
        Whether the result says little without it; else it is one part of a whole, and its absence is a note.
    is_sum : bool
        Whether each group says something without the others.
    """

    what: str
    options: str
    inbound: tuple[str, ...] = ()
    outbound: tuple[str, ...] = ()
    format: Format | None = None
    unfiltered: bool = False
    is_vital: bool = True
    is_sum: bool = False

    def lacks(self, captured: Captured) -> Iterator[Lack]:
        """Yield what of it cannot be seen in a recording."""
        if self.format is not None and captured.format not in (None, self.format):
            yield self._lack(LackCode.FORMAT, f"the records are {captured.format.upper()}, not {self.format.upper()}")
        if captured.flow is None:
            return
        inbound, outbound = _missing(captured.flow.inbound, self.inbound), _missing(captured.flow.outbound, self.outbound)
        if inbound or outbound:
            both = ((direction, _WORDS[group]) for direction, groups in (("inbound", inbound), ("outbound", outbound)) for group in groups)
            in_part = self.is_sum and len(inbound) + len(outbound) < len(self.inbound) + len(self.outbound)
            why = f"{in_words([' '.join(each) for each in both])} are not traced"
            yield self._lack(LackCode.NOT_TRACED, why, in_part=in_part)
        elif self.unfiltered and captured.requester is not None:
            why = f"the event filters for the requester {format_id(captured.requester)}, and no document says which completions pass"
            yield self._lack(LackCode.FILTERED, why)

    def _lack(self, code: LackCode, why: str, *, in_part: bool = False) -> Lack:
        return Lack(code, self.what, why, self.options, self.is_vital, in_part)


class Captured(Struct, frozen=True):
    """What a recording can hold, as far as its event says.

    Parameters
    ----------
    flow : Flow or None
        The traced TLPs by direction; None where the recording does not say.
    format : Format or None
        The format of its records; None where it is not known.
    requester : int or None
        The requester that the event filters for; None for root ports, and where the recording does not say.
    columns : frozenset of str
        The columns of its rows.
    """

    flow: Flow | None = None
    format: Format | None = None
    requester: int | None = None
    columns: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """The traced TLPs in words: ``inbound P and NP``."""
        if not self.flow:
            return "nothing that is known"
        both = (("inbound", self.flow.inbound), ("outbound", self.flow.outbound))
        return "; ".join(f"{direction} {in_words(groups)}" for direction, groups in both if groups)


def captured(contents: Contents, columns: Iterable[str] = (), machine: Machine | None = None, format_: Format | None = None) -> Captured:
    """Return what a recording can hold.

    Parameters
    ----------
    contents : Contents
        The recording without its AUX data.
    columns : iterable of str
        The columns of its rows.
    machine : Machine or None
        Where bit positions of the event's terms come from, where they are not those of the mainline driver.
    format_ : Format or None
        The format of the records, where the user has named it: then the event has no say.
    """
    attribute = ptt_attribute(contents)
    if attribute is None:
        return Captured(format=format_, columns=frozenset(columns))
    pmu = pmu_names(contents).get(attribute.type) or pmu_of(attribute.name or "")
    event = decode(attribute.config, terms_for(pmu, machine), pmu=pmu)
    return Captured(
        flow=event.flow or None,
        format=format_ or event.format,
        requester=event.filter & 0xFFFF if event.kind == REQUESTER else None,
        columns=frozenset(columns),
    )


def _missing(traced: tuple[str, ...], needs: tuple[str, ...]) -> list[str]:
    """Return the wanted groups that are not traced; ``CPL`` is any group of completions."""
    return [each for each in needs if not any(group == each or group.split()[0] == each for group in traced)]
