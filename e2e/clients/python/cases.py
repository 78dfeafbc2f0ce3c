"""Small programs on kafka-python and confluent-kafka for single cases: cases.py NAME BOOTSTRAP ARGUMENT…

Each prints lines that the test reads.
"""

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


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
