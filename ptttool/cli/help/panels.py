"""The panels in which the options of a command are shown, in their order.

Most options mean the same in every command: this table has their panel. An option that means something else in a command names its
panel itself (``rich_help_panel=Panel.WHAT``). Others stand under "Options".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Panel(StrEnum):
    """The panels; the value is the heading."""

    WHAT = "What to trace"
    HOW = "How long and how"
    OPTIONS = "Options"
    ROWS = "Which rows and columns"
    TIME = "Time"
    OUTPUT = "Output"
    INPUT = "Reading the recording"
    WORK = "Processes and clusters"
    MACHINE = "Machine"
    HELP = "Help"


_NAMES = {
    Panel.WHAT: "--rootport --requester --type --direction --completions --format --device --for",
    Panel.HOW: "--duration --aux-size --cpu --keep-command --interval --window --count",
    Panel.ROWS: "--where --columns --words --limit --offset --at --context --follow --raw --ids --top --list --partition",
    Panel.TIME: "--time-model --tick-ns",
    Panel.OUTPUT: "--output --to --json --force --verbose --quiet --color --decode --fail-on-loss --openmetrics --dashboard --doctor",
    Panel.INPUT: "--protocol --protocols --parameter --params --strict --channel --input --downstream",
    Panel.WORK: "--jobs --scheduler --tls-ca --tls-cert --tls-key",
    Panel.MACHINE: "--sysfs --demo",
    Panel.HELP: "--help --version --install-completion --show-completion",
}
_PANEL_OF = {name: panel for panel, names in _NAMES.items() for name in names.split()}


def in_panels(options: list[Any]) -> dict[str, list[Any]]:
    """Return options by the heading of their panel, panels in their order; panels of one's own come before the output."""
    panels: dict[str, list[Any]] = {}
    for option in options:
        defaults = (_PANEL_OF[name] for name in option.opts if name in _PANEL_OF)
        panel = getattr(option, "rich_help_panel", None) or next(defaults, Panel.OPTIONS)
        panels.setdefault(str(panel), []).append(option)
    order = [str(panel) for panel in Panel]
    own = order.index(Panel.ROWS)
    return dict(sorted(panels.items(), key=lambda item: order.index(item[0]) if item[0] in order else own))
