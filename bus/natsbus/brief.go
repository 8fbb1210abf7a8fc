package natsbus

import "github.com/gridbid/gridbid/protocol"

// encode returns m as it travels, in the port's buffer. An offer that is longer than others
// take is said with fewer options for each job: a site that is not heard wins nothing.
func (p *port) encode(m protocol.Message) ([]byte, error) {
	data, err := protocol.AppendEncode(p.buf[:0], m)
	o, ok := m.Body.(protocol.Offer)
	if !ok || err != nil {
		return data, err
	}
	n := 0
	for _, menu := range o.Jobs {
		n = max(n, len(menu.Options))
	}
	for most := p.longest(); err == nil && len(data) > most && n > 1; {
		n = min(n-1, max(1, n*most/len(data)))
		m.Body = shorter(o, n)
		data, err = protocol.AppendEncode(data[:0], m)
	}
	return data, err
}

// longest is how many bytes of an offer are taken, the trace's headers apart.
func (p *port) longest() int {
	most := int(p.conn.MaxPayload())
	if p.hub.Longest > 0 {
		most = min(most, p.hub.Longest)
	}
	if p.hub.Tracer != nil {
		most -= mostHeader
	}
	return most
}

// shorter returns an offer with at most so many options for each job. Sites sort them by
// start: those that are left lie apart, and the soonest is among them.
func shorter(o protocol.Offer, most int) protocol.Offer {
	menus := make([]protocol.Menu, len(o.Jobs))
	for i, m := range o.Jobs {
		if all := m.Options; len(all) > most {
			m.Options = make([]protocol.Option, most)
			for k := range m.Options {
				m.Options[k] = all[k*len(all)/most]
			}
		}
		menus[i] = m
	}
	o.Jobs = menus
	return o
}
