package narrate

import (
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// reasonTexts are the reasons that have words, which can follow "because".
var reasonTexts = map[protocol.Code]string{
	protocol.NotAllowed:         "its data may not leave the regions that it names",
	protocol.NoSuchGPU:          "the site has no GPU of a model that will do",
	protocol.FitsNoNode:         "no node of the site is large enough",
	protocol.RefusedByTerms:     "the site's terms refuse it",
	protocol.NoCapacity:         "the site has no room in time",
	protocol.PastDeadline:       "no start at the site meets the deadline",
	protocol.NoSignal:           "the site does not know its price or carbon intensity",
	protocol.NotCalled:          "the rule of this policy asks another site",
	protocol.Forbidden:          "a rule of the operators' policy forbids it",
	protocol.BadPlanning:        "the coordinator's call named slots or a horizon that no site can plan by",
	protocol.Cheapest:           "it costs least, all jobs of the round taken together",
	protocol.ChosenByJudge:      "a judge chose it among options that cost nearly the same",
	protocol.ByRule:             "the fixed rule of this policy chose the site",
	protocol.CheaperLater:       "the plan runs it at a better hour",
	protocol.Waiting:            "no site has room now",
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

// ReasonText returns a reason in words that can follow "because": "no site has room now".
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

// ReasonWithNote returns a reason with its note: "no site has room now (4 of 4 busy)".
func ReasonWithNote(why protocol.Reason) string {
	if why.Note == "" {
		return ReasonText(why.Code)
	}
	return ReasonText(why.Code) + " (" + format.CleanText(why.Note) + ")"
}
