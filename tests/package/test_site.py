"""The site of the documents: every page is in it, every link leads somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.errors import address_of, errors_by_code
from tests.package import site
from tests.package.building import ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build(tmp_path_factory.mktemp("site") / "site")


def test_the_navigation_has_four_parts_with_all_documents_of_their_folders() -> None:
    [_, *parts, _] = site.navigation()
    named = {name: pages for each in parts for name, pages in each.items()}
    assert list(named) == ["Start", "Use", "Operate", "Understand"]
    for name, pages in named.items():
        listed = {target for page in pages for target in page.values()}
        folder = ROOT / "docs" / name.lower()
        there = {each.relative_to(ROOT).as_posix() for each in folder.glob("*.md")}
        assert there <= listed


def test_the_site_is_whole_and_fetches_nothing(built: Path) -> None:
    assert list(site.broken(built)) == []
    assert (built / "search.json").stat().st_size > 100_000
    assert "Client.follow_alerts" in (built / "docs/use/python-reference.html").read_text("utf-8")
    assert not (built / "docs" / "plan.html").exists()


def test_every_error_names_a_place_of_the_site(built: Path) -> None:
    for each in errors_by_code().values():
        name, _, place = address_of(each.page).partition("#")
        assert place in site._Page(built / name).places, each.code


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a> <script src="https://x.example/y">')
    (tmp_path / "b.html").write_text('<p id="y"></p><a href="c.html">c</a><a href="a.html">a</a>')
    assert sorted(site.broken(tmp_path)) == [
        "a.html: b.html#x: there is no such place",
        "a.html: https://x.example/y is fetched from another host",
        "b.html: c.html: there is no such page",
    ]
