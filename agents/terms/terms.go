// Package terms holds the terms of a site: whose jobs it runs, how many GPUs it lends to others,
// and in which hours of the week. The site's owner writes them into the site's own configuration,
// and the site's agent holds them when it bids, when it accepts an award and when it starts a job.
// No coordinator knows or can change them. Package agents applies them.
package terms

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// Terms are the conditions under which a site runs jobs. The zero value has none.
type Terms struct {
	Own     []string // tenants of the site; the other fields are about all other tenants
	Serve   []string // the tenants whose jobs it runs; empty: all
	Exclude []string // tenants whose jobs it does not run; nobody is in both lists

	// MostGPUs is the most GPUs, in thousandths, that jobs of others hold at any time; nil: as many
	// as there are. A job without GPUs holds none.
	MostGPUs *protocol.Milli `json:",omitempty"`
	// OwnFirst says that jobs of own tenants start before those of others, and that runs of others are
	// recalled for them, with notice.
	OwnFirst bool `json:",omitempty"`
	// Hours are the times of each week in which jobs of others run; empty: always. A job starts
	// and is planned to end within them.
	Hours []Hours `json:",omitempty"`
	// Leave is when the site leaves the federation: it runs no jobs of others from then on; 0: it stays.
	Leave protocol.Time `json:",omitempty"`
	// Tariff is what the site charges jobs of others beside their energy.
	Tariff Tariff `json:",omitzero"`
	// Logs says that the site shows tenants what their jobs write.
	Logs bool `json:",omitempty"`
}

// A Tariff is what a site charges for a GPU-hour, beside the energy of the run.
type Tariff struct {
	GPUHour protocol.Microdollars            // on a model that Models does not name
	Models  map[string]protocol.Microdollars `json:",omitempty"` // by GPU model
	// Margin is what is added, in thousandths of what the energy costs by the bid.
	Margin protocol.Milli `json:",omitempty"`
	// Floor is the least that a GPU-hour brings with its energy: where that costs so little that it would bring
	// less, the site charges the rest. 0: none.
	Floor protocol.Microdollars `json:",omitempty"`
}

// IsZero reports whether the site charges nothing.
func (t Tariff) IsZero() bool {
	return t.GPUHour == 0 && len(t.Models) == 0 && t.Margin == 0 && t.Floor == 0
}

// A Charge is the tariff of one job on one model. The zero value charges nothing.
type Charge struct {
	gpuHour, floor protocol.Microdollars
	margin, gpus   protocol.Milli
}

// ChargeFor returns the tariff of a job on a model: nothing for a job of the site's own tenants.
func (t *Terms) ChargeFor(j *protocol.Job, model string) Charge {
	if t.IsOwn(j.Tenant) {
		return Charge{}
	}
	c := Charge{t.Tariff.GPUHour, t.Tariff.Floor, t.Tariff.Margin, j.PricedGPUs()}
	if price, ok := t.Tariff.Models[model]; ok {
		c.gpuHour = price
	}
	return c
}

// FollowsEnergy reports whether the charge depends on what the run's energy costs.
func (c Charge) FollowsEnergy() bool { return c.margin != 0 || c.floor != 0 }

// PerGPUHour returns what the job is charged for a GPU-hour of a run whose energy costs so much.
func (c Charge) PerGPUHour(energy protocol.Microdollars, run time.Duration) protocol.Microdollars {
	if hours := float64(c.gpus) / 1000 * run.Hours(); c.FollowsEnergy() && hours > 0 {
		rate := float64(energy) / hours
		charged := float64(c.gpuHour) + float64(max(rate, 0)*float64(c.margin)/1000)
		if c.floor != 0 {
			charged = max(charged, float64(c.floor)-rate)
		}
		return protocol.Microdollars(math.Round(min(charged, float64(protocol.MaxTariff))))
	}
	return c.gpuHour
}

// Hours is a time of the week. Times count from Monday 00:00 UTC; To is after From, and may lie in
// the next week.
type Hours struct{ From, To time.Duration }

const week = 7 * 24 * time.Hour

// IsZero reports whether t has no condition under which a job runs; a tariff is none.
func (t *Terms) IsZero() bool {
	return len(t.Serve) == 0 && len(t.Exclude) == 0 && t.MostGPUs == nil && len(t.Hours) == 0 && t.Leave == 0
}

