package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

// saramaReader is a group member that reads so many records and commits them.
type saramaReader struct {
	want   int
	got    []string
	cancel context.CancelFunc
}

func (*saramaReader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*saramaReader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *saramaReader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			r.got = append(r.got, string(m.Value))
			session.MarkMessage(m, "")
			if len(r.got) == r.want {
				session.Commit()
				r.cancel()
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

// saramaGroupRead reads a topic of one partition with a group until it has so many records.
func saramaGroupRead(t testing.TB, bootstrap []string, config *sarama.Config, group, topic string, want int) ([]string, error) {
	t.Helper()
	member, err := sarama.NewConsumerGroup(bootstrap, group, config)
	if err != nil {
		return nil, err
	}
	defer member.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r := &saramaReader{want: want, cancel: cancel}
	for ctx.Err() == nil && err == nil {
		err = member.Consume(ctx, []string{topic}, r)
	}
	return r.got, err
}
