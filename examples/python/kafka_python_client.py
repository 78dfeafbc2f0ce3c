"""What an application does with kafka-python: make a topic, produce keyed records, consume them in a group."""

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

NAME = "kafka-python"
CODECS = ("gzip", "snappy", "lz4", "zstd")


def create_topic(bootstrap, topic, partitions):
    """Makes the topic; one that exists already is fine."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.create_topics([NewTopic(topic, partitions, 1)])
    except TopicAlreadyExistsError:
        pass
    finally:
        admin.close()


def produce(bootstrap, topic, codec, records):
    """Sends (key, value) pairs with acks=all and waits for all; returns the partition of each.

    The default partitioner places a key where the Java client would.
    """
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        compression_type=None if codec == "none" else codec,
        linger_ms=5,
        batch_size=131072,
    )
    try:
        sent = [producer.send(topic, value.encode(), key.encode()) for key, value in records]
        producer.flush(60)
        return [future.get(timeout=10).partition for future in sent]
    finally:
        producer.close()


def consume(bootstrap, topic, group, stopped, tell):
    """Joins the group and reads until stopped() is true, then leaves; processes first and commits afterwards.

    tell is called with ("assigned", partitions), ("records", [(partition, offset, key, value), …]), ("committed", partition, offset).
    """
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
        fetch_max_wait_ms=50,
        max_poll_records=1000,
    )
    processed = {}  # TopicPartition → next offset

    def commit():
        if processed:
            consumer.commit({tp: OffsetAndMetadata(o, "", -1) for tp, o in processed.items()})
            for tp, offset in processed.items():
                tell("committed", tp.partition, offset)
            processed.clear()

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            # Runs on the client's own thread, which can't wait for a commit; each poll's records are committed already.
            tell("assigned", [])

        def on_partitions_assigned(self, assigned):
            tell("assigned", sorted(tp.partition for tp in consumer.assignment()))

    consumer.subscribe([topic], listener=Listener())
    try:
        while not stopped():
            # Records end a poll at once, so a long one costs nothing. A short one may end in the middle of a rebalance, and
            # then kafka-python 3.0 forgets the assignment and its heartbeat until the session is over.
            polled = consumer.poll(timeout_ms=3000)
            for tp, messages in polled.items():
                tell("records", [(tp.partition, m.offset, m.key, m.value) for m in messages])
                processed[tp] = messages[-1].offset + 1
            commit()
    finally:
        consumer.close(autocommit=False)


def lag(bootstrap, topic, group, partitions):
    """The sum over all partitions of end offset − committed offset."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    try:
        all_of_it = [TopicPartition(topic, p) for p in range(partitions)]
        ends = consumer.end_offsets(all_of_it)
        return sum(ends[tp] - (consumer.committed(tp) or 0) for tp in all_of_it)
    finally:
        consumer.close(autocommit=False)
