"""The option that says what a recording is for."""

from __future__ import annotations

from typing import Annotated

import typer

PURPOSES = "addresses attributes bandwidth errors io latency loss mmio outstanding payload summary traffic"
"""The built-in analyses of TLPs: completion does not import them."""


def _purposes(incomplete: str) -> list[str]:
    """Complete the last word of a list."""
    before, comma, word = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in PURPOSES.split() if name.startswith(word) and name not in before.split(",")]


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
