package kafka

// What a structure's unknown tags take: kmsg keeps them in a map.
const (
	tagsMapBytes = 350
	tagBytes     = 100
)

// heapBytes is what the allocator takes for this many: its size classes lie up to an eighth apart.
func heapBytes(n int) int {
	if n == 0 {
		return 0
	}
	return n + n/8 + 8
}

// walk passes over a value of this shape without making anything, and takes room for what kmsg will make of it. It
// fails where kmsg would, and further where Apache Kafka would: null where there is no null, strings that are too long.
func walk(r *reader, s *shape) {
	switch s.kind {
	case shapeFixed:
		r.skip(s.wireMin)
	case shapeString:
		walkString(r, s)
	case shapeBytes:
		if b := r.nullableBytes(s.flexible); b == nil && !s.nullable {
			r.fail(ErrMalformed)
		}
	case shapeArray:
		walkArray(r, s)
	case shapeOption:
		if r.int8() != -1 && r.err == nil && r.take(heapBytes(s.pointee)) {
			walk(r, &s.of[0])
		}
	case shapeStruct:
		for i := range s.of {
			walk(r, &s.of[i])
		}
		if s.flexible {
			walkTags(r)
		}
	}
}

func walkString(r *reader, s *shape) {
	text := r.nullableString(s.flexible)
	switch {
	case text == nil && !s.nullable:
		r.fail(ErrMalformed)
	case text == nil:
	default:
		r.take(s.pointee + heapBytes(len(text)))
	}
}

func walkArray(r *reader, s *shape) {
	element := &s.of[0]
	n := r.count(s.flexible, element.wireMin)
	if n < 0 && !s.nullable {
		r.fail(ErrMalformed)
	}
	if n <= 0 || !r.take(heapBytes(n*element.memory)) {
		return
	}
	if element.kind == shapeFixed {
		r.skip(n * element.wireMin)
		return
	}
	for i := 0; i < n && r.err == nil; i++ {
		walk(r, element)
	}
}

func walkTags(r *reader) {
	if n := r.tags(); n > 0 {
		r.take(tagsMapBytes + n*tagBytes)
	}
}
