package config

import "testing"

func TestDefault(t *testing.T) {
	c := Default()
	if c.NumPartitions != 1 || c.TopicDefaults.RetentionMs != 604800000 || len(c.Listeners) != 1 || c.ControlListener != "127.0.0.1:9090" {
		t.Fatalf("%+v", c)
	}
}
