package api

import (
	"fmt"
	"strings"

	"millrace/broker"
	"millrace/broker/plog"
	"millrace/protocol/kafka"
)

// withoutKey is the answer to a batch with records that have no key, for a compacted topic: the one case in which single
// records are to blame (KIP-467).
func withoutKey(err *plog.NoKeyError, part *broker.AppendPart, index int32) *kafka.ProducePartition {
	text := fmt.Sprintf("Compacted topic cannot accept message without key in topic partition %s-%d.", part.Partition.Topic, index)
	errs := make([]kafka.RecordError, len(err.Indexes))
	var first []string
	for i, at := range err.Indexes {
		errs[i] = kafka.RecordError{Index: at, Message: text}
		if i < 3 {
			first = append(first, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", at, text))
		}
	}
	return &kafka.ProducePartition{
		Index: index, Code: codeOf(err), BaseOffset: -1, LogAppendTimeMs: -1, LogStartOffset: part.LogStartOffset,
		RecordErrors: errs, Message: fmt.Sprintf("One or more records have been rejected due to %d record errors in total, "+
			"and only showing the first three errors at most: [%s]", len(errs), strings.Join(first, ", ")),
	}
}
