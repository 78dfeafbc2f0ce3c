package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

func TestDescribeLogDirs(t *testing.T) {
	d := newDesk(t, 1)
	d.topic("t", 2)
	d.topic("u", 1)
	ask[*kmsg.ProduceResponse](d, produceRequest(1, "t", 1, batch(3, 100)), 9)
	d.each(kmsg.DescribeLogDirs, func(version int16) {
		show := func(topics []kmsg.DescribeLogDirsRequestTopic) string {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = topics
			resp := ask[*kmsg.DescribeLogDirsResponse](d, req, version)
			if len(resp.Dirs) != 1 || resp.ErrorCode != 0 || resp.Dirs[0].ErrorCode != 0 || resp.Dirs[0].Dir != "/ram" {
				t.Fatalf("%+v", resp)
			}
			dir := resp.Dirs[0]
			if version >= 4 && (dir.TotalBytes != 64<<20 || dir.UsableBytes <= 0 || dir.UsableBytes >= dir.TotalBytes) {
				t.Errorf("%d bytes of %d usable", dir.UsableBytes, dir.TotalBytes)
			}
			var shown []string
			for _, rt := range dir.Topics {
				for _, rp := range rt.Partitions {
					text := fmt.Sprintf("%s-%d", rt.Topic, rp.Partition)
					if rp.Size > 0 {
						text += " with records"
					}
					if rp.OffsetLag != 0 || rp.IsFuture {
						text += fmt.Sprintf("%+v", rp)
					}
					shown = append(shown, text)
				}
			}
			return strings.Join(shown, ", ")
		}
		of := func(name string, partitions ...int32) kmsg.DescribeLogDirsRequestTopic {
			rt := kmsg.NewDescribeLogDirsRequestTopic()
			rt.Topic, rt.Partitions = name, partitions
			return rt
		}
		for _, test := range []struct {
			topics []kmsg.DescribeLogDirsRequestTopic
			want   string
		}{
			{nil, "t-0 with records, t-1, u-0"},
			{[]kmsg.DescribeLogDirsRequestTopic{}, ""},
			{[]kmsg.DescribeLogDirsRequestTopic{of("t", 1, 9, 1), of("nope", 0), of("u")}, "t-1"},
			{[]kmsg.DescribeLogDirsRequestTopic{of("t", 1), of("t", 0)}, "t-0 with records, t-1"},
		} {
			if got := show(test.topics); got != test.want {
				t.Errorf("%v: %s, want %s", test.topics, got, test.want)
			}
		}
	})
}

func TestAlterReplicaLogDirs(t *testing.T) {
	d := newDesk(t, 1)
	d.topic("t", 2)
	d.each(kmsg.AlterReplicaLogDirs, func(version int16) {
		for _, test := range []struct {
			dir, topic string
			partition  int32
			want       protocol.Code
		}{
			{"/ram", "t", 0, protocol.None},
			{"/ram", "t", 9, protocol.UnknownTopicOrPartition},
			{"/ram", "nope", 0, protocol.UnknownTopicOrPartition},
			{"/ram", "a/b", 0, protocol.UnknownTopicOrPartition},
			{"/disk", "t", 0, protocol.LogDirNotFound},
			{"ram", "nope", 0, protocol.LogDirNotFound},
			{"", "t", 0, protocol.LogDirNotFound},
		} {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			dir, rt := kmsg.NewAlterReplicaLogDirsRequestDir(), kmsg.NewAlterReplicaLogDirsRequestDirTopic()
			rt.Topic, rt.Partitions = test.topic, []int32{test.partition, test.partition}
			dir.Dir, dir.Topics = test.dir, append(dir.Topics, rt)
			req.Dirs = append(req.Dirs, dir)
			resp := ask[*kmsg.AlterReplicaLogDirsResponse](d, req, version)
			if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
				t.Fatalf("%+v", resp)
			}
			d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, test.want, fmt.Sprintf("%+v", test))
		}
	})
}

