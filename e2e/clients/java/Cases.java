import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Small programs on kafka-clients for single cases: Cases NAME BOOTSTRAP ARGUMENT… Each prints lines that the test reads. */
public final class Cases {
  private static String bootstrap;

  public static void main(String[] args) throws Exception {
    bootstrap = args[1];
    var rest = Arrays.asList(args).subList(2, args.length);
    switch (args[0]) {
      case "list-topics" -> listTopics();
      case "idle" -> idle(rest.get(0), Integer.parseInt(rest.get(1)));
      case "times" -> times(rest.get(0), rest.subList(1, rest.size()));
      case "consume" -> consume(rest.get(0), rest.get(1));
      case "produce" -> produce(rest.get(0), rest.subList(1, rest.size()));
      case "create" -> create(rest.get(0), rest.subList(1, rest.size()));
      case "delete-records" -> deleteRecords(rest.get(0), rest.subList(1, rest.size()));
      case "look" -> look(rest.get(0));
      case "replicas" -> replicas(rest.get(0));
      case "traffic" -> traffic(rest.get(0), Integer.parseInt(rest.get(1)));
      default -> throw new IllegalArgumentException(args[0]);
    }
    System.out.flush();
    Runtime.getRuntime().halt(0); // some cases leave threads behind
  }

  private static Properties settings(Object... more) {
    var p = new Properties();
    p.put("bootstrap.servers", bootstrap);
    for (int i = 0; i < more.length; i += 2) p.put(more[i], more[i + 1]);
    return p;
  }

  private static KafkaConsumer<String, String> consumer(Object... more) {
    return new KafkaConsumer<>(settings(more), new StringDeserializer(), new StringDeserializer());
  }

  private static KafkaProducer<String, String> producer(Object... more) {
    return new KafkaProducer<>(settings(more), new StringSerializer(), new StringSerializer());
  }

  private interface Call {
    Object get() throws Exception;
  }

  /** Prints what the call returns, or the name of the exception that it ends with. */
  private static void outcome(String what, Call call) throws Exception {
    try {
      System.out.println(what + " " + call.get());
    } catch (ExecutionException e) {
      System.out.println(what + " " + e.getCause().getClass().getSimpleName());
    } catch (KafkaException e) {
      System.out.println(what + " " + e.getClass().getSimpleName());
    }
  }

  private static void listTopics() throws Exception {
    try (var admin = Admin.create(settings())) {
      for (var name : new TreeSet<>(admin.listTopics().names().get())) System.out.println(name);
    }
  }

  /** Waits on an empty topic and prints how many fetches that took, counted from the first one on. */
  private static void idle(String topic, int seconds) {
    try (var c = consumer("fetch.max.wait.ms", "500", "auto.offset.reset", "earliest")) {
      c.assign(List.of(new TopicPartition(topic, 0)));
      while (fetches(c) == 0) c.poll(Duration.ofMillis(100));
      int before = fetches(c);
      for (long end = System.nanoTime() + seconds * 1_000_000_000L; System.nanoTime() < end; ) c.poll(Duration.ofMillis(100));
      System.out.println("fetches " + (fetches(c) - before));
    }
  }

  private static int fetches(KafkaConsumer<String, String> c) {
    for (var e : c.metrics().entrySet()) {
      var name = e.getKey();
      if (name.name().equals("fetch-total") && name.group().equals("consumer-fetch-manager-metrics") && name.tags().size() == 1) {
        return ((Double) e.getValue().metricValue()).intValue();
      }
    }
    return 0;
  }

  /** Prints "TIMESTAMP OFFSET TIMESTAMP" or "TIMESTAMP null" for each time. */
  private static void times(String topic, List<String> times) {
    var tp = new TopicPartition(topic, 0);
    try (var c = consumer()) {
      for (var time : times) {
        var found = c.offsetsForTimes(Map.of(tp, Long.parseLong(time))).get(tp);
        System.out.println(time + " " + (found == null ? "null" : found.offset() + " " + found.timestamp()));
      }
    }
  }

  /** Reads all there is with a group that begins at the earliest offset; prints each value, commits, leaves. */
  private static void consume(String group, String topic) {
    try (var c = consumer("group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", "false")) {
      c.subscribe(List.of(topic));
      int empty = 0;
      boolean any = false;
      for (long end = System.nanoTime() + 15_000_000_000L; empty < (any ? 5 : 100) && System.nanoTime() < end; ) {
        var records = c.poll(Duration.ofMillis(100));
        empty = records.isEmpty() ? empty + 1 : 0;
        any |= !records.isEmpty();
        records.forEach(r -> System.out.println("value " + r.value()));
      }
      c.commitSync();
    }
  }

  private static void produce(String topic, List<String> values) throws Exception {
    try (var p = producer("acks", "all")) {
      for (var value : values) outcome("sent", () -> p.send(new ProducerRecord<>(topic, value)).get().offset());
    }
  }

