package narrate

import (
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// roundSentences returns sentences on how often the job was called for bids, why it was held, and
// which awards were not kept. One round alone needs no sentence.
func roundSentences(r history.JobRecord) []string {
	n := len(r.Rounds)
	if n > 0 && r.Older {
		r.Older = false
		return append([]string{"It had been called in rounds before, which are not in this record."}, roundSentences(r)...)
	}
	if n < 2 {
		return declineSentences(r)
	}
	s := fmt.Sprintf("It was called in %d rounds, from %s to %s.", n, sentenceTime(r.Rounds[0].At), sentenceTime(r.Rounds[n-1].At))
	// Reasons in the order in which they first occurred, each with its count.
	held := make(map[protocol.Code]int)
	var order []protocol.Code
	for _, l := range r.Rounds {
		if l.Kind != "hold" {
			continue
		}
		if held[l.Code] == 0 {
			order = append(order, l.Code)
		}
		held[l.Code]++
	}
	var parts []string
	for _, code := range order {
		often := "once"
		if held[code] > 1 {
			often = fmt.Sprintf("%d times", held[code])
		}
		parts = append(parts, often+" because "+ReasonText(code))
	}
	if len(parts) > 0 {
		s += " It was held " + format.JoinWithAnd(parts) + "."
	}
	return append([]string{s}, declineSentences(r)...)
}

// declineSentences returns sentences on awards that sites did not keep.
func declineSentences(r history.JobRecord) (all []string) {
	for _, a := range r.Awards {
		if a.Answer == "decline" && a.Declined.Code == protocol.SiteDecommissioned {
			all = append(all, fmt.Sprintf("It was taken from %s: %s.", format.CleanText(a.Site), ReasonWithNote(a.Declined)))
		} else if a.Preempted != nil {
			all = append(all, describePreemption(a))
		} else if a.Answer == "decline" {
			all = append(all, fmt.Sprintf("In round %d %s declined: %s.", a.Round, format.CleanText(a.Site), ReasonWithNote(a.Declined)))
		} else if a.Expired && a.Answer == "" {
			all = append(all, fmt.Sprintf("In round %d it was awarded to %s, which did not answer in time.", a.Round, format.CleanText(a.Site)))
		}
	}
	return all
}

// describePreemption puts into words when and why the run of an award was preempted, for which
// job or owner, and what work is lost.
func describePreemption(a history.Decision) string {
	p := a.Preempted
	s := fmt.Sprintf("At %s its run at %s was preempted: %s", sentenceTime(a.Released.At), format.CleanText(a.Site), ReasonWithNote(p.Why))
	switch {
	case p.For != "":
		s += fmt.Sprintf("; the room went to job %s", format.CleanText(string(p.For)))
	case p.Owner != "":
		s += fmt.Sprintf("; the room went back to %s", format.CleanText(p.Owner))
	}
	if p.Lost > 0 {
		s += fmt.Sprintf("; %s of work are lost", format.FormatDuration(p.Lost))
	}
	return s + "."
}

// measuredSentences returns what was measured, against what was bid: of each paused part, then of
// the last run.
func measuredSentences(r history.JobRecord) (all []string) {
	for _, s := range r.RunSegments()[:len(r.Parts)] {
		p := s.Run
		all = append(all, fmt.Sprintf("From %s to %s it ran at %s on %s, and took %s kWh, %s kg CO2e and %s of energy; then it was %s.",
			sentenceTime(p.Started), sentenceTime(p.Ended), format.CleanText(p.Site), nodeAndDevices(p), format.FormatKWh(p.Cost.Energy), format.FormatKilograms(p.Cost.Carbon), format.FormatDollars(p.Cost.Money), HowStopped(s)))
		if (p.Settlement != history.MessageRef{}) {
			by := ""
			if p.Settled.Payer != r.Job.Tenant {
				by = " by tenant " + format.CleanText(p.Settled.Payer)
			}
			all = append(all, fmt.Sprintf("%s was paid %s for that part%s.", format.CleanText(p.Site), format.FormatDollars(p.Settled.Paid), by))
		}
	}
	return append(all, outcomeSentences(r)...)
}

// HowStopped says how a part of a job's run ended.
func HowStopped(s history.RunSegment) string {
	switch {
	case s.Run.Preempted:
		return "preempted"
	case s.PausedByItsSite():
		return "paused by its site, to go on on other nodes or with another number of pods"
	}
	return "paused, as its award said"
}

// outcomeSentences returns sentences on how far the job's last award has come and, of a job that
// ended, on what was measured, bid and paid.
func outcomeSentences(r history.JobRecord) []string {
	run := r.Run
	switch {
	case r.Refusal != nil:
		return nil
	case run == nil && len(r.Parts) > 0 && r.IsOnSale():
		return []string{"Its rest waits to be sold."}
	case run == nil && r.CurrentAward() != nil && r.CurrentAward().Answer == "":
		return []string{fmt.Sprintf("%s has not answered the award yet.", format.CleanText(r.CurrentAward().Site))}
	case run == nil && r.CurrentAward() != nil:
		return []string{fmt.Sprintf("%s has reserved it and not launched it yet.", format.CleanText(r.CurrentAward().Site))}
	case run == nil:
		return nil
	// The site accepted; the run has not started.
	case run.Planned:
		return []string{fmt.Sprintf("%s has accepted it, to start %s.", format.CleanText(run.Site), sentenceTime(run.Started))}
	case !r.HasEnded():
		return []string{fmt.Sprintf("It runs at %s on %s since %s.", format.CleanText(run.Site), nodeAndDevices(run), sentenceTime(run.Started))}
	}
	// The job has ended: what was measured, what had been bid, what was paid, and whether in time.
	c := run.Cost
	all := []string{fmt.Sprintf("It ran at %s on %s from %s to %s, and took %s kWh, %s kg CO2e and %s of energy.",
		format.CleanText(run.Site), nodeAndDevices(run), sentenceTime(run.Started), sentenceTime(run.Ended), format.FormatKWh(c.Energy), format.FormatKilograms(c.Carbon), format.FormatDollars(c.Money))}
	if a := r.CurrentAward(); a != nil {
		o := a.Option
		all = append(all, fmt.Sprintf("%s had bid %s kWh, %s kg and %s, to finish %s.",
			format.CleanText(a.Site), format.FormatKWh(o.Energy), format.FormatKilograms(o.Carbon), format.FormatDollars(o.Money), sentenceTime(o.Finish)))
	}
	if run.Estimated {
		all = append(all, "Its energy was not metered, or not all of it: that is the site's estimate.")
	}
	if (run.Settlement != history.MessageRef{}) {
		all = append(all, fmt.Sprintf("%s was paid %s.", format.CleanText(run.Settled.Site), format.FormatDollars(run.Settled.Paid)))
	}
	if r.EndedLate() {
		return append(all, fmt.Sprintf("It was late by %s.", format.FormatDuration(run.Ended.Sub(r.Job.Deadline))))
	}
	return append(all, fmt.Sprintf("It was done %s before its deadline.", format.FormatDuration(r.Job.Deadline.Sub(run.Ended))))
}

// mostNodesNamed is how many nodes of a gang a sentence names.
const mostNodesNamed = 8

// NodesText names the node of a run, or the number of a gang's nodes and the first of them.
func NodesText(run *history.Run) string {
	names := run.NodeNames()
	if len(names) == 1 {
		if run.Domain != "" && run.Domain != names[0] {
			return format.CleanText(names[0]) + ", in " + format.CleanText(run.Domain)
		}
		return format.CleanText(names[0])
	}
	var all []string
	for _, n := range names[:min(len(names), mostNodesNamed)] {
		all = append(all, format.CleanText(n))
	}
	if more := len(names) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%d nodes (%s)", len(names), format.JoinWithAnd(all))
	if run.Domain != "" {
		text += ", all in " + format.CleanText(run.Domain)
	}
	return text
}

// nodeAndDevices names the node and GPUs of a run, three or more in sequence as a range; of a gang its
// nodes.
func nodeAndDevices(run *history.Run) string {
	if len(run.Places) > 0 {
		return NodesText(run)
	}
	s := format.CleanText(run.Node)
	if len(run.Devices) == 0 {
		return s
	}
	n := len(run.Devices)
	if first, last := run.Devices[0], run.Devices[n-1]; n > 2 && slices.IsSorted(run.Devices) && last-first == n-1 {
		return fmt.Sprintf("%s, GPUs %d to %d", s, first, last)
	}
	var devices []string
	for _, d := range run.Devices {
		devices = append(devices, fmt.Sprint(d))
	}
	return fmt.Sprintf("%s, %s %s", s, format.PluralForm(n, "GPU", "GPUs"), format.JoinWithAnd(devices))
}
