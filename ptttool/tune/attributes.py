"""The tune attributes of a PTT device as words and numbers: names, meanings, values and assignments.

Pure: :mod:`ptttool.tune.driver` reads and writes them.

Which attributes a device has is read from its ``tune`` folder; the kernel document's section "Tune" and the driver's answers
(``kstrtou16``, base 10; what lies above 2 is stored as 2) are the source of the rest.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import PttDevice

LARGEST = 2

MEANINGS: Mapping[str, str] = {
    "qos_tx_cpl": "weight of outbound (Tx) completions",
    "qos_tx_np": "weight of outbound (Tx) non-posted requests",
    "qos_tx_p": "weight of outbound (Tx) posted requests",
    "rx_alloc_buf_level": "watermark of the inbound (Rx) buffer",
    "tx_alloc_buf_level": "watermark of the outbound (Tx) buffer",
}

# The kernel document lists the left names, the driver makes the right ones; either stands for the other.
ALIASES: Mapping[str, str] = {
    "tx_path_rx_req_alloc_buf_level": "rx_alloc_buf_level",
    "tx_path_tx_req_alloc_buf_level": "tx_alloc_buf_level",
}

# A name of the kernel document's example that fits none of its three weights for certain: never guessed at, only explained.
UNCERTAIN: Mapping[str, str] = {
    "qos_tx_dp": "the kernel document's example says qos_tx_dp, a name no driver has; qos_tx_p is the weight of posted requests",
}


@dataclass(frozen=True)
class Assignment:
    """``ATTRIBUTE=VALUE`` as it will be written. ``asked``: the value as given, which differs from ``value`` where it was clamped."""

    attribute: str
    value: int
    asked: str

    @property
    def clamped(self) -> bool:
        """True where more than the largest value was asked for."""
        return (self.asked.lstrip("0") or "0") != str(self.value)


@dataclass(frozen=True)
class Setting:
    """One tune attribute of one device and the value it is to hold."""

    device: PttDevice
    attribute: str
    value: int


@dataclass(frozen=True)
class Change:
    """What becomes of one tune attribute. ``old``: what it held before; ``new``: what it is to hold; once
    written, what was read back."""

    device: PttDevice
    attribute: str
    old: int
    new: int

    @property
    def changes(self) -> bool:
        """False for a tune attribute that holds the value already."""
        return self.old != self.new

    @property
    def label(self) -> str:
        """Its name in messages."""
        return attribute_label(self.device, self.attribute)


def attribute_label(device: PttDevice, attribute: str) -> str:
    """One tune attribute's name in messages."""
    return f"{device.name}/{attribute}"


def meaning(attribute: str) -> str | None:
    """What a tune attribute does, in words; None for one that the kernel document does not know."""
    return MEANINGS.get(ALIASES.get(attribute, attribute))


def clamp(value: int) -> int:
    """The value as the hardware stores it."""
    return min(value, LARGEST)


def find_attribute(names: Sequence[str], asked: str) -> str | None:
    """The device's own name for a tune attribute, given that name or the other one of the kernel document; None for an unknown one."""
    if asked in names:
        return asked
    others = [short for long, short in ALIASES.items() if long == asked] + [long for long, short in ALIASES.items() if short == asked]
    return next((other for other in others if other in names), None)


def near_misses(names: Sequence[str], asked: str) -> str:
    """What may have been meant, in words."""
    if asked in UNCERTAIN:
        return UNCERTAIN[asked]
    near = difflib.get_close_matches(asked.lower(), names, n=3)
    return "did you mean " + " or ".join(near) if near else "known: " + ", ".join(names)


def require_attributes(device: PttDevice, names: Sequence[str]) -> None:
    """DeviceError for a device without attributes."""
    if not names:
        raise DeviceError(
            f"{device.name} has no tune attributes", hint="see 'ptttool tune show' for the devices that have", code="no-tune-attributes"
        )


def resolve_attributes(device: PttDevice, names: Sequence[str], asked: Sequence[str]) -> list[str]:
    """The device's own names for what was asked for; UsageError that names every unknown one, DeviceError where there are none."""
    require_attributes(device, names)
    found = [(text, find_attribute(names, text)) for text in asked]
    unknown = [text for text, attribute in found if attribute is None]
    if unknown:
        wrong = ", ".join(repr(text) for text in unknown)
        raise UsageError(
            f"{device.name} has no tune attribute {wrong}",
            hint="; ".join(dict.fromkeys(near_misses(names, text) for text in unknown)),
            code="unknown-attribute",
        )
    return [attribute for _, attribute in found if attribute is not None]


def value_problem(text: str) -> str | None:
    """Why a text is no value: only plain decimal digits are one. None for a good one."""
    if re.fullmatch("[0-9]+", text):
        return None
    if not text:
        return "no value"
    if re.fullmatch("-[0-9]+", text):
        return "negative"
    if re.fullmatch("0[xX][0-9a-fA-F]*", text):
        return "hexadecimal"
    return "not a decimal number"


def parse_assignments(device: PttDevice, names: Sequence[str], texts: Sequence[str]) -> list[Assignment]:
    """Read ``ATTRIBUTE=VALUE`` texts against the device's attributes, in the order given, each tune attribute once.

    Raises UsageError that names every bad one (``details["problems"]``: text to reason), DeviceError for a device without attributes.
    """
    require_attributes(device, names)
    problems: dict[str, str] = {}
    hints: list[str] = []
    found: dict[str, Assignment] = {}
    for text in texts:
        asked_attribute, equals, asked_value = text.partition("=")
        if not equals or not asked_attribute:
            problems[text] = "not ATTRIBUTE=VALUE"
            continue
        attribute = find_attribute(names, asked_attribute)
        wrong_value = value_problem(asked_value)
        reasons = [] if wrong_value is None else [wrong_value]
        if attribute is None:
            reasons.insert(0, "no such attribute")
            hints.append(near_misses(names, asked_attribute))
        if wrong_value is not None:
            hints.append(f"a value is one of 0, 1, {LARGEST}, in decimal digits")
        if attribute is None or wrong_value is not None:
            problems[text] = ", ".join(reasons)
            continue
        # Any six digits or more are beyond the largest value: int() refuses thousands of them.
        digits = asked_value.lstrip("0") or "0"
        assignment = Assignment(attribute, clamp(int(digits[:6])), asked_value)
        if attribute in found and found[attribute].value != assignment.value:
            problems[text] = f"{attribute} is also to be {found[attribute].value}"
            continue
        found.setdefault(attribute, assignment)
    if problems:
        raise UsageError(
            "; ".join(f"{text!r}: {reason}" for text, reason in problems.items()),
            hint="; ".join(dict.fromkeys(hints)) or "write each as ATTRIBUTE=VALUE, each attribute once",
            code="bad-assignment",
            problems=problems,
        )
    return list(found.values())
