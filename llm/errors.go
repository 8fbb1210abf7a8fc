package llm

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A Fault is the kind of a failed call.
type Fault string

// The faults.
const (
	Late        Fault = "late"        // no complete reply before the context ended
	Unreachable Fault = "unreachable" // no connection, or it broke
	Status      Fault = "status"      // the server answered with an error: see Error.Status
	Garbled     Fault = "garbled"     // the reply is not in the format, or not JSON though the prompt has a schema
	Cut         Fault = "cut"         // the reply is incomplete
	Empty       Fault = "empty"
	TooBig      Fault = "too-big"
	Declined    Fault = "declined" // the model or a filter refuses
	ToolCall    Fault = "tool-call"
	OverBudget  Fault = "over-budget" // a limit of the Config; the server was not called
)

// An Error says why a call has no reply.
type Error struct {
	Fault  Fault
	Status int           // HTTP status; 0: no response
	Retry  time.Duration // time for which the server asks callers to wait; 0: not stated
	Detail string        // for display; printable, short, without the key

	ended error // error of the context, if that is the reason
}

func (e *Error) Error() string {
	s := "llm: " + string(e.Fault)
	if e.Status != 0 {
		s += fmt.Sprintf(" %d", e.Status)
	}
	return s + ": " + e.Detail
}

// Unwrap returns the error of the context if the call was late, so that errors.Is
// finds context.DeadlineExceeded, which the library's own errors hide.
func (e *Error) Unwrap() error { return e.ended }

// Is makes errors.Is compare only the fault.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Fault == e.Fault
}

// printableLine returns s as one printable line.
func printableLine(s string) string {
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

// safeExcerpt returns the beginning of an untrusted text, for display. It removes the key
// before it cuts the text, so that no part of the key is left at the end.
func (k Key) safeExcerpt(s string) string {
	const most = 300
	s = k.removeKey(printableLine(s))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
