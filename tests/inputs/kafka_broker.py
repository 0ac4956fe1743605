"""A broker of Kafka for tests: the mock cluster of librdkafka, over TCP in Kafka's protocol.

No broker of Kafka can be had as a Python package. This one is what the makers of librdkafka test
their client with: it has topics, consumer groups with stored offsets, and transactions' producers;
it has neither TLS nor users, and forgets all at the end.
"""

from __future__ import annotations

from typing import Any

import confluent_kafka


class KafkaBroker:
    """One broker; it lives as long as this object."""

    def __init__(self) -> None:
        self._client = confluent_kafka.Producer(
            {"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2}
        )
        (broker,) = self._client.list_topics(timeout=300).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def produce(
        self,
        topic: str,
        values: list[bytes],
        partition: int = 0,
        headers: dict[str, bytes] | None = None,
    ) -> None:
        """Append records; returns when the broker has all of them."""
        failures: list[Any] = []

        def told(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(error)

        for value in values:
            self._client.produce(
                topic, value, partition=partition, on_delivery=told, headers=headers or {}
            )
        assert self._client.flush(30) == 0
        assert failures == []

    def committed(self, topic: str, group: str, partition: int = 0) -> int:
        """The offset that a group has committed; negative: none."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.address, "group.id": group, "log_level": 2}
        )
        try:
            asked = confluent_kafka.TopicPartition(topic, partition)
            (found,) = consumer.committed([asked], timeout=300)
            offset: int = found.offset
            return offset
        finally:
            consumer.close()

    def consume(self, topic: str, count: int) -> list[Any]:
        """The first records of a topic, partition by partition."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.address, "group.id": "reader", "log_level": 2}
        )
        try:
            # Not by its group: that takes seconds to agree who reads what.
            partitions = consumer.list_topics(topic, timeout=300).topics[topic].partitions
            begin = confluent_kafka.OFFSET_BEGINNING
            consumer.assign(
                [confluent_kafka.TopicPartition(topic, each, begin) for each in partitions]
            )
            found = consumer.consume(count, timeout=60)
            assert [each.error() for each in found] == [None] * count
            return list(found)
        finally:
            consumer.close()
