"""Tables of results in the pages of the documentation."""

from __future__ import annotations


def with_tables(page: str, tables: str, begin: str, end: str) -> str:
    """The page with the tables between two marks exchanged.

    Raises:
        ValueError: the page has not each marker once, in order.
    """
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"expected '{begin}' and then '{end}', each once")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"
