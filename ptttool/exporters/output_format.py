"""The format of an output, as the options say it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from ptttool.errors import UsageError


def chosen_format(name: str | None, output: Path | None, names: Collection[str], suffixes: Mapping[str, str]) -> str | None:
    """The format's name: as given with --to, else by the output's suffix; None where neither says one.

    ``names``: of all formats. ``suffixes``: which format one means. Raises UsageError for a name or suffix that none has.
    """
    known = ", ".join(names)
    if name is not None:
        if name not in names:
            raise UsageError(f"no output format is called {name!r}", hint=f"known: {known}", code="unknown-format")
        return name
    if output is None or not output.suffix:
        return None
    found = suffixes.get(output.suffix.lower())
    if found is None:
        raise UsageError(f"{output}: the suffix {output.suffix} is no format's", hint=f"name one with --to: {known}", code="unknown-suffix")
    return found
