"""The nodes of a condition's syntax tree, and their SQL for polars."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ptttool.budget import over_budget_text
from ptttool.errors import UsageError
from ptttool.pci import PciAddress
from ptttool.table.budget import MAX_LEVELS, MAX_SQL
from ptttool.table.schema import Column, DType, Schema, Style
from ptttool.table.where.tokens import wrong
from ptttool.wording import did_you_mean

Type = Literal["truth", "number", "text", "bytes", "null"]
TYPE_NAMES: dict[Type, str] = {"truth": "a condition", "number": "a number", "text": "a text", "bytes": "a byte string", "null": "NULL"}


@dataclass(frozen=True)
class Node:
    """A node of a condition's syntax tree.

    Parameters
    ----------
    type : str
        Type of its value.
    sql : str
        SQL for polars, in parentheses where they are needed.
    exact : str
        The same SQL with 128-bit integers, and with texts instead of enums. Arithmetic and functions use it, so nothing wraps around.
    position : int
        Position in the condition, from 0.
    column : Column or None
        The column, if the node is just a column.
    literal : int, float, str or None
        The value, if the node is just a literal.
    of_id : bool
        Whether the value is computed from an ID, so that it can be compared with ``'01:00.0'``.
    find_id : callable or None
        Returns the ID of the device that has this text for a name.
    levels : int
        How deep polars' parser descends in its SQL: a level for each parenthesis, and one for what stands behind an operator or keyword.
    """

    type: Type
    sql: str
    exact: str
    position: int
    column: Column | None = None
    literal: int | float | str | None = None
    of_id: bool = False
    levels: int = 0
    find_id: Callable[[str], int | None] | None = None


def check_size(characters: int, position: int) -> None:
    """Raise UsageError for SQL that is longer than the budget."""
    if characters > MAX_SQL:
        raise over_budget_text(f"--where: what the condition becomes (character {position + 1})", MAX_SQL, "characters", hint="split it up")


def made(type: Type, sql: str, position: int, *parts: Node, behind: Sequence[Node] = ()) -> Node:
    """Make a node from others.

    Parameters
    ----------
    type : str
        Type of its value.
    sql : str
        Its SQL: the parts are in parentheses.
    position : int
        Position in the condition, from 0.
    *parts : Node
        Nodes that stand behind a parenthesis or a comma.
    behind : sequence of Node
        Nodes that stand behind an operator or a keyword.

    Raises
    ------
    UsageError
        It is too long, or nested too deeply.
    """
    check_size(len(sql), position)
    levels = max((*(part.levels + 1 for part in parts), *(part.levels + 2 for part in behind)), default=0)
    if levels > MAX_LEVELS:
        raise over_budget_text(
            f"--where: what the condition becomes (character {position + 1})", MAX_LEVELS, "levels", hint="use fewer parentheses"
        )
    of_id = type == "number" and any(part.of_id for part in (*parts, *behind))
    return Node(type, sql, sql, position, of_id=of_id, levels=levels)


def column_node(name: str, position: int, schema: Schema) -> Node:
    """Make the node of a column, by its name. Raises UsageError for an unknown column."""
    found = name if name in schema else name.lower()
    if found not in schema:
        raise wrong(position, f"unknown column {name!r}", hint=_near(name.lower(), schema.names, "columns"), code="unknown-column")
    column = schema[found]
    quoted = f'"{column.name}"'
    match column.dtype:
        case DType.ENUM:
            return Node("text", quoted, f"CAST({quoted} AS VARCHAR)", position, column, levels=1)
        case DType.TEXT:
            return Node("text", quoted, quoted, position, column)
        case DType.BOOL:
            return Node("truth", quoted, quoted, position, column)
        case DType.BYTES:
            return Node("bytes", quoted, quoted, position, column)
    return Node("number", quoted, f"CAST({quoted} AS INT128)", position, column, of_id=column.style == Style.ID, levels=1)


def number_node(text: str, position: int) -> Node:
    """Make the node of a number as written: decimal, with a fraction, hexadecimal after ``0x``, or with Ki, Mi, Gi, Ti (``4Gi``)."""
    if len(text) > 40:
        raise wrong(position, "the number is larger than any column can be")
    if text.endswith("i"):
        return integer_node(int(text[:-2]) << 10 * ("KMGT".index(text[-2]) + 1), position)
    if re.fullmatch(r"\d+|0[xX].*", text):
        value = int(text, 16 if text[:2] in ("0x", "0X") else 10)
        if value >= 1 << 100:
            raise wrong(position, f"{text} is larger than any column can be")
        return integer_node(value, position)
    return Node("number", text, text, position, literal=float(text))


def integer_node(value: int, position: int) -> Node:
    """Make the node of an integer. Its exact form has its own type, since polars calculates with plain integers in 32 bits."""
    return Node("number", str(value), f"CAST({value} AS INT128)", position, literal=value, levels=1)


def text_node(value: str, position: int, find_id: Callable[[str], int | None] | None = None) -> Node:
    """Make the node of a text; it may be the name of a device, of which `find_id` returns the ID."""
    quoted = "'" + value.replace("'", "''") + "'"
    return Node("text", quoted, quoted, position, literal=value, find_id=find_id)


def compared(left: Node, operator: str, right: Node, position: int) -> Node:
    """Make ``left operator right``, after converting literals to the type of the other side."""
    left, right = _settled(left, right), _settled(right, left)
    if "null" not in (left.type, right.type) and left.type != right.type:
        raise wrong(position, f"{TYPE_NAMES[left.type]} and {TYPE_NAMES[right.type]} cannot be compared")
    equality = operator in ("=", "<>", "<=>")
    plain = (_is_constant(left) or _is_constant(right)) and (equality or left.type == "number")
    sides = (left.sql, right.sql) if plain else (left.exact, right.exact)
    return made("truth", f"({sides[0]} {operator} {sides[1]})", position, left, behind=(right,))


def among(tested: Node, choices: list[Node], position: int) -> Node:
    """Make ``tested IN (choices)``."""
    settled = [_settled(choice, tested) for choice in choices]
    if all(_is_constant(choice) and choice.type == tested.type for choice in settled):
        # polars compares computed numbers correctly only if they are as wide as the numbers in the list.
        wide = tested.type == "number" and tested.column is None
        return made(
            "truth", f"({tested.exact if wide else tested.sql} IN ({', '.join(choice.sql for choice in settled)}))", position, tested
        )
    check_size(len(tested.exact) * len(choices), position)
    return any_of([compared(tested, "=", choice, position) for choice in choices], "OR", position)


def any_of(parts: list[Node], operator: str, position: int) -> Node:
    """Join conditions by AND or OR."""
    check_size(sum(len(part.sql) for part in parts), position)
    return _halved(parts, operator, position)


def _halved(parts: list[Node], operator: str, position: int) -> Node:
    """Join conditions as a balanced tree: polars takes cubic time for a deep tree, and rejects a very deep one."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = _halved(parts[:middle], operator, position), _halved(parts[middle:], operator, position)
    return made("truth", f"({left.sql} {operator} {right.sql})", position, left, behind=(right,))


