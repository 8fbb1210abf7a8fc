package natsbus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

const (
	prefix = "gridbid.v1."
	all    = "all"
)

// token returns p as it stands in a subject. Roles have no hyphen, so two
// parties never share one: see [bus.CheckParty].
func token(p protocol.Party) string {
	if p == "" {
		return all
	}
	return strings.Replace(string(p), "/", "-", 1)
}

// Subject returns where all that one party says to another travels; to "" is
// to everyone.
func Subject(from, to protocol.Party) string { return prefix + token(from) + "." + token(to) + ".*" }

func subject(m protocol.Message) string {
	return prefix + token(m.From) + "." + token(m.To) + "." + m.Kind()
}

// hears returns the subjects that who listens to: see [protocol.Party.Hears].
func hears(who protocol.Party) []string {
	own := []string{prefix + "*." + token(who) + ".*"}
	if who.Private() {
		return own
	}
	return append(own, prefix+"*."+all+".*")
}

// everything is what a tap listens to.
const everything = prefix + ">"

// Rights returns the subjects on which who may publish and which it may read: its
// own words, what is said to it or to everyone, and its own inbox, where a
// server answers.
func Rights(who protocol.Party) (publish, subscribe []string) {
	return []string{prefix + token(who) + ".>"}, append(hears(who), Inbox(who)+".>")
}

// TapRights is Rights for a [Hub.Tap]: it may publish where nobody listens. A
// list of what is denied would leave subjects with empty parts.
func TapRights() (publish, subscribe []string) { return []string{"nowhere"}, []string{everything} }

// Inbox returns where the server's answers to who go. Parties that share an
// account do not share it, so none reads another's.
func Inbox(who protocol.Party) string { return "_INBOX_" + token(who) }

// permissions returns what the user of who may do.
func permissions(who protocol.Party) *server.Permissions {
	publish, subscribe := Rights(who)
	switch who {
	case tap:
		publish, subscribe = TapRights()
	case protocol.Coordinator:
		publish = append(publish, keeper...)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: subscribe},
	}
}

// read returns the message of data, which came on subj.
func read(subj string, data []byte) (protocol.Message, fault, error) {
	m, err := protocol.Decode(data)
	var unknown *protocol.UnknownKindError
	var version *protocol.VersionError
	switch {
	case errors.As(err, &version):
		if version.Version > protocol.Current {
			return m, tooNew, err
		}
		return m, tooOld, err
	case errors.As(err, &unknown):
		return m, unknownKind, err
	case err != nil:
		return m, unreadable, err
	case !named(m) || subject(m) != subj:
		return m, forged, fmt.Errorf("natsbus: message on %s says it is %q %d to %q", subj, m.From, m.Seq, m.To)
	}
	return m, sound, nil
}

// named reports whether speaker and listener bear names of parties. Others share
// their tokens: "agent-oslo", which is of no site, stands in subjects as
// "agent/oslo" does.
func named(m protocol.Message) bool {
	return bus.CheckParty(m.From) == nil && (m.To == "" || bus.CheckParty(m.To) == nil)
}
