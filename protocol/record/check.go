package record

// Check verifies a batch as a client sends it to be appended, and sets its
// max_timestamp (and so the CRC) where it is missing or wrong, as Apache Kafka's
// broker does. So b's bytes must be the caller's to write. After Check the
// header can be believed, with one exception: a compressed batch whose
// max_timestamp looks plausible but is not that of its records.
//
// What is accepted, refused and with which error was compared with an Apache
// Kafka 4.4 broker, batch by batch. The differences:
//   - offset deltas of an uncompressed batch must be 0, 1, 2 …: Apache Kafka
//     stores whatever they are and hands consumers offsets that lie;
//   - a compressed batch is decompressed only if its max_timestamp is negative or
//     below the base timestamp, so what else is wrong inside is not seen;
//   - a codec that doesn't exist is ErrUnsupportedCompression: Apache Kafka fails
//     with UNKNOWN_SERVER_ERROR.
//
// Left to where the batch is appended: whether the timestamps are in the topic's
// range, and a batch that claims to be LogAppendTime.
//
// Errors: ErrInvalidRecord, ErrCorrupt, ErrUnsupportedCompression.
func (b Batch) Check() error {
	if b.BaseOffset() != 0 {
		return errBaseOffset
	}
	if b.ComputeCRC() != b.CRC() {
		return errCRC
	}
	if err := b.checkHeader(); err != nil {
		return err
	}
	if b.Codec() != None {
		return b.checkCompressed()
	}
	maxMs, err := b.walk()
	if err != nil {
		return err
	}
	if !b.IsLogAppendTime() {
		b.SetMaxTimestamp(maxMs, false)
	}
	return nil
}

func (b Batch) checkHeader() error {
	count := b.Count()
	if count <= 0 || int64(b.LastOffsetDelta())+1 != int64(count) {
		return errCount
	}
	if b.IsControl() {
		return errControl
	}
	if b.HasProducerID() && b.BaseSequence() < 0 {
		return errSequence
	}
	codec := b.Codec()
	if codec > Zstd {
		return errCodec
	}
	if int64(count)*minRecordBytes > codec.expandLimit(len(b)-HeaderBytes) {
		return errImplausible
	}
	return nil
}

// walk checks every record of an uncompressed batch and finds the largest
// timestamp on the way: the one pass that appending costs, beside the CRC.
func (b Batch) walk() (maxMs int64, err error) {
	p, base := b.Records(), b.BaseTimestamp()
	maxMs = NoTimestamp
	i := 0
	for n, count := int32(0), b.Count(); n < count; n++ {
		offsetDelta, timestampDelta, next := skim(p, i)
		if next < 0 {
			return 0, errRecord
		}
		if offsetDelta != n {
			return 0, errOffsetDelta
		}
		maxMs = max(maxMs, base+timestampDelta)
		i = next
	}
	if i != len(p) {
		return 0, errRemaining
	}
	return maxMs, nil
}

func (b Batch) checkCompressed() error {
	if claimed := b.MaxTimestamp(); b.IsLogAppendTime() || claimed >= 0 && claimed >= b.BaseTimestamp() {
		return nil
	}
	maxMs, err := b.TrueMaxTimestamp(nil)
	if err != nil {
		return err
	}
	b.SetMaxTimestamp(maxMs, false)
	return nil
}
