"""The options of commands that analyze: how results are shown."""

from __future__ import annotations

from typing import Annotated

import typer

from ptttool.errors import UsageError

ToOption = Annotated[
    str | None,
    typer.Option("--to", metavar="<text|md|json>", help="How results are shown: as text, Markdown or JSON."),
]

PAGE = 20
"""Rows of a table on a terminal, unless the user names another number."""

FORMS = ("text", "md", "json")
"""How results can be shown."""


def form_of(to: str | None, *, json: bool) -> str:
    """Return how results are shown: ``text``, ``md`` or ``json``.

    Raises
    ------
    UsageError
        There is no such form (code ``unknown-form``), or the options exclude each other.
    """
    if to is not None and to not in FORMS:
        raise UsageError(f"--to {to}: results are not shown so", hint="known: " + ", ".join(FORMS), code="unknown-form")
    if json and to not in (None, "json"):
        raise UsageError(f"--json and --to {to} exclude each other", hint="--json is --to json")
    return "json" if json else to or "text"
