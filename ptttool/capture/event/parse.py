"""Parse an event string as perf does: ``hisi_ptt0_2/filter=0x80005,type=6,direction=2/``. Touches no machine.

How perf 6.1 and 6.12 take odd strings: they or the values of a term given twice, and of ``config=`` beside terms; ``010`` is ten; they
refuse ``0X10``, signs, and names as values.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from ptttool.budget import over_budget_text
from ptttool.capture.budget import MAX_EVENT
from ptttool.capture.event.terms import in_order
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError
from ptttool.machine.model import FormatTerm
from ptttool.machine.pmu import device_numbers, is_ptt
from ptttool.wording import did_you_mean, in_words

_WORDS = ("config1", "config2", "config3")
PERF_TERMS = frozenset(
    (*_WORDS, "name", "period", "freq", "branch_type", "time", "call-graph", "stack-size", "no-inherit", "inherit", "max-stack", "nr",
     "no-overwrite", "overwrite", "driver-config", "percore", "aux-output", "aux-action", "aux-sample-size", "metric-id", "cpu")
)  # fmt: skip
"""Terms that perf itself has besides ``config``; none of them changes config."""

_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,32}|[0-9]{1,32}")
_WHOLE_CONFIG = (1 << 64) - 1
_MODIFIERS = re.compile(r"[ukhIGHpPSDWebR]*")
_SHAPE = "an event is written NAME/TERM=VALUE,TERM=VALUE/, for example hisi_ptt0_2/filter=0x80100,type=7/"


class ParsedEvent(Struct, frozen=True):
    """An event string in parts.

    Parameters
    ----------
    pmu : str
        The PMU's name.
    config : int
        The config that its terms make up.
    diagnostics : tuple of Diagnostic
        What perf or the driver refuses, or takes in another sense than one may think.
    """

    pmu: str
    config: int
    diagnostics: tuple[Diagnostic, ...]


def parse_number(text: str) -> int | None:
    """Read a number as perf does; None for anything else."""
    return int(text, 0) if text.startswith("0x") and _NUMBER.fullmatch(text) else int(text) if _NUMBER.fullmatch(text) else None


def pmu_of(text: str) -> str:
    """Return the PMU that an event string names, without a look at the rest."""
    return text.strip().partition("/")[0].strip()


def parse_event(text: str, terms: Mapping[str, FormatTerm]) -> ParsedEvent:
    """Parse an event string with the PMU's terms.

    Parameters
    ----------
    text : str
        The event string, such as ``hisi_ptt0_2/filter=0x80005,type=6/``.
    terms : Mapping[str, FormatTerm]
        The PMU's terms by name.

    Raises
    ------
    UsageError
        The string does not have the shape of a PTT event. What perf refuses for other reasons is a diagnostic.
    """
    if len(text) > MAX_EVENT:
        raise over_budget_text("the event string", MAX_EVENT, "characters", hint=_SHAPE)
    pmu, body, modifiers = _split(text)
    diagnostics: list[Diagnostic] = []
    if device_numbers(pmu) is None:
        message = f"{pmu} is not the name of one device (hisi_ptt<SICL>_<core>); perf may take several, and fail"
        diagnostics.append(Diagnostic(Severity.ERROR, "no-single-device", message))
    values: dict[str, int] = {}
    others: dict[str, str] = {}
    config = 0
    for part in body.split(",") if body else []:
        name, value = _term(text, part)
        if name in PERF_TERMS and name not in terms:
            others[name] = value
            continue
        number = parse_number(value)
        if number is None:
            raise UsageError(
                f"{text!r}: {name}={value} is not a number",
                hint="perf takes decimal numbers, and hexadecimal ones after 0x",
                code="not-a-number",
                term=name,
            )
        if name != "config" and name not in terms:
            diagnostics.append(_unknown(name, terms))
            continue
        maximum, low = (_WHOLE_CONFIG, 0) if name == "config" else (terms[name].maximum, terms[name].low)
        if number > maximum:
            message = f"{name}={value} is too big: the term holds up to {maximum:#x}; only its low bits are read here"
            diagnostics.append(Diagnostic(Severity.ERROR, "value-too-big", message, details={"term": name}))
            number &= maximum
        before = values.get(name, number)
        if before != number:
            message = f"{name} is given twice: perf ors {before:#x} and {number:#x} to {before | number:#x}"
            diagnostics.append(Diagnostic(Severity.WARNING, "term-twice", message, details={"term": name}))
        values[name] = number | before
        config |= number << low
    if "config" in values and len(values) > 1:
        message = f"config= stands beside {in_words(in_order(name for name in values if name != 'config'))}: perf ors them"
        diagnostics.append(Diagnostic(Severity.WARNING, "config-and-terms", message))
    return ParsedEvent(pmu, config, (*diagnostics, *_perf_diagnostics(others, modifiers)))


def _perf_diagnostics(others: Mapping[str, str], modifiers: str) -> Iterator[Diagnostic]:
    """Report perf's own terms and modifiers that the driver ignores or refuses."""
    for name, value in others.items():
        if name in _WORDS:
            yield Diagnostic(Severity.INFO, "other-config", f"{name}={value}: the driver ignores it", details={"term": name})
    refused = sorted(set(modifiers) & set("ukh"))
    if refused:
        message = f"the modifier {in_words(refused)} excludes processor modes: the driver refuses it (EINVAL)"
        yield Diagnostic(Severity.ERROR, "modifier", message)


def _split(text: str) -> tuple[str, str, str]:
    """Split an event string into PMU, terms and modifiers, without blanks around them."""
    stripped = text.strip()
    if stripped.startswith("{"):
        raise UsageError(f"{text!r} is a group of events", hint="give one event", code="several-events")
    pmu, slash, rest = (part.strip() for part in stripped.partition("/"))
    if not slash:
        raise UsageError(f"{text!r} is not an event: it has no '/'", hint=_SHAPE, code="bad-event")
    if not is_ptt(pmu):
        raise UsageError(
            f"{text!r} is not a PTT event: its PMU is {pmu!r}", hint="PTT devices are named hisi_ptt<SICL>_<core>", code="not-a-ptt-event"
        )
    body, slash, modifiers = rest.rpartition("/")
    if not slash:
        raise UsageError(f"{text!r} is not an event: the '/' after the terms is missing", hint=_SHAPE, code="bad-event")
    if "/" in body:
        raise UsageError(f"{text!r} is not one event: it has more than two '/'", hint=_SHAPE, code="several-events")
    if not _MODIFIERS.fullmatch(modifiers):
        raise UsageError(f"{text!r}: perf has no modifier {modifiers!r}", hint="give one event, ending with '/'", code="bad-event-modifier")
    return pmu, body.strip(), modifiers


def _term(text: str, part: str) -> tuple[str, str]:
    """Return name and value of one term; the value is empty for perf's own terms that need none."""
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not name:
        raise UsageError(f"{text!r}: an empty term: a comma too many, or no name before '='", hint=_SHAPE, code="empty-term")
    if not value and (equals or name not in PERF_TERMS):
        raise UsageError(f"{text!r}: the term {name} has no value", hint=_SHAPE, code="term-without-value", term=name)
    return name, value


def _unknown(name: str, terms: Mapping[str, FormatTerm]) -> Diagnostic:
    near = difflib.get_close_matches(name, terms, n=1)
    hint = did_you_mean(near) if near else f"its terms are {in_words(in_order(terms))}"
    message = f"perf refuses the term {name}, which the PMU does not have"
    return Diagnostic(Severity.ERROR, "unknown-term", message, hint, details={"term": name})
