package millrace

import (
	"millrace/config"
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
	}
}
