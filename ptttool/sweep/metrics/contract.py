"""What a metric is, and the registry of tools whose metrics are known by name.

A tool is one new file in :mod:`ptttool.sweep.metrics.tools`. It derives :class:`Tool` and registers an object of it with
``TOOLS.add(NAME, ...)``.
"""

from __future__ import annotations

import itertools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

from msgspec import Struct

from ptttool.errors import UsageError
from ptttool.registry import Registry
from ptttool.wording import did_you_mean

LARGEST = 1e150
"""The largest value: its square is a number, too."""

# Lines that may begin a JSON document, which are tried.
_MOST_BEGINNINGS = 100
# Colours, which some tools print into files, too.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Better(StrEnum):
    """Which values of a metric are better."""

    HIGHER = "higher"
    LOWER = "lower"


class Output(Struct, frozen=True, dict=True):
    """What a run of the workload left behind.

    Parameters
    ----------
    stdout, stderr : bytes
        What it wrote.
    seconds : float
        How long it ran.
    traced : Mapping of str to object
        JSON documents of the analyses of the trace that was recorded meanwhile, by name of the analysis.
    """

    stdout: bytes
    stderr: bytes = b""
    seconds: float = math.nan
    traced: Mapping[str, Any] | None = None

    @cached_property
    def text(self) -> str:
        """Standard output, then standard error, as text without colours."""
        return _COLOUR.sub("", "\n".join(part.decode("utf-8", "replace") for part in (self.stdout, self.stderr) if part))

    @cached_property
    def json(self) -> Any:
        """The JSON document on standard output; None if there is none.

        It begins with a line: what is before it, such as notes of fio, is left out. Of several, the first object, or the first list.
        """
        import json

        text = self.stdout.decode("utf-8", "replace")
        first_list = None
        for match in itertools.islice(re.finditer(r"^[ \t]*([{\[])", text, re.MULTILINE), _MOST_BEGINNINGS):
            try:
                document, _ = json.JSONDecoder().raw_decode(text, match.start(1))
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict):
                return document
            if first_list is None:
                first_list = document
        return first_list


class MetricError(Exception):
    """The output of a run does not hold a metric.

    Parameters
    ----------
    code : str
        ``no-metric``, ``not-a-number``, ``several-values``, ``no-json`` or ``slow-metric``.
    message : str
        What was seen.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Metric(Struct, frozen=True):
    """A metric.

    Parameters
    ----------
    name : str
        Its name.
    unit : str or None
        Its unit.
    better : Better
        Which values are better.
    find : Callable
        Returns what the output of a run says of it; raises MetricError where that does not hold it.
    analysis : str or None
        The analysis that it is of, for a metric of a trace that is recorded during the run.
    """

    json_name: ClassVar = "MetricDocument"
    json_hides: ClassVar = ("find", "analysis")

    name: str
    unit: str | None
    better: Better
    find: Callable[[Output], object]
    analysis: str | None = None

    def read(self, output: Output) -> float:
        """Return the value as a number that can be compared.

        Raises
        ------
        MetricError
            The output does not hold it, or it is not a finite number.
        """
        value = self.find(output)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise MetricError("not-a-number", f"{self.name}: {_kind(value)} was read, which is not a number")
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise MetricError("not-a-number", f"{self.name}: {str(value)[:40]!r} was read, which is not a number") from None
        if not abs(number) <= LARGEST:  # NaN neither
            raise MetricError("not-a-number", f"{self.name}: {number} was read, which cannot be compared")
        return number

    @property
    def label(self) -> str:
        """Name and unit."""
        return self.name if self.unit is None else f"{self.name} [{self.unit}]"


def _kind(value: object) -> str:
    kinds = {bool: "true or false", dict: "an object", list: "a list", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


class Known(Struct, frozen=True):
    """A metric that a tool is known for.

    Parameters
    ----------
    unit : str
        Its unit.
    better : Better
        Which values are better.
    meaning : str
        What it is, in a few words.
    """

    unit: str
    better: Better
    meaning: str


class Tool(ABC):
    """A workload whose output is known."""

    name: ClassVar[str]
    metrics: ClassVar[Mapping[str, Known]]

    @abstractmethod
    def read(self, output: Output, metric: str) -> float:
        """Return one of :attr:`metrics`.

        Raises
        ------
        MetricError
            The output does not hold it.
        """


TOOLS: Registry[Tool] = Registry("tool", "ptttool.sweep.metrics.tools", entry_points="ptttool.sweep_tools")


def tool_metric(text: str, tool: Tool, name: str) -> Metric:
    """Return a metric that is known by name, such as ``fio:read.iops``; raise UsageError for an unknown one."""
    metric = tool.metrics.get(name)
    if metric is None:
        import difflib

        near = difflib.get_close_matches(name.lower(), tool.metrics, n=3)
        hint = did_you_mean(near) if near else f"known: {', '.join(tool.metrics)}"
        raise UsageError(f"{tool.name} has no metric {name!r}", hint=hint, code="unknown-metric")
    return Metric(text, metric.unit, metric.better, lambda output: tool.read(output, name))
