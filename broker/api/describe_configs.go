package api

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/config"
	"millrace/metadata"
	"millrace/protocol"
)

// DescribeConfigs, key 32, versions 1–4 (KIP-133, KIP-226, KIP-569): topics, brokers, and the root logger.
func (c *call) describeConfigs(req *kmsg.DescribeConfigsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for i := range req.Resources {
		asked := &req.Resources[i]
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		r.Configs, r.ErrorMessage = []kmsg.DescribeConfigsResponseResourceConfig{}, new(string)
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
		return c.Broker.Config().DescribeTopicAll(effectiveConfigs(t)), protocol.None, ""
	case kmsg.ConfigResourceTypeBroker:
		if r.ResourceName == "" {
			return config.DescribeDynamic(c.image().ResourceConfigs(metadata.DefaultBroker)), protocol.None, ""
		}
		if err := c.checkOwnID(r.ResourceName); err != nil {
			return nil, codeOf(err), err.Error()
		}
		return c.Broker.Config().DescribeAll(), protocol.None, ""
	case kmsg.ConfigResourceTypeBrokerLogger:
		if err := c.checkOwnID(r.ResourceName); err != nil {
			return nil, codeOf(err), err.Error()
		}
		return c.loggers(), protocol.None, ""
	}
	return nil, protocol.InvalidRequest, "Unsupported resource type: " + strconv.Itoa(int(r.ResourceType))
}

// effectiveConfigs are a topic's own settings, and min.insync.replicas of an internal one that the controller decides about
// by the number of brokers.
func effectiveConfigs(t *metadata.Topic) map[string]string {
	const name = "min.insync.replicas"
	if _, set := t.Configs[name]; set || !t.Internal || t.Partitions[0].MinInSync == 1 {
		return t.Configs
	}
	all := map[string]string{name: strconv.Itoa(int(t.Partitions[0].MinInSync))}
	maps.Copy(all, t.Configs)
	return all
}

// loggers are all that have a level.
func (c *call) loggers() []config.Entry {
	if c.LogLevel == nil {
		return nil
	}
	level := c.LogLevel.Level().CapitalString()
	return []config.Entry{{Name: rootLogger, Value: &level, Source: config.DynamicBrokerLogger}}
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
