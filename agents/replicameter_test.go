package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// priced has the site hear the price, carbon and PUE of an hour.
func (s *serviceSite) priced(hour protocol.Time) {
	feed := protocol.Sender{Party: protocol.SignalParty("oslo"), Incarnation: uint32(hour / 1000)}
	for what, v := range map[protocol.Quantity]int64{protocol.GridPrice: 100_000, protocol.GridCarbon: 50_000, protocol.GridPUE: 1000} {
		s.hear(&feed, protocol.Signal{What: what, Points: []protocol.Point{{At: hour, Value: v}}})
	}
}

// The meter of a service counts the planned draw of replicas that run. It is read at each full hour, and once more when
// the last has stopped, before the site says that it has.
func TestTheMeterOfAServiceIsReadByTheHourAndAtItsEnd(t *testing.T) {
	s := newServiceSite(t, Config{})
	hour := s.now.Floor(time.Hour)
	s.priced(hour)
	s.hear(&s.coordinator, llm(2, 1))
	o, _ := s.order()
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: o.Revision, Running: []int{1, 2}})
	began := s.now
	if _, st := s.order(); !st.Meter.IsZero() {
		t.Errorf("at once it reads %+v", st.Meter)
	}
	s.priced(hour.Add(time.Hour))
	s.now = hour.Add(time.Hour)
	if due := s.agent.Due(); due > s.now {
		t.Fatalf("it is due at %v, and not at the full hour", due)
	}
	s.said = s.agent.Tick(s.now)
	_, st := s.order()
	ran := 2 * s.now.Sub(began)
	energy := protocol.Millijoules(int64(o.Replicas[0].Power) * int64(ran/time.Millisecond) / 1000)
	if m := st.Meter; m.Since != began || m.Until != s.now || m.Ran != ran || m.Used.IT != energy || m.Used.Energy != energy || m.Used.Money != protocol.Microdollars(energy*100_000/3_600_000_000) {
		t.Fatalf("after the first hour it reads %+v; want %v of replicas with %d mJ", m, ran, energy)
	}
	s.now = s.now.Add(30 * time.Minute)
	s.hear(&s.coordinator, llm(0, 2))
	o, _ = s.order()
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: o.Revision})
	_, last := s.order()
	if last.Assigned != 0 || last.Revision != 2 || last.Meter.Ran != ran+2*(30*time.Minute+time.Second) {
		t.Errorf("when both have stopped it says %+v", last)
	}
	s.now = s.now.Add(2 * time.Hour)
	s.hear(&s.coordinator, llm(1, 3))
	o, _ = s.order()
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: o.Revision, Running: []int{3}})
	s.now = s.now.Floor(time.Hour).Add(time.Hour)
	s.said = s.agent.Tick(s.now)
	if _, again := s.order(); again.Meter.Since < last.Meter.Until || again.Meter.Ran > time.Hour {
		t.Errorf("a service that comes back goes on from what was read before it left: %+v", again.Meter)
	}
}
