"""Operators and functions of a condition. All of them work on one row at a time."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptttool.table.where.nodes import TYPE_NAMES, Node, Type, expect, made
from ptttool.table.where.tokens import Token, wrong
from ptttool.wording import did_you_mean

# Shifts are written as products and quotients, because polars has no shift operators.
_LARGEST_SHIFT = 63


@dataclass(frozen=True)
class Function:
    """A function.

    Parameters
    ----------
    arguments : tuple of str or None
        Types of the arguments, optional ones last; None for any type.
    result : str or None
        Type of the result; None for the type of the arguments.
    optional : int
        Number of optional arguments.
    most : int or None
        Largest number of arguments, if there may be more than `arguments` lists.
    """

    arguments: tuple[Type | None, ...]
    result: Type | None
    optional: int = 0
    most: int | None = None


_SAME = Function((None, None), None, optional=1, most=32)
FUNCTIONS = {
    "ABS": Function(("number",), "number"),
    "BIT_AND": Function(("number", "number"), "number"),
    "BIT_COUNT": Function(("number",), "number"),
    "BIT_OR": Function(("number", "number"), "number"),
    "BIT_XOR": Function(("number", "number"), "number"),
    "COALESCE": _SAME,
    "ENDS_WITH": Function(("text", "text"), "truth"),
    "GREATEST": _SAME,
    "IF": Function(("truth", None, None), None),
    "IFNULL": Function((None, None), None),
    "LEAST": _SAME,
    "LENGTH": Function(("text",), "number"),
    "LOWER": Function(("text",), "text"),
    "MOD": Function(("number", "number"), "number"),
    "NULLIF": Function((None, None), None),
    "REGEXP_LIKE": Function(("text", "text"), "truth"),
    "SIGN": Function(("number",), "number"),
    "STARTS_WITH": Function(("text", "text"), "truth"),
    "SUBSTR": Function(("text", "number", "number"), "text", optional=1),
    "UPPER": Function(("text",), "text"),
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
        known = did_you_mean(near) if near else "functions: " + ", ".join(FUNCTIONS)
        raise wrong(name.position, f"unknown function {name.text!r}", hint=known)


def call(name: Token, arguments: Sequence[Node]) -> Node:
    """Make the node of a function call. Raises UsageError for a wrong number or wrong types of arguments."""
    function = FUNCTIONS[name.word]
    user = f"{name.text}()"
    most = function.most or len(function.arguments)
    if not len(function.arguments) - function.optional <= len(arguments) <= most:
        raise wrong(name.position, f"{user} takes {_how_many(function)}, not {len(arguments)}")
    wanted = (*function.arguments, *[None] * most)
    for node, type in zip(arguments, wanted, strict=False):
        if type is not None:
            expect(node, type, user)
    result = function.result or common_type([node for node, type in zip(arguments, wanted, strict=False) if type is None], user)
    return made(result, f"{name.word}({', '.join(node.exact for node in arguments)})", name.position, *arguments)


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
    sql = " ".join(f"WHEN {when.sql} THEN {then.exact}" for when, then in branches)
    return made(type, f"(CASE {sql} ELSE {otherwise.exact} END)", position, behind=(*results, *(when for when, _ in branches)))


def operation(left: Node, operator: str, right: Node, position: int) -> Node:
    """Make ``left operator right``: on numbers; ``||`` on texts; XOR on numbers or conditions."""
    if operator == "||":
        return made("text", f"({expect(left, 'text', '||').exact} || {expect(right, 'text', '||').exact})", position, left, behind=(right,))
    if operator == "XOR" and left.type == "truth":
        return made("truth", f"({left.sql} XOR {expect(right, 'truth', 'XOR').sql})", position, left, behind=(right,))
    for side in (left, right):
        expect(side, "number", f"'{operator}'")
    if operator in ("<<", ">>"):
        if not isinstance(right.literal, int) or not 0 <= right.literal <= _LARGEST_SHIFT:
            raise wrong(right.position, f"'{operator}' takes a number of bits from 0 to {_LARGEST_SHIFT}")
        return _shifted(left, operator, right.literal, position)
    if operator in ("&", "|", "XOR") and any(isinstance(side.literal, float) for side in (left, right)):
        raise wrong(position, f"'{operator}' works on integers")
    return made("number", f"({left.exact} {operator} {right.exact})", position, left, behind=(right,))


def _shifted(left: Node, operator: str, bits: int, position: int) -> Node:
    if bits == 0:
        return left
    if operator == "<<":
        return made("number", f"({left.exact} * CAST({1 << bits} AS INT128))", position, left)
    return made("number", f"({left.exact} // CAST({1 << bits} AS INT128))", position, left)


def regex(tested: Node, operator: str, pattern: Node, position: int) -> Node:
    """Make ``tested ~ 'pattern'``: a regular expression found anywhere in a text; ``*`` ignores case, ``!`` negates."""
    if not isinstance(pattern.literal, str):
        raise wrong(pattern.position, f"'{operator}' takes a regular expression in quotes")
    if tested.type != "text":
        raise wrong(position, f"'{operator}' works on texts such as kind, not on numbers")
    try:
        re.compile(pattern.literal)
    except (re.error, RecursionError, OverflowError) as error:
        raise wrong(pattern.position, f"{pattern.literal!r} is not a regular expression: {error}") from None
    return made("truth", f"({tested.exact} {operator} {pattern.sql})", position, tested, behind=(pattern,))
