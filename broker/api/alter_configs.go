package api

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap/zapcore"

	"millrace/metadata"
)

// AlterConfigs, key 33, versions 0–2 (KIP-133): topics and brokers. It sets the whole of a resource's own settings.
//
// Groups and client metrics have no settings of their own yet, and are answered like a type that isn't known. What of a
// broker's settings is read at start only is refused as on Apache Kafka, with INVALID_REQUEST; so are listeners and
// listener.security.protocol.map, which Kafka could change.
func (c *call) alterConfigs(req *kmsg.AlterConfigsRequest) {
	a := alteration{call: c, replace: true, validateOnly: req.ValidateOnly}
	for i := range req.Resources {
		r := &req.Resources[i]
		changes := make([]configChange, len(r.Configs))
		for j, config := range r.Configs {
			changes[j] = configChange{config.Name, kmsg.IncrementalAlterConfigOpSet, config.Value}
		}
		a.add(r.ResourceType, r.ResourceName, changes)
	}
	a.run(func(errs []error) {
		resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
		for i := range req.Resources {
			r := kmsg.NewAlterConfigsResponseResource()
			r.ResourceType, r.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
			r.ErrorCode, r.ErrorMessage = c.code(errs[i]), message(errs[i])
			resp.Resources = append(resp.Resources, r)
		}
		c.answer(resp)
	})
}

// configChange is a change of one setting.
type configChange struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

// alteration is an AlterConfigs or IncrementalAlterConfigs under way.
type alteration struct {
	*call
	replace, validateOnly bool
	resources             []alteredResource
}

// alteredResource is what is asked for of one resource.
type alteredResource struct {
	kind    kmsg.ConfigResourceType
	name    string
	changes []configChange
}

func (a *alteration) add(kind kmsg.ConfigResourceType, name string, changes []configChange) {
	a.resources = append(a.resources, alteredResource{kind, name, changes})
}

// run carries out what can be, and calls done with an error, or nil, for each resource.
func (a *alteration) run(done func([]error)) {
	type id struct {
		kind kmsg.ConfigResourceType
		name string
	}
	mentions := map[id]int{}
	for _, r := range a.resources {
		mentions[id{r.kind, r.name}]++
	}
	errs := make([]error, len(a.resources))
	var specs []metadata.ConfigSpec
	var at []int // of each spec, its resource
	for i := range a.resources {
		r := &a.resources[i]
		if mentions[id{r.kind, r.name}] > 1 {
			errs[i] = metadata.Errorf(metadata.ErrInvalidRequest, "Each resource must appear at most once.")
			continue
		}
		spec, err := a.spec(r)
		if err == nil && r.kind == kmsg.ConfigResourceTypeBrokerLogger {
			err = a.alterLogger(r.changes)
		} else if err == nil {
			specs, at = append(specs, spec), append(at, i)
		}
		errs[i] = err
	}
	if len(specs) == 0 {
		done(errs)
		return
	}
	a.Cluster.AlterConfigs(specs, a.validateOnly, func(results []metadata.ConfigResult) {
		for i, result := range results {
			errs[at[i]] = result.Err
		}
		done(errs)
	})
}

// spec checks what is asked for of one resource as far as that can be done without knowing it.
func (a *alteration) spec(r *alteredResource) (spec metadata.ConfigSpec, err error) {
	spec = metadata.ConfigSpec{Name: r.name, Replace: a.replace, Set: map[string]*string{},
		Append: map[string]string{}, Subtract: map[string]string{}}
	if err := checkChanges(r.changes); err != nil {
		return spec, err
	}
	for _, change := range r.changes {
		switch change.op {
		case kmsg.IncrementalAlterConfigOpSet:
			spec.Set[change.name] = change.value
		case kmsg.IncrementalAlterConfigOpDelete:
			spec.Set[change.name] = nil
		case kmsg.IncrementalAlterConfigOpAppend:
			spec.Append[change.name] = *change.value
		case kmsg.IncrementalAlterConfigOpSubtract:
			spec.Subtract[change.name] = *change.value
		default:
			return spec, fmt.Errorf("there is no operation %d", change.op) // UNKNOWN_SERVER_ERROR, as on Apache Kafka
		}
	}
	switch {
	case r.kind == kmsg.ConfigResourceTypeTopic:
	case r.kind == kmsg.ConfigResourceTypeBroker:
		spec.Kind = metadata.BrokerConfigs
		if r.name != "" {
			return spec, a.checkOwnID(r.name)
		}
	case r.kind == kmsg.ConfigResourceTypeBrokerLogger && !a.replace:
		return spec, a.checkOwnID(r.name)
	default:
		return spec, metadata.Errorf(metadata.ErrInvalidRequest, "Unknown resource type %d", r.kind)
	}
	return spec, nil
}

// checkChanges refuses names that come twice, and null where a value is needed.
func checkChanges(changes []configChange) error {
	seen := make(map[string]bool, len(changes))
	var null []string
	for _, change := range changes {
		if seen[change.name] {
			return metadata.Errorf(metadata.ErrInvalidRequest, "Error due to duplicate config keys")
		}
		seen[change.name] = true
		if change.value == nil && change.op != kmsg.IncrementalAlterConfigOpDelete {
			null = append(null, change.name)
		}
	}
	if len(null) > 0 {
		return metadata.Errorf(metadata.ErrInvalidRequest, "Null value not supported for : %s", strings.Join(null, ","))
	}
	return nil
}

// checkOwnID: a broker's settings are asked of that broker.
func (c *call) checkOwnID(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return metadata.Errorf(metadata.ErrInvalidRequest, "Node id must be an integer, but it is: %s", name)
	}
	if int32(id) != c.Broker.ID {
		return metadata.Errorf(metadata.ErrInvalidRequest, "Unexpected broker id, expected %d, but received %s", c.Broker.ID, name)
	}
	return nil
}

// rootLogger is the one logger that there is: it has the level of the whole log.
const rootLogger = "root"

// logLevels are Kafka's names of levels, and ours. TRACE is DEBUG here.
var logLevels = map[string]zapcore.Level{"TRACE": zapcore.DebugLevel, "DEBUG": zapcore.DebugLevel, "INFO": zapcore.InfoLevel,
	"WARN": zapcore.WarnLevel, "ERROR": zapcore.ErrorLevel, "FATAL": zapcore.FatalLevel}

// alterLogger sets the level of the process' log. It is forgotten at its end, as on Apache Kafka (KIP-412).
func (a *alteration) alterLogger(changes []configChange) error {
	for _, change := range changes {
		_, known := logLevels[deref(change.value)]
		switch {
		case change.op == kmsg.IncrementalAlterConfigOpAppend, change.op == kmsg.IncrementalAlterConfigOpSubtract:
			return metadata.Errorf(metadata.ErrInvalidRequest, "%s operation is not allowed for the BROKER_LOGGER resource", change.op)
		case change.name != rootLogger || a.LogLevel == nil:
			return metadata.Errorf(metadata.ErrInvalidConfig, "Logger %s does not exist!", change.name)
		case change.op == kmsg.IncrementalAlterConfigOpDelete:
			return metadata.Errorf(metadata.ErrInvalidRequest, "Removing the log level of the root logger is not allowed")
		case !known:
			return metadata.Errorf(metadata.ErrInvalidConfig, "Cannot set the log level of %s to %s as it is not a supported log level. "+
				"Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN", change.name, *change.value)
		}
	}
	if !a.validateOnly {
		for _, change := range changes {
			a.LogLevel.SetLevel(logLevels[*change.value])
		}
	}
	return nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
