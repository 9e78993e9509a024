"""The options that say how the Time field of TLPs is read."""

from __future__ import annotations

from typing import Annotated

import typer

TimeModelOption = Annotated[
    str,
    typer.Option(
        "--time-model",
        metavar="<auto|delta|counter>",
        help="How the Time field is read: as a counter that wraps around, or as the ticks since the TLP before. No document says which; "
        "auto looks at the recording and says what it saw.",
    ),
]
TickOption = Annotated[
    float | None,
    typer.Option(
        "--tick-ns",
        metavar="N",
        help="Nanoseconds of a tick of Time. Without it, times are nanoseconds only where the recording's own timestamps give the unit.",
        show_default=False,
    ),
]
