package shadow

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A Sum sums up choices.
type Sum struct {
	Jobs     int `json:"jobs"`
	Agreed   int `json:"agreed"`   // the same place and hour
	Differed int `json:"differed"` // another one
	Held     int `json:"held"`     // the policy would have held the job, which was awarded
	NoPlace  int `json:"no_place"` // the rule in force had no place for the job
	// Of the jobs for which both had a place.
	Would Figures `json:"would"`
	Did   Figures `json:"did"`
}

// Figures are sums over places, as bid.
type Figures struct {
	Cost   protocol.Microdollars `json:"cost_microdollars"` // all terms of the objective
	Carbon protocol.Milligrams   `json:"carbon_mg"`
	Wait   time.Duration         `json:"wait_ns"` // from arrival to start
	Late   int                   `json:"late"`    // jobs that would finish after their deadline
}

// Add adds a choice.
func (s *Sum) Add(c Choice) {
	s.Jobs++
	switch {
	case c.Would == nil:
		s.Held++
		return
	case c.Did == nil:
		s.NoPlace++
		return
	case c.Agrees():
		s.Agreed++
	default:
		s.Differed++
	}
	s.Would.add(&c, c.Would)
	s.Did.add(&c, c.Did)
}

// Compared returns the number of jobs for which both had a place.
func (s *Sum) Compared() int { return s.Agreed + s.Differed }

// add adds the place of a choice.
func (f *Figures) add(c *Choice, p *Place) {
	f.Cost += p.Cost
	f.Carbon += p.Carbon
	f.Wait += p.Start.Sub(c.Arrival)
	if p.Finish > c.Deadline {
		f.Late++
	}
}

// Describe says what a policy of some name would have done with a job, and what that would have cost.
func Describe(policy string, c Choice) string {
	policy = format.CleanText(policy)
	switch {
	case c.Would == nil:
		return fmt.Sprintf("%s, in shadow, would have held the job in round %d, in which it was %s.", policy, c.Round, c.Did.describe())
	case c.Did == nil:
		return fmt.Sprintf("%s, in shadow, would have chosen in round %d: %s. The rule in force had no place for the job in that round.", policy, c.Round, c.Would.describe())
	case c.Agrees():
		return fmt.Sprintf("%s, in shadow, would have chosen the same in round %d: %s.", policy, c.Round, c.Would.describe())
	}
	return fmt.Sprintf("%s, in shadow, would have chosen in round %d: %s. The rule in force chose: %s. As bid, the job would have cost %s, emitted %s, and started %s.",
		policy, c.Round, c.Would.describe(), c.Did.describe(),
		difference(int64(c.Would.Cost-c.Did.Cost), "microdollars", " more", " less", "as much"),
		difference(int64(c.Would.Carbon-c.Did.Carbon), "milligrams", " more", " less", "as much"),
		difference(c.Would.Start.Sub(c.Did.Start).Milliseconds(), "ms", " later", " earlier", "at the same time"))
}

// describe says where, how and when a place is, and what it costs as bid.
func (p *Place) describe() string {
	how := ""
	if p.Model != "" {
		how = " on " + format.CleanText(p.Model)
	}
	if p.Cap != 0 {
		how += fmt.Sprintf(" capped at %d W", p.Cap/1000)
	}
	return fmt.Sprintf("%s%s from %s to %s, for %s and %s kg CO2e", format.CleanText(p.Site), how, format.FormatInstant(p.Start), format.FormatInstant(p.Finish),
		format.FormatDollars(p.Cost), format.FormatKilograms(p.Carbon))
}

// difference says how far a value lies above or below another, or that they are the same.
func difference(by int64, unit, above, below, same string) string {
	switch {
	case by > 0:
		return format.FormatValue(by, unit) + above
	case by < 0:
		return format.FormatValue(-by, unit) + below
	}
	return same
}
