package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/config"
	"millrace/metadata"
	"millrace/protocol"
)

// DescribeConfigs, key 32, versions 1–4 (KIP-133, KIP-226, KIP-569): topics and brokers.
//
// A broker's configs are those of its process, so any broker of a process can be asked for any of them.
func (c *call) describeConfigs(req *kmsg.DescribeConfigsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for i := range req.Resources {
		asked := &req.Resources[i]
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		r.Configs = []kmsg.DescribeConfigsResponseResourceConfig{}
		entries, code, text := c.configEntries(asked)
		if code != protocol.None {
			r.ErrorCode, r.ErrorMessage = int16(code), &text
		}
		for _, e := range entries {
			if asked.ConfigNames == nil || slices.Contains(asked.ConfigNames, e.Name) {
				r.Configs = append(r.Configs, describedConfig(&e, req))
			}
		}
		resp.Resources = append(resp.Resources, r)
	}
	c.answer(resp)
}

func (c *call) configEntries(r *kmsg.DescribeConfigsRequestResource) ([]config.Entry, protocol.Code, string) {
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if err := metadata.ValidateTopicName(r.ResourceName); err != nil {
			return nil, codeOf(err), err.Error()
		}
		t := c.image().Topic(r.ResourceName)
		if t == nil {
			return nil, protocol.UnknownTopicOrPartition, ""
		}
		return c.Config.DescribeTopicAll(t.Configs), protocol.None, ""
	case kmsg.ConfigResourceTypeBroker:
		if r.ResourceName == "" {
			return nil, protocol.None, "" // the cluster-wide dynamic defaults: none are set
		}
		id, err := strconv.ParseInt(r.ResourceName, 10, 32)
		if err != nil {
			return nil, protocol.InvalidRequest, "Broker id must be an integer, but it is: " + r.ResourceName
		}
		if c.image().Broker(int32(id)) == nil {
			return nil, protocol.InvalidRequest, "Unexpected broker id " + r.ResourceName
		}
		return c.Config.DescribeAll(), protocol.None, ""
	}
	return nil, protocol.InvalidRequest, "Unsupported resource type: " + strconv.Itoa(int(r.ResourceType))
}

func describedConfig(e *config.Entry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	rc := kmsg.NewDescribeConfigsResponseResourceConfig()
	rc.Name, rc.Value, rc.ReadOnly, rc.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	rc.Source, rc.IsDefault = kmsg.ConfigSource(e.Source), e.Source == config.DefaultValue
	rc.ConfigType = kmsg.ConfigType(e.Type)
	rc.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
	if req.IncludeSynonyms {
		for _, s := range e.Synonyms {
			rs := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			rs.Name, rs.Value, rs.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
			rc.ConfigSynonyms = append(rc.ConfigSynonyms, rs)
		}
	}
	if req.IncludeDocumentation {
		rc.Documentation = &e.Doc
	}
	return rc
}
