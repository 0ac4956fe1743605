"""One tree of errors, told in docs/operate/errors.md."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import click

import sensorstream
from sensorstream import errors
from sensorstream.errors import SensorStreamError


def exceptions_of_the_package() -> set[type[BaseException]]:
    found = pkgutil.walk_packages(sensorstream.__path__, "sensorstream.")
    modules = [import_module(each.name) for each in found if not each.name.endswith("__main__")]
    kinds = {each for module in modules for _, each in inspect.getmembers(module, inspect.isclass)}
    exceptions = {each for each in kinds if issubclass(each, BaseException)}
    return {each for each in exceptions if each.__module__.startswith("sensorstream.")}


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
    codes = [vars(e)["code"] for e in exceptions_of_the_package() if "code" in vars(e)]
    assert len(codes) == len(set(codes))
