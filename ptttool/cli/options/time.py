"""The options that say how the Time field of TLPs is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.help.commands import OptionGroup

if TYPE_CHECKING:
    from ptttool.api.recording import TimeOptions


class Time(OptionGroup, frozen=True):
    """The options that say how the Time field of TLPs is read."""

    time_model: Annotated[
        str,
        typer.Option(
            "--time-model",
            metavar="<auto|delta|counter>",
            help="How the Time field is read: as a counter that wraps around, or as the ticks since the TLP before. No document says "
            "which; auto looks at the recording and says what it saw.",
        ),
    ] = "auto"
    tick_ns: Annotated[
        float | None,
        typer.Option(
            "--tick-ns",
            metavar="N",
            help="Nanoseconds of a tick of Time. Without it, times are nanoseconds only where the recording's own timestamps give the "
            "unit.",
        ),
    ] = None

    @property
    def options(self) -> TimeOptions:
        """What analyses are told."""
        from ptttool.api.recording import TimeOptions

        return TimeOptions(self.time_model, self.tick_ns)
