package protocol

import "fmt"

// An Urgency is how dearly an owner holds a job's waiting. [Weights] has the price of each. The
// zero value is a standard job.
type Urgency string

// All urgencies.
const (
	UrgencyStandard Urgency = ""         // waits while that saves more than its price of waiting, and not for long
	UrgencyNow      Urgency = "now"      // wants to start at once: no site bids a later start than it must
	UrgencyFlexible Urgency = "flexible" // waits for cheap and clean hours until its deadline
)

// standardWord is how people write UrgencyStandard.
const standardWord = "standard"

// ParseUrgency reads now, standard or flexible.
func ParseUrgency(text string) (Urgency, error) {
	switch u := Urgency(text); {
	case text == standardWord:
		return UrgencyStandard, nil
	case u == UrgencyNow || u == UrgencyFlexible:
		return u, nil
	}
	return UrgencyStandard, fmt.Errorf("is %q: want now, standard or flexible", text)
}

// String returns now, standard or flexible.
func (u Urgency) String() string {
	if u == UrgencyStandard {
		return standardWord
	}
	return string(u)
}

// UrgencyFromDeferrable returns the urgency of a job that was described before there were three: a
// deferrable job with a deadline of its own is flexible, one without is standard, and one that is
// not deferrable is wanted now.
func UrgencyFromDeferrable(deferrable, hasDeadline bool) Urgency {
	switch {
	case !deferrable:
		return UrgencyNow
	case hasDeadline:
		return UrgencyFlexible
	}
	return UrgencyStandard
}

// StandardOrNow returns the urgency of a job that may wait, and of one that may not.
func StandardOrNow(mayWait bool) Urgency {
	if mayWait {
		return UrgencyStandard
	}
	return UrgencyNow
}

// isValid reports whether u is one of the urgencies.
func (u Urgency) isValid() bool {
	return u == UrgencyStandard || u == UrgencyNow || u == UrgencyFlexible
}
