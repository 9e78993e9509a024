"""Operators and functions of a condition. All of them work on one row at a time."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ptttool.table.where.nodes import TYPE_NAMES, Node, Type, expect, made
from ptttool.table.where.tokens import Token, wrong
from ptttool.wording import did_you_mean

# Shifts are written as products and quotients, because polars has no shift operators.
_LARGEST_SHIFT = 63


def _quotient(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Divide, rounded to zero as in SQL; that of polars is rounded down."""
    return ((left.abs() // right.abs()) * _choice((left < 0) != (right < 0), pl.lit(-1), pl.lit(1))).cast(pl.Int64)


def _remainder(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Return what :func:`_quotient` leaves: it has the sign of ``left``."""
    return (left.abs() % right.abs()) * _choice(left < 0, pl.lit(-1), pl.lit(1))


def _part(text: pl.Expr, first: pl.Expr, count: pl.Expr | None = None) -> pl.Expr:
    """Return a part of a text, from a character counted from 1. Places before the text count, too, and are empty."""
    start = first - 1
    if count is None:
        return text.str.slice(start)
    before = text.str.slice(pl.lit(0), (count + start).clip(lower_bound=0))
    return _choice(start < 0, before, text.str.slice(start, count))


def _choice(condition: pl.Expr, then: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(then).otherwise(otherwise)


OPERATORS: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": _quotient, "%": _remainder,
    "&": operator.and_, "|": operator.or_, "XOR": operator.xor,
}  # fmt: skip


class Function(Struct, frozen=True):
    """A function.

    Parameters
    ----------
    make : callable
        Makes its expression from those of the arguments.
    arguments : tuple of str or None
        Types of the arguments, optional ones last; None for any type.
    result : str or None
        Type of the result; None for the type of the arguments.
    optional : int
        Number of optional arguments.
    most : int or None
        Largest number of arguments, if there may be more than `arguments` lists.
    times : int
        How often an argument occurs in the expression.
    """

    make: Callable[..., pl.Expr]
    arguments: tuple[Type | None, ...]
    result: Type | None
    optional: int = 0
    most: int | None = None
    times: int = 1


FUNCTIONS = {
    "ABS": Function(pl.Expr.abs, ("number",), "number"),
    "BIT_AND": Function(operator.and_, ("number", "number"), "number"),
    "BIT_COUNT": Function(pl.Expr.bitwise_count_ones, ("number",), "number"),
    "BIT_OR": Function(operator.or_, ("number", "number"), "number"),
    "BIT_XOR": Function(operator.xor, ("number", "number"), "number"),
    "COALESCE": Function(pl.coalesce, (None, None), None, optional=1, most=32),
    "ENDS_WITH": Function(lambda text, end: text.str.ends_with(end), ("text", "text"), "truth"),
    "GREATEST": Function(pl.max_horizontal, (None, None), None, optional=1, most=32),
    "IF": Function(_choice, ("truth", None, None), None),
    "IFNULL": Function(pl.coalesce, (None, None), None),
    "LEAST": Function(pl.min_horizontal, (None, None), None, optional=1, most=32),
    "LENGTH": Function(lambda text: text.str.len_chars(), ("text",), "number"),
    "LOWER": Function(lambda text: text.str.to_lowercase(), ("text",), "text"),
    "MOD": Function(_remainder, ("number", "number"), "number", times=2),
    "NULLIF": Function(lambda value, other: _choice(value == other, pl.lit(None), value), (None, None), None, times=2),
    "REGEXP_LIKE": Function(lambda text, pattern: text.str.contains(pattern), ("text", "text"), "truth"),
    "SIGN": Function(pl.Expr.sign, ("number",), "number"),
    "STARTS_WITH": Function(lambda text, start: text.str.starts_with(start), ("text", "text"), "truth"),
    "SUBSTR": Function(_part, ("text", "number", "number"), "text", optional=1, times=4),
    "UPPER": Function(lambda text: text.str.to_uppercase(), ("text",), "text"),
}
MANY_ROWS = frozenset(
    "SUM AVG MEAN MIN MAX COUNT MEDIAN FIRST LAST STDDEV STDDEV_POP STDDEV_SAMP STDEV VARIANCE VAR VAR_POP VAR_SAMP CORR COVAR QUANTILE "
    "QUANTILE_CONT QUANTILE_DISC ARRAY_AGG STRING_AGG LISTAGG MODE ANY_VALUE BOOL_AND BOOL_OR EVERY APPROX_COUNT_DISTINCT ROW_NUMBER RANK "
    "DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE".split()
)


def check_name(name: Token) -> None:
    """Raise UsageError for an unknown function, and for aggregates and window functions."""
    if name.word in MANY_ROWS:
        hint = "greatest() and least() compare values of one row" if name.word in ("MIN", "MAX") else None
        raise wrong(name.position, f"{name.text}() is an aggregate or a window function: a condition sees one row at a time", hint=hint)
    if name.word not in FUNCTIONS:
        near = difflib.get_close_matches(name.word, FUNCTIONS, n=3)
        hint = did_you_mean(near) if near else "functions: " + ", ".join(FUNCTIONS)
        raise wrong(name.position, f"unknown function {name.text!r}", hint=hint)


def call(name: Token, arguments: Sequence[Node]) -> Node:
    """Make the node of a function call. Raises UsageError for a wrong number or wrong types of arguments."""
    function = FUNCTIONS[name.word]
    user = f"{name.text}()"
    most = function.most or len(function.arguments)
    if not len(function.arguments) - function.optional <= len(arguments) <= most:
        raise wrong(name.position, f"{user} takes {_how_many(function)}, not {len(arguments)}")
    types = (*function.arguments, *[None] * most)
    arguments = [node if type is None else expect(node, type, user) for node, type in zip(arguments, types, strict=False)]
    result = function.result or common_type([node for node, type in zip(arguments, types, strict=False) if type is None], user)
    return made(result, function.make(*(node.exact for node in arguments)), name.position, *arguments * function.times)


def _how_many(function: Function) -> str:
    needed = len(function.arguments) - function.optional
    if function.most is not None:
        return f"at least {needed} argument{'s' if needed > 1 else ''}"
    return f"{needed} or {needed + 1} arguments" if function.optional else f"{needed} argument{'s' if needed > 1 else ''}"


def common_type(nodes: Sequence[Node], user: str) -> Type:
    """Return the common type of alternative nodes; ``user`` is the function or keyword that uses them, for the error."""
    types = {node.type: node for node in nodes if node.type != "null"}
    if len(types) > 1:
        first, second, *_ = types.values()
        raise wrong(second.position, f"{user} mixes {TYPE_NAMES[first.type]} and {TYPE_NAMES[second.type]}")
    return next(iter(types), "null")


def choice(branches: Sequence[tuple[Node, Node]], otherwise: Node, position: int) -> Node:
    """Make ``CASE WHEN … THEN … ELSE … END``."""
    results = [then for _, then in branches] + [otherwise]
    type = common_type(results, "CASE")
    expr: Any = pl
    for when, then in branches:
        expr = expr.when(when.expr).then(then.exact)
    return made(type, expr.otherwise(otherwise.exact), position, *results, *(when for when, _ in branches))


def operation(left: Node, sign: str, right: Node, position: int) -> Node:
    """Make ``left sign right``: on numbers; ``||`` on texts; XOR on numbers or conditions."""
    if sign == "||":
        sides = (expect(left, "text", "||").exact.cast(pl.String), expect(right, "text", "||").exact.cast(pl.String))
        return made("text", sides[0] + sides[1], position, left, right)
    if sign == "XOR" and left.type == "truth":
        return made("truth", left.expr ^ expect(right, "truth", "XOR").expr, position, left, right)
    left, right = expect(left, "number", f"'{sign}'"), expect(right, "number", f"'{sign}'")
    if sign in ("<<", ">>"):
        if not isinstance(right.literal, int) or not 0 <= right.literal <= _LARGEST_SHIFT:
            raise wrong(right.position, f"'{sign}' takes a number of bits from 0 to {_LARGEST_SHIFT}")
        if right.literal == 0:
            return left
        power = pl.lit(1 << right.literal, dtype=pl.Int128)
        return made(
            "number", left.exact * power if sign == "<<" else _quotient(left.exact, power), position, *[left] * (1 if sign == "<<" else 2)
        )
    if sign in ("&", "|", "XOR") and any(isinstance(side.literal, float) for side in (left, right)):
        raise wrong(position, f"'{sign}' works on integers")
    node = made("number", OPERATORS[sign](left.exact, right.exact), position, *(left, right) * (2 if sign in ("//", "%") else 1))
    return replace(node, of_fraction=True) if sign == "/" else node


def regex(tested: Node, sign: str, pattern: Node, position: int) -> Node:
    """Make ``tested ~ 'pattern'``: a regular expression found anywhere in a text; ``*`` ignores case, ``!`` negates."""
    if not isinstance(pattern.literal, str):
        raise wrong(pattern.position, f"'{sign}' takes a regular expression in quotes")
    if tested.type != "text":
        raise wrong(position, f"'{sign}' works on texts such as kind, not on numbers")
    try:
        re.compile(pattern.literal)
    except (re.error, RecursionError, OverflowError) as error:
        raise wrong(pattern.position, f"{pattern.literal!r} is not a regular expression: {error}") from None
    expr = tested.exact.str.contains(f"(?i){pattern.literal}" if sign.endswith("*") else pattern.literal)
    return made("truth", expr.not_() if sign.startswith("!") else expr, position, tested, pattern)
