"""Names, meanings and values of tune attributes, and how people write them. Nothing here touches a device.

Which attributes a device has is read from its ``tune`` folder. The rest is from the kernel documentation's section "Tune" and from the
driver's answers: it reads a value with ``kstrtou16``, base 10, so ``010`` is ten and 65536 is refused; it stores 2 for 3 to 65535.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError, UsageError
from ptttool.wording import did_you_mean

LARGEST: Final = 2
"""The largest value; 0 is the smallest."""

LARGEST_ACCEPTED: Final = 0xFFFF
"""The largest number that the driver accepts; the hardware then stores :data:`LARGEST`."""

MEANINGS: Final[Mapping[str, str]] = {
    "qos_tx_cpl": "weight of outbound (Tx) completions",
    "qos_tx_np": "weight of outbound (Tx) non-posted requests",
    "qos_tx_p": "weight of outbound (Tx) posted requests",
    "rx_alloc_buf_level": "watermark of the inbound (Rx) buffer",
    "tx_alloc_buf_level": "watermark of the outbound (Tx) buffer",
}

# The kernel documentation has the left names, the driver the right ones; either stands for the other.
ALIASES: Final[Mapping[str, str]] = {
    "tx_path_rx_req_alloc_buf_level": "rx_alloc_buf_level",
    "tx_path_tx_req_alloc_buf_level": "tx_alloc_buf_level",
}

# A name of the kernel documentation's example that does not clearly stand for one of the three weights: it is explained, never guessed.
UNCERTAIN: Final[Mapping[str, str]] = {
    "qos_tx_dp": "the kernel documentation's example says qos_tx_dp, a name no driver has; qos_tx_p is the weight of posted requests",
}


class AttributeChange(Struct, frozen=True):
    """A tune attribute and its values before and after a change: what the steps of a plan, of the journal and of a repair have in common.

    Parameters
    ----------
    device, attribute : str
        Its names.
    old, new : int
        Its values before and after.
    """

    device: str
    attribute: str
    old: int
    new: int

    @property
    def key(self) -> tuple[str, str]:
        """The device and the attribute."""
        return self.device, self.attribute

    @property
    def label(self) -> str:
        """The attribute's name in messages."""
        return f"{self.device}/{self.attribute}"


def meaning(attribute: str) -> str | None:
    """Say what an attribute does; None for one that the kernel documentation does not describe."""
    return MEANINGS.get(ALIASES.get(attribute, attribute))


def stored_value(text: str) -> int:
    """Return the value that the hardware stores for decimal digits."""
    # Six digits or more are above the largest value, and int() refuses thousands of them.
    return min(int((text.lstrip("0") or "0")[:6]), LARGEST)


def is_clamped(text: str) -> bool:
    """Tell whether decimal digits are above the largest value."""
    return (text.lstrip("0") or "0") != str(stored_value(text))


def clamped_value(name: str, asked: str) -> Diagnostic:
    """Report that a value is above the largest one. ``name`` is the attribute, or the key in a file."""
    shown = asked if len(asked) <= 24 else f"{asked[:20]}…"
    digits = asked.lstrip("0") or "0"
    if digits != asked and len(asked) <= 24:
        shown += f" (decimal, so {digits})"
    large = len(digits) > len(str(LARGEST_ACCEPTED)) or int(digits) > LARGEST_ACCEPTED
    why = f"; the driver itself refuses numbers above {LARGEST_ACCEPTED}" if large else ", as the hardware does"
    message = f"{name}: {shown} is above {LARGEST}, the largest value: {LARGEST} is taken{why}"
    details = {"asked": asked if len(asked) <= 24 else f"{asked[:20]}…", "taken": LARGEST, "driver_accepts": not large}
    return Diagnostic(Severity.INFO, "clamped-value", message, where=name, details=details)


def find_attribute(names: Sequence[str], asked: str) -> str | None:
    """Find the device's own name of an attribute.

    Parameters
    ----------
    names : Sequence[str]
        The device's attributes.
    asked : str
        That name, or the other one of the kernel documentation.

    Returns
    -------
    str or None
        None for an unknown name.
    """
    if asked in names:
        return asked
    return next((other for pair in ALIASES.items() if asked in pair for other in pair if other in names), None)


def near_misses(names: Sequence[str], asked: str) -> list[str]:
    """List the attributes that were probably meant, the closest first."""
    return [] if asked in UNCERTAIN else difflib.get_close_matches(asked.lower(), names, n=3)


