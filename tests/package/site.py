"""Builds the site of the documents: ``make docs``.

Zensical reads Markdown below one folder, so the documents are copied beside each other as they are
in the repository; README.md is the first page, and its tables are the navigation.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import sensorstream
from tests.package.building import ROOT

OUT: Final = ROOT / "site"
"""A wheel that is built after it has it, too."""
_COPIED: Final = (
    *("README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "NOTICE"),
    *("SECURITY.md", "docs/**/*", "examples/**/*", "persistent/*"),
)
_PARTS: Final = re.compile(r"^\*\*(\w+)\*\*\n\n\| \| \|\n\|---\|---\|\n((?:\|.*\n)+)", re.M)
_ROW: Final = re.compile(r"^\| \[(.+?)\]\((.+?)\)", re.M)
_LINK: Final = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
_ROLE: Final = re.compile(r":(?:class|meth|func|data|attr|mod|exc):<code>\.?([^<]+)</code>")
"""A reference in a docstring, as Markdown leaves it."""
_STYLE: Final = ".md-typeset td code { white-space: nowrap }\n"
_API: Final = "docs/use/python-reference.md"
_SETTINGS: Final[dict[str, Any]] = {
    "site_name": "SensorStream",
    "site_description": "Semantic stream processing: messages become knowledge, alerts and history",
    "use_directory_urls": False,
    "extra_css": ["docs/site.css"],
    "theme": {
        "font": False,  # Those of the reader's machine: nothing is fetched.
        "features": [
            *("content.code.copy", "navigation.footer", "navigation.indexes", "navigation.path"),
            *("navigation.prune", "navigation.tabs", "navigation.top", "search.highlight"),
        ],
        "palette": [
            {
                "media": f"(prefers-color-scheme: {name})",
                "scheme": scheme,
                "toggle": {"icon": f"lucide/{icon}", "name": f"Change to {other}"},
            }
            for name, scheme, icon, other in (
                ("light", "default", "sun", "dark"),
                ("dark", "slate", "moon", "light"),
            )
        ],
    },
    "markdown_extensions": {
        "attr_list": {},
        "tables": {},
        "toc": {
            "permalink": True,
            "slugify": {"object": "pymdownx.slugs.slugify", "kwds": {"case": "lower"}},
        },
        "pymdownx.highlight": {"pygments_lang_class": True},
        "pymdownx.superfences": {},
    },
    "plugins": {
        "search": {},
        "mkdocstrings": {
            "handlers": {
                "python": {
                    "paths": [str(ROOT)],
                    "options": {
                        "docstring_style": "google",
                        "heading_level": 2,
                        "inherited_members": True,
                        "show_root_heading": True,
                        "show_root_full_path": False,
                        "show_source": False,
                        "members_order": "source",
                        "separate_signature": True,
                    },
                }
            }
        },
    },
}


def navigation() -> list[dict[str, Any]]:
    """The pages in the four parts of README.md, and the rest."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    parts: list[dict[str, Any]] = [{"SensorStream": "README.md"}]
    for part, table in _PARTS.findall(readme):
        pages = [{name: _page(target)} for name, target in _ROW.findall(table)]
        if part == "Use":
            pages.append({"Python reference": _API})
        parts.append({part: pages})
    more = {"Contributing": "CONTRIBUTING.md", "Changes": "CHANGELOG.md", "Security": "SECURITY.md"}
    return [*parts, {"More": [{name: file} for name, file in more.items()]}]


def _page(target: str) -> str:
    return target if target.endswith(".md") else f"{target}/README.md"


def lay_out(folder: Path) -> None:
    """Copy the documents, and make the pages that are not in the repository."""
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in _COPIED:
        for file in ROOT.glob(pattern):
            if file.is_file() and "__pycache__" not in file.parts:
                copy = folder / file.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
    (folder / "docs" / "plan.md").unlink(missing_ok=True)
    titles = {
        file.name: file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for file in sorted((folder / "docs" / "decisions").glob("*.md"))
    }
    listed = "".join(f"- [{title}]({name})\n" for name, title in titles.items())
    (folder / "docs/decisions/README.md").write_text(f"# Decisions\n\n{listed}", encoding="utf-8")
    names = "".join(f"::: sensorstream.{name}\n\n" for name in _public())
    (folder / _API).write_text(f"# Python reference\n\n{names}", encoding="utf-8")
    (folder / "docs" / "site.css").write_text(_STYLE, encoding="utf-8")
    for file in folder.rglob("*.md"):
        text = file.read_text(encoding="utf-8")
        file.write_text(_LINK.sub(partial(_target, file, folder), text), encoding="utf-8")


def _target(page: Path, folder: Path, found: re.Match[str]) -> str:
    """A link of a page; those to folders lead to their page."""
    link = found[1]
    there = (page.parent / link).resolve()
    return f"{link.rstrip('/')}/README.md" if there.is_dir() and there != folder else link


def _public() -> list[str]:
    """The public names by the place where they are, which griffe can read."""
    homes = {name: home for home, names in sensorstream._HOMES.items() for name in names}
    return [f"{homes[name]}.{name}" for name in sensorstream.__all__]


def build(out: Path = OUT) -> Path:
    """Build the site into a folder, which is returned.

    Raises:
        RuntimeError: a page has a link or an anchor that leads nowhere.
    """
    with TemporaryDirectory(prefix="sensorstream-site-") as name:
        work = Path(name)
        lay_out(work / "source")
        settings = _SETTINGS | {"docs_dir": "source", "site_dir": "site", "nav": navigation()}
        # Zensical reads YAML, of which JSON is a part.
        file = work / "mkdocs.yml"
        file.write_text(json.dumps(settings, indent=1), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(file)]
        subprocess.run(command, cwd=work, env=os.environ | {"NO_COLOR": "1"}, check=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)
    page = (out / _API).with_suffix(".html")
    page.write_text(_ROLE.sub(r"<code>\1</code>", page.read_text(encoding="utf-8")), "utf-8")
    if wrong := list(broken(out)):
        raise RuntimeError("\n".join(wrong))
    return out


class _Page(HTMLParser):
    """The links of a page, and the places that links may lead to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.places = {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append((tag, value))


def broken(folder: Path) -> Iterator[str]:
    """Links that lead nowhere, and what a page would fetch from other hosts."""
    pages = {file: _Page(file) for file in folder.rglob("*.html") if file.name != "404.html"}
    for file, page in pages.items():
        at = file.relative_to(folder)
        for tag, link in page.links:
            told = urlsplit(link)
            if told.scheme or told.netloc:
                if tag in ("script", "img") or (tag == "link" and "canonical" not in link):
                    yield f"{at}: {link} is fetched from another host"
                continue
            target = (file.parent / unquote(told.path)).resolve() if told.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{at}: {link}: there is no such page"
            elif target in pages and unquote(told.fragment) not in pages[target].places:
                yield f"{at}: {link}: there is no such place"


if __name__ == "__main__":
    print(build())
