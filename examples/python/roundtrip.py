"""Produces, consumes in a group of three of which one is killed, consumes again in a second group, and checks all of it.

The group's members are processes of their own, started from client.py; see its consume command for what they print.
"""

import queue
import subprocess
import sys
import threading
import time
from pathlib import Path


class Seen:
    """All that a group's members reported, and the verdict on it."""

    def __init__(self, total):
        self.total = total
        self.records = {}    # (partition, offset) → (key, sequence, member)
        self.position = {}   # (member, partition) → next offset
        self.committed = {}  # partition → offset
        self.killed = set()  # members
        self.duplicates = 0
        self.problems = []

    def complete(self):
        return len(self.records) == self.total

    def record(self, member, partition, offset, key, sequence):
        first = self.records.setdefault((partition, offset), (key, sequence, member))
        if first[2] != member or self.position.get((member, partition), 0) > offset:
            self.duplicates += 1
            # A second delivery is right only where the first went to a member that died before it committed.
            if first[2] not in self.killed or offset < self.committed.get(partition, 0):
                self.problems.append(f"partition {partition} offset {offset} came to member {first[2]} and again to {member}")
        self.position[member, partition] = offset + 1

    def finish(self):
        """Checks that all came and that each key's sequence rises with the offset."""
        if not self.complete():
            self.problems.append(f"{len(self.records)} of {self.total} records arrived")
        next_of = {}
        for (partition, offset), (key, sequence, _) in sorted(self.records.items()):
            if sequence != next_of.get(key, 0):
                self.problems.append(f"key {key} is out of order at {partition}:{offset}")
            next_of[key] = sequence + 1
        if self.problems:
            raise RuntimeError("; ".join(self.problems[:5]))


class Group:
    """The members of one consumer group."""

    def __init__(self, client, bootstrap, topic, name, members, total):
        self.seen = Seen(total)
        self.assigned = [()] * members
        self.lines = queue.Queue()
        command = [sys.executable, str(Path(__file__).with_name("client.py")), "consume", "--client", client.NAME,
                   "--bootstrap", bootstrap, "--topic", topic, "--group", name]
        self.members = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(members)]
        self.readers = [threading.Thread(target=self._read, args=(i,), daemon=True) for i in range(members)]
        for reader in self.readers:
            reader.start()

    def _read(self, member):
        for line in self.members[member].stdout:
            if line.endswith("\n"):  # what the kill cut short is no line
                self.lines.put((member, line))

    def _take(self, member, line):
        kind, *rest = line.split()
        if kind == "assigned":
            self.assigned[member] = rest[0].split(",") if rest else ()
        elif kind == "record":
            self.seen.record(member, int(rest[0]), int(rest[1]), rest[2], int(rest[3]))
        elif kind == "committed":
            partition, offset = map(int, rest)
            self.seen.committed[partition] = max(offset, self.seen.committed.get(partition, 0))

    def read_until(self, done, seconds):
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                return False
            try:
                self._take(*self.lines.get(timeout=0.1))
            except queue.Empty:
                pass
        return True

    def settled(self, partitions):
        return all(self.assigned) and len(set().union(*self.assigned)) == sum(map(len, self.assigned)) == partitions

    def kill_one(self):
        self.seen.killed.add(0)
        self.members[0].kill()

    def stop(self):
        for member in self.members:
            member.terminate()
        for i, member in enumerate(self.members):
            code = member.wait(20)
            self.readers[i].join()
            if code != 0 and i not in self.seen.killed:
                self.seen.problems.append(f"member {i} ended with {code}")
        while not self.lines.empty():
            self._take(*self.lines.get())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for member in self.members:
            member.kill()


def records(count, next_of):
    """Keyed records; each key's values count on from set to set."""
    out = []
    for i in range(count):
        key = f"key-{i % 997}"
        sequence = next_of.get(key, 0)
        next_of[key] = sequence + 1
        out.append((key, f"{sequence} {'.' * 80}"))
    return out


def run(client, bootstrap, topic, partitions=6, plain=100_000, compressed=2_000):
    start = time.monotonic()
    total = plain + compressed * len(client.CODECS)
    client.create_topic(bootstrap, topic, partitions)

    name = topic + "-first"
    with Group(client, bootstrap, topic, name, 3, total) as group:
        if not group.read_until(lambda: group.settled(partitions), 20):
            raise RuntimeError(f"the group did not settle: {group.assigned}")
        failed = []

        def produce():
            try:
                next_of = {}
                client.produce(bootstrap, topic, "none", records(plain, next_of))
                for codec in client.CODECS:
                    client.produce(bootstrap, topic, codec, records(compressed, next_of))
            except Exception as e:
                failed.append(e)
        producer = threading.Thread(target=produce)
        producer.start()
        group.read_until(lambda: len(group.seen.records) >= total // 2, 40)
        group.kill_one()
        group.read_until(group.seen.complete, 40)
        producer.join()
        if failed:
            raise failed[0]
        group.stop()
        group.seen.finish()
        duplicates = group.seen.duplicates
    if behind := client.lag(bootstrap, topic, name, partitions):
        raise RuntimeError(f"lag is {behind}")

    name = topic + "-second"
    with Group(client, bootstrap, topic, name, 1, total) as group:
        group.read_until(group.seen.complete, 40)
        group.stop()
        group.seen.finish()
    if behind := client.lag(bootstrap, topic, name, partitions):
        raise RuntimeError(f"second group: lag is {behind}")
    print(f"ok client={client.NAME} records={total} groups=2 duplicates={duplicates} seconds={time.monotonic() - start:.1f}")
