package leader

import (
	"context"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

// A tenantSafeConn sends what the market answers to tenants without the names of others. The market's
// own messages, which are recorded, keep them: who may read the record learns why a job waits.
type tenantSafeConn struct{ bus.Conn }

// Send implements bus.Conn.
func (c tenantSafeConn) Send(ctx context.Context, ms ...protocol.Message) error {
	for i, m := range ms {
		if m.To.TenantName() == "" {
			continue
		}
		safe := make([]protocol.Message, len(ms))
		copy(safe, ms[:i])
		for k := i; k < len(ms); k++ {
			safe[k] = tenantview.Answer(ms[k])
		}
		return c.Conn.Send(ctx, safe...)
	}
	return c.Conn.Send(ctx, ms...)
}
