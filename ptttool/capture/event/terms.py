"""The terms of a PTT event: where they sit in ``config``, what their values mean.

Sources: the kernel documentation on the device (Documentation/trace/hisi-ptt.rst, "2. Type" to "4. Format") and the driver
(drivers/hwtracing/ptt). Where they disagree, the document's tables hold, not its example. Inbound is from the device to the root port.
CPL A: completions of CHI, DMA and native non-posted requests except those of CPL B. CPL B: completions of DMA remote-to-local and
peer-to-peer requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import FormatTerm, PttDevice


class TlpType(StrEnum):
    """A type of TLP, as options name it."""

    POSTED = "p"
    NON_POSTED = "np"
    COMPLETION = "cpl"


class Direction(StrEnum):
    """The direction of the traced TLPs: inbound is from the device to the root port."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"
    BOTH = "both"


_DIRECTION_WORDS: Mapping[str, Direction] = {"rx": Direction.INBOUND, "tx": Direction.OUTBOUND}


def parse_direction(text: str) -> Direction:
    """Read a direction: its word, the beginning of one (``in``), or ``rx`` and ``tx`` as the root port receives and sends.

    Raises
    ------
    UsageError
        The text is not a direction (``bad-direction``).
    """
    word = text.strip().lower()
    if word in _DIRECTION_WORDS:
        return _DIRECTION_WORDS[word]
    directions = [one for one in Direction if word and one.startswith(word)]
    if not directions:
        raise UsageError(
            f"--direction: {text!r} is not a direction",
            hint="give inbound (from the device to the processor), outbound or both",
            code="bad-direction",
        )
    return directions[0]


class Completions(StrEnum):
    """The inbound completions to trace where the device cannot trace all."""

    A = "a"
    B = "b"


class Format(StrEnum):
    """How much of a TLP the device records: 4 DW (16 bytes) or 8 DW (32 bytes)."""

    DW4 = "4dw"
    DW8 = "8dw"

    @property
    def record_bytes(self) -> int:
        """Bytes of a record."""
        return 32 if self is Format.DW8 else 16


class Pattern(StrEnum):
    """The layout of the recorded headers."""

    LEGACY = "legacy"
    V1 = "v1"


SEVERAL_TYPES = "several types outbound: the kernel documentation allows one; the driver takes it, what the device does is not documented"
"""The message about an event of several types with outbound TLPs."""

TYPES: Mapping[TlpType, int] = {TlpType.POSTED: 1, TlpType.NON_POSTED: 2, TlpType.COMPLETION: 4}
TYPE_WORDS: Mapping[str, str] = {TlpType.POSTED: "posted", TlpType.NON_POSTED: "non-posted", TlpType.COMPLETION: "completion"}
"""The types in words."""
_SPELLINGS: Mapping[str, TlpType] = {
    "posted": TlpType.POSTED, "non-posted": TlpType.NON_POSTED, "nonposted": TlpType.NON_POSTED, "completion": TlpType.COMPLETION,
    "completions": TlpType.COMPLETION,
}  # fmt: skip


def parse_types(text: str) -> tuple[TlpType, ...]:
    """Read a list of types: ``p,np,cpl``, or in words: ``posted``, ``non-posted``, ``completion``.

    Raises
    ------
    UsageError
        A word is not a type (``bad-type``).
    """
    types = []
    for word in (word.strip().lower() for word in text.split(",")):
        tlp_type = _SPELLINGS.get(word) or next((one for one in TlpType if one == word), None)
        if tlp_type is None:
            message = f"--type {text!r}: {word!r} is not a type of TLP"
            raise UsageError(message, hint=_TYPE_HINTS.get(word.removesuffix("s"), _TYPE_HINT), code="bad-type")
        types.append(tlp_type)
    return tuple(types)


_TYPE_HINT = "give p (posted), np (non-posted) or cpl (completions), several with commas"
_TYPE_HINTS = {
    "read": "requests to read are np (non-posted), what answers them is cpl (completions)",
    "write": "writes to memory are p (posted), those to configuration space and I/O are np (non-posted)",
}

FORMATS: Mapping[Format, int] = {Format.DW4: 0, Format.DW8: 1}
PATTERNS: Mapping[Pattern, int] = {Pattern.LEGACY: 0, Pattern.V1: 1}
INBOUND, OUTBOUND, BOTH = Direction.INBOUND, Direction.OUTBOUND, Direction.BOTH

