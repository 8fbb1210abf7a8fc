package scenarios

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var update = flag.Bool("update", false, "write testdata/story.txt anew; say in the commit why the story changed")

// morning is a scenario of which every message can be read: two sites, and a
// job for each thing that may happen to one.
func morning() spec.Scenario {
	start := protocol.FromStdTime(time.Date(2022, 4, 13, 6, 0, 0, 0, time.UTC))
	s := spec.Scenario{
		Name: "morning", Seed: 1, Start: start, End: start.Add(time.Hour),
		Weights: spec.Weights{Kappa: 100_000_000, WaitNow: 1_000_000, Late: 10_000_000},
	}
	for i, name := range []string{"bern", "oslo"} {
		site := spec.Site{Name: name, Zone: name, Signals: map[protocol.Quantity][]protocol.Point{
			protocol.GridPUE: {{At: start.Add(-24 * time.Hour), Value: 1200}},
		}}
		for h := range 72 {
			at := start.Add(time.Duration(h-24) * time.Hour)
			price, carbon := int64(120_000), int64(400_000) // bern
			if name == "oslo" {
				price, carbon = 60_000, 30_000
				if at.StdTime().Hour() < 8 { // dear until eight
					price = 200_000
				}
			}
			site.Signals[protocol.GridPrice] = append(site.Signals[protocol.GridPrice], protocol.Point{At: at, Value: price})
			site.Signals[protocol.GridCarbon] = append(site.Signals[protocol.GridCarbon], protocol.Point{At: at, Value: carbon})
		}
		site.Nodes = []spec.Node{{Name: name + "-1", CPU: 16_000, Memory: 64 << 10, GPUs: 2, Model: []string{"T4", "V100"}[i], GPUMemory: 16 << 10}}
		s.Sites = append(s.Sites, site)
	}
	add := func(id protocol.JobID, minute, gpus int, cores protocol.Milli, more func(*protocol.Job)) {
		j := protocol.Job{
			Urgency: protocol.UrgencyNow, ID: id, Tenant: "lab", Home: "oslo", GPUs: gpus, Share: 1000, CPU: cores * 1000, Memory: 8 << 10,
			Arrival: start.Add(time.Duration(minute) * time.Minute), Run: 30 * time.Minute,
		}
		j.Deadline = j.Arrival.Add(8 * time.Hour)
		if more != nil {
			more(&j)
		}
		s.Jobs = append(s.Jobs, j)
	}
	oslo := func(j *protocol.Job) { j.Regions = []string{"oslo"} }
	add("broken", 1, 1, 4, func(j *protocol.Job) { j.Run = 1 })
	add("large", 1, 4, 4, nil) // no node has four GPUs
	add("patient", 2, 1, 4, func(j *protocol.Job) { j.Urgency = protocol.UrgencyStandard })
	// Oslo has a GPU for each of these two, and processors for one.
	add("hungry-a", 5, 1, 10, oslo)
	add("hungry-b", 5, 1, 10, oslo)
	return s
}

