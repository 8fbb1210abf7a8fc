package bus

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// ValidateParty returns what is wrong with a party's name, for a bus to refuse it. Names are parts
// of NATS subjects, permissions and file names, so they are plain: a role of a-z and, for a site's
// parties, the site of a-z, 0-9 and inner hyphens.
func ValidateParty(p protocol.Party) error {
	role, site, sited := strings.Cut(string(p), "/")
	switch {
	case p == "":
		return fmt.Errorf("bus: empty party name: only To may be empty, which means all")
	case role == "all":
		return fmt.Errorf("bus: party %q: the role all is reserved for broadcasts", p)
	case !isPlainName(role, false):
		return fmt.Errorf("bus: party %q: role %q must be 1 to 63 letters a-z", p, role)
	case sited && !isPlainName(site, true):
		return fmt.Errorf("bus: party %q: site %q must be 1 to 63 of a-z, 0-9 and inner hyphens", p, site)
	}
	return nil
}

// isPlainName reports whether s has 1 to 63 of the allowed characters.
func isPlainName(s string, site bool) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z'
		inner := c == '-' && i > 0 && i < len(s)-1
		if !letter && (!site || !inner && (c < '0' || c > '9')) {
			return false
		}
	}
	return 1 <= len(s) && len(s) <= 63
}

// ValidateSend returns why who may not send ms, or nil. Buses check it before they send any.
func ValidateSend(who protocol.Party, ms []protocol.Message) error {
	for _, m := range ms {
		if m.From != who {
			return fmt.Errorf("bus: %s cannot send as %q", who, m.From)
		}
		if m.To == "" {
			continue
		}
		if err := ValidateParty(m.To); err != nil {
			return err
		}
	}
	return nil
}
