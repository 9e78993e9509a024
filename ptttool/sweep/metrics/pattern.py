"""A metric by a regular expression with one group."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ptttool.errors import UsageError
from ptttool.sweep.metrics.contract import Better, Metric, MetricError, Output

# An expression such as (a+)+$ can take more than a life, and signals that end a sweep are looked at after it.
MOST_SECONDS: Final = 10.0


def pattern_metric(name: str, expression: str, better: Better) -> Metric:
    """Return the metric of the last number that a regular expression finds in what a run wrote.

    Parameters
    ----------
    name : str
        Name of the metric.
    expression : str
        The expression; its one group is the number. ``^`` and ``$`` match at the ends of lines.
    better : Better
        Which values are better.

    Raises
    ------
    UsageError
        It is not a regular expression with one group.
    """
    try:
        pattern = re.compile(expression, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"metric {name!r}: not a regular expression: {error}", code="bad-metric") from None
    if pattern.groups != 1:
        raise UsageError(
            f"metric {name!r}: the regular expression has {pattern.groups} groups, not one",
            hint="the number stands in the one group: 'rate=([0-9.]+)'; (?:...) is not a group",
            code="bad-metric",
        )

    def find(output: Output) -> str:
        last = None
        try:
            with _limited(MOST_SECONDS):
                for last in pattern.finditer(output.text):  # noqa: B007 - tools print intermediate results first
                    pass
        except TimeoutError:
            message = f"{name!r} has searched the output for {MOST_SECONDS:g} s of CPU time, without an end"
            raise MetricError("slow-metric", message) from None
        if last is None or last[1] is None:
            raise MetricError("no-metric", f"nothing in the output matches {name!r}")
        return str(last[1]).replace(",", "")

    return Metric(name, None, better, find)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so much CPU time. Without a limit outside of the main thread, where no signal can be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
