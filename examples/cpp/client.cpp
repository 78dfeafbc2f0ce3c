#include "client.hpp"

#include <librdkafka/rdkafka.h> // the C API: librdkafka++ has no admin client
#include <librdkafka/rdkafkacpp.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

namespace {

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

using Settings = std::map<std::string, std::string>;

std::unique_ptr<RdKafka::Conf> conf(const Settings &settings) {
    std::unique_ptr<RdKafka::Conf> c(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
    std::string error;
    for (const auto &[name, value] : settings)
        if (c->set(name, value, error) != RdKafka::Conf::CONF_OK) fail(error);
    return c;
}

volatile std::sig_atomic_t stopped = 0;
void stop(int) { stopped = 1; }

} // namespace

void create_topic(const std::string &bootstrap, const std::string &topic, int partitions) {
    std::string error;
    std::unique_ptr<RdKafka::Producer> client(RdKafka::Producer::create(conf({{"bootstrap.servers", bootstrap}}).get(), error));
    if (!client) fail(error);
    rd_kafka_t *rk = client->c_ptr();

    char text[512];
    rd_kafka_NewTopic_t *spec = rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, text, sizeof text);
    if (!spec) fail(text);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    // Answer only when the topic is known throughout the cluster.
    rd_kafka_AdminOptions_set_operation_timeout(options, 10000, text, sizeof text);
    rd_kafka_CreateTopics(rk, &spec, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 15000);
    std::string problem;
    if (!event) {
        problem = "no answer to CreateTopics";
    } else if (rd_kafka_event_error(event)) {
        problem = rd_kafka_event_error_string(event);
    } else {
        size_t n;
        auto **results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
        auto code = rd_kafka_topic_result_error(results[0]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            problem = rd_kafka_err2name(code);
    }
    if (event) rd_kafka_event_destroy(event);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(spec);
    if (!problem.empty()) fail("create topic " + topic + ": " + problem);
}

namespace {

// Reports hears of every record's fate; the record's index travels as msg_opaque.
struct Reports : RdKafka::DeliveryReportCb {
    std::vector<int32_t> partitions;
    std::string error;

    void dr_cb(RdKafka::Message &message) override {
        if (message.err() != RdKafka::ERR_NO_ERROR) error = message.errstr();
        partitions[reinterpret_cast<uintptr_t>(message.msg_opaque())] = message.partition();
    }
};

} // namespace

std::vector<int32_t> produce(const std::string &bootstrap, const std::string &topic, const std::string &codec,
                             const std::vector<KeyValue> &records) {
    Reports reports;
    reports.partitions.resize(records.size(), -1);
    auto settings = conf({
        {"bootstrap.servers", bootstrap},
        {"acks", "all"},
        {"enable.idempotence", "true"},
        {"partitioner", "murmur2_random"},
        {"compression.codec", codec},
        {"linger.ms", "5"},
    });
    std::string error;
    if (settings->set("dr_cb", &reports, error) != RdKafka::Conf::CONF_OK) fail(error);
    std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(settings.get(), error));
    if (!producer) fail(error);

    for (uintptr_t i = 0; i < records.size(); i++) {
        const auto &r = records[i];
        for (;;) {
            auto code = producer->produce(topic, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                                          const_cast<char *>(r.value.data()), r.value.size(), r.key.data(), r.key.size(), 0,
                                          reinterpret_cast<void *>(i));
            if (code == RdKafka::ERR_NO_ERROR) break;
            if (code != RdKafka::ERR__QUEUE_FULL) fail(RdKafka::err2str(code));
            producer->poll(100); // the local queue is full: let deliveries make room
        }
        producer->poll(0);
    }
    if (auto code = producer->flush(60000); code != RdKafka::ERR_NO_ERROR) fail("flush: " + RdKafka::err2str(code));
    if (!reports.error.empty()) fail("delivery: " + reports.error);
    return reports.partitions;
}

namespace {

// Member follows one consumer's assignment and what it has processed but not yet committed.
struct Member : RdKafka::RebalanceCb {
    std::map<int32_t, int64_t> processed; // partition → next offset
    std::set<int32_t> owned;
    std::string topic;

    void commit(RdKafka::KafkaConsumer *consumer) {
        if (processed.empty()) return;
        std::fflush(stdout); // what we are about to commit must have been seen
        std::vector<RdKafka::TopicPartition *> offsets;
        for (auto [partition, next] : processed) offsets.push_back(RdKafka::TopicPartition::create(topic, partition, next));
        auto code = consumer->commitSync(offsets);
        for (auto *o : offsets) {
            if (code == RdKafka::ERR_NO_ERROR) std::printf("committed %d %lld\n", o->partition(), static_cast<long long>(o->offset()));
            else std::fprintf(stderr, "commit %d: %s\n", o->partition(), RdKafka::err2str(code).c_str());
        }
        RdKafka::TopicPartition::destroy(offsets);
        processed.clear();
        std::fflush(stdout);
    }

