package narrate

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// JobStateText says why a job stands as it does: "held: the plan starts it at 13 Mar 03:45 at
// hydro-north, $0.0200 less than now". saving is what the plan of a held job costs less than an
// immediate start; 0 if that is not known.
func JobStateText(s history.JobState, saving protocol.Microdollars) string {
	text := stateText(s, saving)
	if s.Stopping && !s.State.IsFinal() {
		text += "; its site was asked to stop it"
	}
	return text
}

// stateText is JobStateText without the note that the job is to be stopped.
func stateText(s history.JobState, saving protocol.Microdollars) string {
	site := format.CleanText(s.Site)
	switch s.State {
	case history.Pending:
		if s.Why == (protocol.Reason{}) {
			return "no round has decided on it yet"
		}
		return "no place is planned: " + ReasonWithNote(s.Why)
	case history.Planned:
		if s.Awarded {
			return fmt.Sprintf("%s has it, to start at %s: %s", site, sentenceTime(s.Start), ReasonWithNote(s.Why))
		}
		return "held: " + planText(s, saving)
	case history.Running:
		return fmt.Sprintf("runs at %s since %s", site, sentenceTime(s.Start))
	case history.Preempted:
		text := "its run was taken down: " + ReasonWithNote(s.Why)
		if s.Site != "" {
			text = "its run was taken down to make room; " + planText(s, saving)
		}
		return text
	case history.Done:
		return fmt.Sprintf("ran at %s from %s to %s", site, sentenceTime(s.Start), sentenceTime(s.Since))
	case history.Failed:
		if s.Why.Code == "" {
			return "its program failed: " + format.CleanText(s.Why.Note)
		}
		return "what its site reported of the run cannot be true: " + format.CleanText(s.Why.Note)
	case history.Cancelled:
		if s.Why.Code == protocol.SiteDecommissioned {
			return "it was ended with its site: " + ReasonWithNote(s.Why)
		}
		return "its submitter or an operator cancelled it"
	case history.Refused:
		return ReasonWithNote(s.Why)
	}
	return "it has not begun"
}

// planText words where and when a held job is planned, and why not now.
func planText(s history.JobState, saving protocol.Microdollars) string {
	text := fmt.Sprintf("the plan starts it at %s at %s", sentenceTime(s.Start), format.CleanText(s.Site))
	switch {
	case saving > 0:
		text += fmt.Sprintf(", %s less than now", format.FormatDollars(saving))
	case s.Why.Code == protocol.CheaperLater:
		text += ", a better hour than now"
	case s.Why.Code != "":
		text += ", as " + ReasonWithNote(s.Why)
	}
	return text
}

// RefusalWord says in one word what became of a job that the market will not run, by the reason:
// "refused", "cancelled", or "ended" where its site's report cannot be true.
func RefusalWord(why protocol.Code) string {
	if s := history.StateOfRefusal(why); s != history.Failed {
		return string(s)
	}
	return "ended"
}

// RefusalCause says why a job was refused, to follow [RefusalWord]; nothing of a job that was cancelled
// and of which no more is known.
func RefusalCause(why protocol.Reason) string {
	if why == (protocol.Reason{Code: protocol.Cancelled}) {
		return ""
	}
	return ": " + ReasonWithNote(why)
}

// eventTexts say what events of jobs were, with slots for the site, the planned start, the reason and the
// payment.
var eventTexts = map[history.JobEventKind]string{
	history.EventSubmitted:       "the coordinator has it",
	history.EventAwarded:         "to {site}, to start at {start}: {why}",
	history.EventAccepted:        "{site} has reserved its devices from {start}",
	history.EventDeclined:        "{site} gave it back: {why}",
	history.EventExpired:         "{site} did not answer the award in time",
	history.EventDecommissioned:  "taken from {site}: {why}",
	history.EventStarted:         "it runs at {site}",
	history.EventPreempted:       "its run at {site} was taken down: {why}",
	history.EventInterrupted:     "its run at {site} was taken down: {why}",
	history.EventPaused:          "{site} paused it; the rest is on sale",
	history.EventCancelRequested: "{site} was asked to stop it",
	history.EventEnded:           "its run at {site} ended",
	history.EventSettled:         "{site} was paid {paid}",
	history.EventRefused:         "{why}",
}

// JobEventText says what an event of a job was.
func JobEventText(e history.JobEvent) string {
	switch e.Kind {
	case history.EventHeld:
		text := ReasonWithNote(e.Why)
		if e.Site != "" && e.Start != 0 {
			text = planText(history.JobState{Site: e.Site, Start: e.Start, Why: e.Why}, 0)
		}
		if e.Until != 0 {
			text += fmt.Sprintf("; called again at %s at the latest", sentenceTime(e.Until))
		}
		return text
	case history.EventFailed:
		return JobStateText(history.JobState{State: history.Failed, Why: e.Why}, 0)
	case history.EventCancelled:
		return JobStateText(history.JobState{State: history.Cancelled, Why: e.Why}, 0)
	}
	form, known := eventTexts[e.Kind]
	if !known {
		return format.CleanText(string(e.Kind))
	}
	return strings.NewReplacer("{site}", format.CleanText(e.Site), "{start}", sentenceTime(e.Start), "{why}", ReasonWithNote(e.Why), "{paid}", format.FormatDollars(e.Paid)).Replace(form)
}

