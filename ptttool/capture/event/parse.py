"""Reads an event string as perf does: ``hisi_ptt0_2/filter=0x80005,type=6,direction=2/``. Pure.

How perf takes odd strings was seen with perf 6.1 and 6.12: values of a term given twice, and of ``config=`` beside terms, are or-ed;
``010`` is ten; ``0X10``, signs and names as values are refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ptttool.capture.event.terms import in_order
from ptttool.errors import UsageError
from ptttool.machine.model import FormatTerm
from ptttool.machine.pmu import device_numbers, is_ptt
from ptttool.wording import in_words

REFUSED, WARNING, NOTE = "error", "warning", "note"

_WORDS = ("config1", "config2", "config3")
PERF_TERMS = frozenset(
    (*_WORDS, "name", "period", "freq", "branch_type", "time", "call-graph", "stack-size", "no-inherit", "inherit", "max-stack", "nr",
     "no-overwrite", "overwrite", "driver-config", "percore", "aux-output", "aux-action", "aux-sample-size", "metric-id", "cpu")
)  # fmt: skip
"""Terms that perf itself knows besides ``config``; none of them enters config."""

_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,32}|[0-9]{1,32}")
_MODIFIERS = re.compile(r"[ukhIGHpPSDWebR]*")
_SHAPE = "an event is written NAME/TERM=VALUE,TERM=VALUE/, for example hisi_ptt0_2/filter=0x80100,type=7/"


@dataclass(frozen=True)
class Oddity:
    """Something about an event that contradicts itself or the driver.

    ``severity``: ``error`` (perf or the driver refuses it), ``warning`` (it traces nothing, or not what one would think), ``note``.
    """

    severity: str
    code: str
    text: str


@dataclass(frozen=True)
class ParsedEvent:
    """An event string in parts. ``others``: perf's own terms, as written. ``modifiers``: what follows the second slash."""

    pmu: str
    config: int
    others: Mapping[str, str] = field(default_factory=dict)
    modifiers: str = ""
    oddities: tuple[Oddity, ...] = ()


def parse_number(text: str) -> int | None:
    """A number as perf reads it; None for anything else."""
    return int(text, 0) if text.startswith("0x") and _NUMBER.fullmatch(text) else int(text) if _NUMBER.fullmatch(text) else None


def is_device_name(pmu: str) -> bool:
    """Whether a PMU's name is that of one PTT device."""
    return device_numbers(pmu) is not None


def pmu_of(text: str) -> str:
    """The PMU that an event string names; the rest is not looked at."""
    return text.strip().partition("/")[0].strip()


def parse_event(text: str, terms: Mapping[str, FormatTerm]) -> ParsedEvent:
    """Read an event string with the PMU's ``terms``.

    Raises UsageError where the string has not the shape of a PTT event; what perf would refuse otherwise is told as an oddity.
    """
    pmu, body, modifiers = _split(text)
    oddities: list[Oddity] = []
    if not is_device_name(pmu):
        oddities.append(
            Oddity(
                REFUSED, "no-single-device", f"{pmu} is not the name of one device (hisi_ptt<SICL>_<core>); perf may take several, and fail"
            )
        )
    config, seen, others = 0, dict[str, int](), dict[str, str]()
    for part in body.split(",") if body else []:
        name, value = _term(text, part)
        if name in PERF_TERMS and name not in terms:
            others[name] = value
            continue
        number = parse_number(value)
        if number is None:
            raise UsageError(f"{text!r}: {name}={value} is no number", hint="perf takes decimal numbers, and hexadecimal ones after 0x")
        if name != "config" and name not in terms:
            oddities.append(_unknown(name, terms))
            continue
        width, low = (0xFFFF_FFFF_FFFF_FFFF, 0) if name == "config" else (terms[name].maximum, terms[name].low)
        if number > width:
            oddities.append(
                Oddity(
                    REFUSED, "value-too-big", f"{name}={value} is too big: the term holds up to {width:#x}; only its low bits are read here"
                )
            )
            number &= width
        if name in seen and seen[name] != number:
            both = seen[name] | number
            oddities.append(Oddity(WARNING, "term-twice", f"{name} is given twice: perf ors {seen[name]:#x} and {number:#x} to {both:#x}"))
        seen[name] = seen.get(name, 0) | number
        config |= number << low
    if "config" in seen and len(seen) > 1:
        mixed = in_words(in_order(name for name in seen if name != "config"))
        oddities.append(Oddity(WARNING, "config-and-terms", f"config= stands beside {mixed}: perf ors them"))
    oddities += [
        Oddity(NOTE, "other-config", f"{name}={value}: the driver does not look at it") for name, value in others.items() if name in _WORDS
    ]
    refused = sorted(set(modifiers) & set("ukh"))
    if refused:
        oddities.append(
            Oddity(
                REFUSED, "modifier", f"the modifier {in_words(refused)} asks to leave out processor modes: the driver refuses it (EINVAL)"
            )
        )
    return ParsedEvent(pmu, config, others, modifiers, tuple(oddities))


def _split(text: str) -> tuple[str, str, str]:
    """PMU, terms and modifiers, trimmed."""
    stripped = text.strip()
    if stripped.startswith("{"):
        raise UsageError(f"{text!r} is a group of events", hint="give one event")
    pmu, slash, rest = stripped.partition("/")
    if not slash:
        raise UsageError(f"{text!r} is no event: it has no '/'", hint=_SHAPE)
    if not is_ptt(pmu.strip()):
        raise UsageError(
            f"{text!r} is no PTT event: its PMU is called {pmu.strip()!r}", hint="PTT devices are called hisi_ptt<SICL>_<core>"
        )
    body, slash, modifiers = rest.rpartition("/")
    if not slash:
        raise UsageError(f"{text!r} is no event: the '/' after the terms is missing", hint=_SHAPE)
    if "/" in body:
        raise UsageError(f"{text!r} is not one event: it has more than two '/'", hint=_SHAPE)
    if not _MODIFIERS.fullmatch(modifiers):
        raise UsageError(f"{text!r}: {modifiers!r} after the second '/' is no modifier of perf's", hint="give one event, ending with '/'")
    return pmu.strip(), body.strip(), modifiers


def _term(text: str, part: str) -> tuple[str, str]:
    """Name and value of one term; '' is the value of perf's own terms that need none."""
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not name:
        raise UsageError(f"{text!r}: an empty term: a comma too many, or no name before '='", hint=_SHAPE)
    if not value and (equals or name not in PERF_TERMS):
        raise UsageError(f"{text!r}: the term {name} has no value", hint=_SHAPE)
    return name, value


def _unknown(name: str, terms: Mapping[str, FormatTerm]) -> Oddity:
    near = difflib.get_close_matches(name, terms, n=1)
    meant = f"; did you mean {near[0]}?" if near else f"; there are {in_words(in_order(terms))}"
    return Oddity(REFUSED, "unknown-term", f"perf refuses the term {name}, which the PMU does not have{meant}")
