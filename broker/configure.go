package broker

import (
	"strconv"

	"go.uber.org/zap"

	"millrace/config"
	"millrace/metadata"
)

// Config is what the broker goes by now: what its process started with, and on top what was set while it runs, for all
// brokers and for this one. Only what can be set so differs from Deps.Config.
func (b *Broker) Config() *config.Config { return b.config.Load() }

// configure takes the settings that the cluster has for this broker.
func (b *Broker) configure(img *metadata.Image) {
	own := metadata.ConfigResource{Kind: metadata.BrokerConfigs, Name: strconv.Itoa(int(b.ID))}
	next, err := b.deps.Config.Overlay(img.ResourceConfigs(metadata.DefaultBroker), img.ResourceConfigs(own))
	if err != nil { // each was judged by itself; with what this process started with they contradict each other
		b.deps.Log.Error("settings of the broker can't be used", zap.Error(err))
		if next = b.Config(); next == nil {
			next = b.deps.Config
		}
	}
	b.config.Store(next)
}

// reconfigured tells whether a change is one of this broker's settings.
func (b *Broker) reconfigured(deltas []metadata.Delta) bool {
	for _, d := range deltas {
		if c, ok := d.(metadata.ResourceConfigChanged); ok && c.Resource.Kind == metadata.BrokerConfigs &&
			(c.Resource.Name == "" || c.Resource.Name == strconv.Itoa(int(b.ID))) {
			return true
		}
	}
	return false
}