// ConditionReason says in a few words why a site stands as it does; "" for a site that is well.
func ConditionReason(c history.SiteCondition) string {
	note := format.CleanText(c.Why.Note)
	var parts []string
	switch {
	case c.Why.Code == protocol.SignalsOld && note != "":
	case c.Why.Code == protocol.MissedRounds && note != "":
		note = "it missed rounds: " + note
	case c.Why.Code == protocol.Forbidden:
		note = "rule " + note + " of the policy forbids jobs there"
	case c.Why.Code != "":
		parts = append(parts, ReasonText(c.Why.Code))
	}
	if c.By != "" {
		parts = append(parts, "by "+format.CleanText(c.By))
	}
	if note != "" {
		parts = append(parts, note)
	}
	if c.Until != 0 {
		parts = append(parts, "until "+c.Until.StdTime().Format("2006-01-02 15:04"))
	}
	return strings.Join(parts, ", ")
}

// reasonTexts are the reasons that have words, which can follow "because".
var reasonTexts = map[protocol.Code]string{
	protocol.NotAllowed:         "its data may not leave the regions that it names",
	protocol.NoSuchGPU:          "the site has no GPU of a model that will do",
	protocol.FitsNoNode:         "no node of the site is large enough",
	protocol.RefusedByTerms:     "the site's terms refuse it",
	protocol.OverQuota:          "the quotas leave its tenant no room",
	protocol.BudgetSpent:        "the month's budget of its tenant, or of a group of it, has no room for what it may cost",
	protocol.CarbonBudgetSpent:  "the month's carbon budget of its tenant, or of a group of it, has no room for what it may emit",
	protocol.Preempting:         "runs are being stopped to make room for it",
	protocol.QuotaReclaimed:     "the room was lent, and its owner needs it",
	protocol.QueueBlocked:       "a job before it in its StrictFIFO queue finds no room",
	protocol.StartedAlone:       "its site started it while no coordinator was heard",
	protocol.HomeSilent:         "the site whose queue submitted it may start it by itself, and did not say that it will not",
	protocol.NoCapacity:         "the site has no room in time",
	protocol.PastDeadline:       "no start at the site meets the deadline",
	protocol.NoSignal:           "the site does not know its price or carbon intensity",
	protocol.NotCalled:          "the rule of this policy asks another site",
	protocol.Forbidden:          "a rule of the operators' policy forbids it",
	protocol.BadPlanning:        "the coordinator's call named slots or a horizon that no site can plan by",
	protocol.Cheapest:           "it costs least, all jobs of the round taken together",
	protocol.ChosenByJudge:      "a judge chose it among options that cost nearly the same",
	protocol.ByRule:             "the rule of this policy chose the site",
	protocol.CheaperLater:       "the plan runs it at a better hour",
	protocol.PartsApart:         "its parts find no room at about the same time",
	protocol.PartLost:           "another part of its job did not stand",
	protocol.Waiting:            "no site that may run it has room now",
	protocol.NoBids:             "no site has an option for it",
	protocol.Malformed:          "the job makes no sense",
	protocol.Duplicate:          "a job of that id with other contents is known",
	protocol.CapacityTaken:      "the room was taken since the offer",
	protocol.Superseded:         "a newer award of the job is known",
	protocol.UnknownJob:         "nobody asked about the job",
	protocol.NoAnswer:           "the site did not answer in time",
	protocol.SiteDecommissioned: "an operator said that the site will not come back",
	protocol.ImpossibleBid:      "the offer cannot be true",
	protocol.Cancelled:          "it was cancelled",
	protocol.Unconfirmed:        "the coordinator was not heard before the lease ended",
	protocol.ClusterRefused:     "the site's cluster refused it",
	protocol.Evicted:            "it was evicted",
	protocol.NodeLost:           "its node went away",
	protocol.StrongerClaim:      "another job had a stronger claim to its devices",
	protocol.Reclaimed:          "the owner of the site took the devices back",
	protocol.NoHeartbeat:        "the coordinator hears nothing from its agent",
	protocol.MissedRounds:       "it did not answer rounds",
	protocol.KeysRevoked:        "its keys were revoked",
	protocol.Drained:            "it gets no more jobs",
	protocol.SignalsOld:         "no price or carbon intensity was published for hours",
	protocol.TakenOver:          "another scheduler or user took its place",
	protocol.NotStarted:         "it did not get to run in time",
	"":                          "no reason was given",
}

// ReasonText returns a reason in words that can follow "because": "no site that may run it has room now".
// An unknown code is returned as it is, cleaned.
func ReasonText(code protocol.Code) string {
	if text, known := reasonTexts[code]; known {
		return text
	}
	return format.CleanText(string(code))
}

// HasReasonText reports whether ReasonText knows a code. An unknown code is external text.
func HasReasonText(code protocol.Code) bool {
	_, known := reasonTexts[code]
	return known
}

// ReasonWithNote returns a reason with its note: "no site that may run it has room now (4 of 4 busy)".
func ReasonWithNote(why protocol.Reason) string {
	if why.Note == "" {
		return ReasonText(why.Code)
	}
	return ReasonText(why.Code) + " (" + format.CleanText(why.Note) + ")"
}
