package example;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Usage: Client roundtrip|consume|partition-of [KEY …] [--bootstrap HOST:PORT,…] [--topic T] [--group G] [--records N] */
public final class Client {
  private static final PrintStream out =
      new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false, StandardCharsets.UTF_8);

  public static void main(String[] args) throws Exception {
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", System.getenv().getOrDefault("LOG_LEVEL", "warn"));
    var options = new HashMap<>(Map.of(
        "--bootstrap", System.getenv().getOrDefault("BOOTSTRAP", "127.0.0.1:9092"),
        "--topic", "example-java-" + ProcessHandle.current().pid(),
        "--group", "example-java",
        "--records", "100000"));
    List<String> words = new ArrayList<>();
    for (int i = 0; i < args.length; i++) {
      if (options.containsKey(args[i]) && i + 1 < args.length) options.put(args[i], args[++i]);
      else words.add(args[i]);
    }
    var kafka = new Kafka(options.get("--bootstrap"), options.get("--topic"));
    int code = 0;
    switch (words.isEmpty() ? "" : words.get(0)) {
      case "consume" -> {
        kafka.consume(options.get("--group"), out);
        return; // not System.exit: the shutdown hook that got us here waits for this thread
      }
      case "partition-of" -> partitionOf(kafka, words.subList(1, words.size()));
      case "roundtrip" -> code = new Roundtrip(kafka, options).run(out);
      default -> {
        out.println("usage: Client roundtrip|consume|partition-of [KEY …] [--bootstrap …] [--topic …] [--group …] [--records N]");
        code = 2;
      }
    }
    out.flush();
    System.exit(code);
  }

  private static void partitionOf(Kafka kafka, List<String> keys) throws Exception {
    kafka.createTopic(6);
    var partitions = kafka.produce("none", keys.stream().map(key -> new Kafka.KeyValue(key, "0")).toList());
    out.println(IntStream.range(0, keys.size())
        .mapToObj(i -> '"' + keys.get(i).replace("\\", "\\\\").replace("\"", "\\\"") + "\": " + partitions.get(i))
        .collect(Collectors.joining(", ", "{", "}")));
  }
}
