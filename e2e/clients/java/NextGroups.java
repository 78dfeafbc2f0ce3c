import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Groups of the consumer protocol (KIP-848) with kafka-clients: NextGroups BOOTSTRAP TOPIC GROUP. The topic has four partitions and
 * ten records. Members come, the topic grows, one leaves; each step prints a line that the test reads.
 */
public final class NextGroups {
  private static final List<KafkaConsumer<String, String>> members = new ArrayList<>();
  private static final TreeSet<String> seen = new TreeSet<>();
  private static String bootstrap;
  private static String group;

  public static void main(String[] args) throws Exception {
    bootstrap = args[0];
    var topic = args[1];
    group = args[2];
    var p = new Properties();
    p.put("bootstrap.servers", bootstrap);
    try (var admin = Admin.create(p)) {
      join().subscribe(List.of(topic));
      until("[4]", 10);
      describe(admin, "one");
      join("group.instance.id", "i", "group.remote.assignor", "uniform").subscribe(List.of(topic));
      until("[2, 2]", 10);
      describe(admin, "two");
      admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(6))).all().get();
      until("[3, 3]", 10);
      describe(admin, "grown");
      for (var c : members) c.commitSync();
      members.remove(0).close();
      until("[6]", 10);
      describe(admin, "left");
      System.out.println("committed " + admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values().stream()
          .filter(o -> o != null).mapToLong(o -> o.offset()).sum());
      var byPattern = join();
      members.remove(0).close();
      byPattern.subscribe(new SubscriptionPattern(topic + "|no such.*"));
      until("[6]", 10);
      describe(admin, "pattern");
      members.remove(0).close();
      describe(admin, "empty");
      System.out.println("types " + admin.listGroups(new ListGroupsOptions().withTypes(java.util.Set.of(GroupType.CONSUMER))).all().get()
          .stream().filter(g -> g.groupId().equals(group)).map(g -> g.type().get() + " " + g.protocol()).toList());
      admin.deleteConsumerGroups(List.of(group)).all().get();
      System.out.println("deleted");
    }
    group += "-bad";
    try {
      join().subscribe(new SubscriptionPattern("["));
      for (int i = 0; i < 100; i++) members.get(0).poll(Duration.ofMillis(100));
      System.out.println("bad pattern: taken");
    } catch (KafkaException e) {
      System.out.println("bad pattern: " + e.getClass().getSimpleName());
    }
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  private static KafkaConsumer<String, String> join(Object... more) {
    var p = new Properties();
    p.put("bootstrap.servers", bootstrap);
    p.put("group.id", group);
    p.put("group.protocol", "consumer");
    p.put("auto.offset.reset", "earliest");
    p.put("enable.auto.commit", "false");
    p.put("metadata.max.age.ms", "1000");
    for (int i = 0; i < more.length; i += 2) p.put(more[i], more[i + 1]);
    var c = new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    members.add(c);
    return c;
  }

  /** Polls all members until they have so many partitions each, and have read so many records in all. */
  private static void until(String sizes, int records) {
    for (long end = System.nanoTime() + 60_000_000_000L; ; ) {
      for (var c : members) c.poll(Duration.ofMillis(20)).forEach(r -> seen.add(r.value()));
      var has = members.stream().map(c -> c.assignment().size()).sorted().toList().toString();
      if (has.equals(sizes) && seen.size() >= records) return;
      if (System.nanoTime() > end) {
        System.out.println("waited in vain for " + sizes + ": " + has + ", " + seen.size() + " records");
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
    }
  }

  private static void describe(Admin admin, String when) throws Exception {
    var d = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
    var sizes = new TreeMap<String, Integer>();
    for (var m : d.members()) sizes.put(m.groupInstanceId().orElse("-"), m.assignment().topicPartitions().size());
    System.out.println(when + " " + d.type() + " " + d.partitionAssignor() + " " + sizes.values().stream().mapToInt(n -> n).sum() + " of "
        + d.members().size());
  }
}
