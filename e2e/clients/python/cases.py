"""Small programs on kafka-python and confluent-kafka for single cases: cases.py NAME BOOTSTRAP ARGUMENT…

Each prints lines that the test reads.
"""

import signal
import sys


def list_topics(bootstrap):
    from kafka.admin import KafkaAdminClient
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    print("\n".join(sorted(admin.list_topics())))
    admin.close()


def look(bootstrap, topic):
    """Looks at a topic that is not there with librdkafka's consumer. (Its producer and AdminClient ask for creation.)"""
    from confluent_kafka import Consumer
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "look"})
    print(consumer.list_topics(topic, timeout=10).topics[topic].error.name())
    consumer.close()


def member(bootstrap, client, group, topic, *settings):
    """A group member until SIGTERM, of either client; prints "assigned P,P,…" at each change. settings are NAME=VALUE."""
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    settings = dict(s.split("=", 1) for s in settings)
    if client == "confluent-kafka":
        from confluent_kafka import Consumer
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                             "session.timeout.ms": 6000, "heartbeat.interval.ms": 300, **settings})
        consumer.subscribe([topic], on_assign=lambda _, ps: tell_assigned(p.partition for p in ps),
                           on_revoke=lambda *_: tell_assigned(()))
        while not stop:
            consumer.poll(0.1)
    else:
        from kafka import ConsumerRebalanceListener, KafkaConsumer
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", session_timeout_ms=6000,
                                 heartbeat_interval_ms=300, **{name: int(v) if v.isdigit() else v for name, v in settings.items()})

        class Listener(ConsumerRebalanceListener):
            def on_partitions_revoked(self, _):
                tell_assigned(())

            def on_partitions_assigned(self, assigned):
                tell_assigned(tp.partition for tp in assigned)

        consumer.subscribe([topic], listener=Listener())
        while not stop:
            consumer.poll(timeout_ms=100)
    consumer.close()


def tell_assigned(partitions):
    print("assigned", ",".join(map(str, sorted(partitions))), flush=True)


def fresh_watermarks(bootstrap, prefix, count):
    """Makes topics and asks for their watermarks at once, before and after one record."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic
    admin, producer = AdminClient({"bootstrap.servers": bootstrap}), Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": prefix})
    for i in range(int(count)):
        topic = f"{prefix}-{i}"
        admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=10)[topic].result()
        before = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        producer.produce(topic, b"v", partition=0)
        producer.flush(10)
        after = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        if (before, after) != ((0, 0), (0, 1)):
            print(topic, before, after)
    consumer.close()
    print("done")


def idempotent(bootstrap, topic, pause, count):
    """Sends with an idempotent producer, pauses, and sends again."""
    import time
    from confluent_kafka import Producer
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0,
                         "error_cb": lambda e: failures.append(e) if e.fatal() else None})

    def send(value):
        producer.produce(topic, value, partition=0, on_delivery=lambda e, m: failures.append(e) if e else None)
        if producer.flush(10):
            failures.append("not delivered")

    for i in range(7):
        send(f"before-{i}")
    print("paused", flush=True)
    time.sleep(float(pause))
    for i in range(int(count)):
        send(f"after-{i}")
    print("failures", failures)


def traffic(bootstrap, topic, seconds):
    """Produces and consumes in a group all the time, while somebody plays with the brokers. No unexpected error may come."""
    import threading
    import time
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
    end = time.monotonic() + 60  # until the first record comes; then the time runs
    problems = []
    expected = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._TIMED_OUT)

    def on_error(error):
        if error.fatal() or error.code() not in expected:
            problems.append(f"error: {error}")

    def read():
        nonlocal end
        count = 0
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic + "-python", "auto.offset.reset": "earliest",
                             "session.timeout.ms": 6000, "heartbeat.interval.ms": 300, "fetch.wait.max.ms": 100, "error_cb": on_error})
        consumer.subscribe([topic])
        while time.monotonic() < end:
            message = consumer.poll(0.1)
            if message is None:
                continue
            if not message.error():
                if count == 0:
                    end = time.monotonic() + float(seconds)
                    print("begun", flush=True)
                count += 1
            elif not message.error().retriable() and message.error().code() not in expected:
                problems.append(f"consumer: {message.error()}")
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as e:
            if e.args[0].code() != KafkaError._NO_OFFSET:
                problems.append(f"commit: {e}")
        consumer.close()
        print("consumed", count)

    reader = threading.Thread(target=read)
    reader.start()
    sent = 0
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0, "delivery.timeout.ms": 30000,
                         "error_cb": on_error})
    while time.monotonic() < end:
        producer.produce(topic, f"v{sent}", f"k{sent % 10}", on_delivery=lambda e, m: problems.append(f"producer: {e}") if e else None)
        producer.poll(0.002)
        sent += 1
    if left := producer.flush(30):
        problems.append(f"{left} not delivered")
    reader.join()
    print("sent", sent)
    for problem in problems:
        print("problem", problem)
    print("done")


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
