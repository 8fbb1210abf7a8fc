package natsbus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// A party that only receives, or stands by, notices a dead connection about as soon as a hub
// does, whose line was cut without a word.
func TestAPortSoonFailsWhoseServerIsHeardNoMore(t *testing.T) {
	srv, err := StartServer(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	p, err := srv.connect(t.Context(), protocol.AgentParty("oslo"), nil)
	if err != nil {
		t.Fatal(err)
	}
	standby, err := srv.RawConn(protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	for _, o := range []nats.Options{p.conn.Opts, standby.Opts} {
		if time.Duration(o.MaxPingsOut+1)*o.PingInterval > 30*time.Second {
			t.Errorf("%s asks each %v, and gives up after %d times", o.Name, o.PingInterval, o.MaxPingsOut)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