def like(tested: Node, pattern: Node, *, ignore_case: bool, escape: str | None, position: int) -> Node:
    """Make ``tested LIKE pattern``; a column of an enum is compared with the values that match."""
    if not isinstance(pattern.literal, str):
        raise wrong(pattern.position, "LIKE takes a pattern in quotes")
    if tested.type != "text":
        hint = "a bus is: BETWEEN '01:00.0' AND '01:1f.7'" if tested.of_id else None
        raise wrong(position, "LIKE works on texts such as kind, not on numbers", hint=hint)
    tokens = _like_pattern(pattern, escape)
    if _is_enum(tested):
        assert tested.column is not None
        if ignore_case:
            tokens = [token if token in (_ANY, _ONE) else token.lower() for token in tokens]
        values = [value for value in tested.column.values if _is_like(value.lower() if ignore_case else value, tokens)]
        if not values:
            hint = f"{tested.column.name}: " + ", ".join(tested.column.values)
            raise wrong(pattern.position, f"no {tested.column.name} matches {pattern.literal!r}", hint=hint, code="unknown-value")
        return among(tested, [text_node(value, position) for value in values], position)
    if escape is not None:
        raise wrong(position, "ESCAPE works on columns only")
    return made("truth", f"({tested.exact} {'ILIKE' if ignore_case else 'LIKE'} {pattern.sql})", position, tested, behind=(pattern,))


