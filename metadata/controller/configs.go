package controller

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"millrace/metadata"
)

// AlterConfigs plans new settings of topics and other resources, and what follows for
// partitions (min.insync.replicas is a part of their state; an unclean election may
// be allowed now). There is one result for each resource; one that is mentioned
// twice is refused. A change that changes nothing has no delta.
func (p Policy) AlterConfigs(img *metadata.Image, specs []metadata.ConfigSpec) ([]metadata.Delta, []metadata.ConfigResult) {
	duplicates := repeated(specs, func(s metadata.ConfigSpec) metadata.ConfigResource {
		return metadata.ConfigResource{Kind: s.Kind, Name: s.Name}
	})
	c := configuring{Policy: p, judge: p.judge(img)}
	results := make([]metadata.ConfigResult, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		resource := metadata.ConfigResource{Kind: spec.Kind, Name: spec.Name}
		again, twice := duplicates[resource]
		if again {
			continue
		}
		result := metadata.ConfigResult{Kind: spec.Kind, Name: spec.Name}
		switch {
		case twice:
			duplicates[resource] = true
			result.Err = metadata.Errorf(metadata.ErrInvalidRequest, "Each resource must appear at most once.")
		case spec.Kind == metadata.TopicConfigs:
			result.Err = c.topic(spec)
		default:
			result.Err = c.resource(resource, spec)
		}
		results = append(results, result)
	}
	return slices.Concat(c.deltas, c.urgent, c.rest), results
}

// configuring is an AlterConfigs under way.
type configuring struct {
	Policy
	judge                *judge
	deltas, urgent, rest []metadata.Delta
}

// topic plans the new settings of a topic.
func (c *configuring) topic(spec *metadata.ConfigSpec) error {
	if spec.Name == "" {
		return metadata.Errorf(metadata.ErrInvalidRequest, "Default topic resources are not allowed.")
	}
	if err := metadata.ValidateTopicName(spec.Name); err != nil {
		return err
	}
	img := c.judge.img
	t := img.Topic(spec.Name)
	var own map[string]string
	if t != nil {
		own = t.Configs
	}
	configs, err := c.changed(img, own, spec)
	if err == nil {
		err = c.validateConfigs(spec.Name, configs)
	}
	if err != nil {
		return err
	}
	if t == nil { // looked at last, as Apache Kafka does
		return metadata.Errorf(metadata.ErrUnknownTopic, "The topic '%s' does not exist.", spec.Name)
	}
	configured := *t
	configured.Configs = configs
	if !maps.Equal(configs, t.Configs) {
		c.deltas = append(c.deltas, metadata.ConfigChanged{Name: t.Name, ID: t.ID, Configs: configs})
	}
	c.urgent, c.rest = c.judge.settleTopic(&configured, c.urgent, c.rest)
	return nil
}

// resource plans the new settings of something that isn't a topic. Those of all brokers are defaults of the topics.
func (c *configuring) resource(r metadata.ConfigResource, spec *metadata.ConfigSpec) error {
	img := c.judge.img
	own := img.ResourceConfigs(r)
	configs, err := c.changed(img, own, spec)
	if err != nil {
		return err
	}
	if c.ValidateResource != nil {
		if err := asInvalid(c.ValidateResource(r, configs)); err != nil {
			return err
		}
	}
	change := metadata.ResourceConfigChanged{Resource: r, Configs: configs}
	if !maps.Equal(configs, own) {
		c.deltas = append(c.deltas, change)
	}
	if r == metadata.DefaultBroker {
		then := c.Policy.judge(img.Apply(change))
		for _, t := range img.Topics() {
			c.urgent, c.rest = then.settleTopic(t, c.urgent, c.rest)
		}
	}
	return nil
}

// changed are the settings after a change.
func (c *configuring) changed(img *metadata.Image, own map[string]string, spec *metadata.ConfigSpec) (map[string]string, error) {
	configs := make(map[string]string, len(own)+len(spec.Set))
	if !spec.Replace {
		maps.Copy(configs, own)
	} else if null := nullConfigs(spec.Set); null != "" {
		return nil, metadata.Errorf(metadata.ErrInvalidRequest, "Null value not supported for : %s", null)
	}
	for name, value := range spec.Set {
		if value == nil {
			delete(configs, name)
		} else {
			configs[name] = *value
		}
	}
	for name, items := range spec.Append {
		list, err := c.list(img, configs, spec.Kind, name, "APPEND")
		if err != nil {
			return nil, err
		}
		for item := range strings.SplitSeq(items, ",") {
			if item = strings.TrimSpace(item); !slices.Contains(list, item) {
				list = append(list, item)
			}
		}
		configs[name] = strings.Join(list, ",")
	}
	for name, items := range spec.Subtract {
		list, err := c.list(img, configs, spec.Kind, name, "SUBTRACT")
		if err != nil {
			return nil, err
		}
		for item := range strings.SplitSeq(items, ",") {
			list = slices.DeleteFunc(list, func(have string) bool { return have == strings.TrimSpace(item) })
		}
		configs[name] = strings.Join(list, ",")
	}
	return configs, nil
}

// list is a setting that can be appended to, taken apart.
func (c *configuring) list(img *metadata.Image, configs map[string]string, kind metadata.ConfigKind, name, op string) ([]string, error) {
	text, list := "", false
	if c.ListConfig != nil {
		text, list = c.ListConfig(img, kind, name)
	}
	if !list {
		return nil, metadata.Errorf(metadata.ErrInvalidConfig, "Can't %s to key %s because its type is not LIST.", op, name)
	}
	if own, set := configs[name]; set {
		text = own
	}
	if text == "" {
		return nil, nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items, nil
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
	return asInvalid(p.ValidateConfigs(topic, configs))
}

// asInvalid makes ErrInvalidConfig of what isn't an error of package metadata already.
func asInvalid(err error) error {
	if refusal := (*metadata.Error)(nil); err == nil || errors.As(err, &refusal) {
		return err
	}
	return metadata.Errorf(metadata.ErrInvalidConfig, "%v", err)
}
