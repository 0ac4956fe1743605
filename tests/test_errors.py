"""One tree of errors, told in docs/operate/errors.md."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import click

import sensorstream
from sensorstream import errors
from sensorstream.errors import SensorStreamError
from sensorstream.server.problems import problem_of

DOCS = (Path(__file__).parents[1] / "docs" / "operate" / "errors.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([a-z-]+)` \| (\d+) \| (\d) \|", re.MULTILINE)


def exceptions_of_the_package() -> set[type[BaseException]]:
    found = set()
    for module in pkgutil.walk_packages(sensorstream.__path__, "sensorstream."):
        if module.name.endswith("__main__"):
            continue
        for _, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(each, BaseException) and each.__module__.startswith("sensorstream."):
                found.add(each)
    return found


def test_every_exception_of_the_package_is_in_the_tree_or_named_beside_it() -> None:
    text = errors.__doc__ or ""
    for each in exceptions_of_the_package():
        where = each.__module__.removeprefix("sensorstream.")
        assert (
            (issubclass(each, SensorStreamError) and where == "errors")
            or f"``{where}.{each.__name__}``" in text
            or issubclass(each, click.ClickException)
        ), f"{where}.{each.__name__} is not in the tree of errors.py"


def test_no_two_classes_have_one_code() -> None:
    codes = [
        each.code
        for each in exceptions_of_the_package()
        if issubclass(each, SensorStreamError) and "code" in vars(each)
    ]
    assert len(codes) == len(set(codes))


def test_the_document_tells_every_code_with_its_status_and_exit_code() -> None:
    told = {code: (int(status), int(exit_code)) for code, status, exit_code in ROW.findall(DOCS)}
    expected = {
        each.code: (
            problem_of(each("it went wrong")).status,
            3 if each.of_system else 1,
        )
        for each in exceptions_of_the_package()
        if issubclass(each, SensorStreamError)
    }
    assert told == expected