  /** Each argument is PARTITIONS:FACTOR. */
  private static void create(String prefix, List<String> sizes) throws Exception {
    try (var admin = Admin.create(settings())) {
      for (var size : sizes) {
        int colon = size.indexOf(':');
        var topic = new NewTopic(prefix + sizes.indexOf(size), Integer.parseInt(size.substring(0, colon)), Short.parseShort(size.substring(colon + 1)));
        outcome(size, () -> admin.createTopics(List.of(topic)).numPartitions(topic.name()).get());
      }
    }
  }

  private static void deleteRecords(String topic, List<String> offsets) throws Exception {
    var tp = new TopicPartition(topic, 0);
    try (var admin = Admin.create(settings())) {
      for (var offset : offsets) {
        outcome(offset, () -> admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(Long.parseLong(offset))))
            .lowWatermarks().get(tp).get().lowWatermark());
      }
    }
  }

  /** Looks at a topic in ways that must not create it. */
  private static void look(String topic) throws Exception {
    try (var admin = Admin.create(settings()); var c = consumer("allow.auto.create.topics", "false", "group.id", "look")) {
      outcome("described", () -> admin.describeTopics(List.of(topic)).allTopicNames().get().size());
      c.subscribe(List.of(topic));
      for (int i = 0; i < 10; i++) c.poll(Duration.ofMillis(100));
      outcome("partitions", () -> c.partitionsFor(topic, Duration.ofSeconds(2)).size());
    }
  }

  /** Places a topic, moves it, has another leader elected, and asks about the cluster. */
  private static void replicas(String topic) throws Exception {
    var tp = new TopicPartition(topic, 0);
    try (var admin = Admin.create(settings())) {
      var ids = admin.describeCluster().nodes().get().stream().map(n -> n.id()).sorted().toList();
      admin.createTopics(List.of(new NewTopic(topic, Map.of(0, ids.subList(0, 2))))).all().get();
      outcome("elected", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(tp)).partitions().get().get(tp)
          .map(e -> e.getClass().getSimpleName()).orElse("yes"));
      var target = List.of(ids.get(2), ids.get(0));
      outcome("moved", () -> admin.alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(target)))).all().get());
      outcome("unknown broker", () -> admin.alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(99))))).all().get());
      while (!admin.listPartitionReassignments().reassignments().get().isEmpty()) Thread.sleep(20);
      outcome("cancelled", () -> admin.alterPartitionReassignments(Map.of(tp, Optional.empty())).all().get());
      outcome("all elected", () -> {
        admin.electLeaders(ElectionType.PREFERRED, null).all().get();
        return "yes";
      });
      var p = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0);
      System.out.println("replicas " + p.replicas().stream().map(n -> ids.indexOf(n.id())).toList() + " leader " + ids.indexOf(p.leader().id())
          + " isr " + p.isr().size());
      var quorum = admin.describeMetadataQuorum().quorumInfo().get();
      System.out.println("quorum " + quorum.voters().stream().map(v -> v.replicaId()).toList().equals(ids) + " " + ids.contains(quorum.leaderId())
          + " " + (quorum.highWatermark() > 0) + " " + quorum.nodes().keySet().equals(Set.copyOf(ids)));
      outcome("unregistered", () -> admin.unregisterBroker(99).all().get());
    }
  }

  /** Produces and consumes in a group all the time, while somebody plays with the brokers. No unexpected exception may come. */
  private static void traffic(String topic, int seconds) throws Exception {
    // The time runs from the first record on: a JVM may take seconds to get there.
    var end = new java.util.concurrent.atomic.AtomicLong(System.nanoTime() + 60_000_000_000L);
    var problems = new ArrayList<String>();
    var reader = new Thread(() -> {
      int count = 0;
      try (var c = consumer("group.id", topic + "-java", "auto.offset.reset", "earliest", "session.timeout.ms", "6000",
          "heartbeat.interval.ms", "300", "fetch.max.wait.ms", "100", "default.api.timeout.ms", "20000")) {
        c.subscribe(List.of(topic));
        while (System.nanoTime() < end.get()) {
          int polled = c.poll(Duration.ofMillis(100)).count();
          if (count == 0 && polled > 0) {
            end.set(System.nanoTime() + seconds * 1_000_000_000L);
            System.out.println("begun");
            System.out.flush();
          }
          count += polled;
          try {
            c.commitSync();
          } catch (RetriableException | org.apache.kafka.clients.consumer.CommitFailedException e) {
            System.out.println("commit " + e.getClass().getSimpleName());
          }
        }
      } catch (Exception e) {
        problems.add("consumer: " + e);
      }
      System.out.println("consumed " + count);
    });
    reader.start();
    int sent = 0;
    try (var p = producer("acks", "all", "delivery.timeout.ms", "30000", "request.timeout.ms", "5000", "linger.ms", "0")) {
      for (; System.nanoTime() < end.get(); sent++) {
        p.send(new ProducerRecord<>(topic, "k" + sent % 10, "v" + sent), (metadata, e) -> {
          if (e != null) problems.add("producer: " + e);
        });
        Thread.sleep(2);
      }
    }
    reader.join();
    System.out.println("sent " + sent);
    problems.forEach(text -> System.out.println("problem " + text));
    System.out.println("done");
  }
}
