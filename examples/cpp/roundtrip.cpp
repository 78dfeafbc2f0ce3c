#include "roundtrip.hpp"

#include "client.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

// Seen is all that a group's members reported, and judges it.
class Seen {
  public:
    explicit Seen(int total) : total_(total) {}
    size_t count() const { return records_.size(); }
    bool complete() const { return records_.size() == static_cast<size_t>(total_); }
    int duplicates() const { return duplicates_; }

    void record(int member, bool killed, int partition, int64_t offset, const std::string &key, int64_t sequence) {
        auto [at, fresh] = records_.try_emplace({partition, offset}, Record{key, sequence, member});
        if (!fresh) {
            duplicates_++;
            // A second delivery is right only where the first went to a member that died before it committed.
            if (!killed_.count(at->second.member) || offset < committed_[partition])
                problem("partition " + std::to_string(partition) + " offset " + std::to_string(offset) + " came twice");
        }
        auto &next = position_[{member, partition}];
        if (offset < next && !killed) problem("member " + std::to_string(member) + " went back in partition " + std::to_string(partition));
        next = offset + 1;
    }
    void committed(int partition, int64_t offset) { committed_[partition] = std::max(committed_[partition], offset); }
    void killed(int member) { killed_.insert(member); }

    // finish checks that all came, and that each key's sequence rises with the offset. Returns the first problem or "".
    std::string finish() {
        if (!complete()) problem(std::to_string(count()) + " of " + std::to_string(total_) + " records arrived");
        std::map<std::string, int64_t> next;
        for (const auto &[at, r] : records_) // ordered by partition and offset
            if (r.sequence != next[r.key]++) problem("key " + r.key + " is out of order at offset " + std::to_string(at.second));
        return problem_;
    }

  private:
    struct Record {
        std::string key;
        int64_t sequence;
        int member;
    };
    void problem(const std::string &text) {
        if (problem_.empty()) problem_ = text;
    }
    int total_, duplicates_ = 0;
    std::map<std::pair<int, int64_t>, Record> records_;
    std::map<std::pair<int, int>, int64_t> position_;
    std::map<int, int64_t> committed_;
    std::set<int> killed_;
    std::string problem_;
};

struct Process {
    pid_t pid = -1;
    int out = -1;
    std::string partial;    // of a line
    std::string assignment; // "0,3"
    bool killed = false;
};

// Group is the members of one consumer group, each a process of its own.
class Group {
  public:
    Group(const Roundtrip &r, std::string name, int members) : seen(r.records + 4 * r.compressed), r_(r), name_(std::move(name)) {
        for (int i = 0; i < members; i++) start();
    }
    ~Group() {
        for (auto &p : members_)
            if (p.pid > 0) ::kill(p.pid, SIGKILL), ::waitpid(p.pid, nullptr, 0);
    }

    Seen seen;

    // Reads what members say until done() or the time is over.
    bool read_until(const std::function<bool()> &done, std::chrono::seconds limit) {
        for (auto deadline = Clock::now() + limit; !done();) {
            if (Clock::now() > deadline) return false;
            read(100);
        }
        return true;
    }

    bool all_assigned() const {
        std::set<std::string> owned;
        for (auto &p : members_) {
            std::istringstream list(p.assignment);
            size_t before = owned.size();
            for (std::string one; std::getline(list, one, ',');) owned.insert(one);
            if (owned.size() == before) return false;
        }
        return owned.size() == static_cast<size_t>(r_.partitions);
    }

    void kill_one() {
        auto &p = members_.front();
        ::kill(p.pid, SIGKILL);
        p.killed = true;
        seen.killed(0);
    }