DEFAULT_TERMS: Mapping[str, FormatTerm] = {
    "filter": FormatTerm("config", 0, 19),
    "type": FormatTerm("config", 24, 31),
    "direction": FormatTerm("config", 20, 23),
    "format": FormatTerm("config", 32, 35),
}
"""Where the mainline driver puts the terms (``PMU_FORMAT_ATTR``, the same in 6.1 and 6.12). ``format/*`` in sysfs overrides it."""

PATTERN_TERM = FormatTerm("config", 36, 39)
"""Where the series posted in June 2026 puts ``pattern``. No released kernel has it, so it is not a default."""

TERM_ORDER = ("filter", "type", "direction", "format", "pattern")
REQUIRED_TERMS = TERM_ORDER[:4]


class Flow(Struct, frozen=True):
    """Which TLPs are traced, by direction: ``P``, ``NP``, ``CPL``; inbound completions are ``CPL A`` and ``CPL B``.

    Parameters
    ----------
    inbound, outbound : tuple of str
        The TLPs that are traced.
    """

    inbound: tuple[str, ...] = ()
    outbound: tuple[str, ...] = ()

    def of_types(self, types: Iterable[str]) -> Flow:
        """Return the part of it that is left when only some types (of :class:`TlpType`) are traced."""
        names = {name.upper() for name in types}
        return Flow(
            tuple(group for group in self.inbound if group.split()[0] in names),
            tuple(group for group in self.outbound if group in names),
        )

    def __bool__(self) -> bool:
        return bool(self.inbound or self.outbound)


_OUT = ("P", "NP", "CPL")
DIRECTIONS: Mapping[str, Mapping[int, Flow]] = {
    Format.DW4: {
        0: Flow(inbound=("P", "NP", "CPL A", "CPL B")),
        1: Flow(outbound=_OUT),
        2: Flow(inbound=("P", "NP", "CPL B"), outbound=_OUT),
        3: Flow(inbound=("CPL A",), outbound=_OUT),
    },
    Format.DW8: {
        0: Flow(),  # reserved: the driver takes it, what the device does is not documented
        1: Flow(outbound=_OUT),
        2: Flow(inbound=("P", "NP", "CPL B")),
        3: Flow(inbound=("CPL A",)),
    },
}
"""The document's two tables of the ``direction`` term ("3. Direction"), by format and value."""

DIRECTION_VALUES: Mapping[tuple[str, str, str | None], int] = {
    (Format.DW4, INBOUND, None): 0,
    (Format.DW4, OUTBOUND, None): 1,
    (Format.DW4, BOTH, None): 2,
    (Format.DW4, BOTH, Completions.B): 2,
    (Format.DW4, BOTH, Completions.A): 3,
    (Format.DW8, OUTBOUND, None): 1,
    (Format.DW8, INBOUND, None): 2,
    (Format.DW8, INBOUND, Completions.B): 2,
    (Format.DW8, INBOUND, Completions.A): 3,
}
"""The value of the ``direction`` term by format, direction and completions; a combination that is absent cannot be traced."""


def in_order(terms: Iterable[str]) -> list[str]:
    """Sort names of terms as event strings have them; unknown ones come last."""
    return sorted(terms, key=lambda name: (TERM_ORDER.index(name) if name in TERM_ORDER else len(TERM_ORDER), name))


def encode(fields: Mapping[str, int], terms: Mapping[str, FormatTerm] = DEFAULT_TERMS) -> int:
    """Put the values of terms into ``config``.

    Raises
    ------
    DeviceError
        ``unknown-format``: a term is not in ``config``.
    UsageError
        ``value-too-big``: a value does not fit its term.
    """
    config = 0
    for name, value in fields.items():
        term = terms[name]
        if term.word != "config":
            raise DeviceError(f"the term {name} is at {term}: ptttool can only fill config", code="unknown-format", term=name)
        if not 0 <= value <= term.maximum:
            raise UsageError(f"{name}={value:#x} is too big: the term holds up to {term.maximum:#x}", code="value-too-big", term=name)
        config |= value << term.low
    return config


def fields_of(config: int, terms: Mapping[str, FormatTerm] = DEFAULT_TERMS) -> dict[str, int]:
    """Return the value of every term in a config, in the order of event strings."""
    return {name: config >> terms[name].low & terms[name].maximum for name in in_order(terms) if terms[name].word == "config"}


def terms_of(device: PttDevice | None) -> Mapping[str, FormatTerm]:
    """Return the device's own terms where they are known, else those of the mainline driver."""
    return device.format if device is not None and device.format else DEFAULT_TERMS
