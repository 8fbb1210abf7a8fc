package narrate

import (
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// ReasonText returns a reason in words that can follow "because": "no site has room now".
// An unknown code is returned as it is, cleaned.
func ReasonText(code protocol.Code) string {
	switch code {
	case protocol.NotAllowed:
		return "its data may not leave the regions that it names"
	case protocol.NoSuchGPU:
		return "the site has no GPU of a model that will do"
	case protocol.FitsNoNode:
		return "no node of the site is large enough"
	case protocol.NoCapacity:
		return "the site has no room in time"
	case protocol.PastDeadline:
		return "no start at the site meets the deadline"
	case protocol.NoSignal:
		return "the site does not know its price or carbon intensity"
	case protocol.NotCalled:
		return "the rule of this policy asks another site"
	case protocol.Forbidden:
		return "a rule of the operators' policy forbids it"
	case protocol.BadPlanning:
		return "the coordinator's call named slots or a horizon that no site can plan by"
	case protocol.Cheapest:
		return "it costs least, all jobs of the round taken together"
	case protocol.ChosenByJudge:
		return "a judge chose it among options that cost nearly the same"
	case protocol.ByRule:
		return "the fixed rule of this policy chose the site"
	case protocol.CheaperLater:
		return "the plan runs it at a better hour"
	case protocol.Waiting:
		return "no site has room now"
	case protocol.NoBids:
		return "no site has an option for it"
	case protocol.Malformed:
		return "the job makes no sense"
	case protocol.Duplicate:
		return "a job of that id with other contents is known"
	case protocol.CapacityTaken:
		return "the room was taken since the offer"
	case protocol.Superseded:
		return "a newer award of the job is known"
	case protocol.UnknownJob:
		return "nobody asked about the job"
	case protocol.SiteSilent:
		return "the site did not answer in time"
	case protocol.SiteDecommissioned:
		return "an operator said that the site will not come back"
	case protocol.ImpossibleBid:
		return "the offer cannot be true"
	case protocol.Cancelled:
		return "it was cancelled"
	case protocol.Unconfirmed:
		return "the coordinator was not heard before the lease ended"
	case protocol.ClusterRefused:
		return "the site's cluster refused it"
	case protocol.Evicted:
		return "it was evicted"
	case protocol.NodeLost:
		return "its node went away"
	case protocol.StrongerClaim:
		return "another job had a stronger claim to its devices"
	case protocol.Reclaimed:
		return "the owner of the site took the devices back"
	case protocol.TakenOver:
		return "another scheduler or user took its place"
	case protocol.NotStarted:
		return "it did not get to run in time"
	case "":
		return "no reason was given"
	}
	return format.CleanText(string(code))
}

// HasReasonText reports whether ReasonText knows a code. An unknown code is external text.
func HasReasonText(code protocol.Code) bool {
	return ReasonText(code) != format.CleanText(string(code))
}

// ReasonWithNote returns a reason with its note: "no site has room now (4 of 4 busy)".
func ReasonWithNote(why protocol.Reason) string {
	if why.Note == "" {
		return ReasonText(why.Code)
	}
	return ReasonText(why.Code) + " (" + format.CleanText(why.Note) + ")"
}
