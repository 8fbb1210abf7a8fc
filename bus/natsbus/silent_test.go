package natsbus

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Who only listens notices that nobody is there about as soon as a hub does, whose
// line was cut without a word.
func TestAPortSoonFailsWhoseServerIsHeardNoMore(t *testing.T) {
	srv, err := Serve(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	p, err := srv.join(t.Context(), protocol.Agent("oslo"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := p.conn.Opts; time.Duration(o.MaxPingsOut+1)*o.PingInterval > 30*time.Second {
		t.Errorf("it asks each %v, and gives up after %d times", o.PingInterval, o.MaxPingsOut)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
