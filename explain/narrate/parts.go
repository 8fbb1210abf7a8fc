package narrate

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// partsSentences says of a job in parts where each of them is.
func partsSentences(r history.JobRecord) (all []string) {
	if !r.Job.IsDivided() {
		return nil
	}
	all = append(all, fmt.Sprintf("It has %d parts, which may go to %d sites; all of them start, or none does. Each has a decision of its own.", len(r.Job.Parts), r.Job.MaxSites))
	for _, p := range r.PartStates {
		all = append(all, fmt.Sprintf("%s: %s.", format.CleanText(string(p.Part)), strings.TrimSuffix(JobStateText(p.JobState, 0), ".")))
	}
	return all
}

// togetherText says where the pods of a gang start.
func togetherText(r history.JobRecord) string {
	switch {
	case r.Job.IsDivided():
		return fmt.Sprintf(" in all, to start together at up to %d sites,", r.Job.MaxSites)
	case !r.Job.IsGang():
		return ""
	}
	text := " in all, to start together at one site,"
	if least := r.Job.LeastPods(); least < r.Job.PodCount() {
		text += fmt.Sprintf(" or at least %d of these pods,", least)
	}
	return text
}
