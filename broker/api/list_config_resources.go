package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// ListConfigResources, key 74, versions 0–1 (KIP-714, KIP-1142). Version 0 lists the client metrics only; so does no type
// in version 1 mean all types. What isn't a topic, a broker or a logger is listed if it has settings.
func (c *call) listConfigResources(req *kmsg.ListConfigResourcesRequest) {
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	image := c.image()
	types := req.ResourceTypes
	if req.Version == 0 {
		types = []int8{int8(kmsg.ConfigResourceTypeClientMetrics)}
	}
	for _, asked := range types {
		if !slices.Contains(configTypes, kmsg.ConfigResourceType(asked)) {
			resp.ErrorCode = int16(protocol.UnsupportedVersion)
			c.answer(resp)
			return
		}
	}
	for _, kind := range configTypes {
		if len(types) > 0 && !slices.Contains(types, int8(kind)) {
			continue
		}
		for _, name := range configuredNames(image, kind) {
			r := kmsg.NewListConfigResourcesResponseConfigResource()
			r.Name, r.Type = name, int8(kind)
			resp.ConfigResources = append(resp.ConfigResources, r)
		}
	}
	c.answer(resp)
}

// configTypes are the types of what has settings, in the order in which Apache Kafka lists them.
var configTypes = []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics,
	kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic}

func configuredNames(image *metadata.Image, kind kmsg.ConfigResourceType) (names []string) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		for _, t := range image.Topics() {
			names = append(names, t.Name)
		}
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for _, b := range image.Brokers() {
			if !b.Fenced {
				names = append(names, strconv.Itoa(int(b.ID)))
			}
		}
	default:
		of := metadata.GroupConfigs
		if kind == kmsg.ConfigResourceTypeClientMetrics {
			of = metadata.ClientMetricsConfigs
		}
		for _, r := range image.ConfigResources() {
			if r.Kind == of {
				names = append(names, r.Name)
			}
		}
	}
	return names
}