func TestListConfigResources(t *testing.T) {
	d := newDesk(t, 2)
	d.topic("t", 1)
	d.configure(1, brokerType, "", change{opSet, "log.retention.ms", "1"}) // isn't listed
	for _, test := range []struct {
		version int16
		types   []int8
		want    string
	}{
		{0, nil, "NONE"},
		{1, nil, "NONE 8:1 8:2 4:1 4:2 2:t"},
		{1, []int8{2}, "NONE 2:t"},
		{1, []int8{2, 2}, "NONE 2:t"},
		{1, []int8{8, 4}, "NONE 8:1 8:2 4:1 4:2"},
		{1, []int8{16, 32}, "NONE"},
		{1, []int8{64}, "UNSUPPORTED_VERSION"},
		{1, []int8{2, 0}, "UNSUPPORTED_VERSION"},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = test.types
		resp := ask[*kmsg.ListConfigResourcesResponse](d, req, test.version)
		got := protocol.Code(resp.ErrorCode).String()
		for _, r := range resp.ConfigResources {
			got += fmt.Sprintf(" %d:%s", r.Type, r.Name)
		}
		if got != test.want {
			t.Errorf("version %d, types %v: %s, want %s", test.version, test.types, got, test.want)
		}
	}
}

// TestFeatures: what is told is what is served, and levels don't move. The codes are those of Apache Kafka 4.4.
func TestFeatures(t *testing.T) {
	d := newDesk(t, 1)
	for version, want := range map[int16]string{
		2: "; ",
		3: "metadata.version 7-33; eligible.leader.replicas.version=1 metadata.version=33",
		4: "eligible.leader.replicas.version 0-1 metadata.version 7-33; eligible.leader.replicas.version=1 metadata.version=33",
		5: "eligible.leader.replicas.version 0-1 metadata.version 7-33; eligible.leader.replicas.version=1 metadata.version=33",
	} {
		resp := ask[*kmsg.ApiVersionsResponse](d, kmsg.NewPtrApiVersionsRequest(), version)
		var supported, finalized []string
		for _, f := range resp.SupportedFeatures {
			supported = append(supported, fmt.Sprintf("%s %d-%d", f.Name, f.MinVersion, f.MaxVersion))
		}
		for _, f := range resp.FinalizedFeatures {
			finalized = append(finalized, fmt.Sprintf("%s=%d", f.Name, f.MaxVersionLevel))
		}
		ours := func(s string) bool { // others come with the APIs that they stand for
			return !strings.HasPrefix(s, "metadata.version") && !strings.HasPrefix(s, "eligible.")
		}
		supported, finalized = slices.DeleteFunc(supported, ours), slices.DeleteFunc(finalized, ours)
		if got := strings.Join(supported, " ") + "; " + strings.Join(finalized, " "); got != want {
			t.Errorf("version %d: %s, want %s", version, got, want)
		}
		if version >= 3 && resp.FinalizedFeaturesEpoch < 0 {
			t.Errorf("version %d: epoch %d", version, resp.FinalizedFeaturesEpoch)
		}
	}
	d.each(kmsg.UpdateFeatures, func(version int16) {
		for _, test := range []struct {
			name  string
			level int16
			kind  int8
			want  protocol.Code
		}{
			{"metadata.version", 33, 1, protocol.None},
			{"eligible.leader.replicas.version", 1, 1, protocol.None},
			{"metadata.version", 34, 1, protocol.InvalidUpdateVersion},
			{"metadata.version", 7, 2, protocol.InvalidUpdateVersion},
			{"metadata.version", 0, 3, protocol.InvalidUpdateVersion},
			{"metadata.version", -1, 1, protocol.InvalidUpdateVersion},
			{"eligible.leader.replicas.version", 0, 1, protocol.InvalidUpdateVersion},
			{"nope", 1, 1, protocol.InvalidUpdateVersion},
			{"", 1, 1, protocol.InvalidUpdateVersion},
		} {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType, u.AllowDowngrade = test.name, test.level, test.kind, test.kind > 1
			req.FeatureUpdates = append(req.FeatureUpdates, u, u)
			resp := ask[*kmsg.UpdateFeaturesResponse](d, req, version)
			d.codeIs(resp.ErrorCode, test.want, fmt.Sprintf("%+v", test))
			if (resp.ErrorMessage == nil) != (test.want == protocol.None) || (len(resp.Results) == 2) != (version < 2 && test.want == protocol.None) {
				t.Errorf("version %d, %+v: %+v", version, test, resp)
			}
		}
	})
	if resp := ask[*kmsg.UpdateFeaturesResponse](d, kmsg.NewPtrUpdateFeaturesRequest(), 2); resp.ErrorCode != 0 {
		t.Errorf("nothing asked for: %+v", resp)
	}
}
