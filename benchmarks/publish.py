"""Write the results into the documentation: ``python -m benchmarks.publish``.

The tables go between the two markers in ``docs/understand/performance.md``, the figures into
``docs/images``; nothing is measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.figures import draw
from benchmarks.report import markdown
from benchmarks.results import Results

PAGE: Final = Path(__file__).parent.parent / "docs" / "understand" / "performance.md"
BEGIN: Final = "<!-- begin: results of make bench -->"
END: Final = "<!-- end: results of make bench -->"


def with_tables(page: str, tables: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with its tables exchanged.

    Raises:
        ValueError: the page has not each marker once, in order.
    """
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"expected '{begin}' and then '{end}', each once")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"


def main() -> None:
    """Rewrite page and figures."""
    results = Results.read()
    PAGE.write_text(
        with_tables(PAGE.read_text(encoding="utf-8"), markdown(results)), encoding="utf-8"
    )
    for file in (PAGE, *draw(results)):
        print(file)


if __name__ == "__main__":
    main()
