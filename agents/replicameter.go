package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A replicaMeter counts what the replicas of a service take at this site, by their planned draw: docs/quotas.md,
// decision 0430. It counts up, and nothing of it survives the agent's process: the next one begins at nothing.
type replicaMeter struct {
	at      protocol.Time // until when all is counted
	since   protocol.Time // when the first replica ran; 0: none did yet
	ran     time.Duration // since the last reading, as is drawn
	drawn   []protocol.HourlyEnergy
	reading protocol.ReplicaMeter // the last one: it is read once an hour, and when the last replica has stopped
}

// countReplicas counts what the replicas of a service that run took until now. It is called before any of them starts
// or stops.
func (h *heldService) countReplicas(now protocol.Time) {
	m := &h.meter
	from := m.at
	m.at = max(from, now)
	for i := range h.replicas {
		if r := &h.replicas[i]; h.running[r.Number] && from < now {
			if m.since == 0 {
				m.since = from
			}
			m.ran += now.Sub(from)
			m.addDraw(from, now, r.Power)
		}
	}
}

// addDraw adds a power that was drawn from one instant to another.
func (m *replicaMeter) addDraw(from, to protocol.Time, power protocol.Milliwatts) {
	for from < to {
		hour := from.Floor(time.Hour)
		end := min(hour.Add(time.Hour), to)
		i := slices.IndexFunc(m.drawn, func(x protocol.HourlyEnergy) bool { return x.Hour == hour })
		if i < 0 {
			i, m.drawn = len(m.drawn), append(m.drawn, protocol.HourlyEnergy{Hour: hour})
		}
		m.drawn[i].Energy += protocol.Millijoules(int64(power) * int64(end-from) / 1000) // milliwatts times milliseconds
		from = end
	}
}

// readMeter reads the meter of a service if a full hour has passed, or if it is to have no replica here any more. What
// cannot be priced yet is in a later reading.
func (a *Agent) readMeter(now protocol.Time, h *heldService) {
	m := &h.meter
	over := h.count == 0 && len(h.running) == 0 && len(h.stopping) == 0
	if len(h.running) > 0 && now >= m.nextReading() {
		h.countReplicas(now)
	}
	if hourPassed := m.at.Floor(time.Hour) > max(m.since, m.reading.Until).Floor(time.Hour); m.ran == 0 || !over && !hourPassed || !a.grid.CanPrice(m.drawn) {
		return
	}
	bill, _ := a.grid.PriceEnergy(m.drawn)
	u := m.reading.Used.Usage().Plus(bill)
	m.reading = protocol.ReplicaMeter{Since: m.since, Until: m.at, Ran: m.reading.Ran + m.ran, Used: protocol.ReplicaUse{IT: u.IT, Energy: u.Energy, Carbon: u.Carbon, Money: u.Money}}
	m.ran, m.drawn = 0, nil
}

// nextReading returns when the meter is read next while replicas run.
func (m *replicaMeter) nextReading() protocol.Time {
	return m.at.Floor(time.Hour).Add(time.Hour)
}
