"""PostgreSQL's SQL as Spark's: what is on the list means the same, everything else is refused.

The list has types, operators, functions and casts: :mod:`.function_table`, :mod:`.typed_values`.
Each is written for Spark from the *PostgreSQL type* of its operands, because the two disagree
without a word: ``5 / 2``, ``round(2.5)``, ``2.5::int``, the order of NULL, ``substr`` from 0.
Anything else is an error with its name, its place, and what to write instead.
"""
