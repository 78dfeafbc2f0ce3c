// Package floor is the least that a server could do for a broker's work, so that a broker's cost can be given as a
// ratio to it, taken in the same run on the same machine. Its one server, on one thread, does as fast as an honest
// server can:
//
//   - Produce (versions 3 to 9): reads the request straight to where its bytes stay, checks the CRC32C of each batch,
//     gives it the next offset of its partition, answers.
//   - Fetch (4 to 12): answers any offset with whole batches out of preloaded memory, by writev, without a copy.
//   - KeyEcho, which isn't Kafka's: 32 bytes for any request, which is what a round trip costs.
//
// It also answers ApiVersions, Metadata, CreateTopics, DeleteTopics, ListOffsets and InitProducerId, so that any load
// for Kafka runs against it as it is. Every topic exists. There are no replicas, groups, limits or time-outs; offsets
// are counted by partition index alone, whatever the topic; what is fetched is not what was produced.
//
// # Reading order
//
// ring_linux.go (memory that is used again and again), intake_linux.go (how bytes become frames), answer_linux.go
// (Produce, Fetch and echo), loop_linux.go (sockets), cold.go (everything else, through kmsg).
//
// # What makes it cheap
//
// Each read goes by one readv to its final place: the rest of the frame at hand, then whatever follows at the cursor.
// Slabs were touched before the start and come round again, as in a broker at its retention limit: the first touch of
// a page costs more than all the rest together. The socket's receive buffer is left to the kernel's own tuning, the send
// buffer of a connection that fetches is 4 MiB, so that a response is taken whole.
//
// # Invariants
//
//   - A frame lies in one slab. A slab with a half-received frame is pinned and not used again until it is whole.
//   - Nothing is allocated for a Produce, a Fetch or an echo once a connection's buffers have grown.
//   - It needs Linux; elsewhere Run returns an error.
package floor
