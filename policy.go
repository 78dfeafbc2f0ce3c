package millrace

import (
	"millrace/config"
	"millrace/metadata"
	"millrace/metadata/central"
)

// policy is what the central server decides by: the defaults of new topics and the judgement of their configs.
func policy(c *config.Config) central.Policy {
	return central.Policy{
		NumPartitions:             c.NumPartitions,
		ReplicationFactor:         c.DefaultReplicationFactor,
		InternalReplicationFactor: c.OffsetsTopicReplicationFactor,
		MinInSyncReplicas:         c.TopicDefaults.MinInsyncReplicas,
		UncleanLeaderElection:     c.TopicDefaults.UncleanLeaderElection,
		NoHandover:                c.Cluster.Several(),
		ValidateConfigs: func(_ string, configs map[string]string) error {
			_, err := c.Topic(configs)
			return err
		},
		ValidateResource: func(r metadata.ConfigResource, configs map[string]string) error {
			if err := c.ValidateDynamic(configs, r != metadata.DefaultBroker); err != nil {
				// Apache Kafka's code: not INVALID_CONFIG, as for topics (KAFKA-13609).
				return metadata.Errorf(metadata.ErrInvalidRequest, "%v", err)
			}
			return nil
		},
		ListConfig: func(img *metadata.Image, kind metadata.ConfigKind, name string) (string, bool) {
			now, err := c.Overlay(img.ResourceConfigs(metadata.DefaultBroker), nil)
			if err != nil {
				now = c
			}
			if kind == metadata.TopicConfigs {
				return now.TopicList(name)
			}
			return now.BrokerList(name)
		},
	}
}
