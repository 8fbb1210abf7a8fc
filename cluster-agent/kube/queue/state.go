package queue

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A placementState describes a job's state in the market: a reason for programs, and a
// message for people. Both are written to conditions and events.
type placementState struct {
	placed  bool
	reason  string // CamelCase, as conditions have it
	message string
	bad     bool // reported as an event of type Warning
	at      protocol.Time
}

// reasonPhrases spells out reason codes for people; other codes are printed with
// spaces.
var reasonPhrases = map[protocol.Code]string{
	protocol.CheaperLater:   "a later hour is cheaper or cleaner",
	protocol.Waiting:        "no site that may run it has room now",
	protocol.NoBids:         "no site can run it",
	protocol.Cheapest:       "of all offers, that costs least",
	protocol.ChosenByJudge:  "chosen among offers that cost nearly the same",
	protocol.ByRule:         "a fixed rule chose the site",
	protocol.Evicted:        "evicted",
	protocol.NodeLost:       "the node is gone",
	protocol.TakenOver:      "others took its place",
	protocol.ClusterRefused: "the cluster refused it",
	protocol.NotStarted:     "it did not begin in time",
	protocol.CapacityTaken:  "its room was taken",
	protocol.Cancelled:      "somebody cancelled it",
	protocol.StrongerClaim:  "stopped to make room for a job of higher priority",
	protocol.QuotaReclaimed: "stopped, since its room was lent and is needed by its owner",
	protocol.Malformed:      "it makes no sense",
	protocol.Duplicate:      "it was changed after it had been submitted; what was submitted counts",
}

// reasonText returns a reason in words, with its note.
func reasonText(r protocol.Reason) string {
	text, ok := reasonPhrases[r.Code]
	if !ok {
		text = strings.ReplaceAll(string(r.Code), "-", " ")
	}
	if r.Note != "" {
		text += ": " + r.Note
	}
	return text
}

// codeToCamelCase converts a reason code to the form of conditions and events:
// cheaper-later becomes CheaperLater.
func codeToCamelCase(c protocol.Code) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(string(c), func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if b.Len() == 0 {
		return "Unknown"
	}
	return b.String()
}

// formatUsage formats a bill: energy, carbon, money.
func formatUsage(b protocol.Usage) string {
	return fmt.Sprintf("%.3f kWh, %.3f kg of CO2e, $%.4f", b.Energy.InKWh(), b.Carbon.InKilograms(), b.Money.InDollars())
}

// formatTime formats an instant for people, in UTC to the second.
func formatTime(t protocol.Time) string { return t.StdTime().Format("2006-01-02 15:04:05 MST") }

// submittedState is the state of a job that the market has accepted, before its first round.
func submittedState(id protocol.JobID) placementState {
	return placementState{reason: "Submitted", message: fmt.Sprintf("submitted as %s; it waits for its round", id)}
}

// malformedState is the state of an object with faults, which was not submitted.
func malformedState(faults []string) placementState {
	return placementState{reason: "Malformed", message: strings.Join(faults, "; "), bad: true}
}

// deferredState is the state of a job whose award the market has deferred.
func deferredState(h protocol.Defer) placementState {
	words := "it waits: " + reasonText(h.Why)
	if h.Site != "" {
		words += fmt.Sprintf("; the plan is %s at %s", h.Site, formatTime(h.Start))
	}
	return placementState{reason: codeToCamelCase(h.Why.Code), message: words + fmt.Sprintf("; it is called again by %s", formatTime(h.Until))}
}

// stateOfNews returns the state of a job that the market has not closed, from what it last
// reported; was is the reason of the state that the job's object shows, "" if none. It is
// false after a restart, without an answer yet: what is shown stays.
func stateOfNews(n jobNews, id protocol.JobID, was string) (s placementState, known bool) {
	switch {
	case n.idConflict != "":
		return placementState{reason: "Changed", message: n.idConflict, bad: true}, true
	case n.deferral != nil:
		return deferredState(*n.deferral), true
	case n.status.State != "":
		return stateOfStatus(n.status), true
	case n.accepted && (was == "" || was == "Asking" || was == "Malformed" || was == "NotSuspended"):
		return submittedState(id), true
	}
	return placementState{reason: "Asking", message: "the market was asked, and has not answered yet"}, was == ""
}

// stateOfStatus translates a status that the market reported.
func stateOfStatus(s protocol.JobStatus) placementState {
	at := s.Bill.Finish
	switch {
	case s.State == protocol.AcceptConfirmed:
		model := ""
		if s.Model != "" {
			model = " on " + s.Model
		}
		return placementState{placed: true, reason: "Placed", at: s.Start, message: fmt.Sprintf("%s has it%s, from %s until %s, for %s: %s",
			s.Site, model, formatTime(s.Start), formatTime(at), formatUsage(s.Bill), reasonText(s.Why))}
	case s.State == protocol.Waiting:
		return placementState{reason: codeToCamelCase(s.Why.Code), bad: true, message: fmt.Sprintf("%s gave it back: %s; it is on sale again", s.Site, reasonText(s.Why))}
	case s.Why.Code == protocol.Cancelled:
		return placementState{reason: "Cancelled", message: "it was cancelled"}
	case s.Why.Code != "":
		return placementState{reason: codeToCamelCase(s.Why.Code), bad: true, message: "it will not be run: " + reasonText(s.Why)}
	case s.Failed != "":
		return placementState{reason: "Failed", bad: true, at: at, message: fmt.Sprintf("its program failed at %s at %s: %s; it took %s", s.Site, formatTime(at), s.Failed, formatUsage(s.Bill))}
	case s.Site == "":
		return placementState{reason: "Forgotten", bad: true, message: "it ended long ago, and the coordinator no longer has its outcome"}
	}
	return placementState{placed: true, reason: "Finished", at: at, message: fmt.Sprintf("%s ran it to its end at %s; it took %s", s.Site, formatTime(at), formatUsage(s.Bill))}
}
