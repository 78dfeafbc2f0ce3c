package millrace_test

import (
	"testing"

	"millrace/golden"
	"millrace/protocol/kafka"
)

const apiHeading = `# The API

Generated from the table in protocol/kafka/table.go (make docs). A version outside of its range is answered as on Apache Kafka:
the connection is closed, but for ApiVersions, which answers UNSUPPORTED_VERSION in its version 0. Produce is advertised from 0
although 0–2 are refused, for the sake of older librdkafka. What differs from Apache Kafka is said at the head of each API's file
in broker/api, which is named after it. FetchSnapshot is asked by brokers of each other, and not advertised.

`

func TestDocs(t *testing.T) { golden.File(t, "docs/api.md", apiHeading+kafka.Markdown()) }
