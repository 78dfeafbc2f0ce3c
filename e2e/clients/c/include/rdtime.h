/* The clock of librdkafka's source tree: monotonic, in microseconds. */
#pragma once
#include "../src/rd.h"

static inline rd_ts_t rd_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (rd_ts_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
