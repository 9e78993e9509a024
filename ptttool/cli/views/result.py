"""Show any result: a line for each value, a table for each list of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ptttool.cli.terminal.talk import console, print_labelled, print_line
from ptttool.documents import to_json
from ptttool.wording import clean


def print_result(result: object) -> None:
    """Print a dataclass on standard output: first plain values, one line each, then nested ones, each below its name."""
    shape = to_json(result)
    _print(shape if isinstance(shape, dict) else {"result": shape}, "")


def _print(shape: Mapping[str, Any], prefix: str) -> None:
    lines = {name: value for name, value in shape.items() if _is_line(value)}
    at = max((len(_label(name)) for name in lines), default=0) + 2
    for name, value in lines.items():
        print_labelled(f"{_label(name)} ", _text(value), at)
    is_first = not lines and not prefix
    for name, value in shape.items():
        if name in lines:
            continue
        if not is_first:
            print_line("")
        is_first = False
        print_line(clean(f"{prefix}{_label(name)}"))
        if isinstance(value, Mapping) and not all(isinstance(item, Mapping) for item in value.values()):
            _print(value, f"{prefix}{_label(name)}, ")
        elif isinstance(value, Mapping):
            _print_table([{"name": key, **item} for key, item in value.items()])
        else:
            _print_table([item if isinstance(item, Mapping) else {_label(name): item} for item in value])


def _is_line(value: object) -> bool:
    """Return whether a value is shown on one line: it is plain, or a list of plain values."""
    if isinstance(value, Mapping):
        return not value
    if isinstance(value, list):
        return not any(isinstance(item, Mapping | list) for item in value)
    return True


def _print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of objects; nested values are shown in one cell."""
    from rich.table import Table

    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=None, pad_edge=False)
    for name in names:
        numbers = all(isinstance(row.get(name), int | float | None) and not isinstance(row.get(name), bool) for row in rows)
        table.add_column(clean(_label(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(clean(_text(row[name])) if name in row else "" for name in names))
    console().print(table)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _text(value: object) -> str:
    """Format a value on one line."""
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_label(key)} {_inner(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_inner(item) for item in value)
    return str(value)


def _inner(value: object) -> str:
    return f"({_text(value)})" if isinstance(value, Mapping | list) and value else _text(value)
