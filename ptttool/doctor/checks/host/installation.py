"""ptttool itself is as fast as it can be."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.doctor.contract import Finding, check, not_recorded, ok, warning
from ptttool.doctor.facts import Facts
from ptttool.kernel import is_compiled


@check("installation", order=95, needed=False)
def installation(facts: Facts) -> Iterator[Finding]:
    """Say whether the loops of analyses are compiled; results are the same without."""
    if facts.host is None:
        yield not_recorded("how ptttool is installed")
    elif is_compiled():
        yield ok("the loops of analyses are compiled")
    else:
        yield warning(
            "loops-not-compiled",
            "the loops of analyses are not compiled: analyses of transactions are right, and many times slower",
            "there was no C compiler, or no header file of Python, when ptttool was installed",
            "apt-get install gcc libc6-dev python3-dev && pipx reinstall ptttool",
        )