// The whole negotiation of a morning, in words. A change of the market's
// behaviour shows here, and is judged by reading.
func TestTheStoryOfAMorning(t *testing.T) {
	said, _ := told(t, morning(), PolicyAuction, new(membus.Bus))
	var story strings.Builder
	last := 0
	for i, m := range said {
		switch m.Body.(type) {
		case protocol.Settlement, protocol.Reject:
			last = i
		}
	}
	for _, m := range said[:last+1] {
		if text := tell(m.Body); text != "" {
			to := string(m.To)
			if to == "" {
				to = "everybody"
			}
			fmt.Fprintf(&story, "%s  %s to %s: %s\n", m.At.StdTime().Format("15:04:05"), m.From, to, text)
		}
	}
	path := filepath.Join("testdata", "story.txt")
	if *update {
		if err := os.WriteFile(path, []byte(story.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(story.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(lines)) {
		a, b := "(the end)", "(the end)"
		if i < len(got) {
			a = got[i]
		}
		if i < len(lines) {
			b = lines[i]
		}
		if a != b {
			t.Fatalf("%s:%d: the story is\n%s\nand was\n%s\nRead the rest with -update and git diff.", path, i+1, a, b)
		}
	}
}

// tell describes a message's body, or returns "" for one that the story leaves out.
func tell(b protocol.Body) string {
	switch b := b.(type) {
	case protocol.RegisterSite:
		return fmt.Sprintf("I am %s, with %d %s", b.Site, b.Pools[0].GPUs, b.Pools[0].Model)
	case protocol.Signal:
		p := b.Points[len(b.Points)-1]
		return fmt.Sprintf("%s is known up to %s, when it is %d", b.What, clock(p.At), p.Value)
	case protocol.Submit:
		return fmt.Sprintf("run %s, %d GPU for %v, by %s", b.Job.ID, b.Job.GPUs, b.Job.Run, clock(b.Job.Deadline))
	case protocol.CallForBids:
		var ids []string
		for _, j := range b.Jobs {
			ids = append(ids, string(j.ID))
		}
		return fmt.Sprintf("round %d until %s: who runs %s?", b.Round, clock(b.Closes), strings.Join(ids, ", "))
	case protocol.Bids:
		return fmt.Sprintf("round %d:", b.Round) + menus(b.Jobs)
	case protocol.Award:
		return fmt.Sprintf("you run %s (epoch %d): %s; %s; it costs $%.4f, and any clearing $%.4f or more",
			b.Job, b.Epoch, option(b.Option), b.Why.Code, b.Proof.Primal.InDollars(), b.Proof.Bound.InDollars())
	case protocol.Defer:
		plan := ""
		if b.Site != "" {
			plan = fmt.Sprintf(", planned for %s at %s", b.Site, clock(b.Start))
		}
		return fmt.Sprintf("%s waits until %s: %s%s", b.Job, clock(b.Until), b.Why.Code, plan)
	case protocol.Reject:
		return strings.TrimSuffix(fmt.Sprintf("%s will not be run: %s, %s", b.Job, b.Why.Code, b.Why.Note), ", ")
	case protocol.Accept:
		return fmt.Sprintf("I keep %s (epoch %d), from %s", b.Job, b.Epoch, clock(b.Start))
	case protocol.Confirm:
		return fmt.Sprintf("on the books: %s (epoch %d) %s", b.Job, b.Epoch, b.Code)
	case protocol.Decline:
		return fmt.Sprintf("I cannot run %s (epoch %d): %s", b.Job, b.Epoch, b.Why.Code)
	case protocol.Launch:
		return fmt.Sprintf("start %s on %s %v%s, for %v", b.Job.ID, b.Node, b.Devices, capped(b.Cap), b.Run)
	case protocol.Started:
		return fmt.Sprintf("%s runs", b.Job)
	case protocol.Finished:
		var sum protocol.Millijoules
		for _, s := range b.Draw {
			sum += s.Energy
		}
		return fmt.Sprintf("%s has ended, and drew %.4f kWh", b.Job, sum.InKWh())
	case protocol.UsageReport:
		return fmt.Sprintf("%s has ended: %.4f kWh, %.1f g, $%.4f", b.Job, b.Energy.InKWh(), float64(b.Carbon)/1000, b.Money.InDollars())
	case protocol.Settlement:
		return fmt.Sprintf("%s pays %s $%.4f for %s, bid at $%.4f", b.Payer, b.Site, b.Paid.InDollars(), b.Job, b.BidFor.Money.InDollars())
	}
	return "" // meters
}

// menus tells of each job why not, or the soonest option, the one of least money
// (the first of those), and how many more there are.
func menus(all []protocol.JobBids) (text string) {
	for _, m := range all {
		text += fmt.Sprintf("\n            %s: ", m.Job)
		if len(m.Options) == 0 {
			text += fmt.Sprintf("no, %s", m.Why.Code)
			continue
		}
		text += option(m.Options[0])
		cheapest := slices.MinFunc(m.Options, func(x, y protocol.BidOption) int { return cmp.Compare(x.Money, y.Money) })
		if cheapest != m.Options[0] {
			text += fmt.Sprintf("\n            %s: %s", m.Job, option(cheapest))
		}
		if n := len(m.Options); n > 2 {
			text += fmt.Sprintf(" (of %d options)", n)
		}
	}
	return text
}

func option(o protocol.BidOption) string {
	return fmt.Sprintf("%s to %s on %s%s, %.4f kWh, %.1f g, $%.4f", clock(o.Start), clock(o.Finish), o.Model, capped(o.Cap),
		o.Energy.InKWh(), float64(o.Carbon)/1000, o.Money.InDollars())
}

func capped(w protocol.Milliwatts) string {
	if w == 0 {
		return ""
	}
	return fmt.Sprintf(" capped at %d W", w/1000)
}

func clock(t protocol.Time) string { return t.StdTime().Format("15:04:05") }
