"""Optional parts are loaded when they are asked for; one that is missing is a clear error."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from sensorstream.client.results import Results
from sensorstream.errors import MissingExtra
from sensorstream.installation import EXTRAS, require
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.bulk_sql import run_spark_sql
from sensorstream.spark.history_snapshot import HistoryPlace

OPTIONAL = sorted({module for modules in EXTRAS.values() for module in modules})


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Hides a module, as if it were not installed."""
    name = str(request.param)
    monkeypatch.setitem(sys.modules, name, None)
    return name


def test_the_commands_and_the_server_load_no_optional_part() -> None:
    script = """
import sys
import sensorstream
from sensorstream.cli import main
for name in main.list_commands(None):
    main.get_command(None, name)
import sensorstream.app.application, sensorstream.server.web_application
import sensorstream.spark.bulk_sql
[getattr(sensorstream, name) for name in sensorstream.__all__]
print(*sys.modules)
"""
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(told.stdout.split())
    assert "sensorstream.server.web_application" in loaded
    assert not loaded & {*OPTIONAL, "numpy"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_that_is_installed_is_found_whole(extra: str) -> None:
    require(extra, "This")
    assert [module for module in EXTRAS[extra] if importlib.util.find_spec(module) is None] == []


@pytest.mark.parametrize("without", ["pyspark", "pyarrow"], indirect=True)
def test_sql_on_spark_without_spark_says_what_to_install(without: str) -> None:
    with pytest.raises(MissingExtra) as raised:
        run_spark_sql(
            HistoryPlace("postgresql://", Path("archive")),
            "SELECT 1",
            schema=Schema(),
            timeline=Timeline.INTEGER,
            at=SparkSettings("local"),
            timeout=1,
            row_limit=1,
        )
    assert raised.value.message == (
        f"SQL on Spark needs {without}, which this installation does not have: "
        "pip install 'sensorstream[spark]'"
    )


@pytest.mark.parametrize("without", ["pandas", "pyarrow"], indirect=True)
def test_frames_without_pandas_or_arrow_say_what_to_install(without: str) -> None:
    with pytest.raises(MissingExtra, match=rf"{without}, .*'sensorstream\[frames\]'"):
        Results(("a",), ((1,),)).to_pandas()
