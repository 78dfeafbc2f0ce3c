// Package console is the language of the control port: text commands in, text or JSON out. It does no I/O and holds no state.
//
// # The way of a line
//
// [Parse] turns a line into a [Command], one of the structs in command.go. broker/console carries it out and fills in an [Answer], one of
// the structs in answer.go. [Render], [RenderMore] and [RenderError] write the answer as [Text] or [JSON] ([Format] is the command by which
// a client chooses). [Classify] is for the other end: it tells a client where an answer ends. [Commands] is what completion needs.
//
//	CREATE_TOPIC orders 6            →  OK topic orders has 6 partitions, id …
//	PRODUCE orders key="a b" hello   →  OK topic=orders partition=3 offset=0 timestamp=…
//	CONSUME orders 3 0               →   partition=3 offset=0 timestamp=… key="a b" hello
//	                                     OK 1 record, next offset 1, high watermark 1
//
// # Framing
//
// In text every line of an answer begins with a blank, except the last one: it begins with OK or ERR. A picture of WATCH ends with MORE. So
// nc users read it as it comes, and no name that somebody chose can look like the end of an answer. In JSON each line is an object, and the
// last one has the member "ok". A blank line or a comment is no command and has no answer.
//
// # Invariants
//
//   - Parse never panics, keeps nothing of the line it was given, and makes no more of it than it is long.
//   - split(Quote(x)) is x, for any bytes: what CONSUME prints after the offset can be given to PRODUCE and is the same record.
//   - An answer's line is one line: nothing in it that a user chose can break it or move the cursor.
//   - Every error of Parse is a [UsageError] and fits in one line that says what was expected.
//
// [Murmur2] and [PartitionFor] are here because PRODUCE is the one place in the server that has to choose a partition for a key; everywhere
// else clients do.
package console
