package protocol

const (
	maxIntBytes    = 9   // of an encoded integer
	maxLengthBytes = 5   // of the length of a text or a list
	maxOptionBytes = 128 // a BidOption of fourteen columns, without its model
	maxBidsBytes   = 256 // the keys and single values of Bids, and an envelope without names
)

// MaxWireSize returns an upper bound of the encoded size, in bytes, of a message whose body is o.
func (o Bids) MaxWireSize() int {
	n := maxBidsBytes + 2*maxName
	for i := range o.Jobs {
		m := &o.Jobs[i]
		n += 5*maxLengthBytes + len(m.Job) + len(m.Why.Code) + len(m.Why.Note) + len(m.Expect)*(maxLengthBytes+4*maxIntBytes)
		for k := range m.Options {
			n += maxOptionBytes + len(m.Options[k].Model)
		}
	}
	for i := range o.Capacity {
		p := &o.Capacity[i]
		n += 4*maxLengthBytes + len(p.Model) + (5+len(p.Free)+len(p.ForDeferrable))*maxIntBytes
	}
	for _, p := range o.Preemptions {
		n += 4*maxLengthBytes + len(p.Job)
		for _, id := range p.Runs {
			n += maxLengthBytes + len(id)
		}
	}
	for i := range o.Spreads {
		s := &o.Spreads[i]
		n += 3*maxLengthBytes + len(s.Job) + maxIntBytes
		for k := range s.Places {
			n += 3*maxLengthBytes + len(s.Places[k].Node) + (2+len(s.Places[k].Devices))*maxIntBytes
		}
	}
	for i := range o.Holes {
		n += 2*maxLengthBytes + len(o.Holes[i].Job) + 5*maxIntBytes
	}
	for i := range o.Largest {
		n += 2*maxLengthBytes + len(o.Largest[i].Job) + maxIntBytes
	}
	for _, id := range o.WithinDomain {
		n += maxLengthBytes + len(id)
	}
	g := &o.Grid
	return n + 7*maxLengthBytes + (1+len(g.Price)+len(g.Carbon)+len(g.PUE)+len(g.PriceOff)+len(g.CarbonOff))*maxIntBytes
}
