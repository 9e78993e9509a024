"""``ptttool protocols``: the packet protocols and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import JsonOption, app
from ptttool.cli.terminal.talk import clean, print_json, print_labelled, print_line, warn

if TYPE_CHECKING:
    from ptttool.decoders.parameters import Parameter

# Where what is said of parameters begins.
_TEXT_AT = 17


@app.command("protocols")
def protocols(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="Only these.", show_default=False)] = None,
    json: JsonOption = False,
) -> None:
    """List the protocols that traces can be decoded as, with their parameters, defaults and meaning."""
    from ptttool.decoders.contract import PROTOCOLS
    from ptttool.decoders.stack import parameters_of

    known = [PROTOCOLS.get(name) for name in names] if names else list(PROTOCOLS)
    if not names:
        for error in PROTOCOLS.broken():
            warn(clean(str(error)))
    if json:
        print_json(
            {
                "protocols": [
                    {
                        "name": protocol.name,
                        "meaning": protocol.meaning,
                        "command": protocol.elsewhere or f"ptttool packets --protocol {protocol.name}",
                        "framings": list(protocol.framings),
                        "auxtrace_types": list(protocol.auxtrace),
                        "resync": protocol.resync or None,
                        "parameters": [parameter.as_json() for parameter in parameters_of(protocol)],
                        "fields": [
                            {"name": field.name, "type": field.dtype, "meaning": field.meaning, "values": list(field.values) or None}
                            for field in protocol.fields
                        ],
                    }
                    for protocol in known
                ]
            }
        )
        return
    for number, protocol in enumerate(known):
        if number:
            print_line("")
        print_labelled(protocol.name + " ", protocol.meaning)
        if protocol.elsewhere is not None:
            print_labelled("", f"decoded with {protocol.elsewhere}")
        if protocol.framings != ("none",):
            print_labelled("", f"behind {' or '.join(protocol.framings)}")
        for parameter in parameters_of(protocol):
            if parameter.used:
                print_labelled(f"  {parameter.name} ", f"{parameter.range_text} ({_default(parameter)})", _TEXT_AT)
                print_labelled("", parameter.meaning, _TEXT_AT)


def _default(parameter: Parameter) -> str:
    if parameter.mandatory:
        return "mandatory"
    if parameter.default is None:
        return "no default"
    value = {True: "yes", False: "no"}[parameter.default] if isinstance(parameter.default, bool) else parameter.default
    return f"default {value}"
