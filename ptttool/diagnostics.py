"""The one way to say that something is odd: a finding that is data, not a sentence on its way to a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """How much a diagnostic matters; the members are in order, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Place in the order: 0 is the worst."""
        return list(Severity).index(self)


class Diagnostic(Struct, frozen=True):
    """Something odd that was seen.

    Parameters
    ----------
    severity : Severity
        How much it matters.
    code : str
        A stable word in kebab case, for programs and tests.
    message : str
        One sentence for people: what was seen.
    hint : str or None
        What to do next.
    where : str or None
        The file, device or record it is about, such as ``perf.data, offset 0x40``.
    details : Mapping[str, object]
        Further facts for programs: numbers and texts by name.
    """

    severity: Severity
    code: str
    message: str
    hint: str | None = None
    where: str | None = None
    details: Mapping[str, object] = {}

    @property
    def text(self) -> str:
        """The message, and what to do next where there is something."""
        return self.message if self.hint is None else f"{self.message}; {self.hint}"
