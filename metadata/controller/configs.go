package controller

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"millrace/metadata"
)

// AlterConfigs plans new settings of topics, and what follows for their
// partitions (min.insync.replicas is a part of their state; an unclean election may
// be allowed now). There is one result for each topic; one that is mentioned
// twice is refused. A change that changes nothing has no delta.
func (p Policy) AlterConfigs(img *metadata.Image, specs []metadata.ConfigSpec) ([]metadata.Delta, []metadata.ConfigResult) {
	duplicates := repeated(specs, func(s metadata.ConfigSpec) string { return s.Name })
	var deltas, urgent, rest []metadata.Delta
	results := make([]metadata.ConfigResult, 0, len(specs))
	j := p.judge(img)
	for i := range specs {
		spec := &specs[i]
		again, twice := duplicates[spec.Name]
		if again {
			continue
		}
		var topic *metadata.Topic
		var err error
		if twice {
			duplicates[spec.Name] = true
			err = metadata.Errorf(metadata.ErrInvalidRequest, "Each topic must appear at most once.")
		} else {
			topic, err = p.configure(img, spec)
		}
		if topic != nil {
			if !maps.Equal(topic.Configs, img.Topic(topic.Name).Configs) {
				deltas = append(deltas, metadata.ConfigChanged{Name: topic.Name, ID: topic.ID, Configs: topic.Configs})
			}
			urgent, rest = j.settleTopic(topic, urgent, rest)
		}
		results = append(results, metadata.ConfigResult{Name: spec.Name, Err: err})
	}
	return slices.Concat(deltas, urgent, rest), results
}

// configure returns the topic with its new settings.
func (p Policy) configure(img *metadata.Image, spec *metadata.ConfigSpec) (*metadata.Topic, error) {
	if err := metadata.ValidateTopicName(spec.Name); err != nil {
		return nil, err
	}
	t := img.Topic(spec.Name)
	if t == nil {
		return nil, errUnknownTopic(spec.Name)
	}
	var configs map[string]string
	if spec.Replace {
		if null := nullConfigs(spec.Set); null != "" {
			return nil, metadata.Errorf(metadata.ErrInvalidRequest, "Null value not supported for topic configs: %s", null)
		}
		configs = make(map[string]string, len(spec.Set))
	} else if configs = maps.Clone(t.Configs); configs == nil {
		configs = make(map[string]string, len(spec.Set))
	}
	for name, value := range spec.Set {
		if value == nil {
			delete(configs, name)
		} else {
			configs[name] = *value
		}
	}
	if err := p.validateConfigs(t.Name, configs); err != nil {
		return nil, err
	}
	configured := *t
	configured.Configs = configs
	return &configured, nil
}

// creationConfigs returns the settings of a new topic, nil for none.
func (p Policy) creationConfigs(spec *metadata.TopicSpec) (map[string]string, error) {
	if len(spec.Configs) == 0 {
		return nil, nil
	}
	if null := nullConfigs(spec.Configs); null != "" {
		return nil, metadata.Errorf(metadata.ErrInvalidConfig, "Null value not supported for topic configs: %s", null)
	}
	configs := make(map[string]string, len(spec.Configs))
	for name, value := range spec.Configs {
		configs[name] = *value
	}
	return configs, p.validateConfigs(spec.Name, configs)
}

// nullConfigs lists the settings without a value, sorted.
func nullConfigs(set map[string]*string) string {
	var null []string
	for name, value := range set {
		if value == nil {
			null = append(null, name)
		}
	}
	slices.Sort(null)
	return strings.Join(null, ",")
}

func (p Policy) validateConfigs(topic string, configs map[string]string) error {
	if p.ValidateConfigs == nil {
		return nil
	}
	err := p.ValidateConfigs(topic, configs)
	if refusal := (*metadata.Error)(nil); err == nil || errors.As(err, &refusal) {
		return err
	}
	return metadata.Errorf(metadata.ErrInvalidConfig, "%v", err)
}
