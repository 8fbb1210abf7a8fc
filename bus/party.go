package bus

import (
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// ValidateParty says what is wrong with a party's name, for a hub to refuse. Names
// stand in subjects, in permissions and in file names, so they are plain: a
// role of a..z, and the site, if there is one, of a..z, 0..9 and inner hyphens.
func ValidateParty(p protocol.Party) error {
	role, site, sited := strings.Cut(string(p), "/")
	switch {
	case p == "":
		return fmt.Errorf("bus: a party needs a name; only a listener may be everyone")
	case role == "all":
		return fmt.Errorf("bus: party %q: all is everyone, no party's name", p)
	case !isPlainName(role, false):
		return fmt.Errorf("bus: party %q: the role %q needs 1 to 63 letters a-z", p, role)
	case sited && !isPlainName(site, true):
		return fmt.Errorf("bus: party %q: the site %q needs 1 to 63 of a-z, 0-9 and hyphens inside", p, site)
	}
	return nil
}

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

// ValidateSend says why who may not say ms, or nil. Hubs ask before they send any.
func ValidateSend(who protocol.Party, ms []protocol.Message) error {
	for _, m := range ms {
		if m.From != who {
			return fmt.Errorf("bus: %s cannot speak as %q", who, m.From)
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
