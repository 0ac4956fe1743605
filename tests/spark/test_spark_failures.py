"""What Spark, Java and Python report, as they wrote it, and the sentence that is told."""

from __future__ import annotations

import pytest
from pyspark import __version__

from sensorstream.spark.spark_failures import sentence

GATEWAY = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
CALLED = "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n: "
STACK = "\n\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:1)\n"
STARTED = 'Setting default log level to "WARN".\n26/11/28 10:29:52 WARN NativeCodeLoader: x: y\n'
CRASH = (
    "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure: "
)


class Dead(Exception):
    """An error of Java whose process has ended."""

    def __str__(self) -> str:
        raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize(
    ("told", "log", "expected"),
    [
        (
            GATEWAY,
            "Error: LinkageError occurred while loading main class org.apache.spark.deploy.X\n"
            "\tjava.lang.UnsupportedClassVersionError: org/apache/spark/deploy/X has been compiled "
            "by a more recent version of the Java Runtime (class file version 61.0), this version "
            "of the Java Runtime only recognizes class file versions up to 55.0\n",
            "Java 11 is too old: expected Java 17 or newer, on the workers too (JAVA_HOME there",
        ),
        (
            CRASH + "Task 0 failed: org.apache.spark.api.python.PythonException: Traceback (most "
            "recent call last):\n  File x\npyspark.errors.PySparkRuntimeError: "
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in "
            "driver: 3.11, PySpark cannot run with different minor versions.\n",
            "",
            "a worker has Python 3.9, expected 3.11 as here: name another one by spark.pyspark",
        ),
        (
            CRASH + 'java.io.IOException: Cannot run program "/opt/venv/bin/python3": error=2, No '
            "such file or directory",
            "",
            "a worker has no /opt/venv/bin/python3: expected Python with SensorStream there",
        ),
        (
            CRASH + "\nError from python worker:\n  /usr/bin/python3: Error while finding module "
            "specification for 'sensorstream.streaming.worker_daemon' (ModuleNotFoundError: No "
            "module named 'sensorstream')\nPYTHONPATH was:\n  /opt/spark/python",
            "",
            "the Python of a worker has no module sensorstream: install 'sensorstream[spark]'",
        ),
        (
            CALLED + "java.lang.RuntimeException: java.io.InvalidClassException: "
            "org.apache.spark.deploy.ApplicationDescription; local class incompatible: stream "
            "classdesc serialVersionUID = 1, local class serialVersionUID = 2",
            "",
            f"the cluster has another version of Spark: expected {__version__} there",
        ),
        (
            None,
            STARTED + "26/11/28 10:31:29 ERROR StandaloneSchedulerBackend: Application has been "
            "killed. Reason: All masters are unresponsive! Giving up.\n",
            "no master answers: expected the address that the master's own log tells",
        ),
        (
            None,
            "26/11/28 10:31:29 ERROR StandaloneSchedulerBackend: Application has been killed. "
            "Reason: Master removed our application: FAILED\n",
            "executors end as soon as they start: see their stderr in the folder 'work'",
        ),
        (
            CRASH + "Task 1 in stage 2.0 failed 4 times, most recent failure: Lost task 1.3 in "
            "stage 2.0 (TID 9) (10.0.0.2 executor 3): ExecutorLostFailure (executor 3 exited "
            "caused by one of the running tasks) Reason: Command exited with code 137\nDriver "
            "stacktrace:",
            "",
            "executor 3 was lost too often: Command exited with code 137; if its memory",
        ),
        (
            GATEWAY,
            'Exception in thread "main" org.apache.spark.SparkException: When running with master '
            "'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment."
            + STACK,
            "expected the environment variable HADOOP_CONF_DIR, the folder of yarn-site.xml",
        ),
        (
            CALLED + "io.fabric8.kubernetes.client.KubernetesClientException: An error has "
            "occurred." + STACK + "Caused by: java.net.ConnectException: Connection refused\n",
            "",
            "the address in spark.master does not answer as Kubernetes does",
        ),
        (
            CALLED + "java.net.BindException: bind(..) failed with error(-98): Address already in "
            "use: Service 'sparkDriver' failed after 0 retries (starting from 57187)!",
            "",
            "the port of sparkDriver is taken: give another one in spark.conf, or leave it out",
        ),
        (
            CALLED + "java.net.BindException: bind(..) failed with error(-99): Cannot assign "
            "requested address: Service 'sparkDriver' failed after 16 retries",
            "",
            "this machine has no such address: set spark.driver.host to its address in the",
        ),
        (
            GATEWAY,
            "Error occurred during initialization of VM\nCould not reserve enough space for "
            "966367641600 KB object heap\n",
            "the memory of spark.driver.memory or spark.executor.memory cannot be had",
        ),
        (
            GATEWAY,
            'Exception in thread "main" org.apache.spark.SparkException: Executor memory must be '
            "a positive number" + STACK,
            "the memory of spark.driver.memory or spark.executor.memory cannot be had",
        ),
        (
            CRASH + "java.lang.OutOfMemoryError: Java heap space",
            "",
            "the memory is too small: set spark.driver.memory or spark.executor.memory",
        ),
        (
            "Error while sending or receiving",
            STARTED + "26/11/28 10:30:17 ERROR DiskBlockManager: Failed to create any local dir.\n",
            "no folder for temporary files can be made: expected spark.local.dir, or TMPDIR",
        ),
        (
            CALLED
            + "org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "
            '"s4"' + STACK,
            "",
            "no file system of Hadoop has addresses s4://: expected file://, hdfs://, s3a://",
        ),
        (
            CALLED + "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class "
            "org.apache.hadoop.fs.s3a.S3AFileSystem not found" + STACK,
            "",
            "there is no class org.apache.hadoop.fs.s3a.S3AFileSystem: name the package that has",
        ),
        (
            CALLED + "java.io.IOException: Mkdirs failed to create file:/etc/x (exists=false)",
            "",
            "file:/etc/x cannot be made: expected a folder that this user may write to",
        ),
        (
            CALLED + "org.apache.hadoop.security.AccessControlException: Permission denied: user=x",
            "",
            "the permission to write is denied: expected a folder that this user may write to",
        ),
        (
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs",
            "",
            "another pipeline writes to the same pipeline.folder: stop one of the two",
        ),
        (
            CALLED + "org.apache.spark.SparkIllegalArgumentException: [INVALID_CONF_VALUE."
            "TYPE_MISMATCH] The value 'soon' in the config \"spark.network.timeout\" is invalid. "
            "SQLSTATE: 22022" + STACK,
            "",
            "[INVALID_CONF_VALUE.TYPE_MISMATCH] The value 'soon' in the config",
        ),
        (
            CRASH + "\nTraceback (most recent call last):\n  File x\n    raise HistoryError(\n"
            "sensorstream.errors.HistoryError: cannot reach the history\n\nJVM stacktrace:\n"
            "org.apache.spark.sql.streaming.StreamingQueryException" + STACK,
            "",
            "cannot reach the history",
        ),
        (None, STARTED + "A worker of Python has ended.\n", "its process of Java has ended"),
        (GATEWAY, "java: not found\n", "java: not found"),
        ("", "", "Spark gives no reason"),
    ],
)
def test_a_report_becomes_a_sentence_with_a_way_out(
    told: str | None, log: str, expected: str
) -> None:
    said = sentence(Dead() if told is None else RuntimeError(told), log)
    assert said.startswith(expected)
    assert "\n" not in said
