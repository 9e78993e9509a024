"""The nodes of a condition's syntax tree: each is an expression of polars, with its type."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Literal

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ptttool.budget import over_budget_text
from ptttool.pci import PciAddress
from ptttool.table.budget import MAX_LEVELS, MAX_NODES
from ptttool.table.frame import type_of
from ptttool.table.schema import Column, DType, Schema, Style
from ptttool.table.where.tokens import wrong
from ptttool.wording import did_you_mean

Type = Literal["truth", "number", "text", "bytes", "null"]
Comparison = Callable[[pl.Expr, pl.Expr], pl.Expr]
TYPE_NAMES: dict[Type, str] = {"truth": "a condition", "number": "a number", "text": "a text", "bytes": "a byte string", "null": "NULL"}


class Node(Struct, frozen=True):
    """A node of a condition's syntax tree.

    Parameters
    ----------
    type : str
        Type of its value.
    expr : polars.Expr
        Its expression.
    position : int
        Position in the condition, from 0.
    column : Column or None
        The column, if the node is just a column.
    literal : int, float, str or None
        The value, if the node is just a literal.
    of_id : bool
        Whether the value is computed from an ID, so that it can be compared with ``'01:00.0'``.
    of_fraction : bool
        Whether the value is computed from a fraction, or by a division, so that it may be no integer.
    find_id : callable or None
        Returns the ID of the device that has this text for a name.
    size : int
        Number of nodes that its expression is made of; those that occur twice count twice, as polars evaluates them.
    levels : int
        How deep the nodes below it are nested.
    """

    type: Type
    expr: pl.Expr
    position: int
    column: Column | None = None
    literal: int | float | str | None = None
    of_id: bool = False
    of_fraction: bool = False
    find_id: Callable[[str], int | None] | None = None
    size: int = 1
    levels: int = 0

    @property
    def exact(self) -> pl.Expr:
        """The expression with 128-bit integers, and with texts instead of enums. Arithmetic and functions use it: nothing wraps around."""
        if isinstance(self.literal, int):
            return pl.lit(self.literal, dtype=pl.Int128)
        if self.column is None or self.type not in ("number", "text"):
            return self.expr
        return self.expr.cast(pl.Int128 if self.type == "number" else pl.String)


def made(type: Type, expr: pl.Expr, position: int, *parts: Node) -> Node:
    """Make a node from others.

    Parameters
    ----------
    type : str
        Type of its value.
    expr : polars.Expr
        Its expression, made of those of the parts.
    position : int
        Position in the condition, from 0.
    *parts : Node
        The other nodes.

    Raises
    ------
    UsageError
        It is too large, or nested too deeply.
    """
    size, levels = 1 + sum(part.size for part in parts), 1 + max((part.levels for part in parts), default=-1)
    for value, most, unit, hint in (
        (size, MAX_NODES, "values and operations", "split it up"),
        (levels, MAX_LEVELS, "levels", "use fewer parentheses"),
    ):
        if value > most:
            raise over_budget_text(f"--where: what the condition becomes (character {position + 1})", most, unit, hint=hint)
    is_number = type == "number"
    of_id, of_fraction = is_number and any(part.of_id for part in parts), is_number and any(part.of_fraction for part in parts)
    return Node(type, expr, position, of_id=of_id, of_fraction=of_fraction, size=size, levels=levels)


def column_node(name: str, position: int, schema: Schema) -> Node:
    """Make the node of a column, by its name. Raises UsageError for an unknown column."""
    key = name if name in schema else name.lower()
    if key not in schema:
        raise wrong(
            position, f"unknown column {name!r}", hint=_near(name.lower(), schema.names, "columns"), code="unknown-column", column=name
        )
    column = schema[key]
    types: dict[DType, Type] = {DType.ENUM: "text", DType.TEXT: "text", DType.BOOL: "truth", DType.BYTES: "bytes"}
    return Node(types.get(column.dtype, "number"), pl.col(column.name), position, column, of_id=column.style == Style.ID)


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
    return Node("number", pl.lit(_fraction(text, position)), position, literal=float(text), of_fraction=True)


def _fraction(text: str, position: int) -> Decimal | float:
    """Read a number with a fraction: with an exponent, it is a binary one. Quotients have as many digits: at least six."""
    if "e" in text.lower():
        return float(text)
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if len(digits) > 38:
        raise wrong(position, f"{text} has more than 38 digits", hint="with an exponent, a number is rounded: 1.5e40")
    return value.quantize(Decimal("1e-6")) if exponent > -6 and len(digits) <= 31 else value


def integer_node(value: int, position: int) -> Node:
    """Make the node of an integer."""
    return Node("number", pl.lit(value), position, literal=value)


def text_node(value: str, position: int, find_id: Callable[[str], int | None] | None = None) -> Node:
    """Make the node of a text; it may be the name of a device, of which `find_id` returns the ID."""
    return Node("text", pl.lit(value), position, literal=value, find_id=find_id)


def negated(node: Node, position: int) -> Node:
    """Make ``NOT node``."""
    return made("truth", node.expr.cast(pl.Boolean).not_(), position, node)


def compared(left: Node, comparison: Comparison, right: Node, position: int) -> Node:
    """Make ``comparison(left, right)``, after converting literals to the type of the other side."""
    left, right = _settled(left, right), _settled(right, left)
    if "null" not in (left.type, right.type) and left.type != right.type:
        raise wrong(position, f"{TYPE_NAMES[left.type]} and {TYPE_NAMES[right.type]} cannot be compared")
    equality = comparison in (operator.eq, operator.ne, pl.Expr.eq_missing)
    plain = (left.literal is not None or right.literal is not None) and (equality or left.type == "number")
    sides = (left.expr, right.expr) if plain else (left.exact, right.exact)
    return made("truth", comparison(*sides), position, left, right)


def among(tested: Node, choices: list[Node], position: int) -> Node:
    """Make ``tested IN (choices)``."""
    settled = [_settled(choice, tested) for choice in choices]
    values = [choice.literal for choice in settled]
    if tested.type == "number" and not tested.of_fraction and all(isinstance(value, int) for value in values):
        # Numbers that the column cannot have are left out.
        dtype = pl.Int128() if tested.column is None else type_of(tested.column)
        numbers = pl.Series(values, dtype=pl.Int128).cast(dtype, strict=False).drop_nulls()
        return made("truth", tested.expr.is_in(numbers), position, tested, *settled)
    if tested.type == "text" and all(isinstance(value, str) for value in values):
        return made("truth", tested.expr.is_in(pl.Series(values, dtype=pl.String)), position, tested, *settled)
    return any_of([compared(tested, operator.eq, choice, position) for choice in choices], "OR", position)


def any_of(parts: Sequence[Node], word: str, position: int) -> Node:
    """Join conditions by AND or OR, as a balanced tree: polars takes cubic time for a deep tree, and rejects a very deep one."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = any_of(parts[:middle], word, position), any_of(parts[middle:], word, position)
    return made("truth", left.expr & right.expr if word == "AND" else left.expr | right.expr, position, left, right)


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
    text = "".join({_ANY: ".*", _ONE: "."}.get(token, pl.escape_regex(token)) for token in tokens)
    return made("truth", tested.exact.str.contains(f"(?s{'i' if ignore_case else ''})^{text}$"), position, tested, pattern)


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
            remark = "names are known from FILE.ptttool.json beside FILE, or with --sysfs"
            raise wrong(
                node.position,
                f"{node.literal!r} is not an ID, and not the name of a known device",
                hint=f"write it as bus:device.function, for example '01:00.0'; {remark}",
            )
        if address.domain:
            raise wrong(node.position, f"{node.literal!r} has a domain: IDs in TLP headers have none", hint=f"write '{address.short}'")
        return integer_node(address.routing_id, node.position)
    what = f"the column {other.column.name} holds numbers" if other.column is not None else "this is a number"
    hint = "write numbers without quotes: 4096 or 0x1000" if re.fullmatch(r"\s*(0[xX][0-9a-fA-F]+|\d+)\s*", node.literal) else None
    raise wrong(node.position, f"{what} and cannot be compared with {node.literal!r}", hint=hint)


def _is_enum(node: Node) -> bool:
    return node.column is not None and node.column.dtype == DType.ENUM


def _near(name: str, candidates: Iterable[str], what: str) -> str:
    """List the names similar to a name, or all names."""
    names = list(candidates)
    by_folded = {each.lower(): each for each in names}
    near = [by_folded[each] for each in difflib.get_close_matches(name.lower(), by_folded, n=4, cutoff=0.5)]
    return did_you_mean(near) if near else f"{what}: " + ", ".join(names)


def expect(node: Node, target: Type, user: str) -> Node:
    """Return the node if it has a type, or is NULL.

    Parameters
    ----------
    node : Node
        The node.
    target : str
        The type.
    user : str
        The operator, function or keyword that needs the type, for the error.

    Raises
    ------
    UsageError
        The node has another type.
    """
    if node.type not in (target, "null"):
        joined = {"||": "OR", "'|'": "OR", "'&'": "AND"}.get(user)
        hint = None if joined is None else f"conditions are joined by {joined}"
        raise wrong(node.position, f"{user} needs {TYPE_NAMES[target]}, not {TYPE_NAMES[node.type]}", hint=hint)
    return replace(node, expr=pl.lit(None, dtype=pl.Int128)) if node.type == "null" and target == "number" else node
