// What an application does with librdkafka++: make a topic, produce keyed records, consume them in a group.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// create_topic makes a topic and waits until it is there; one that exists already is fine. Throws std::runtime_error.
void create_topic(const std::string &bootstrap, const std::string &topic, int partitions);

struct KeyValue {
    std::string key, value;
};

// produce sends all records with acks=all and waits for every delivery report. The partitioner is murmur2_random, so that a key
// lands where the Java client would put it. codec is none, gzip, snappy, lz4 or zstd. Returns each record's partition.
std::vector<int32_t> produce(const std::string &bootstrap, const std::string &topic, const std::string &codec,
                             const std::vector<KeyValue> &records);

// consume joins the group and reads until SIGTERM or SIGINT, then leaves. It tells what happens on standard output, a line each:
//   assigned P,P,…            the partitions that are ours now
//   record P OFFSET KEY VALUE a record that was processed (the value up to its first space)
//   committed P OFFSET        everything of partition P before OFFSET is committed
// Processed first and committed afterwards: at least once.
void consume(const std::string &bootstrap, const std::string &topic, const std::string &group);

// lag is the sum over all partitions of end offset − committed offset.
int64_t lag(const std::string &bootstrap, const std::string &topic, const std::string &group, int partitions);
