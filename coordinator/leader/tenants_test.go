package leader

import (
	"context"
	"reflect"
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A sink keeps what is sent.
type sink struct {
	bus.Conn
	sent []protocol.Message
}

func (s *sink) Send(_ context.Context, ms ...protocol.Message) error {
	s.sent = append(s.sent, ms...)
	return nil
}

func TestWhatIsSentToTenantsNamesNobodyElse(t *testing.T) {
	s := &sink{}
	full := protocol.Reason{Code: protocol.QueueBlocked, Note: "job other stands before it in the queue of research"}
	ms := []protocol.Message{
		{To: protocol.OperatorAPI, Body: protocol.Defer{Job: "a", Why: full}},
		{To: protocol.TenantParty("vision"), Body: protocol.Defer{Job: "vision/1", Why: full}},
		{To: "", Body: protocol.Settlement{Job: "vision/1"}},
	}
	if err := (tenantSafeConn{s}).Send(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	if len(s.sent) != 3 || s.sent[0].Body.(protocol.Defer).Why != full || s.sent[1].Body.(protocol.Defer).Why.Note == full.Note || !reflect.DeepEqual(s.sent[2].Body, ms[2].Body) {
		t.Errorf("sent %+v", s.sent)
	}
	if ms[1].Body.(protocol.Defer).Why != full {
		t.Error("the market's own message was changed")
	}
}
