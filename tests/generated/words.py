"""Write the words that completion offers: options and arguments of every command, and values that ptttool itself defines.

``python -m tests.generated.manpages man`` writes them, too; ``tests/cli/completion`` fails while the committed files differ.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from ptttool.cli.completion.words import FOLDER
from ptttool.cli.help import described
from ptttool.cli.help.commands import general_options
from ptttool.cli.help.page import stages

# What the value of an option is, by the option's name; values in a|b|c are read from the command.
_OPTIONS: Final = {
    "--rootport": "ports",
    "--requester": "requester",
    "--device": "device",
    "--type": "types",
    "--columns": "columns",
    "--protocol": "protocols",
    "--parameter": "parameters",
    "--partition": "partitions",
    "--for": "analyses,",
    "--attributes": "attributes",
    "--values": "attribute values,",
    "--cpu": "cpu",
}
# By the name of the value or the argument.
_VALUES: Final = {
    "DEVICE": "device",
    "ATTRIBUTE": "attribute",
    "ATTRIBUTE=VALUE": "assignment",
    "COMMAND": "command",
    "NAME[,NAME": "analyses,",
    "PROFILE": "profile",
    "FORMAT": "formats",
    "TARGET": "targets",
    "METRIC": "metrics",
}
_FILES: Final = frozenset({"FILE", "PATH", "DIR", "A", "B...", "PROGRAM[@OFFSET]", "EVENT|CONFIG|FILE"})


def words() -> dict[str, Any]:
    """Return the content of every file by its name."""
    from ptttool.cli.app import app
    from ptttool.cli.main import load_commands

    load_commands()
    found: dict[str, Any] = {"values.json": _values()}
    left: list[tuple[tuple[str, ...], Any]] = [((), app.tree)]
    while left:
        path, command = left.pop()
        found[f"{'-'.join(('ptttool', *path))}.json"] = _described(command, path)
        left += [((*path, name), one) for name, one in getattr(command, "commands", {}).items()]
    return found


def write(folder: Path = FOLDER) -> None:
    """Write every file, and remove those of commands that no longer exist."""
    from ptttool.files.atomic import output_file

    wanted = words()
    for old in folder.glob("*.json"):
        if old.name not in wanted:
            old.unlink()
    for name, content in wanted.items():
        with output_file(folder / name, force=True) as file:
            file.write(text_of(content).encode())


def text_of(content: Any) -> str:
    """Return the content of a file as its text: one value a line, so that changes of two people seldom meet."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _described(command: Any, path: tuple[str, ...]) -> dict[str, Any]:
    own: dict[str, Any] = {"help": sentence(command.help or "")}
    commands = getattr(command, "commands", None)
    if commands:
        own["commands"] = {name: sentence(one.short_help or one.help or "") for name, one in sorted(commands.items())}
    if not path:
        own["stages"] = {str(stage): [name for name, _ in items] for stage, items in stages(command).items()}
    own["options"] = [
        {
            "names": [*one.opts, *one.secondary_opts],
            "kind": _kind_of_option(one),
            "many": bool(one.multiple),
            "help": sentence(described.description(one)),
        }
        for one in (*command.params, *general_options())
        if described.is_option(one)
    ]
    own["options"].append({"names": ["--help", "-h"], "kind": "", "many": False, "help": "Show this message and exit."})
    own["arguments"] = [
        {"kind": _kind_of_argument(one, path), "many": one.nargs == -1} for one in command.params if described.is_argument(one)
    ]
    own["interspersed"] = bool(command.context_settings.get("allow_interspersed_args", True)) and not commands
    return own


def _kind_of_option(option: Any) -> str:
    """Return what the value of an option is: empty for a switch, ``=a|b`` for a choice."""
    value = described.value_name(option)
    if not value:
        return ""
    kind = next((_OPTIONS[name] for name in option.opts if name in _OPTIONS), None)
    return kind or _kind(value)


def _kind_of_argument(argument: Any, path: tuple[str, ...]) -> str:
    name = described.argument_name(argument)
    return "profiles" if path == ("tune", "profiles") else _kind(name)


def _kind(name: str) -> str:
    if name in _VALUES:
        return _VALUES[name]
    if name in _FILES:
        return "file"
    choices = name.strip("[]<>").split("|")
    return f"={'|'.join(choices)}" if len(choices) > 1 and all(choice.replace("-", "").isalnum() for choice in choices) else "any"


def sentence(text: str) -> str:
    """Return the first sentence of a help text, on one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    end = paragraph.find(". ")
    return (paragraph if end < 0 else paragraph[:end]).removesuffix(".")


def _values() -> dict[str, Any]:
    from ptttool.analyses.contract import ANALYSES
    from ptttool.capture.event.terms import TlpType
    from ptttool.decoders.contract import PROTOCOLS
    from ptttool.exporters.contract import EXPORTERS
    from ptttool.sweep.metrics.contract import TOOLS
    from ptttool.tlp.columns import TLP_SCHEMA
    from ptttool.tune.attributes import LARGEST, MEANINGS
    from ptttool.tune.persist.contract import TARGETS
    from ptttool.tune.profiles.named import built_in_names

    protocols = {name: PROTOCOLS.get(name) for name in PROTOCOLS.names()}
    return {
        "analyses": {name: sentence(ANALYSES.get(name).meaning) for name in ANALYSES.names()},
        "attributes": dict(sorted(MEANINGS.items())),
        "attribute values": {str(value): "" for value in range(LARGEST + 1)},
        "columns": {column.name: sentence(column.meaning) for column in TLP_SCHEMA.columns},
        "formats": {name: sentence(EXPORTERS.get(name).meaning) for name in EXPORTERS.names()},
        "metrics": {f"{name}:{metric}": one.unit or "" for name in TOOLS.names() for metric, one in TOOLS.get(name).metrics.items()},
        "parameters": {
            f"{parameter.name}=": sentence(parameter.meaning)
            for protocol in protocols.values()
            for parameter in protocol.parameters
            if parameter.used
        },
        "parameter values": {
            f"{parameter.name}=": list(parameter.choices)
            for protocol in protocols.values()
            for parameter in protocol.parameters
            if parameter.choices
        },
        "protocols": {name: sentence(protocol.summary) for name, protocol in protocols.items()},
        "profile": dict.fromkeys(built_in_names(), ""),
        "profiles": dict.fromkeys(built_in_names(), ""),
        "partitions": dict.fromkeys(("host", "device", "recording"), ""),
        "targets": dict.fromkeys(TARGETS.names(), ""),
        "types": {one.value: {"p": "posted", "np": "non-posted", "cpl": "completions"}[one.value] for one in TlpType},
    }
