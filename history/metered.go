package history

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// MeteredSites returns the sites with the idle draw of the hours that every run of the scenario is
// metered for. A run goes on until its last job has ended, so one policy may be metered for longer
// than another. From m.MeteredUntil on only what a site drew above the draw of its sleeping nodes
// counts: a run that ended earlier would have drawn that, too, and nothing else.
func (b *History) MeteredSites(m Meta) []SiteRecord {
	sites := b.SiteRecords()
	for i := range sites {
		s := &sites[i]
		for _, r := range s.Meters {
			if m.MeteredUntil != 0 && r.Hour >= m.MeteredUntil {
				asleep := int64(m.SleepDraw[s.Site]) * int64(time.Hour/time.Second)
				s.Idle = s.Idle.Plus(scaleUsage(r.Idle, -min(asleep, int64(r.Idle.IT)), int64(r.Idle.IT)))
			}
		}
	}
	return sites
}

// scaleUsage returns u times num/den, rounded towards zero; nothing if den is not positive.
func scaleUsage(u protocol.Usage, num, den int64) protocol.Usage {
	if den <= 0 {
		return protocol.Usage{}
	}
	by := func(v int64) int64 { return int64(float64(v) * (float64(num) / float64(den))) }
	return protocol.Usage{
		IT: protocol.Millijoules(by(int64(u.IT))), Energy: protocol.Millijoules(by(int64(u.Energy))),
		Carbon: protocol.Milligrams(by(int64(u.Carbon))), Money: protocol.Microdollars(by(int64(u.Money))),
	}
}
