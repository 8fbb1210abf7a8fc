package narrate

import (
	"strings"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

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