    // Asks all to leave and waits for them. False if one failed.
    bool stop() {
        bool good = true;
        for (auto &p : members_)
            if (!p.killed) ::kill(p.pid, SIGTERM);
        while (read(1000)) {
        }
        for (auto &p : members_) {
            int status = 0;
            ::waitpid(p.pid, &status, 0);
            good = good && (p.killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
            p.pid = -1;
        }
        return good;
    }

  private:
    void start() {
        int ends[2];
        if (::pipe(ends) != 0) throw std::runtime_error("pipe");
        Process p;
        p.pid = ::fork();
        if (p.pid == 0) {
            ::dup2(ends[1], 1);
            ::close(ends[0]), ::close(ends[1]);
            ::execl(r_.self.c_str(), r_.self.c_str(), "consume", "--bootstrap", r_.bootstrap.c_str(), "--topic", r_.topic.c_str(),
                    "--group", name_.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        p.out = ends[0];
        members_.push_back(p);
    }

    // Takes in what is there, waiting for it at most so long. False when all pipes are closed.
    bool read(int wait_ms) {
        std::vector<pollfd> fds;
        for (auto &p : members_) fds.push_back({p.out, POLLIN, 0}); // poll skips descriptors below 0
        ::poll(fds.data(), fds.size(), wait_ms);
        bool open = false;
        for (size_t i = 0; i < members_.size(); i++) {
            auto &p = members_[i];
            if (p.out >= 0 && fds[i].revents) {
                char bytes[65536];
                ssize_t n = ::read(p.out, bytes, sizeof bytes);
                if (n > 0) lines(i, std::string(bytes, n));
                else ::close(p.out), p.out = -1;
            }
            open = open || p.out >= 0;
        }
        return open;
    }

    void lines(int member, const std::string &bytes) {
        auto &p = members_[member];
        std::istringstream in(p.partial + bytes);
        p.partial.clear();
        for (std::string line; std::getline(in, line);) {
            if (in.eof()) { // no newline yet
                p.partial = line;
                return;
            }
            std::istringstream words(line);
            std::string kind, key;
            int64_t partition, offset, sequence;
            words >> kind;
            if (kind == "assigned") {
                p.assignment.clear();
                words >> p.assignment;
            } else if (kind == "record" && words >> partition >> offset >> key >> sequence) {
                seen.record(member, p.killed, partition, offset, key, sequence);
            } else if (kind == "committed" && words >> partition >> offset) {
                seen.committed(partition, offset);
            }
        }
    }

    Roundtrip r_;
    std::string name_;
    std::vector<Process> members_;
};

// The records of one codec; each key's values count on from set to set.
std::vector<KeyValue> records(int count, std::map<std::string, int> &next) {
    std::vector<KeyValue> out;
    for (int i = 0; i < count; i++) {
        std::string key = "key-" + std::to_string(i % 997);
        out.push_back({key, std::to_string(next[key]++) + " " + std::string(80, '.')});
    }
    return out;
}

void must(bool good, const std::string &what) {
    if (!good) throw std::runtime_error(what);
}

void first_group(const Roundtrip &r, const std::string &name, int &duplicates) {
    Group group(r, name, 3);
    must(group.read_until([&] { return group.all_assigned(); }, std::chrono::seconds(20)), "the group did not settle");

    std::string error;
    std::thread producer([&] {
        try {
            std::map<std::string, int> next;
            produce(r.bootstrap, r.topic, "none", records(r.records, next));
            for (auto codec : {"gzip", "snappy", "lz4", "zstd"}) produce(r.bootstrap, r.topic, codec, records(r.compressed, next));
        } catch (const std::exception &e) {
            error = e.what();
        }
    });
    size_t half = (r.records + 4 * r.compressed) / 2;
    bool good = group.read_until([&] { return group.seen.count() >= half; }, std::chrono::seconds(30));
    group.kill_one();
    good = good && group.read_until([&] { return group.seen.complete(); }, std::chrono::seconds(30));
    producer.join();
    must(error.empty(), error);
    must(group.stop(), "a member failed");
    std::string problem = group.seen.finish();
    must(good && problem.empty(), problem);
    must(lag(r.bootstrap, r.topic, name, r.partitions) == 0, "lag is not 0");
    duplicates = group.seen.duplicates();
}

void second_group(const Roundtrip &r, const std::string &name) {
    Group group(r, name, 1);
    group.read_until([&] { return group.seen.complete(); }, std::chrono::seconds(30));
    must(group.stop(), "a member failed");
    std::string problem = group.seen.finish();
    must(problem.empty(), "second group: " + problem);
    must(lag(r.bootstrap, r.topic, name, r.partitions) == 0, "second group: lag is not 0");
}

} // namespace

int run_roundtrip(const Roundtrip &r) {
    auto start = Clock::now();
    try {
        int duplicates = 0;
        create_topic(r.bootstrap, r.topic, r.partitions);
        first_group(r, r.topic + "-first", duplicates);
        second_group(r, r.topic + "-second");
        std::chrono::duration<double> took = Clock::now() - start;
        std::printf("ok client=librdkafka++ records=%d groups=2 duplicates=%d seconds=%.1f\n", r.records + 4 * r.compressed, duplicates,
                    took.count());
        return 0;
    } catch (const std::exception &e) {
        std::printf("failed client=librdkafka++: %s\n", e.what());
        return 1;
    }
}