// IsOwn reports whether a tenant is the site's own: its jobs run on no terms.
func (t *Terms) IsOwn(tenant string) bool { return slices.Contains(t.Own, tenant) }

// Refusal returns why the site never runs a job on its terms, in words that follow the site's name;
// "" if it may run it. The answer holds as long as the terms do.
func (t *Terms) Refusal(j *protocol.Job) string {
	switch {
	case t.IsZero() || t.IsOwn(j.Tenant):
		return ""
	case slices.Contains(t.Exclude, j.Tenant) || len(t.Serve) > 0 && !slices.Contains(t.Serve, j.Tenant):
		return "does not serve " + tenantName(j.Tenant)
	case t.MostGPUs != nil && j.TotalGPUMilli() > *t.MostGPUs:
		return fmt.Sprintf("lends at most %g GPUs", float64(*t.MostGPUs)/1000)
	}
	return ""
}

// tenantName names a tenant to people.
func tenantName(tenant string) string {
	if tenant == "" {
		return "jobs without a tenant"
	}
	return tenant
}

// OpenUntil returns until when jobs of others may run from at on, if they may run then: the end of
// the hours that at lies in, and of those that follow without a gap, or when the site leaves. The
// result is 0 if at lies in no hours, and protocol.Time's largest value if they never end.
func (t *Terms) OpenUntil(at protocol.Time) protocol.Time {
	switch until := t.hoursUntil(at); {
	case t.Leave == 0:
		return until
	case at >= t.Leave:
		return 0
	default:
		return min(until, t.Leave)
	}
}

// hoursUntil is OpenUntil for the hours alone.
func (t *Terms) hoursUntil(at protocol.Time) protocol.Time {
	if len(t.Hours) == 0 {
		return forever
	}
	until := at
	for until < at.Add(week) {
		end := until
		for _, h := range t.Hours {
			if from := h.lastFrom(until); from.Add(h.To-h.From) > end {
				end = from.Add(h.To - h.From)
			}
		}
		if end == until {
			break
		}
		until = end
	}
	switch {
	case until >= at.Add(week):
		return forever
	case until == at:
		return 0
	}
	return until
}

// OpenFor returns the first instant, at or after at, from which jobs of others may run for so long
// without a gap; false if the hours are never so long.
func (t *Terms) OpenFor(at protocol.Time, run time.Duration) (protocol.Time, bool) {
	if t.OpenUntil(at) >= at.Add(run) {
		return at, true
	}
	best, found := protocol.Time(0), false
	for _, h := range t.Hours {
		from := h.lastFrom(at).Add(week)
		if t.OpenUntil(from) >= from.Add(run) && (!found || from < best) {
			best, found = from, true
		}
	}
	return best, found
}

const forever = protocol.Time(1<<63 - 1)

// monday is a Monday 00:00 UTC, before all times that occur.
const monday = protocol.Time(-3 * 24 * 3600 * 1000)

// lastFrom returns when h last began, at or before an instant.
func (h Hours) lastFrom(at protocol.Time) protocol.Time {
	first := monday.Add(h.From)
	return first.Add(at.Sub(first).Truncate(week))
}

// A File is the section "terms" of a configuration or scenario, with its YAML keys.
type File struct {
	Own      []string    `yaml:"own"`
	OwnFirst bool        `yaml:"own_first"`
	Serve    []string    `yaml:"serve"`
	Exclude  []string    `yaml:"exclude"`
	MostGPUs *float64    `yaml:"most_gpus"`
	Hours    []FileHours `yaml:"hours"`
	Leave    string      `yaml:"leave"`
	Tariff   *FileTariff `yaml:"tariff"`
	Logs     bool        `yaml:"logs"`
}

// A FileTariff has its prices in dollars.
type FileTariff struct {
	GPUHour *float64           `yaml:"gpu_hour"`
	Models  map[string]float64 `yaml:"models"`
	Margin  float64            `yaml:"margin"` // part of what the energy costs
	Floor   *float64           `yaml:"floor"`  // of a GPU-hour, with its energy
}

// IsEmpty reports whether the file has no such section.
func (f File) IsEmpty() bool {
	return len(f.Own) == 0 && len(f.Serve) == 0 && len(f.Exclude) == 0 && f.MostGPUs == nil && len(f.Hours) == 0 && f.Leave == "" && f.Tariff == nil && !f.Logs
}

