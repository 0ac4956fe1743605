"""The reference tables of the documents are those of the code."""

from __future__ import annotations

import re

from tests.reference import PAGES, rewritten, tables


def test_every_table_of_the_documents_is_as_generated(database: str) -> None:
    made, pages = tables(database), [page.read_text("utf-8") for page in PAGES]
    assert set(re.findall(r"<!-- table: (.+) -->", "\n".join(pages))) == made.keys()
    assert [rewritten(page, made) for page in pages] == pages  # make reference
