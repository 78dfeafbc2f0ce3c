#pragma once

#include <string>

struct Roundtrip {
    std::string self; // path of this program, which is started again as the group's members
    std::string bootstrap, topic;
    int partitions = 6, records = 100000, compressed = 2000;
};

// run_roundtrip produces, consumes in a group of three of which one is killed, consumes again in a second group, and checks
// all of it. Prints one line and returns the exit code.
int run_roundtrip(const Roundtrip &r);
