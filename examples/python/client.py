"""Usage: client.py roundtrip|consume|partition-of [KEY …] --client confluent-kafka|kafka-python [--bootstrap HOST:PORT,…]
[--topic T] [--group G] [--records N]

consume prints a line for each thing that happens: "assigned P,P,…", "record P OFFSET KEY VALUE" (the value up to its first
space), "committed P OFFSET"; it leaves the group and ends at SIGTERM.
"""

import argparse
import json
import os
import signal
import sys


def consume(client, args):
    stop = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.append(True))

    def tell(kind, *what):
        if kind == "records":
            sys.stdout.writelines(f"record {p} {o} {key.decode()} {value.split(b' ')[0].decode()}\n" for p, o, key, value in what[0])
        elif kind == "assigned":
            print(kind, ",".join(map(str, what[0])))
        else:
            print(kind, *what)
        sys.stdout.flush()  # what is committed next must have been seen

    client.consume(args.bootstrap, args.topic, args.group, lambda: bool(stop), tell)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("roundtrip", "consume", "partition-of"))
    parser.add_argument("keys", nargs="*")
    parser.add_argument("--client", choices=("confluent-kafka", "kafka-python"), default="confluent-kafka")
    parser.add_argument("--bootstrap", default=os.environ.get("BOOTSTRAP", "127.0.0.1:9092"))
    parser.add_argument("--topic", default=f"example-python-{os.getpid()}")
    parser.add_argument("--group", default="example-python")
    parser.add_argument("--records", type=int, default=100_000)
    args = parser.parse_intermixed_args()
    if args.client == "kafka-python":
        import kafka_python_client as client
    else:
        import confluent_client as client

    if args.command == "consume":
        consume(client, args)
    elif args.command == "partition-of":
        client.create_topic(args.bootstrap, args.topic, 6)
        partitions = client.produce(args.bootstrap, args.topic, "none", [(key, "0") for key in args.keys])
        print(json.dumps(dict(zip(args.keys, partitions)), ensure_ascii=False))
    else:
        import roundtrip
        try:
            roundtrip.run(client, args.bootstrap, args.topic, plain=args.records)
        except Exception as e:
            print(f"failed client={client.NAME}: {e}")
            sys.exit(1)


if __name__ == "__main__":
    main()
