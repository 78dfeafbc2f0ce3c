package example;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Produces, consumes in a group of three of which one is killed, consumes again in a second group, and checks all of it. The
 * group's members are processes of their own; see Kafka.consume for what they print.
 */
final class Roundtrip {
  private static final int PARTITIONS = 6;
  private static final int COMPRESSED = 2000;
  private static final List<String> CODECS = List.of("gzip", "snappy", "lz4", "zstd");

  private final Kafka kafka;
  private final Map<String, String> options;
  private final int plain;
  private final int total;

  Roundtrip(Kafka kafka, Map<String, String> options) {
    this.kafka = kafka;
    this.options = options;
    plain = Integer.parseInt(options.get("--records"));
    total = plain + COMPRESSED * CODECS.size();
  }

  int run(PrintStream out) {
    try {
      long start = System.nanoTime();
      kafka.createTopic(PARTITIONS);
      int duplicates = firstGroup(options.get("--topic") + "-first");
      secondGroup(options.get("--topic") + "-second");
      out.printf("ok client=kafka-clients records=%d groups=2 duplicates=%d seconds=%.1f%n", total, duplicates,
          (System.nanoTime() - start) / 1e9);
      return 0;
    } catch (Exception e) {
      out.println("failed client=kafka-clients: " + e);
      return 1;
    }
  }

  private int firstGroup(String name) throws Exception {
    try (var group = new Group(name, 3)) {
      check(group.until(group::settled, 30), "the group did not settle");
      var produced = CompletableFuture.runAsync(() -> {
        try {
          var next = new HashMap<String, Integer>();
          kafka.produce("none", records(plain, next));
          for (var codec : CODECS) kafka.produce(codec, records(COMPRESSED, next));
        } catch (Exception e) {
          throw new RuntimeException(e);
        }
      });
      group.until(() -> group.seen.count() >= total / 2, 40);
      group.killOne();
      produced.get();
      group.until(group.seen::complete, 40);
      group.stop();
      group.seen.finish();
      check(kafka.lag(name, PARTITIONS) == 0, "lag is not 0");
      return group.seen.duplicates;
    }
  }

  private void secondGroup(String name) throws Exception {
    try (var group = new Group(name, 1)) {
      group.until(group.seen::complete, 40);
      group.stop();
      group.seen.finish();
      check(kafka.lag(name, PARTITIONS) == 0, "second group: lag is not 0");
    }
  }

  private static void check(boolean good, String problem) {
    if (!good) throw new IllegalStateException(problem);
  }

  /** Keyed records; each key's values count on from set to set. */
  private static List<Kafka.KeyValue> records(int count, Map<String, Integer> next) {
    var out = new ArrayList<Kafka.KeyValue>(count);
    for (int i = 0; i < count; i++) {
      var key = "key-" + i % 997;
      out.add(new Kafka.KeyValue(key, next.merge(key, 1, Integer::sum) - 1 + " " + ".".repeat(80)));
    }
    return out;
  }

  /** All that a group's members reported, and the verdict on it. */
  private final class Seen {
    private record Read(String key, int sequence, Member member) {}

    private final Map<Integer, TreeMap<Long, Read>> records = new TreeMap<>();
    private final Map<Integer, Long> committed = new HashMap<>();
    private final List<String> problems = new ArrayList<>();
    private int count;
    private int duplicates;

    synchronized int count() {
      return count;
    }

    synchronized boolean complete() {
      return count == total;
    }

    synchronized void problem(String text) {
      problems.add(text);
    }

    synchronized void take(Member member, String line) {
      var words = line.split(" ");
      switch (words[0]) {
        case "assigned" -> member.assigned = words.length > 1 ? List.of(words[1].split(",")) : List.of();
        case "committed" -> committed.merge(Integer.parseInt(words[1]), Long.parseLong(words[2]), Math::max);
        case "record" -> record(Integer.parseInt(words[1]), Long.parseLong(words[2]),
            new Read(words[3], Integer.parseInt(words[4]), member));
        default -> problem("a member said " + line);
      }
    }

    private void record(int partition, long offset, Read read) {
      var first = records.computeIfAbsent(partition, p -> new TreeMap<>()).putIfAbsent(offset, read);
      if (first == null) {
        count++;
        return;
      }
      duplicates++;
      // A second delivery is right only where the first went to a member that died before it committed.
      if (!first.member.killed || offset < committed.getOrDefault(partition, 0L)) {
        problem("partition " + partition + " offset " + offset + " came twice");
      }
    }

    /** Checks that all came and that each key's sequence rises with the offset. */
    synchronized void finish() {
      if (!complete()) problem(count + " of " + total + " records arrived");
      var next = new HashMap<String, Integer>();
      records.forEach((partition, log) -> log.forEach((offset, r) -> {
        if (r.sequence != next.merge(r.key, 1, Integer::sum) - 1) problem("key " + r.key + " is out of order at " + partition + "/" + offset);
      }));
      check(problems.isEmpty(), String.join("; ", problems.subList(0, Math.min(5, problems.size()))));
    }
  }

  private static final class Member {
    private final Process process;
    private final Thread reader;
    private volatile List<String> assigned = List.of();
    private volatile boolean killed;

    Member(Process process, Seen seen) {
      this.process = process;
      reader = new Thread(() -> {
        try (var in = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
          var line = new StringBuilder(); // not readLine, which would also return what a kill cut short
          for (int c; (c = in.read()) >= 0; ) {
            if (c != '\n') {
              line.append((char) c);
              continue;
            }
            seen.take(this, line.toString());
            line.setLength(0);
          }
        } catch (IOException e) {
          seen.problem(e.toString());
        }
      });
      reader.start();
    }
  }

  /** The members of one consumer group. */
  private final class Group implements AutoCloseable {
    private final Seen seen = new Seen();
    private final List<Member> members = new ArrayList<>();

    Group(String name, int size) throws IOException {
      var command = List.of(ProcessHandle.current().info().command().orElse("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
          "-Xmx256m", "-cp", System.getProperty("java.class.path"), "example.Client", "consume",
          "--bootstrap", options.get("--bootstrap"), "--topic", options.get("--topic"), "--group", name);
      for (int i = 0; i < size; i++) {
        members.add(new Member(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start(), seen));
      }
    }

    boolean until(BooleanSupplier done, int seconds) throws InterruptedException {
      for (long deadline = System.nanoTime() + seconds * 1_000_000_000L; !done.getAsBoolean(); Thread.sleep(20)) {
        if (System.nanoTime() > deadline) return false;
      }
      return true;
    }

    boolean settled() {
      var all = new ArrayList<String>();
      for (var m : members) {
        if (m.assigned.isEmpty()) return false;
        all.addAll(m.assigned);
      }
      return all.size() == PARTITIONS && new HashSet<>(all).size() == PARTITIONS;
    }

    void killOne() {
      members.get(0).killed = true;
      members.get(0).process.toHandle().destroyForcibly(); // unlike Process.destroyForcibly it leaves the output readable
    }

    void stop() throws InterruptedException {
      for (var m : members) if (!m.killed) m.process.toHandle().destroy();
      for (var m : members) {
        boolean ended = m.process.waitFor(20, TimeUnit.SECONDS);
        if (!ended) m.process.destroyForcibly();
        m.reader.join();
        // 143: ended by the SIGTERM that we sent, after the shutdown hook
        if (!m.killed && !(ended && (m.process.exitValue() == 0 || m.process.exitValue() == 143))) seen.problem("a member failed");
      }
    }

    @Override
    public void close() {
      for (var m : members) m.process.destroyForcibly();
    }
  }
}
