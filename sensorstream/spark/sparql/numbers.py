"""Numbers without bounds in Spark, whose decimals end at 38 digits and know no NaN.

A number is a text, its *key* (:func:`.sortable`): keys are in the order of the numbers, and equal
where these are, so Spark compares, sorts and groups them as texts.

Functions of the value are written in Java (``numbers.java``, and ``times.java`` for times): those
of Python would need processes beside Spark's, and Spark calls them for rows that a CASE leaves out.
The Java runtime that comes as a wheel has no compiler; Spark has one for its own code.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAR: Final = "sensorstream-numbers.jar"
_PREFIX: Final = "sensorstream"
READ: Final = f"{_PREFIX}_number"
TEXT: Final = f"{READ}_text"
DOUBLE: Final = f"{READ}_double"
ADDED: Final = f"{READ}_sum"
_OF_ONE: Final = ("text", "scientific", "negated", "abs", "sign", "floor", "ceil", "trunc")
_OF_TWO: Final = ("round", "sum", "difference", "product")
_TIMES: Final[Mapping[str, str]] = {
    "is_time": "Of2",
    "time_order": "Order",
    "time_key": "Of2",
    "time_tie": "Of2",
    "time_sum": "Sum",
    "time_negative": "Of2",
    "time_cast": "Of3",
    "time_part": "Of3",
}
"""The functions of times, without the prefix, and their classes."""


def register(spark: SparkSession) -> None:
    """Make the functions known to a session; it may be called again."""
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType

    jvm, session = spark._jvm, spark._jsparkSession  # noqa: SLF001
    types = (StringType, DoubleType, LongType, BooleanType)
    text, double, long, truth = (session.parseDataType(each().json()) for each in types)
    loader = _loader(spark)
    arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)  # noqa: SLF001

    def made(name: str, *given: str) -> object:
        (constructor,) = loader.loadClass(f"sensorstream.{name}").getConstructors()
        if not given:
            return constructor.newInstance(None)
        (arguments[0],) = given
        return constructor.newInstance(arguments)

    functions = session.udf()
    functions.register(READ, made("Numbers$Of1", "read"), text)
    for class_, names in (("Of1", _OF_ONE), ("Of2", _OF_TWO)):
        for name in names:
            functions.register(f"{READ}_{name}", made(f"Numbers${class_}", name), text)
    functions.register(f"{READ}_quotient", made("Numbers$Quotient"), text)
    functions.register(DOUBLE, made("Numbers$ToDouble"), double)
    functions.register(f"{_PREFIX}_micros", made("Numbers$Micros"), long)
    others = {"is_time": truth, "time_order": long}
    for name, class_ in _TIMES.items():
        given = (name,) if class_.startswith("Of") else ()
        function = made(f"Times${class_}", *given)
        functions.register(f"{_PREFIX}_{name}", function, others.get(name, text))
    encoder = jvm.org.apache.spark.sql.Encoders.STRING()
    total = jvm.org.apache.spark.sql.functions.udaf(made("Numbers$Sum"), encoder)
    functions.register(f"{READ}_total", total)


def _loader(spark: SparkSession) -> Any:
    """The loader of the compiled classes; each executor gets them as a file."""
    jvm, session = spark._jvm, spark._jsparkSession  # noqa: SLF001
    loader = session.sharedState().jarClassLoader()
    # The file is deleted when Spark stops.
    path = Path(spark.sparkContext._temp_dir) / _JAR  # noqa: SLF001
    if not path.exists():
        with zipfile.ZipFile(path, "w") as jar:
            for source in ("numbers.java", "times.java"):
                compiler = jvm.org.codehaus.janino.SimpleCompiler()
                compiler.cook(Path(__file__).with_name(source).read_text("utf-8"))
                for name, code in compiler.getBytecodes().items():
                    jar.writestr(f"{name.replace('.', '/')}.class", code)
        spark.sql(f"ADD JAR '{path}'")
    return loader
