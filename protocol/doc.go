// Package protocol holds what both of the broker's languages share: the Kafka wire
// protocol (protocol/kafka) and the text of the control port (protocol/console).
// There is no I/O and no goroutine in it or below it.
//
// # Types
//
// A Reply is the bytes of one answer: encoded text in a pooled buffer, and Views of
// record batches that lie in slabs and are to be sent from there, each before a given
// place of the text. So a fetch answer of megabytes is a few hundred bytes of text
// and some pointers, and the socket takes all of it with one writev.
//
// A Code is an error code of the Kafka protocol.
//
// # Ownership
//
// Whoever holds a Reply owns its buffer and one reference on the slab of each view.
// The holder hands it on (by value: the giver must forget its copy) or calls Release,
// exactly once. The bytes of text and views may be read until then and by the holder
// only.
//
// # Invariants
//
// Views are ordered by At, and At never exceeds the length of the text: views are
// added while the text is written, at the place where the text has arrived. Whoever
// patches text that is already written (sizes, the correlation id) must not change
// its length.
package protocol
