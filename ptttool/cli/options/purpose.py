"""The option that says what a recording is for."""

from __future__ import annotations

from typing import Annotated

import typer


def _purposes() -> list[str]:
    from ptttool.analyses.contract import ANALYSES

    return ANALYSES.names()


ForOption = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="ANALYSIS,...",
        autocompletion=_purposes,
        help="What the recording is for: names of analyses, such as traffic, payload, latency, outstanding, errors, mmio, attributes, io. "
        "The plan for them chooses the format, the direction and the types.",
    ),
]
