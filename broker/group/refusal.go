package group

import "fmt"

// Refusal is an error of this package with a text for people, where the protocol has room for one: Kafka's own words.
type Refusal struct {
	Err  error
	Text string
}

func (r *Refusal) Error() string { return r.Text }

// Unwrap is the error that has a code.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(err error, format string, args ...any) error {
	return &Refusal{err, fmt.Sprintf(format, args...)}
}
