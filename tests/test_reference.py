"""The reference tables of the documents are those of the code: ``make reference`` writes them."""

from __future__ import annotations

import re

from tests.reference import PAGES, rewritten, tables


def test_every_table_of_the_documents_is_as_generated(database: str) -> None:
    made, pages = tables(database), {page: page.read_text("utf-8") for page in PAGES}
    assert set(re.findall(r"<!-- table: (.+) -->", "".join(pages.values()))) == made.keys()
    assert [str(page) for page, text in pages.items() if rewritten(text, made) != text] == []
