/* What librdkafka's example programs take from a header of its source tree that no package installs. */
#pragma once
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define RD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define RD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define rd_snprintf snprintf

typedef int64_t rd_ts_t; /* microseconds */
