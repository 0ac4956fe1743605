"""A PostgreSQL of our own killed under a running pipeline: the command starts it and goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from sensorstream.app.control.wiring import read_deployment
from sensorstream.history.open_history import open_history
from sensorstream.journal.records import Record
from tests.integration.test_killed_postgres import kill_postgres
from tests.streaming.cluster_kills import watermark
from tests.streaming.conftest import write_deployment
from tests.streaming.stand_in import of_one_engine, write
from tests.streaming.test_spark_stream import (
    RELATIONS,
    check_same,
    finished,
    journal,
    started,
    stored,
)
from tests.waiting import eventually


def test_the_same_command_goes_on_after_its_postgresql_was_killed(
    tmp_path: Path, new_database: Callable[[], str], record: Callable[..., Record]
) -> None:
    expected, records = new_database(), journal(record, 80)
    settings = write_deployment(
        tmp_path,
        f'[history]\nfolder = "{tmp_path / "data"}"\ncheckpoint_every = 5\n'
        '[spark]\nmaster = "local[2]"\n'
        f'[pipeline]\nrunner = "spark"\nfolder = "{tmp_path / "state"}"\nbatch = 10\n',
    )
    deployment = read_deployment(settings)
    write(expected, records, of_one_engine(deployment, records))
    with ExitStack() as stack:
        url = open_history(settings.history, stack)
        write(url, records[:60])
        command = started(settings)
        stored(url, 10, command)
        # Within a batch, most probably, and then with nothing to do.
        for upto in (60, 80):
            kill_postgres(tmp_path)
            eventually(lambda: watermark(url)[0] >= 60, seconds=300)
            if upto == 60:
                write(url, records[60:])
        stored(url, 80, command)
        command.send_signal(signal.SIGTERM)
        told = finished(command)
        check_same(url, expected, deployment.ontology.schema, *RELATIONS)
    # The figures of a batch have a connection of their own, whose loss may be seen later.
    lost = told.count("the history is unavailable, messages wait")
    assert lost == told.count("the history is available again") >= 2, told
