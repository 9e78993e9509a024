"""The group of commands ``ptttool tune``, and what several of its commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import app
from ptttool.cli.help.about import KeptFile, Stage
from ptttool.cli.terminal.talk import print_diagnostics

if TYPE_CHECKING:
    from ptttool.tune.driver import TunePlan
    from ptttool.tune.session import Session

tune = app.group(
    "tune",
    """Show and set the tune attributes of PTT devices.

    They are QoS weights and buffer levels, from 0 to 2, each for a whole PCIe core.
    """,
    stage=Stage.TUNE,
    rank=10,
)

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check and read everything, print what would be written, write nothing.")]
NoJournalOption = Annotated[
    bool, typer.Option("--no-journal", help="Do not note the change in the journal: if it is cut off, it cannot be recovered.")
]
ProfileArgument = Annotated[
    str, typer.Argument(help="The profile: a file, the name of one of 'tune profiles', or - for standard input.", metavar="PROFILE")
]
JOURNAL = (KeptFile("/var/lib/ptttool", "The journal of changes: how a change that was cut off is repaired."),)


def carry_out(session: Session, plan: TunePlan) -> TunePlan:
    """Carry a plan out; print what was odd before and after it."""
    print_diagnostics((*session.diagnostics, *plan.diagnostics))
    session.diagnostics.clear()
    done = plan.apply(session=session)
    print_diagnostics(session.diagnostics)
    return done
