"""What is imported is declared, what is declared is used, and what is pinned is in bounds."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import files, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from sensorstream.installation import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [Requirement(each) for each in PROJECT["dependencies"]]
OPTIONAL = {
    extra: [Requirement(each) for each in needed]
    for extra, needed in PROJECT["optional-dependencies"].items()
}


def named(*requirements: Requirement) -> set[NormalizedName]:
    """The names of outside packages, as registries write them."""
    return {canonicalize_name(each.name) for each in requirements} - {"sensorstream"}


def whole(extra: str) -> set[NormalizedName]:
    """What an extra installs, with the extras that it includes."""
    found = named(*OPTIONAL[extra])
    for each in OPTIONAL[extra]:
        if each.name == "sensorstream":
            found = found.union(*(whole(name) for name in each.extras))
    return found


def modules_named(tree: ast.AST) -> Iterator[str]:
    """Modules that a file imports, and top modules in a text: some are imported by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"[a-z_]\w+(\.\w+)*", node.value)
        ):
            yield f"text:{node.value.partition('.')[0]}"


HOMES = packages_distributions()


@cache
def homes_of(module: str) -> set[NormalizedName]:
    """The packages that have a module; several may share its top name."""
    found = HOMES.get(module.partition(".")[0], [])
    if len(set(found)) > 1 and "." in module:
        place = module.replace(".", "/")
        own = (f"{place}.py", f"{place}/")
        found = [each for each in found if any(str(f).startswith(own) for f in files(each) or ())]
    return {canonicalize_name(each) for each in found}


@cache
def distributions_used() -> tuple[set[NormalizedName], set[NormalizedName]]:
    """The packages that SensorStream imports, and those that it imports or names in a text."""
    imported: set[NormalizedName] = set()
    named_too: set[NormalizedName] = set()
    for file in (ROOT / "sensorstream").rglob("*.py"):
        if file.name == "installation.py":  # names modules without using them
            continue
        for module in modules_named(ast.parse(file.read_text(encoding="utf-8"))):
            name = module.removeprefix("text:")
            if name.partition(".")[0] in sys.stdlib_module_names or not (found := homes_of(name)):
                continue
            named_too |= found
            if name == module:
                imported |= found
    return imported - {"sensorstream"}, named_too - {"sensorstream"}


def pins(name: str) -> dict[NormalizedName, Version]:
    """The exact versions in a file of requirements."""
    found: dict[NormalizedName, Version] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            (pin,) = requirement.specifier
            assert pin.operator == "==", f"{line} is not pinned"
            found[canonicalize_name(requirement.name)] = Version(pin.version)
    return found


def test_what_is_imported_is_declared() -> None:
    imported, _ = distributions_used()
    assert imported - named(*DECLARED) - whole("all") == set()


def test_what_is_declared_is_used() -> None:
    _, used = distributions_used()
    assert (named(*DECLARED) | whole("all")) - used == set()


def test_all_is_the_sum_of_the_extras() -> None:
    assert OPTIONAL.keys() - EXTRAS.keys() == {"all"}
    assert whole("all") == set().union(*map(whole, EXTRAS))


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_installs_the_modules_that_it_is_asked_for(extra: str) -> None:
    provided = set().union(*map(homes_of, EXTRAS[extra]))
    assert provided == whole(extra)
    assert not provided & named(*DECLARED), "what everybody has is no extra"


@pytest.mark.parametrize(
    "requirement", [*DECLARED, *(each for needed in OPTIONAL.values() for each in needed)], ids=str
)
def test_a_dependency_has_a_lower_and_an_upper_bound_and_its_pin_lies_between(
    requirement: Requirement,
) -> None:
    if requirement.name == "sensorstream":
        return
    assert sorted(each.operator for each in requirement.specifier) == ["<", ">="]
    pinned = pins("requirements.txt")[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(pinned)


def test_no_package_is_pinned_twice() -> None:
    assert not pins("requirements.txt").keys() & pins("requirements-dev.txt").keys()


def test_the_build_backend_of_the_tests_is_that_of_the_package() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    (backend,) = (Requirement(each) for each in build["requires"])
    assert backend.specifier.contains(pins("requirements-dev.txt")[canonicalize_name("hatchling")])


def test_every_dependency_has_a_line_in_its_document() -> None:
    text = (ROOT / "docs" / "understand" / "dependencies.md").read_text(encoding="utf-8")
    rows = {
        canonicalize_name(each) for each in re.findall(r"^\| (?!package )([\w-]+) \|", text, re.M)
    }
    assert rows == named(*DECLARED) | whole("all")
