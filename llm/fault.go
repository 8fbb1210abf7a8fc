package llm

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A Fault is a way in which a model fails to answer.
type Fault string

// The faults.
const (
	Late        Fault = "late"        // no whole reply before the context ended
	Unreachable Fault = "unreachable" // no connection, or it broke
	Status      Fault = "status"      // the server answered with an error: see Error.Status
	Garbled     Fault = "garbled"     // a reply that is not in the format, or not JSON where that was asked for
	Cut         Fault = "cut"         // a reply without its end
	Empty       Fault = "empty"
	TooBig      Fault = "too-big"
	Declined    Fault = "declined" // the model or its filter refuses
	ToolCall    Fault = "tool-call"
	OverBudget  Fault = "over-budget" // a limit of ours; the server was not asked
)

// An Error is why there is no reply.
type Error struct {
	Fault  Fault
	Status int           // of HTTP; 0: there was none
	Retry  time.Duration // the server asks not to be asked again before; 0: it does not say
	Detail string        // for people; printable, short, without the key

	ended error // of the context, if that is why
}

func (e *Error) Error() string {
	s := "llm: " + string(e.Fault)
	if e.Status != 0 {
		s += fmt.Sprintf(" %d", e.Status)
	}
	return s + ": " + e.Detail
}

// Unwrap returns why the context ended, of what came too late: so errors.Is finds
// context.DeadlineExceeded, which the library's own errors hide.
func (e *Error) Unwrap() error { return e.ended }

// Is lets errors.Is compare the fault alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Fault == e.Fault
}

// clean returns s as a line that a terminal may show.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r) && r != unicode.ReplacementChar:
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// told returns the beginning of a text from outside, for people. The key is taken
// out before it is cut, so that no part of one is left at the end.
func (k Key) told(s string) string {
	const most = 300
	s = k.scrub(clean(s))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