def suggest(names: Sequence[str], asked: str) -> str:
    """Say which attribute was probably meant, or which there are."""
    if asked in UNCERTAIN:
        return UNCERTAIN[asked]
    near = near_misses(names, asked)
    return did_you_mean(near) if near else "known: " + ", ".join(names)


def require_attributes(device: str, names: Sequence[str]) -> None:
    """Raise DeviceError for a device without attributes."""
    if not names:
        raise DeviceError(
            f"{device} has no tune attributes", hint="see 'ptttool tune show' for the devices that have", code="no-tune-attributes"
        )


def resolve_attributes(device: str, names: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Find the device's own names of attributes.

    Parameters
    ----------
    device : str
        Name of the device.
    names : Sequence[str]
        The device's attributes.
    asked : Sequence[str]
        The names to find.

    Raises
    ------
    UsageError
        A name is unknown; ``details["unknown"]`` has all that are, with the known names that are near.
    DeviceError
        The device has no attributes.
    """
    require_attributes(device, names)
    pairs = [(text, find_attribute(names, text)) for text in asked]
    unknown = [text for text, attribute in pairs if attribute is None]
    if unknown:
        wrong = ", ".join(repr(text) for text in unknown)
        raise UsageError(
            f"{device} has no tune attribute {wrong}",
            hint="; ".join(dict.fromkeys(suggest(names, text) for text in unknown)),
            code="unknown-attribute",
            unknown={text: near_misses(names, text) for text in unknown},
        )
    return [attribute for _, attribute in pairs if attribute is not None]


def value_problem(text: str) -> str | None:
    """Say why a text is not a value: a value is decimal digits and nothing else. None for a value."""
    if re.fullmatch("[0-9]+", text):
        return None
    if not text:
        return "no value"
    if re.fullmatch("-[0-9]+", text):
        return "negative"
    if re.fullmatch("0[xX][0-9a-fA-F]*", text):
        return "hexadecimal"
    return "not a decimal number"


def parse_assignments(device: str, names: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Read texts such as ``qos_tx_p=2``.

    Parameters
    ----------
    device : str
        Name of the device.
    names : Sequence[str]
        The device's attributes.
    texts : Sequence[str]
        ``ATTRIBUTE=VALUE`` each.

    Returns
    -------
    dict
        The values as they were written, decimal digits, by the device's own names of the attributes.

    Raises
    ------
    UsageError
        A text is wrong; ``details["problems"]`` has the reason of each that is.
    DeviceError
        The device has no attributes.
    """
    require_attributes(device, names)
    problems: dict[str, str] = {}
    hints: list[str] = []
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            problems[text] = "not ATTRIBUTE=VALUE"
            if (meant := _apart(texts)) is not None:
                hints.append(f"write it without blanks: {meant}")
            continue
        attribute = find_attribute(names, name)
        wrong_value = value_problem(value)
        reasons = []
        if attribute is None:
            reasons.append("no such attribute")
            hints.append(suggest(names, name))
        if wrong_value is not None:
            reasons.append(wrong_value)
            hints.append(f"a value is one of 0, 1, {LARGEST}, in decimal digits")
        if attribute is None or wrong_value is not None:
            problems[text] = ", ".join(reasons)
        elif stored_value(values.setdefault(attribute, value)) != stored_value(value):
            problems[text] = f"{attribute} is also to be {stored_value(values[attribute])}"
    if problems:
        raise UsageError(
            "; ".join(f"{text!r}: {reason}" for text, reason in problems.items()),
            hint="; ".join(dict.fromkeys(hints)) or "write each as ATTRIBUTE=VALUE, each attribute once",
            code="bad-assignment",
            problems=problems,
        )
    return values


def _apart(texts: Sequence[str]) -> str | None:
    """Return what assignments with blanks around the equals sign, or without it, mean: ``a = 1`` and ``a 1`` are ``a=1``."""
    words = " ".join(texts).replace("=", " = ").split()
    pairs = re.findall(r"([a-z]\w*) (?:= )?(\d+)(?: |$)", " ".join(words))
    whole = sum(len(name) + len(value) for name, value in pairs) == sum(len(word) for word in words if word != "=")
    return " ".join(f"{name}={value}" for name, value in pairs) if pairs and whole else None
