from __future__ import annotations

import pytest

from sensorstream.errors import SettingsError
from sensorstream.inputs.inputs import reader_of
from tests.inputs.conftest import Bench
from tests.inputs.kafka_broker import KafkaBroker
from tests.waiting import eventually


@pytest.fixture(scope="module")
def broker() -> KafkaBroker:
    return KafkaBroker()


def options(broker: KafkaBroker, topic: str, more: str = "") -> str:
    return f'brokers = ["{broker.address}"]\ntopics = ["{topic}"]\ngroup = "g-{topic}"\n{more}'


def test_records_are_taken_and_their_offsets_committed(bench: Bench, broker: KafkaBroker) -> None:
    contents = [b"<m>%d</m>" % n for n in range(10)] + [b"<bad", b"<end/>"]
    broker.produce("buses", contents)
    with bench.running(options(broker, "buses"), "kafka", 'source = "hall"'):
        eventually(lambda: broker.committed("buses", "g-buses") == 12, 60)
        assert bench.value("connected") == 1
    assert bench.journal.contents == contents
    assert set(bench.journal.sources) == {"hall"}
    assert bench.value("messages_total", status="rejected") == 1
    trace = "0af7651916cd43dd8448eb211c80319c"
    broker.produce(
        "buses", [b"<next/>"], headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01".encode()}
    )
    with bench.running(options(broker, "buses", "topic_is_source = true"), "kafka"):
        eventually(lambda: broker.committed("buses", "g-buses") == 13, 60)
    assert bench.journal.contents == [*contents, b"<next/>"]
    assert bench.journal.sources[-1] == "buses"
    assert bench.journal.traces[-2:] == ["", trace]
    assert bench.journal.repeats == 0


def test_records_whose_offsets_were_not_committed_are_recognised(
    bench: Bench, broker: KafkaBroker
) -> None:
    broker.produce("trains", [b"<same/>"] * 5)
    bench.journal.held = []
    with bench.running(options(broker, "trains"), "kafka"):
        # How many come at once is the broker's choice.
        eventually(lambda: bench.journal.contents, 60)
        assert broker.committed("trains", "g-trains") < 0
        released, bench.journal.held = bench.journal.held, None
        # As if the process were killed: another member of the group gets all of them again.
        again = options(broker, "trains").replace("g-trains", "g-later")
        other = Bench(bench.folder, bench.journal)
        with other.running(again, "kafka"):
            eventually(lambda: broker.committed("trains", "g-later") == 5, 60)
        for settle in released:
            settle()
        eventually(lambda: broker.committed("trains", "g-trains") == 5, 60)
    assert bench.journal.contents == [b"<same/>"] * 5
    assert bench.journal.repeats == 5


def test_a_topic_or_broker_that_is_not_there_is_said(bench: Bench, broker: KafkaBroker) -> None:
    with bench.running('brokers = ["127.0.0.1:1"]\ntopics = ["a"]', "kafka") as running:
        eventually(lambda: "no connection to 127.0.0.1:1" in running.state)
        assert bench.value("connected") == 0


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('mechanism = "NONE"', "expected one of PLAIN, SCRAM-SHA-256"),
        ('cert_file = "x"', "cert_file: allowed only together with tls = true"),
        ('start = "middle"', "expected one of earliest, latest"),
    ],
)
def test_options_that_cannot_be_used_are_refused_at_the_start(
    bench: Bench, more: str, expected: str
) -> None:
    with pytest.raises(SettingsError, match=expected):
        reader_of(bench.settings(f'brokers = ["h:1"]\ntopics = ["a"]\n{more}', "kafka"))
