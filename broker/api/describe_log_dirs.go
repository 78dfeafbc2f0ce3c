package api

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/protocol"
)

// logDir is the one directory that there is, so that tools for directories have something to show: memory.
const logDir = "/ram"

// DescribeLogDirs, key 35, versions 1–5 (KIP-113, KIP-827, KIP-1066): the memory of the process as one directory. Its total
// is millrace.memory.max; all brokers of a process share it.
func (c *call) describeLogDirs(req *kmsg.DescribeLogDirsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	asked := map[string]map[int32]bool{}
	for _, t := range req.Topics {
		if asked[t.Topic] == nil {
			asked[t.Topic] = map[int32]bool{}
		}
		for _, p := range t.Partitions {
			asked[t.Topic][p] = true
		}
	}
	hosted := map[string][]*broker.Partition{}
	for _, p := range c.Broker.Replicas() {
		if req.Topics == nil || asked[p.Topic][p.Index] {
			hosted[p.Topic] = append(hosted[p.Topic], p)
		}
	}
	dir := kmsg.NewDescribeLogDirsResponseDir()
	memory := c.Broker.Memory()
	dir.Dir, dir.TotalBytes, dir.UsableBytes = logDir, memory.LimitBytes, max(0, memory.LimitBytes-memory.UsedTotal())
	for _, name := range slices.Sorted(maps.Keys(hosted)) {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = name
		slices.SortFunc(hosted[name], func(a, b *broker.Partition) int { return int(a.Index - b.Index) })
		for _, p := range hosted[name] {
			f := p.Figures()
			rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			rp.Partition, rp.Size, rp.OffsetLag = p.Index, f.SizeBytes, max(0, f.HighWatermark-f.LogEndOffset)
			t.Partitions = append(t.Partitions, rp)
		}
		dir.Topics = append(dir.Topics, t)
	}
	resp.Dirs = append(resp.Dirs, dir)
	c.answer(resp)
}

// AlterReplicaLogDirs, key 34, versions 1–2 (KIP-113): what is in memory may be moved there, and nowhere else.
func (c *call) alterReplicaLogDirs(req *kmsg.AlterReplicaLogDirsRequest) {
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	var answers byTopic[kmsg.AlterReplicaLogDirsResponseTopicPartition]
	seen := map[partitionName]bool{}
	for _, dir := range req.Dirs {
		for _, t := range dir.Topics {
			for _, p := range t.Partitions {
				if seen[partitionName{t.Topic, p}] {
					continue
				}
				seen[partitionName{t.Topic, p}] = true
				rp := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p, int16(protocol.LogDirNotFound)
				if dir.Dir == logDir {
					_, err := c.Broker.Partition(t.Topic, p)
					rp.ErrorCode = c.code(err)
				}
				answers.add(t.Topic, rp)
			}
		}
	}
	for _, name := range answers.names {
		rt := kmsg.NewAlterReplicaLogDirsResponseTopic()
		rt.Topic, rt.Partitions = name, answers.parts[name]
		resp.Topics = append(resp.Topics, rt)
	}
	c.answer(resp)
}