# What % and _ stand for; other tokens of a pattern are characters.
_ANY, _ONE = "any", "one"


def _like_pattern(pattern: Node, escape: str | None) -> list[str]:
    """Return the tokens of a pattern: characters, and what stands for others."""
    assert isinstance(pattern.literal, str)
    parts = []
    characters = iter(pattern.literal)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None:
                raise wrong(pattern.position, "the pattern ends with the escape character")
            parts.append(following)
        else:
            parts.append({"%": _ANY, "_": _ONE}.get(character, character))
    return parts


def _is_like(text: str, pattern: list[str]) -> bool:
    """Return whether a text matches a pattern; a regular expression takes exponential time for some patterns."""
    place = at = 0
    resume, back = -1, 0
    while place < len(text):
        token = pattern[at] if at < len(pattern) else None
        if token == _ANY:
            resume, back = at + 1, place
            at += 1
        elif token in (_ONE, text[place]):
            at, place = at + 1, place + 1
        elif resume >= 0:  # the last % stands for one more character
            back += 1
            at, place = resume, back
        else:
            return False
    return all(token == _ANY for token in pattern[at:])


def _settled(node: Node, other: Node) -> Node:
    """Convert a text in quotes to the type of ``other``, the node that it is compared with: an ID, or a value of an enum."""
    if not isinstance(node.literal, str):
        return node
    if other.type == "number":
        return _id_node(node, other)
    if _is_enum(other):
        assert other.column is not None
        values = other.column.values
        if node.literal not in values:
            name = other.column.name
            raise wrong(node.position, f"unknown {name} {node.literal!r}", hint=_near(node.literal, values, name), code="unknown-value")
    return node


def _id_node(node: Node, other: Node) -> Node:
    assert isinstance(node.literal, str)
    if other.of_id:
        address = PciAddress.try_parse(node.literal)
        named = node.find_id(node.literal) if address is None and node.find_id is not None else None
        if named is not None:
            return integer_node(named, node.position)
        if address is None:
            known = "names are known from FILE.ptttool.json beside FILE, or with --sysfs"
            raise wrong(
                node.position,
                f"{node.literal!r} is not an ID, and not the name of a known device",
                hint=f"write it as bus:device.function, for example '01:00.0'; {known}",
            )
        if address.domain:
            raise wrong(node.position, f"{node.literal!r} has a domain: IDs in TLP headers have none", hint=f"write '{address.short}'")
        return integer_node(address.routing_id, node.position)
    what = f"the column {other.column.name} holds numbers" if other.column is not None else "this is a number"
    hint = "write numbers without quotes: 4096 or 0x1000" if re.fullmatch(r"\s*(0[xX][0-9a-fA-F]+|\d+)\s*", node.literal) else None
    raise wrong(node.position, f"{what} and cannot be compared with {node.literal!r}", hint=hint)


def _is_enum(node: Node) -> bool:
    return node.column is not None and node.column.dtype == DType.ENUM


def _is_constant(node: Node) -> bool:
    return node.literal is not None


def _near(name: str, known: Iterable[str], what: str) -> str:
    """List the names similar to a name, or all names."""
    names = list(known)
    by_folded = {each.lower(): each for each in names}
    near = [by_folded[each] for each in difflib.get_close_matches(name.lower(), by_folded, n=4, cutoff=0.5)]
    return did_you_mean(near) if near else f"{what}: " + ", ".join(names)


def expect(node: Node, wanted: Type, user: str) -> Node:
    """Return the node if it has a type, or is NULL.

    Parameters
    ----------
    node : Node
        The node.
    wanted : str
        The type.
    user : str
        The operator, function or keyword that needs the type, for the error.

    Raises
    ------
    UsageError
        The node has another type.
    """
    if node.type not in (wanted, "null"):
        raise _unexpected(node, wanted, user)
    return node


def _unexpected(node: Node, wanted: Type, user: str) -> UsageError:
    return wrong(node.position, f"{user} needs {TYPE_NAMES[wanted]}, not {TYPE_NAMES[node.type]}")
