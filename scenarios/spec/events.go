package spec

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An EventKind says what happens in an Event. It is the event's key in a scenario.yaml.
type EventKind string

// Kinds of events. Each names a site, but for NodeDown, which names a node, CancelJob,
// and those of services.
const (
	NodeDown   EventKind = "node_down" // the node fails: what runs on it is lost
	SiteDown   EventKind = "site_down" // the site loses power: see Site.Outages
	SiteSilent EventKind = "silent"    // no message between its agent and the coordinator arrives; its jobs run on
	DrainSite  EventKind = "drain"     // an operator keeps the site from new jobs
	RemoveSite EventKind = "remove"    // an operator declares that the site will not come back
	CancelJob  EventKind = "cancel"    // an operator cancels the job

	ScaleService     EventKind = "scale"     // an operator sets how many replicas a service has
	RebalanceService EventKind = "rebalance" // an operator has all replicas of a service divided anew
	DeleteService    EventKind = "delete"    // an operator deletes a service
	PricesChange     EventKind = "prices"    // power of a site costs or emits something else: see Site.Signals
)

// eventKinds are all kinds, in the order in which errors list them.
var eventKinds = []EventKind{NodeDown, SiteDown, SiteSilent, DrainSite, RemoveSite, CancelJob, ScaleService, RebalanceService, DeleteService, PricesChange}

// lasts reports whether an event of the kind has an end.
func (k EventKind) lasts() bool {
	return k != RemoveSite && k != CancelJob && k != ScaleService && k != RebalanceService && k != DeleteService
}

// An Event happens during a scenario, beside the jobs that arrive.
type Event struct {
	At    protocol.Time
	Until protocol.Time `json:",omitzero"` // 0: it does not end, or has no duration
	Kind  EventKind
	Name  string // of a site, a node, a job or a service

	Replicas int `json:",omitempty"` // of ScaleService
}

// Includes reports whether an event that lasts goes on at an instant.
func (e Event) Includes(at protocol.Time) bool {
	return e.At <= at && (e.Until == 0 || at < e.Until)
}

// HasEvents reports whether the run of a scenario is changed by events, by programs that fail or by services.
// Outages are apart: see Site.
func (s Scenario) HasEvents() bool { return len(s.Events)+len(s.FailsAfter)+len(s.Services) > 0 }

// EventsOf returns the events of a kind, by time.
func (s Scenario) EventsOf(kind EventKind) []Event {
	return slices.DeleteFunc(slices.Clone(s.Events), func(e Event) bool { return e.Kind != kind })
}

// An eventSpec is an event of a file: when, for how long, and one of the kinds with its name.
type eventSpec struct {
	At       string `yaml:"at"`
	For      string `yaml:"for"`
	NodeDown string `yaml:"node_down"`
	SiteDown string `yaml:"site_down"`
	Silent   string `yaml:"silent"`
	Drain    string `yaml:"drain"`
	Remove   string `yaml:"remove"`
	Cancel   string `yaml:"cancel"`

	Scale     string   `yaml:"scale"`
	Rebalance string   `yaml:"rebalance"`
	Delete    string   `yaml:"delete"`
	Prices    string   `yaml:"prices"`
	Replicas  *int     `yaml:"replicas"` // of scale
	Price     *float64 `yaml:"price"`    // of prices, dollars per MWh
	Carbon    *float64 `yaml:"carbon"`   // of prices, grams per kWh
}

// nameOf returns the name that an event has under a kind; "" if it is of another kind.
func (e eventSpec) nameOf(kind EventKind) string {
	switch kind {
	case NodeDown:
		return e.NodeDown
	case SiteDown:
		return e.SiteDown
	case SiteSilent:
		return e.Silent
	case DrainSite:
		return e.Drain
	case RemoveSite:
		return e.Remove
	case CancelJob:
		return e.Cancel
	case ScaleService:
		return e.Scale
	case RebalanceService:
		return e.Rebalance
	case DeleteService:
		return e.Delete
	case PricesChange:
		return e.Prices
	}
	return ""
}

// misplacedFigure returns which figure an event of a kind lacks or has for nothing; "": none.
func (e eventSpec) misplacedFigure(kind EventKind) string {
	switch prices := e.Price != nil || e.Carbon != nil; {
	case (kind == ScaleService) != (e.Replicas != nil):
		return "want replicas together with scale, and nowhere else"
	case (kind == PricesChange) != prices:
		return "want price or carbon together with prices, and nowhere else"
	}
	return ""
}

// addEvents adds the events of a file, by time. A site that loses power gets an outage instead.
func (out *Scenario) addEvents(s scenarioSpec) error {
	for i, x := range s.Events {
		at := s.where("events", i)
		var e Event
		for _, kind := range eventKinds {
			switch name := x.nameOf(kind); {
			case name == "":
			case e.Kind != "":
				return at("has both %s and %s: write two events", e.Kind, kind)
			default:
				e.Kind, e.Name = kind, name
			}
		}
		if e.Kind == "" {
			return at("says not what happens: add one of %s", joinKinds(eventKinds))
		}
		if why := x.misplacedFigure(e.Kind); why != "" {
			return at("%s", why)
		}
		if x.Replicas != nil {
			e.Replicas = *x.Replicas
		}
		var err error
		if e.At, err = out.spanAt(s.where("events", i, "at"), x.At); err != nil {
			return err
		}
		if x.For != "" {
			d, err := time.ParseDuration(x.For)
			switch {
			case !e.Kind.lasts():
				return s.where("events", i, "for")("%s happens at once: drop for", e.Kind)
			case err != nil || d <= 0:
				return s.where("events", i, "for")("is %q: want a time above 0, or leave it out for as long as the scenario is played", x.For)
			}
			e.Until = e.At.Add(d)
		}
		if e.Kind == PricesChange {
			out.changePrices(e, x)
			continue
		}
		if e.Kind != SiteDown {
			out.Events = append(out.Events, e)
			continue
		}
		if e.Until == 0 {
			e.Until = out.End.Add(maxDays * oneDay)
		}
		if k := slices.IndexFunc(out.Sites, func(site Site) bool { return site.Name == e.Name }); k >= 0 {
			out.Sites[k].Outages = Outage{From: e.At, To: e.Until}.MergeInto(out.Sites[k].Outages)
		}
	}
	slices.SortStableFunc(out.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return nil
}

// joinKinds lists keys for an error.
func joinKinds[T ~string](kinds []T) string {
	text := ""
	for i, k := range kinds {
		if i > 0 {
			text += ", "
		}
		text += string(k)
	}
	return text
}
