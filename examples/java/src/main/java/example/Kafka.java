package example;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What an application does with kafka-clients: make a topic, produce keyed records, consume them in a group. */
final class Kafka {
  private final String bootstrap;
  private final String topic;

  Kafka(String bootstrap, String topic) {
    this.bootstrap = bootstrap;
    this.topic = topic;
  }

  record KeyValue(String key, String value) {}

  private Properties settings(Object... more) {
    var p = new Properties();
    p.put("bootstrap.servers", bootstrap);
    for (int i = 0; i < more.length; i += 2) p.put(more[i], more[i + 1]);
    return p;
  }

  /** Makes the topic and waits until it is there; one that exists already is fine. */
  void createTopic(int partitions) throws Exception {
    try (var admin = Admin.create(settings())) {
      admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof TopicExistsException)) throw e;
    }
  }

  /** Sends all with acks=all and waits for all; returns each record's partition. */
  List<Integer> produce(String codec, List<KeyValue> records) throws Exception {
    var sent = new ArrayList<Future<RecordMetadata>>(records.size());
    var settings = settings("acks", "all", "compression.type", codec, "linger.ms", "5");
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (var r : records) sent.add(producer.send(new ProducerRecord<>(topic, r.key(), r.value())));
      producer.flush();
      var partitions = new ArrayList<Integer>(sent.size());
      for (var s : sent) partitions.add(s.get().partition());
      return partitions;
    }
  }

  /**
   * Joins the group and reads until the process is asked to end, then leaves. Prints a line for each thing that happens: "assigned
   * P,P,…", "record P OFFSET KEY VALUE" (the value up to its first space), "committed P OFFSET". Processed first and committed
   * afterwards: at least once.
   */
  void consume(String group, PrintStream out) throws InterruptedException {
    var settings = settings("group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
        "session.timeout.ms", "6000", "heartbeat.interval.ms", "500", "fetch.max.wait.ms", "50", "max.poll.records", "1000");
    var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    var main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> { // at SIGTERM: leave the group before the process ends
      consumer.wakeup();
      try {
        main.join();
      } catch (InterruptedException e) {
        main.interrupt();
      }
    }));
    var member = new Member(consumer, out);
    try {
      consumer.subscribe(List.of(topic), member);
      while (true) member.process();
    } catch (WakeupException e) {
      member.commit();
    } finally {
      consumer.close();
      out.flush();
    }
  }

  /** What one consumer has processed and not yet committed. */
  private static final class Member implements ConsumerRebalanceListener {
    private final KafkaConsumer<String, String> consumer;
    private final PrintStream out;
    private final Map<TopicPartition, OffsetAndMetadata> processed = new HashMap<>();
    private int uncommitted;

    Member(KafkaConsumer<String, String> consumer, PrintStream out) {
      this.consumer = consumer;
      this.out = out;
    }

    void process() {
      var records = consumer.poll(Duration.ofMillis(50));
      for (ConsumerRecord<String, String> r : records) {
        out.println("record " + r.partition() + " " + r.offset() + " " + r.key() + " " + r.value().split(" ", 2)[0]);
        processed.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
      }
      uncommitted += records.count();
      if (uncommitted >= 2000 || records.isEmpty()) commit();
    }

    void commit() {
      if (processed.isEmpty()) return;
      out.flush(); // what is committed must have been seen
      consumer.commitSync(processed);
      processed.forEach((tp, offset) -> out.println("committed " + tp.partition() + " " + offset.offset()));
      out.flush();
      processed.clear();
      uncommitted = 0;
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> gone) {
      commit();
      tell(consumer.assignment().stream().filter(tp -> !gone.contains(tp)).collect(Collectors.toList()));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> gone) {
      processed.clear();
      tell(List.of());
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
      tell(consumer.assignment());
    }

    private void tell(Collection<TopicPartition> owned) {
      out.println("assigned " + owned.stream().map(tp -> "" + tp.partition()).sorted().collect(Collectors.joining(",")));
      out.flush();
    }
  }

  /** The sum over all partitions of end offset − committed offset. */
  long lag(String group, int partitions) {
    var settings = settings("group.id", group);
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
      var all = IntStream.range(0, partitions).mapToObj(p -> new TopicPartition(topic, p)).collect(Collectors.toSet());
      var committed = consumer.committed(all);
      return consumer.endOffsets(all).entrySet().stream()
          .mapToLong(end -> end.getValue() - (committed.get(end.getKey()) == null ? 0 : committed.get(end.getKey()).offset()))
          .sum();
    }
  }
}
