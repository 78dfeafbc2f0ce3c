package metadata

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// ConfigKind says what kind of thing settings belong to.
type ConfigKind uint8

// The kinds of things that have settings.
const (
	TopicConfigs         ConfigKind = iota // by name; they are a part of the Topic
	BrokerConfigs                          // by id; without a name, those of all brokers that have none of their own
	GroupConfigs                           // by group id
	ClientMetricsConfigs                   // by the name of a subscription
)

// resourceDirs are the folders of the kinds that aren't topics.
var resourceDirs = [...]string{BrokerConfigs: "brokers/", GroupConfigs: "groups/", ClientMetricsConfigs: "client-metrics/"}

// ConfigResource names what has settings and isn't a topic.
type ConfigResource struct {
	Kind ConfigKind
	Name string
}

// DefaultBroker is the resource of the settings that hold for every broker without one of its own.
var DefaultBroker = ConfigResource{Kind: BrokerConfigs}

// resourceConfigs are the settings of a resource, and the revision of their key.
type resourceConfigs struct {
	configs  map[string]string
	revision int64
}

// defaultName stands in a key for the brokers' common settings: every other name there is a number.
const defaultName = "default"

func resourceKey(r ConfigResource) string {
	if r == DefaultBroker {
		r.Name = defaultName
	}
	return dirResources + resourceDirs[r.Kind] + r.Name
}

// parseResourceKey reads what resourceKey writes, and nothing else.
func parseResourceKey(key string) (r ConfigResource, ok bool) {
	rest := strings.TrimPrefix(key, dirResources)
	for kind := BrokerConfigs; int(kind) < len(resourceDirs); kind++ {
		name, found := strings.CutPrefix(rest, resourceDirs[kind])
		if !found || name == "" {
			continue
		}
		if kind == BrokerConfigs && name == defaultName {
			return DefaultBroker, true
		}
		if _, number := parseID(name); kind == BrokerConfigs && !number {
			return r, false
		}
		return ConfigResource{kind, name}, true
	}
	return r, false
}

// ResourceConfigs are the settings of something that isn't a topic; nil if it has none. The caller must not change them.
func (img *Image) ResourceConfigs(r ConfigResource) map[string]string {
	return img.resources[r].configs
}

// ConfigResources lists what has settings and isn't a topic, by kind and name.
func (img *Image) ConfigResources() []ConfigResource {
	return slices.SortedFunc(maps.Keys(img.resources), func(a, b ConfigResource) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

func (img *Image) diffResources(next *Image, ds []Delta) []Delta {
	for _, r := range img.ConfigResources() {
		if _, there := next.resources[r]; !there {
			ds = append(ds, ResourceConfigChanged{Resource: r})
		}
	}
	for _, r := range next.ConfigResources() {
		if now := next.resources[r]; now.revision != img.resources[r].revision || !maps.Equal(now.configs, img.resources[r].configs) {
			ds = append(ds, ResourceConfigChanged{r, now.configs, now.revision})
		}
	}
	return ds
}

// resourceConfig replays a change of a resource's settings.
func (r *replay) resourceConfig(ev Event) error {
	resource, _ := parseResourceKey(ev.Key)
	d := ResourceConfigChanged{Resource: resource}
	if !ev.Deleted {
		var err error
		if d.Configs, err = decodeConfigs(ev.Value); err != nil {
			return err
		}
		d.Revision = ev.Revision
	}
	r.emit(d)
	return nil
}

// putResource copies the map once for each edit.
func (e *edit) putResource(d ResourceConfigChanged) {
	if !e.ownResources {
		e.ownResources = true
		if e.next.resources = maps.Clone(e.next.resources); e.next.resources == nil {
			e.next.resources = map[ConfigResource]resourceConfigs{}
		}
	}
	if len(d.Configs) == 0 && d.Revision == 0 {
		delete(e.next.resources, d.Resource)
		return
	}
	e.next.resources[d.Resource] = resourceConfigs{d.Configs, d.Revision}
}

// changeResource writes a resource's settings; without any it has no key.
func (b *txnBuilder) changeResource(d ResourceConfigChanged) {
	key := resourceKey(d.Resource)
	b.compare(key, b.img.resources[d.Resource].revision)
	if len(d.Configs) == 0 {
		b.op(Op{Kind: OpDelete, Key: key})
		return
	}
	b.put(key, encodeConfigs(d.Configs))
}