    // With the cooperative assignor only the difference comes in, and partitions that stay are read on meanwhile.
    void rebalance_cb(RdKafka::KafkaConsumer *consumer, RdKafka::ErrorCode code, std::vector<RdKafka::TopicPartition *> &change) override {
        std::unique_ptr<RdKafka::Error> error;
        if (code == RdKafka::ERR__ASSIGN_PARTITIONS) {
            error.reset(consumer->incremental_assign(change));
            for (auto *p : change) owned.insert(p->partition());
        } else {
            if (!consumer->assignment_lost()) commit(consumer);
            processed.clear();
            error.reset(consumer->incremental_unassign(change));
            for (auto *p : change) owned.erase(p->partition());
        }
        if (error) fail("assignment: " + error->str());
        std::string list;
        for (auto p : owned) list += (list.empty() ? "" : ",") + std::to_string(p);
        std::printf("assigned %s\n", list.c_str());
        std::fflush(stdout);
    }

    void take(const RdKafka::Message &message) {
        std::string value(static_cast<const char *>(message.payload()), message.len());
        std::printf("record %d %lld %s %s\n", message.partition(), static_cast<long long>(message.offset()), message.key()->c_str(),
                    value.substr(0, value.find(' ')).c_str());
        processed[message.partition()] = message.offset() + 1;
    }
};

} // namespace

void consume(const std::string &bootstrap, const std::string &topic, const std::string &group) {
    std::signal(SIGTERM, stop);
    std::signal(SIGINT, stop);
    Member member;
    member.topic = topic;
    auto settings = conf({
        {"bootstrap.servers", bootstrap},
        {"group.id", group},
        {"auto.offset.reset", "earliest"},
        {"enable.auto.commit", "false"},
        {"partition.assignment.strategy", "cooperative-sticky"},
        {"session.timeout.ms", "6000"},
        {"heartbeat.interval.ms", "500"},
        {"fetch.wait.max.ms", "50"},
    });
    std::string error;
    if (settings->set("rebalance_cb", &member, error) != RdKafka::Conf::CONF_OK) fail(error);
    std::unique_ptr<RdKafka::KafkaConsumer> consumer(RdKafka::KafkaConsumer::create(settings.get(), error));
    if (!consumer) fail(error);
    if (auto code = consumer->subscribe({topic}); code != RdKafka::ERR_NO_ERROR) fail(RdKafka::err2str(code));

    for (int uncommitted = 0; !stopped;) {
        std::unique_ptr<RdKafka::Message> message(consumer->consume(50));
        if (message->err() == RdKafka::ERR_NO_ERROR) {
            member.take(*message);
            uncommitted++;
        } else if (message->err() != RdKafka::ERR__TIMED_OUT) {
            std::fprintf(stderr, "consume: %s\n", message->errstr().c_str());
        }
        if (uncommitted >= 1000 || (uncommitted > 0 && message->err() == RdKafka::ERR__TIMED_OUT)) {
            member.commit(consumer.get());
            uncommitted = 0;
        }
    }
    member.commit(consumer.get());
    consumer->close();
}

int64_t lag(const std::string &bootstrap, const std::string &topic, const std::string &group, int partitions) {
    std::string error;
    auto settings = conf({{"bootstrap.servers", bootstrap}, {"group.id", group}});
    std::unique_ptr<RdKafka::KafkaConsumer> consumer(RdKafka::KafkaConsumer::create(settings.get(), error));
    if (!consumer) fail(error);
    std::vector<RdKafka::TopicPartition *> offsets;
    for (int p = 0; p < partitions; p++) offsets.push_back(RdKafka::TopicPartition::create(topic, p));
    if (auto code = consumer->committed(offsets, 10000); code != RdKafka::ERR_NO_ERROR) fail("committed: " + RdKafka::err2str(code));
    int64_t sum = 0;
    for (auto *o : offsets) {
        int64_t low = 0, high = 0;
        auto code = consumer->query_watermark_offsets(topic, o->partition(), &low, &high, 10000);
        if (code != RdKafka::ERR_NO_ERROR) fail("watermarks: " + RdKafka::err2str(code));
        sum += high - (o->offset() < 0 ? low : o->offset());
    }
    RdKafka::TopicPartition::destroy(offsets);
    consumer->close();
    return sum;
}