// FileHours are hours of some days, in UTC: "20:00" to "06:00" ends on the next day. No day means
// every day.
type FileHours struct {
	Days []string `yaml:"days"`
	From string   `yaml:"from"`
	To   string   `yaml:"to"`
}

// days are the days of the week as files name them.
var days = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// A Fault is what is wrong with a File, and the path of its key in the section.
type Fault struct {
	Path    []string
	Problem string
}

// Error implements error.
func (f Fault) Error() string { return strings.Join(f.Path, ".") + ": " + f.Problem }

// Terms returns the terms that a file states. Its error is a Fault.
func (f File) Terms() (Terms, error) {
	t := Terms{Own: f.Own, OwnFirst: f.OwnFirst, Serve: f.Serve, Exclude: f.Exclude, Logs: f.Logs}
	if f.OwnFirst && len(f.Own) == 0 {
		return t, Fault{[]string{"own_first"}, "own names no tenants: name those whose jobs come first, or remove own_first"}
	}
	for i, tenant := range f.Exclude {
		for _, other := range []struct {
			key  string
			list []string
		}{{"serve", f.Serve}, {"own", f.Own}} {
			if slices.Contains(other.list, tenant) {
				return t, Fault{[]string{"exclude", fmt.Sprint(i)}, fmt.Sprintf("%s is in %s, too: remove it from one of the lists", tenant, other.key)}
			}
		}
	}
	if f.Leave != "" {
		at, err := time.Parse(time.RFC3339, f.Leave)
		if err != nil {
			return t, Fault{[]string{"leave"}, fmt.Sprintf("%q is no instant: write it as 2026-12-01T00:00:00Z", f.Leave)}
		}
		t.Leave = protocol.FromStdTime(at)
	}
	if f.MostGPUs != nil {
		most := protocol.Milli(math.Round(*f.MostGPUs * 1000))
		t.MostGPUs = &most
	}
	if f.Tariff != nil {
		t.Tariff.GPUHour, t.Tariff.Floor = protocol.DollarsToMicrodollars(f.Tariff.GPUHour, 0), protocol.DollarsToMicrodollars(f.Tariff.Floor, 0)
		t.Tariff.Margin = protocol.Milli(math.Round(f.Tariff.Margin * 1000))
		t.Tariff.Models = make(map[string]protocol.Microdollars, len(f.Tariff.Models))
		table := power.DefaultTable()
		for _, model := range slices.Sorted(maps.Keys(f.Tariff.Models)) {
			if _, known := table.LookupModel(model); !known {
				return t, Fault{[]string{"tariff", "models", model}, fmt.Sprintf("%q is no GPU model: want one of %s", model, strings.Join(table.ModelNames(), ", "))}
			}
			price := f.Tariff.Models[model]
			t.Tariff.Models[model] = protocol.DollarsToMicrodollars(&price, 0)
		}
	}
	for i, h := range f.Hours {
		path := []string{"hours", fmt.Sprint(i)}
		from, ok := timeOfDay(h.From)
		if !ok {
			return t, Fault{append(path, "from"), fmt.Sprintf("%q is no time of day: write it as 20:00, in UTC", h.From)}
		}
		to, ok := timeOfDay(h.To)
		if !ok {
			return t, Fault{append(path, "to"), fmt.Sprintf("%q is no time of day: write it as 06:00, in UTC", h.To)}
		}
		if to <= from {
			to += 24 * time.Hour
		}
		named := h.Days
		if len(named) == 0 {
			named = days
		}
		for k, day := range named {
			n := slices.Index(days, day)
			if n < 0 {
				return t, Fault{append(path, "days", fmt.Sprint(k)), fmt.Sprintf("%q is no day: want one of %s", day, strings.Join(days, ", "))}
			}
			midnight := time.Duration(n) * 24 * time.Hour
			t.Hours = append(t.Hours, Hours{midnight + from, midnight + to})
		}
	}
	return t, nil
}

// timeOfDay reads "20:00"; "24:00" is the end of the day.
func timeOfDay(s string) (time.Duration, bool) {
	if s == "24:00" {
		return 24 * time.Hour, true
	}
	at, err := time.Parse("15:04", s)
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, err == nil
}
