package timeline

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An Instant is the whole run as it stood.
type Instant struct {
	At                                        protocol.Time
	Decisions                                 int
	Waiting, Planned, Running, Ended, Refused int // jobs
	Late                                      int // of those that ended
	Energy                                    protocol.Millijoules
	Carbon                                    protocol.Milligrams // of ended jobs, and idle draw as far as it was metered
	Money                                     protocol.Microdollars
	Sites                                     []Site // by name
}

// A Site is one site as it stood.
type Site struct {
	Name     string
	GPUs     protocol.Milli
	Held     protocol.Milli // by running jobs
	Running  int
	Planned  int // jobs that it accepted and has not started
	Known    bool
	Carbon   protocol.Milligrams   // per kWh, this hour
	Price    protocol.Microdollars // per kWh, this hour
	Ahead    []protocol.Milligrams // per kWh, of the hours after
	Draw     protocol.Milliwatts   // mean of the last metered hour
	Metered  protocol.Time         // begin of that hour; 0 without
	LastSaid protocol.Time         // 0: nothing yet
}

// spent is what the run had cost when something was added to it.
type spent struct {
	at     protocol.Time
	energy protocol.Millijoules
	carbon protocol.Milligrams
	money  protocol.Microdollars
	late   int
}

// A site is what one site said of itself.
type site struct {
	gpus     []stock // as they changed
	said     []protocol.Time
	outlooks []outlook // the first and the last of each hour, as said
	meters   []meter
}

// A stock is how many GPUs a site has, as it said.
type stock struct {
	at   protocol.Time
	gpus protocol.Milli
}

type outlook struct {
	at protocol.Time
	protocol.Outlook
}

type meter struct {
	at, hour protocol.Time
	total    protocol.Millijoules
}

func (d *Diary) observe(m protocol.Message) {
	from := m.From.Site()
	if m.From == protocol.Agent(from) && from != "" {
		s := d.site(from)
		s.said = append(s.said, m.At)
	}
	switch b := m.Body.(type) {
	case protocol.Hello:
		s, now := d.site(b.Site), stock{at: m.At}
		for _, p := range b.Pools {
			now.gpus += protocol.Milli(p.GPUs) * 1000
		}
		if n := len(s.gpus); n == 0 || s.gpus[n-1].gpus != now.gpus {
			s.gpus = append(s.gpus, now)
		}
	case protocol.Offer:
		d.site(from).look(outlook{m.At, b.Grid})
	case protocol.Meter:
		s := d.site(from)
		if b.Read() {
			s.meters = append(s.meters, meter{m.At, b.Hour, b.Total})
		}
		d.spend(m.At, b.Idle, 1, false)
	}
}

func (d *Diary) site(name string) *site {
	if d.sites[name] == nil {
		d.sites[name] = new(site)
	}
	return d.sites[name]
}

// spend adds a bill to the sums, or takes one back: times is 1 or -1.
func (d *Diary) spend(at protocol.Time, b protocol.Bill, times int64, late bool) {
	var s spent
	if n := len(d.spent); n > 0 {
		s = d.spent[n-1]
	}
	s.at = max(s.at, min(at, d.last)) // one wrong clock does not put off what others say after it
	s.energy += b.Energy * protocol.Millijoules(times)
	s.carbon += b.Carbon * protocol.Milligrams(times)
	s.money += b.Money * protocol.Microdollars(times)
	if late {
		s.late += int(times)
	}
	d.spent = append(d.spent, s)
}

// look keeps the first and the last outlook of an hour.
func (s *site) look(o outlook) {
	n := len(s.outlooks)
	if n >= 2 && s.outlooks[n-1].From == o.From && s.outlooks[n-2].From == o.From {
		n--
		s.outlooks = s.outlooks[:n]
	}
	s.outlooks = append(s.outlooks, o)
}

// outlook returns the last that was said until an instant.
func (s *site) outlook(at protocol.Time) (outlook, bool) {
	i := sort.Search(len(s.outlooks), func(i int) bool { return s.outlooks[i].at > at })
	if i == 0 {
		return outlook{}, false
	}
	return s.outlooks[i-1], true
}

// At returns the run as it stood at an instant.
func (d *Diary) At(at protocol.Time) Instant {
	now := Instant{At: at}
	now.Decisions = sort.Search(len(d.entries), func(i int) bool { return d.entries[i].At > at })
	if i := sort.Search(len(d.spent), func(i int) bool { return d.spent[i].at > at }); i > 0 {
		s := d.spent[i-1]
		now.Energy, now.Carbon, now.Money, now.Late = s.energy, s.carbon, s.money, s.late
	}
	place := make(map[string]int)
	for _, name := range slices.Sorted(maps.Keys(d.sites)) {
		if name != "" {
			place[name] = len(now.Sites)
			now.Sites = append(now.Sites, d.sites[name].at(name, at))
		}
	}
	for _, l := range d.lives {
		state, site := l.at(at)
		i, there := place[site]
		switch state {
		case "waiting":
			now.Waiting++
		case "planned":
			now.Planned++
			if there {
				now.Sites[i].Planned++
			}
		case "running":
			now.Running++
			if there {
				now.Sites[i].Running++
				now.Sites[i].Held += l.gpu
			}
		case "ended":
			now.Ended++
		case "refused":
			now.Refused++
		}
	}
	return now
}

// at returns a site as it stood, without its jobs.
func (s *site) at(name string, at protocol.Time) Site {
	now := Site{Name: name}
	for i, x := range s.gpus {
		if i == 0 || x.at <= at { // before it said anything it had what it said first
			now.GPUs = x.gpus
		}
	}
	if i := sort.Search(len(s.said), func(i int) bool { return s.said[i] > at }); i > 0 {
		now.LastSaid = s.said[i-1]
	}
	if i := sort.Search(len(s.meters), func(i int) bool { return s.meters[i].at > at }); i > 0 {
		m := s.meters[i-1]
		now.Metered, now.Draw = m.hour, protocol.Milliwatts(int64(m.total)/3600)
	}
	o, ok := s.outlook(at)
	if !ok {
		return now
	}
	// What was said of this hour may have been said in an earlier one.
	i := int(at.Sub(o.From) / time.Hour)
	if i < 0 || i >= len(o.Carbon) || i >= len(o.Price) {
		return now
	}
	now.Known, now.Carbon, now.Price, now.Ahead = true, o.Carbon[i], o.Price[i], o.Carbon[i+1:]
	return now
}
