package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol/kafka"
)

// feature is one that clients and tools know by name (KIP-584, KIP-1022). A feature is here as soon as what it stands for is
// served, and always at its highest level: brokers of one cluster are of one release, or serve the same.
type feature struct {
	name     string
	min, max int16
}

// metadataVersionMax is the metadata.version of Apache Kafka 4.4: tools turn the number into that name.
const metadataVersionMax = 33

// features are sorted by name.
var features = func() (all []feature) {
	all = append(all, feature{"eligible.leader.replicas.version", 0, 1})
	if kafka.Lookup(kmsg.ConsumerGroupHeartbeat.Int16()) != nil {
		all = append(all, feature{"group.version", 0, 1})
	}
	all = append(all, feature{"metadata.version", 7, metadataVersionMax})
	if kafka.Lookup(kmsg.ShareGroupHeartbeat.Int16()) != nil {
		all = append(all, feature{"share.version", 0, 1})
	}
	if kafka.Lookup(kmsg.StreamsGroupHeartbeat.Int16()) != nil {
		all = append(all, feature{"streams.version", 0, 1})
	}
	if a := kafka.Lookup(kmsg.EndTxn.Int16()); a != nil && a.Max >= 5 { // KIP-890
		all = append(all, feature{"transaction.version", 0, 2})
	}
	return all
}()

func featureNamed(name string) *feature {
	for i := range features {
		if features[i].name == name {
			return &features[i]
		}
	}
	return nil
}

// tellFeatures fills in what ApiVersions says from version 3 on. Until version 3 clients refuse a range that begins at 0
// (KAFKA-17011), so those features are left out there. epoch counts up when the cluster changes.
func tellFeatures(resp *kmsg.ApiVersionsResponse, epoch int64) {
	for _, f := range features {
		if resp.Version > 3 || f.min > 0 {
			s := kmsg.NewApiVersionsResponseSupportedFeature()
			s.Name, s.MinVersion, s.MaxVersion = f.name, f.min, f.max
			resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		}
		n := kmsg.NewApiVersionsResponseFinalizedFeature()
		n.Name, n.MaxVersionLevel, n.MinVersionLevel = f.name, f.max, f.max
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, n)
	}
	resp.FinalizedFeaturesEpoch = epoch
}
