package kafka

// ProduceRequest is a view of a Produce request, versions 3–13, checked to its last byte. It is a small value that
// aliases the frame; copy it freely while the frame lives.
// Source: https://kafka.apache.org/protocol#The_Messages_Produce, KIP-98 (3), KIP-951 (10), KIP-516 (13)
type ProduceRequest struct {
	Version int16
	// TransactionalID is nil for a producer that is not transactional.
	TransactionalID []byte
	// Acks as sent: −1 all of the ISR, 0 no answer at all, 1 the leader. Other values are well formed and
	// INVALID_REQUIRED_ACKS.
	Acks      int16
	TimeoutMs int32
	// Topics and Partitions are how many there are in all; RecordBytes is the sum of their records' lengths.
	Topics, Partitions int
	RecordBytes        int64

	topics []byte // from behind the topics' count to the end
}

// ParseProduce checks the structure of a Produce request and returns its view. It allocates nothing and looks at no
// record. Records may be null or empty: that is for the caller to refuse, per partition.
//
// Errors: ErrTruncated, ErrMalformed, ErrTrailing; ErrUnsupportedVersion if h is not Produce in a version we serve.
func ParseProduce(h Header) (ProduceRequest, error) {
	if h.Key != keyProduce || !Supported(keyProduce, h.Version) {
		return ProduceRequest{}, ErrUnsupportedVersion
	}
	flexible := h.Flexible()
	r := reader{src: h.Body}
	p := ProduceRequest{
		Version:         h.Version,
		TransactionalID: r.nullableString(flexible),
		Acks:            r.int16(),
		TimeoutMs:       r.int32(),
		Topics:          r.array(flexible, produceTopicMin(h.Version)),
		topics:          r.src,
	}
	c := ProduceCursor{r: r, version: h.Version, topicsLeft: p.Topics}
	for c.NextTopic() {
		p.Partitions += c.Partitions
		for c.NextPartition() {
			p.RecordBytes += int64(len(c.Records))
		}
	}
	if flexible {
		c.r.tags()
	}
	return p, c.r.end()
}

// produceTopicMin is the least that a topic takes: its name or id, its count of partitions, its tags.
func produceTopicMin(version int16) int {
	switch {
	case version >= 13:
		return 16 + 1 + 1
	case version >= 9:
		return 1 + 1 + 1
	default:
		return 2 + 4
	}
}

// producePartitionMin is the least that a partition takes: index, length of records, tags.
func producePartitionMin(version int16) int {
	if version >= 9 {
		return 4 + 1 + 1
	}
	return 4 + 4
}

// Cursor returns a cursor that stands before the first topic.
func (p *ProduceRequest) Cursor() ProduceCursor {
	return ProduceCursor{r: reader{src: p.topics}, version: p.Version, topicsLeft: p.Topics}
}

// ProduceCursor walks a Produce request in place, in the order in which it was sent:
//
//	for c := r.Cursor(); c.NextTopic(); {
//		for c.NextPartition() {
//			… c.Name, c.ID, c.Index, c.Records
//		}
//	}
//
// It is a value: a copy goes on from where the original stood. All slices alias the frame.
type ProduceCursor struct {
	// Name is the topic's up to version 12, nil from 13 on; ID is zero up to version 12.
	Name []byte
	ID   [16]byte
	// Partitions is how many the topic lists.
	Partitions int

	// Index and Records are the partition's; Records is nil where the client sent null.
	Index   int32
	Records []byte

	r                          reader
	version                    int16
	topicsLeft, partitionsLeft int
}

// NextTopic goes on to the next topic and reports whether there is one. What is left of the current topic's partitions
// is passed over.
func (c *ProduceCursor) NextTopic() bool {
	for c.NextPartition() {
	}
	if c.topicsLeft == 0 || c.r.err != nil {
		return false
	}
	flexible := c.version >= 9
	c.topicsLeft--
	if c.version >= 13 {
		c.ID = c.r.uuid()
	} else {
		c.Name = c.r.string(flexible)
	}
	c.Partitions = c.r.array(flexible, producePartitionMin(c.version))
	c.partitionsLeft = c.Partitions
	if c.partitionsLeft == 0 && flexible {
		c.r.tags()
	}
	return c.r.err == nil
}

// NextPartition goes on to the current topic's next partition and reports whether there is one.
func (c *ProduceCursor) NextPartition() bool {
	if c.partitionsLeft == 0 || c.r.err != nil {
		return false
	}
	flexible := c.version >= 9
	c.partitionsLeft--
	c.Index = c.r.int32()
	c.Records = c.r.nullableBytes(flexible)
	if flexible {
		c.r.tags()
		if c.partitionsLeft == 0 { // the topic's own
			c.r.tags()
		}
	}
	return c.r.err == nil
}
