package market

import (
	"github.com/gridbid/gridbid/coordinator/services"
	"github.com/gridbid/gridbid/protocol"
)

// stepServices has the services take in a message that the market has acted on.
func (k *Market) stepServices(now protocol.Time, m protocol.Message) []protocol.Message {
	switch m.Body.(type) {
	case protocol.SubmitService, protocol.DeleteService: // the first, or one that is gone: its queue waits for an answer
	default:
		if k.services.IsEmpty() {
			return nil
		}
	}
	switch m.Body.(type) {
	case protocol.UsageReport, protocol.Decline: // a job left its nodes
		k.services.RoomAppeared(now)
	}
	out, event := k.services.Step(now, m, k.serviceSites)
	_, last := m.Body.(protocol.ReplicaStatus) // by which a deleted service is forgotten: what is paid for it comes before
	if event && !last {
		k.recordEvent(m)
	}
	msgs := k.sendOutputs(now, out)
	if event && last {
		k.recordEvent(m)
	}
	return msgs
}

// tickServices has the services do what is due.
func (k *Market) tickServices(now protocol.Time) []protocol.Message {
	if due := k.services.Due(); due == 0 || due > now {
		return nil
	}
	return k.sendOutputs(now, k.services.Tick(now, k.serviceSites()))
}

// sendOutputs numbers what the services send, and records what a restart needs.
func (k *Market) sendOutputs(now protocol.Time, out []services.Output) (msgs []protocol.Message) {
	for _, o := range out {
		if b, ok := o.Body.(protocol.ServiceSettlement); ok {
			o.Body = k.settleReplicas(now, b)
		}
		m := k.sender.NewMessage(now, o.To, o.Body)
		if o.Event {
			k.recordEvent(m)
		}
		msgs = append(msgs, m)
	}
	return msgs
}

// serviceSites returns the registered sites by name, as services see them.
func (k *Market) serviceSites() (all []services.Site) {
	for _, name := range k.siteNames {
		s := k.sites[name]
		all = append(all, services.Site{Name: name, Pools: s.registration.Pools, Location: s.registration.Location, Draining: s.drained, Suspect: s.suspectSince != 0})
	}
	return all
}

// earlier returns the earlier of two due times, of which 0 is never.
func earlier(x, y protocol.Time) protocol.Time {
	if x == 0 || y != 0 && y < x {
		return y
	}
	return x
}
