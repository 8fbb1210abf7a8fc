package division

import (
	"fmt"
	"strconv"
	"strings"
)

// sites reads sites from text, such as "A held 6 free 2; B free 3 tier 1 weight 2".
func sites(t failer, text string) (out []Site) {
	t.Helper()
	for _, part := range strings.Split(text, ";") {
		words := strings.Fields(part)
		s := Site{Name: words[0]}
		for i := 1; i < len(words); i += 2 {
			v, err := strconv.Atoi(words[i+1])
			if err != nil {
				t.Fatalf("site %q: %v", part, err)
			}
			switch words[i] {
			case "held":
				s.Held = v
			case "free":
				s.Free = v
			case "tier":
				s.Tier = v
			case "weight":
				s.Weight = int64(v)
			case "start":
				s.Start = dollars(v)
			default:
				t.Fatalf("site %q: unknown word %s", part, words[i])
			}
		}
		out = append(out, s)
	}
	return out
}

// says writes a division as "A7 B5 C6, 2 pending: no-room"; sites with nothing are left out.
func says(d Division) string {
	var words []string
	for _, s := range d.Shares {
		if s.Replicas != 0 {
			words = append(words, s.Site+strconv.Itoa(s.Replicas))
		}
	}
	out := strings.Join(words, " ")
	if len(words) == 0 {
		out = "none"
	}
	if d.Pending > 0 {
		out += fmt.Sprintf(", %d pending", d.Pending)
	}
	if d.Reason != "" {
		out += ": " + string(d.Reason)
	}
	return out
}

// divide divides and fails the test on an error.
func divide(t failer, r Request) Division {
	t.Helper()
	d, err := Divide(r)
	if err != nil {
		t.Fatalf("Divide(%+v): %v", r, err)
	}
	return d
}

// failer is what a test and a property share.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
