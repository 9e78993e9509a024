"""What is to be seen of a result that does not say it: its values, such as those of an analysis of another package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ptttool.analyses.shown import Facts, Names, Part, Table, text_column
from ptttool.documents import to_json


def parts_of(result: object, names: Names) -> Iterator[Part]:
    """Yield what is to be seen of a result, a dataclass; of one that does not say it, its values.

    Parameters
    ----------
    result : object
        The result.
    names : Names
        Returns what an ID is called.
    """
    shown = getattr(result, "shown", None)
    if callable(shown):
        yield from shown(names)
    else:
        shape = to_json(result)
        yield from _parts(shape if isinstance(shape, dict) else {"result": shape}, "")


def _parts(shape: Mapping[str, object], title: str) -> Iterator[Part]:
    """Yield plain values as facts, then lists and objects as tables, each below its name."""
    lines = [(_label(name), _text(value)) for name, value in shape.items() if _is_line(value)]
    if lines:
        yield Facts(lines, title)
    for name, value in shape.items():
        if _is_line(value):
            continue
        if isinstance(value, Mapping) and not all(isinstance(item, Mapping) for item in value.values()):
            yield from _parts(value, _label(name))
        elif isinstance(value, Mapping):
            yield _table(_label(name), [{"name": key, **item} for key, item in value.items()])
        elif isinstance(value, list):
            yield _table(_label(name), [item if isinstance(item, Mapping) else {_label(name): item} for item in value])


def _is_line(value: object) -> bool:
    """Return whether a value is shown on one line: it is plain, or a list of plain values."""
    if isinstance(value, Mapping):
        return not value
    if isinstance(value, list):
        return not any(isinstance(item, Mapping | list) for item in value)
    return True


def _table(title: str, rows: list[Mapping[str, object]]) -> Table:
    heads = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_text(row[name]) if name in row else "" for name in heads] for row in rows]
    return Table(title, [text_column(_label(name)) for name in heads], cells)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _text(value: object) -> str:
    """Return a value on one line."""
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_label(str(key))} {_inner(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_inner(item) for item in value)
    return str(value)


def _inner(value: object) -> str:
    return f"({_text(value)})" if isinstance(value, Mapping | list) and value else _text(value)
