package market

import (
	"cmp"

	"github.com/gridbid/gridbid/protocol"
)

// tellWhole returns the last status of a job in parts for its submitter, if that is told it.
func (k *Market) tellWhole(now protocol.Time, w *lot) []protocol.Message {
	if !w.isToldStatus() {
		return nil
	}
	return []protocol.Message{k.sendAndRecord(now, w.from, w.lastStatus)}
}

// wholeStatus returns the status of a job whose parts are all in a state: their bills together, from the last
// start to the last finish. Its site and model are those of all of them; "" if they differ.
func (l *lot) wholeStatus(state protocol.Code) protocol.JobStatus {
	s := protocol.JobStatus{State: state}
	for i, p := range l.parts {
		x := p.lastStatus
		if i == 0 {
			s.Site, s.Model, s.Why = x.Site, x.Model, x.Why
		}
		if s.Site != x.Site {
			s.Site = ""
		}
		if s.Model != x.Model {
			s.Model = ""
		}
		s.Start, s.Failed = max(s.Start, x.Start), cmp.Or(s.Failed, x.Failed)
		s.Bill.IT, s.Bill.Energy, s.Bill.Carbon = s.Bill.IT+x.Bill.IT, s.Bill.Energy+x.Bill.Energy, s.Bill.Carbon+x.Bill.Carbon
		s.Bill.Money, s.Bill.Finish = s.Bill.Money+x.Bill.Money, max(s.Bill.Finish, x.Bill.Finish)
	}
	return s
}
