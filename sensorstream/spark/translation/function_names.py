"""The names of functions that may stand in a query, as PostgreSQL calls them.

The parser gives several functions one class (``date_part`` that of ``extract``), so the names are
checked where they are written, before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Final

from sqlglot import tokenize
from sqlglot.tokenizer_core import Token, TokenType

from sensorstream.errors import Position, QueryError

_FUNCTIONS: Final = frozenset(
    {
        "abs", "array_agg", "avg", "bool_and", "bool_or", "btrim", "cast", "ceil", "ceiling",
        "char_length", "character_length", "coalesce", "concat", "concat_ws", "convert_from",
        "count", "cume_dist", "date_trunc", "dense_rank", "encode", "extract", "first_value",
        "floor", "generate_series", "greatest", "grouping", "lag", "last_value", "lead", "least",
        "left", "length", "lower", "lpad", "ltrim", "max", "md5", "min", "mod", "now",
        "nth_value", "ntile", "nullif", "octet_length", "percent_rank", "percentile_cont",
        "percentile_disc", "position", "rank", "repeat", "replace", "reverse", "right", "round",
        "row_number", "rpad", "rtrim", "sign", "split_part", "sqrt", "starts_with", "stddev",
        "stddev_pop", "stddev_samp", "string_agg", "strpos", "substr", "substring", "sum",
        "translate", "trim", "upper", "var_pop", "var_samp", "variance",
    }
)  # fmt: skip
# Words that may stand before a parenthesis and are no function.
_WORDS: Final = frozenset(
    {
        "all", "and", "any", "as", "asc", "between", "by", "case", "cross", "cube", "decimal",
        "desc", "distinct", "else", "end", "except", "exists", "fetch", "filter", "from", "group",
        "grouping", "having", "in", "inner", "intersect", "is", "join", "lateral", "left", "like",
        "ilike", "limit", "not", "null", "numeric", "offset", "on", "or", "order", "outer",
        "over", "partition", "right", "rollup", "select", "sets", "some", "then", "union",
        "using", "values", "varchar", "when", "where", "window", "with", "within",
    }
)  # fmt: skip
_WAYS: Final = {
    "date_part": "write extract(field from time)",
    "every": "write bool_and",
    "to_char": "leave it a time or a number",
    "age": "subtract the times",
    "json_agg": "write array_agg",
    "random": "its answers are never the same",
}


def check_names(text: str, own: Set[str]) -> None:
    """Refuse functions that are not on the list.

    Args:
        text: a query that PostgreSQL can read.
        own: names of tables in it, which also stand before a parenthesis.

    Raises:
        QueryError: the first name that is not on the list, with its place.
    """
    for token in _called(tokenize(text, dialect="postgres")):
        name = token.text.lower()
        if name in _FUNCTIONS or _WORDS.issuperset(name.split()) or {name, token.text} & own:
            continue
        way = _WAYS.get(name, "it is not on the list of what means the same on Spark")
        column = token.col - (token.end - token.start)
        raise QueryError(
            f"not on Spark: {token.text}(): {way}",
            position=Position("query", token.line, max(1, column)),
        )


def _called(tokens: list[Token]) -> Iterator[Token]:
    for token, after in pairwise(tokens):
        if after.token_type is not TokenType.L_PAREN:
            continue
        if token.text[:1].isalpha() or token.text[:1] == "_":
            yield token
