package narrate

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// writeParagraph writes an empty line and then sentences; nothing if there are none.
func writeParagraph(out *bufio.Writer, sentences []string) {
	if len(sentences) > 0 {
		fmt.Fprintln(out)
		format.WrapText(out, strings.Join(sentences, " "))
	}
}

// WriteService writes how a service stands at an instant: how many replicas are where, by which decision,
// what is pending and for what.
func WriteService(w io.Writer, s *history.ServiceRecord, at protocol.Time) error {
	out := bufio.NewWriter(w)
	v := s.StateAt(at)
	if v.Decision == nil {
		format.WrapText(out, fmt.Sprintf("%s wants %s. No call for capacity has been decided yet.", format.CleanText(string(s.Service.ID)), replicas(s.Service.Wanted)))
		return out.Flush()
	}
	format.WrapText(out, serviceSentence(s, v))
	writeParagraph(out, divisionSentences(s, v))
	writeParagraph(out, pendingSentences(v))
	return out.Flush()
}

// serviceSentence says how many replicas of a service run, and where.
func serviceSentence(s *history.ServiceRecord, v history.ServiceState) string {
	id := format.CleanText(string(s.Service.ID))
	if d := v.Decision.Division; d.Deleted {
		if d.Why.Code == protocol.Malformed {
			return fmt.Sprintf("%s was refused: %s.", id, format.CleanText(d.Why.Note))
		}
		return fmt.Sprintf("%s was deleted at %s; %s of it still run.", id, format.FormatInstant(v.Decision.From.At), replicas(v.Running))
	}
	var parts []string
	for _, x := range v.Sites {
		if x.Running > 0 {
			parts = append(parts, fmt.Sprintf("%d at %s", x.Running, format.CleanText(x.Site)))
		}
	}
	text := fmt.Sprintf("%s wants %s, and %d run", id, replicas(v.Decision.Division.Wanted), v.Running)
	if len(parts) > 0 {
		text += ": " + format.JoinWithAnd(parts)
	}
	return text + "."
}

// replicas counts replicas.
func replicas(n int) string { return format.CountWithNoun(n, "replica", "replicas") }

// divisionCauses says for what a division was made.
var divisionCauses = map[protocol.Code]string{
	protocol.ServicePlaced:     "the service was submitted",
	protocol.ServiceScaled:     "its number of replicas, or what they ask for, was changed",
	protocol.RoomAppeared:      "replicas that waited found room, or it was looked whether they do",
	protocol.BudgetSpent:       "a budget was looked at, and has no room for more",
	protocol.CarbonBudgetSpent: "a carbon budget was looked at, and has no room for more",
	protocol.Rescheduled:       "replicas had found no node at their site for more than 30 s",
	protocol.SiteLost:          "a site is lost or drained, and its replicas were divided among the others",
	protocol.Rebalanced:        "a rebalance was asked for",
}

// divisionRules says by which rule replicas are divided.
var divisionRules = map[protocol.DivisionRule]string{
	protocol.DivideByCost:     "each replica goes where it costs least",
	protocol.DivideByCapacity: "replicas go to sites in proportion to those that fit there",
	protocol.DivideByWeights:  "replicas go to sites by given weights, as far as they fit",

	protocol.DivideAmongFewest: "replicas go to the fewest sites that have room, in proportion to those that fit there",
}

// divisionSentences says what the newest decision was, and by which rule.
func divisionSentences(s *history.ServiceRecord, v history.ServiceState) (all []string) {
	d := v.Decision.Division
	if d.Deleted {
		return nil
	}
	var changes []string
	for _, x := range d.Sites {
		if x.Count != x.Before {
			changes = append(changes, fmt.Sprintf("%s from %d to %d", format.CleanText(x.Site), x.Before, x.Count))
		}
	}
	text := fmt.Sprintf("Decision %d was made at %s because %s", d.Decision, format.FormatInstant(v.Decision.From.At), divisionCauses[d.Why.Code])
	if len(changes) > 0 {
		text += ": " + format.JoinWithAnd(changes)
	}
	all = append(all, text+".", "The rule is that "+divisionRules[s.Service.Division.Rule]+".")
	if d.Cost != 0 || d.Bound != 0 {
		all = append(all, fmt.Sprintf("By the bids the replicas cost %s an hour together, and no division of as many under the same rules costs less than %s.", format.FormatDollars(d.Cost), format.FormatDollars(d.Bound)))
	}
	if d.Move && d.Why.Code == protocol.Rebalanced {
		all = append(all, fmt.Sprintf("Moving saves %s an hour, and costs %s once.", format.FormatDollars(d.Stay-d.Cost), format.FormatDollars(d.Starts)))
	}
	if len(d.CarbonDoubled) > 0 {
		changes := []string{}
		for _, x := range d.CarbonDoubled {
			if x.Count != x.Before {
				changes = append(changes, fmt.Sprintf("%d in place of %d at %s", x.Count, x.Before, format.CleanText(x.Site)))
			}
		}
		if len(changes) == 0 {
			changes = []string{"the same replicas at each site"}
		}
		all = append(all, fmt.Sprintf("If carbon were twice as dear, a rebalance would put %s.", format.JoinWithAnd(changes)))
	}
	return all
}

// pendingSentences says which replicas wait, and for what.
func pendingSentences(v history.ServiceState) (all []string) {
	if d := v.Decision.Division; d.Pending > 0 {
		all = append(all, fmt.Sprintf("%s pending, and placed as soon as a site has room: %s.", format.CountWithNoun(d.Pending, "replica is", "replicas are"), format.CleanText(d.Lack.Note)))
	} else if d.Lack.Note != "" {
		all = append(all, fmt.Sprintf("All are placed, but not as asked: %s.", format.CleanText(d.Lack.Note)))
	}
	for _, x := range v.Sites {
		site := format.CleanText(x.Site)
		if x.Without > 0 {
			all = append(all, fmt.Sprintf("At %s, %s found no node since %s.", site, format.CountWithNoun(x.Without, "replica has", "replicas have"), format.FormatInstant(x.Since)))
		}
		if starts := x.Wanted - x.Running - x.Without; starts > 0 {
			all = append(all, fmt.Sprintf("At %s, %s not run yet.", site, format.CountWithNoun(starts, "replica does", "replicas do")))
		}
		if leave := x.Running - x.Wanted; leave > 0 {
			all = append(all, fmt.Sprintf("At %s, %s until others run in their place.", site, format.CountWithNoun(leave, "replica stays", "replicas stay")))
		}
	}
	return all
}
