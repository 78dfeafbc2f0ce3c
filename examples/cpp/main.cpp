// Usage: client roundtrip|consume|partition-of KEY… [--bootstrap HOST:PORT,…] [--topic T] [--group G] [--records N]
#include "client.hpp"
#include "roundtrip.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace {

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

// Produces one record for each key and prints {"KEY": PARTITION, …}.
int partition_of(const Roundtrip &r, const std::vector<std::string> &keys) {
    create_topic(r.bootstrap, r.topic, r.partitions);
    std::vector<KeyValue> records;
    for (const auto &key : keys) records.push_back({key, "0"});
    auto partitions = produce(r.bootstrap, r.topic, "none", records);
    for (size_t i = 0; i < keys.size(); i++)
        std::cout << (i ? ", " : "{") << quoted(keys[i]) << ": " << partitions[i];
    std::cout << "}\n";
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    const char *env = std::getenv("BOOTSTRAP");
    Roundtrip r;
    r.self = argv[0];
    r.bootstrap = env ? env : "127.0.0.1:9092";
    r.topic = "example-cpp-" + std::to_string(getpid());
    std::string group = "example-cpp";
    std::vector<std::string> words;
    for (int i = 1; i < argc; i++) {
        std::string arg = argv[i];
        bool more = i + 1 < argc;
        if (arg == "--bootstrap" && more) r.bootstrap = argv[++i];
        else if (arg == "--topic" && more) r.topic = argv[++i];
        else if (arg == "--group" && more) group = argv[++i];
        else if (arg == "--records" && more) r.records = std::atoi(argv[++i]);
        else words.push_back(arg);
    }
    std::string command = words.empty() ? "" : words[0];
    try {
        if (command == "roundtrip") return run_roundtrip(r);
        if (command == "consume") return consume(r.bootstrap, r.topic, group), 0;
        if (command == "partition-of") return partition_of(r, {words.begin() + 1, words.end()});
    } catch (const std::exception &e) {
        std::cerr << command << ": " << e.what() << "\n";
        return 1;
    }
    std::cerr << "usage: client roundtrip|consume|partition-of KEY… [--bootstrap HOST:PORT,…] [--topic T] [--group G] [--records N]\n";
    return 2;
}
