package archive

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// A reader of the record that stands still, whatever it does meanwhile, holds up no recording, and so no
// round.
func TestARecorderDoesNotWaitForAReaderThatStandsStill(t *testing.T) {
	day := historytest.GenerateDay(4, 10*time.Minute)
	n := open(t, "", new(bytes.Buffer))
	defer n.Close()
	reads, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- n.Read(ctx, 0, func(protocol.Message) error {
			select {
			case reads <- struct{}{}:
			default:
			}
			<-goOn
			return nil
		})
	}()
	n.RecordSent(day[:1], nil)
	<-reads
	for _, m := range day[1:] {
		n.RecordSent([]protocol.Message{m}, nil) // would never return
	}
	close(goOn)
	cancel()
	<-ended
}

// A page that stands still takes nothing more, and nothing is kept for it.
func TestNothingIsKeptForAReaderThatIsGone(t *testing.T) {
	day := historytest.GenerateDay(4, 10*time.Minute)
	n := open(t, "", new(bytes.Buffer))
	defer n.Close()
	n.RecordSent(day[:5], nil)
	same(t, read(t, n, 5), day[:5])
	if n.RecordSent(day[5:9], nil); len(n.fresh) != 0 {
		t.Errorf("%d messages are kept", len(n.fresh))
	}
}
