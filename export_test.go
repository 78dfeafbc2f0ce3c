package millrace

import "millrace/slab"

// Crash ends the server as a crash would: nobody is told.
func (s *Server) Crash() error { return s.end(false) }

// InOffice tells whether this process is the controller.
func (s *Server) InOffice() bool { return s.central.InOffice() }

// LoseSession has the metadata store take the process for gone, although it isn't.
func (s *Server) LoseSession() error { return s.store.Revoke(s.presence.ctx, s.presence.lease()) }

// RecordBytes is the memory that the records take.
func (s *Server) RecordBytes() int64 { return s.slabs.Stats().UsedBytes[slab.UseRecords] }
