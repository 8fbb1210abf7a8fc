package eventlog

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// streams is a server that answers for each stream with its number of copies or an error.
type streams struct {
	jetstream.JetStream
	copies map[string]int
	err    error // of those that are not named
}

func (s streams) Stream(_ context.Context, name string) (jetstream.Stream, error) {
	if n := s.copies[name]; n > 0 {
		return stream{n: n}, nil
	}
	return nil, s.err
}

type stream struct {
	jetstream.Stream
	n int
}

func (s stream) CachedInfo() *jetstream.StreamInfo {
	return &jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: s.n}}
}

// Three servers that elect a leader confirm that their stream exists, and not more.
func TestCopiesAreKeptOfWhichNobodyTells(t *testing.T) {
	electing := &jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}
	for name, s := range map[string]struct {
		is   streams
		want int // 0: it is not known
	}{
		"none yet":                {streams{err: jetstream.ErrStreamNotFound}, 1},
		"three":                   {streams{copies: map[string]int{streamName: 3, snapshotStreamName: 3}}, 3},
		"the summary alone":       {streams{copies: map[string]int{snapshotStreamName: 3}, err: jetstream.ErrStreamNotFound}, 3},
		"nobody tells":            {streams{err: electing}, 0},
		"nobody tells of one":     {streams{copies: map[string]int{streamName: 3}, err: electing}, 0},
		"nobody tells of another": {streams{copies: map[string]int{snapshotStreamName: 3}, err: context.DeadlineExceeded}, 0},
	} {
		n, err := existingReplicas(t.Context(), s.is)
		if n != s.want || (err == nil) != (s.want > 0) || err != nil && !errors.Is(err, s.is.err) {
			t.Errorf("%s: %d copies, %v; want %d", name, n, err, s.want)
		}
	}
}
