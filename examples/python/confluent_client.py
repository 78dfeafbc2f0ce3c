"""What an application does with confluent-kafka: make a topic, produce keyed records, consume them in a group."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

NAME = "confluent-kafka"
CODECS = ("gzip", "snappy", "lz4", "zstd")


def create_topic(bootstrap, topic, partitions):
    """Makes the topic and waits until it is there; one that exists already is fine."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    try:
        admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=10)[topic].result()
    except KafkaException as e:
        if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def produce(bootstrap, topic, codec, records):
    """Sends (key, value) pairs with acks=all and waits for all; returns the partition of each.

    murmur2_random places a key where the Java client would.
    """
    producer = Producer({
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "enable.idempotence": True,
        "partitioner": "murmur2_random",
        "compression.type": codec,
        "linger.ms": 5,
    })
    partitions = [None] * len(records)
    errors = []

    def report_to(i):
        def delivered(error, message):
            if error:
                errors.append(error)
            partitions[i] = message.partition()
        return delivered

    for i, (key, value) in enumerate(records):
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=report_to(i))
                break
            except BufferError:  # the local queue is full: let deliveries make room
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(60)
    if left or errors:
        raise RuntimeError(f"{left} records not delivered, {len(errors)} refused: {errors[:1]}")
    return partitions


def consume(bootstrap, topic, group, stopped, tell):
    """Joins the group and reads until stopped() is true, then leaves; processes first and commits afterwards.

    tell is called with ("assigned", partitions), ("records", [(partition, offset, key, value), …]), ("committed", partition, offset).
    """
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
        "fetch.wait.max.ms": 50,
    })
    processed = {}  # partition → next offset

    def commit():
        if processed:
            for done in consumer.commit(offsets=[TopicPartition(topic, p, o) for p, o in processed.items()], asynchronous=False):
                tell("committed", done.partition, done.offset)
            processed.clear()

    def on_revoke(_, partitions):
        commit()
        tell("assigned", [])

    def on_lost(_, partitions):
        processed.clear()
        tell("assigned", [])

    consumer.subscribe([topic], on_assign=lambda _, ps: tell("assigned", [p.partition for p in ps]), on_revoke=on_revoke, on_lost=on_lost)
    try:
        uncommitted = 0
        while not stopped():
            messages = consumer.consume(1000, timeout=0.05)
            for message in messages:
                if message.error():
                    raise KafkaException(message.error())
                processed[message.partition()] = message.offset() + 1
            tell("records", [(m.partition(), m.offset(), m.key(), m.value()) for m in messages])
            uncommitted += len(messages)
            if uncommitted >= 2000 or not messages:
                commit()
                uncommitted = 0
        commit()
    finally:
        consumer.close()


def lag(bootstrap, topic, group, partitions):
    """The sum over all partitions of end offset − committed offset."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        total = 0
        for done in consumer.committed([TopicPartition(topic, p) for p in range(partitions)], timeout=10):
            low, high = consumer.get_watermark_offsets(done, timeout=10)
            total += high - (low if done.offset < 0 else done.offset)
        return total
    finally:
        consumer.close()
