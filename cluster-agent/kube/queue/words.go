package queue

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A state is how a job stands, in a word for programs and in words for people.
type state struct {
	placed bool
	reason string // CamelCase, as conditions have it
	words  string
	bad    bool // worth a warning
	at     protocol.Time
}

// phrases are reasons in words; others are printed as they are.
var phrases = map[protocol.Code]string{
	protocol.CheaperLater: "a later hour is cheaper or cleaner",
	protocol.Waiting:      "no site has room now",
	protocol.NoOffer:      "no site can run it",
	protocol.Cheapest:     "of all offers, that costs least",
	protocol.Judged:       "chosen among offers that cost nearly the same",
	protocol.ByRule:       "a fixed rule chose the site",
	protocol.Evicted:      "evicted",
	protocol.NodeGone:     "the node is gone",
	protocol.TakenOver:    "others took its place",
	protocol.Refused:      "the cluster refused it",
	protocol.Unfinished:   "it did not begin in time",
	protocol.RoomGone:     "its room was taken",
	protocol.Cancelled:    "somebody cancelled it",
	protocol.Malformed:    "it makes no sense",
	protocol.Duplicate:    "it was changed after it had been submitted; what was submitted counts",
}

func say(r protocol.Reason) string {
	text, ok := phrases[r.Code]
	if !ok {
		text = strings.ReplaceAll(string(r.Code), "-", " ")
	}
	if r.Note != "" {
		text += ": " + r.Note
	}
	return text
}

// camel writes a code as conditions and events do: cheaper-later, CheaperLater.
func camel(c protocol.Code) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(string(c), func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if b.Len() == 0 {
		return "Unknown"
	}
	return b.String()
}

// amounts prints a bill: energy, carbon, money.
func amounts(b protocol.Bill) string {
	return fmt.Sprintf("%.3f kWh, %.3f kg of CO2e, $%.4f", b.Energy.KWh(), b.Carbon.Kilograms(), b.Money.Dollars())
}

func when(t protocol.Time) string { return t.Go().Format("2006-01-02 15:04:05 MST") }

func submittedAs(id protocol.JobID) state {
	return state{reason: "Submitted", words: fmt.Sprintf("submitted as %s; it waits for its round", id)}
}

func malformed(faults []string) state {
	return state{reason: "Malformed", words: strings.Join(faults, "; "), bad: true}
}

func held(h protocol.Hold) state {
	words := "it waits: " + say(h.Why)
	if h.Site != "" {
		words += fmt.Sprintf("; the plan is %s at %s", h.Site, when(h.Start))
	}
	return state{reason: camel(h.Why.Code), words: words + fmt.Sprintf("; it is called again by %s", when(h.Until))}
}

// stands tells what a queue was told.
func stands(s protocol.Standing) state {
	at := s.Bill.Finish
	switch {
	case s.State == protocol.Stands:
		model := ""
		if s.Model != "" {
			model = " on " + s.Model
		}
		return state{placed: true, reason: "Placed", at: s.Start, words: fmt.Sprintf("%s has it%s, from %s until %s, for %s: %s",
			s.Site, model, when(s.Start), when(at), amounts(s.Bill), say(s.Why))}
	case s.State == protocol.Waiting:
		return state{reason: camel(s.Why.Code), bad: true, words: fmt.Sprintf("%s gave it back: %s; it is on sale again", s.Site, say(s.Why))}
	case s.Why.Code == protocol.Cancelled:
		return state{reason: "Cancelled", words: "it was cancelled"}
	case s.Why.Code != "":
		return state{reason: camel(s.Why.Code), bad: true, words: "it will not be run: " + say(s.Why)}
	case s.Failed != "":
		return state{reason: "Failed", bad: true, at: at, words: fmt.Sprintf("its program failed at %s at %s: %s; it took %s", s.Site, when(at), s.Failed, amounts(s.Bill))}
	case s.Site == "":
		return state{reason: "Forgotten", bad: true, words: "it ended long ago; nobody remembers how"}
	}
	return state{placed: true, reason: "Finished", at: at, words: fmt.Sprintf("%s ran it to its end at %s; it took %s", s.Site, when(at), amounts(s.Bill))}
}
