package api

import "github.com/twmb/franz-go/pkg/kmsg"

// IncrementalAlterConfigs, key 44, versions 0–1 (KIP-339): topics, brokers, and with BROKER_LOGGER (KIP-412) the level of
// the process' log, whose one logger is root. What isn't served is said in alter_configs.go.
//
// A list that isn't set is appended to as it is in force, where Apache Kafka takes its default.
func (c *call) incrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) {
	a := alteration{call: c, validateOnly: req.ValidateOnly}
	for i := range req.Resources {
		r := &req.Resources[i]
		changes := make([]configChange, len(r.Configs))
		for j, config := range r.Configs {
			changes[j] = configChange{config.Name, config.Op, config.Value}
		}
		a.add(r.ResourceType, r.ResourceName, changes)
	}
	a.run(func(errs []error) {
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for i := range req.Resources {
			r := kmsg.NewIncrementalAlterConfigsResponseResource()
			r.ResourceType, r.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
			r.ErrorCode, r.ErrorMessage = c.code(errs[i]), message(errs[i])
			resp.Resources = append(resp.Resources, r)
		}
		c.answer(resp)
	})
}
