"""``ptttool wireshark``: the dissector for what ``decode --to pcapng`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.talk import note, outlive_reader, print_json, print_line
from ptttool.wording import clean

wireshark = app.group(
    "wireshark",
    """Show TLPs in Wireshark and tshark.

    A dissector reads what 'decode --to pcapng' writes.
    """,
    stage=Stage.MORE,
    rank=20,
)


_INSTALL = (Example("ptttool wireshark install --folder plugins", "Into this folder, not the one that Wireshark loads."),)


@wireshark.command("install", stage=Stage.MORE, rank=10, examples=_INSTALL)
def install(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Another folder of Lua plug-ins than the one that tshark names.",
            readable=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace or remove a file of that name that is not of ptttool.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Remove the dissector.")] = False,
    json: JsonOption = False,
) -> None:
    """Install the dissector for this user, or remove it.

    It is written to the folder of personal Lua plug-ins that tshark -G folders names; without tshark, to
    ~/.local/lib/wireshark/plugins. An older version of it is replaced. Wireshark loads it when it starts.
    """
    from ptttool.exporters.packets import wireshark as dissector

    outlive_reader(is_result=json)
    chosen, by_tshark = dissector.plugin_folder() if folder is None else (folder.absolute(), False)
    act = dissector.uninstall if uninstall else dissector.install
    result = act(chosen, by_tshark=by_tshark, force=force)
    if json:
        print_json(result)
        return
    print_line(f"{result.change}: {clean(result.path)}")
    if folder is None and not by_tshark:
        note("tshark was not found: this is the folder that Wireshark's manual names")


_PATH = (Example("ptttool wireshark path", "For tshark -X lua_script:PATH -r nvme.pcapng."),)


@wireshark.command("path", stage=Stage.MORE, rank=20, examples=_PATH)
def path() -> None:
    """Print the path of the dissector, for tshark -X lua_script:PATH."""
    from ptttool.exporters.packets.wireshark import DISSECTOR

    print_line(str(DISSECTOR))
