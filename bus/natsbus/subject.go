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

// token returns p as a token of a subject. Roles have no hyphen, so two parties
// never have the same token: see [bus.CheckParty].
func token(p protocol.Party) string {
	if p == "" {
		return all
	}
	return strings.Replace(string(p), "/", "-", 1)
}

// Subject returns the subject of all messages from one party to another; to "" is
// to all.
func Subject(from, to protocol.Party) string { return prefix + token(from) + "." + token(to) + ".*" }

func subject(m protocol.Message) string {
	return prefix + token(m.From) + "." + token(m.To) + "." + m.Kind()
}

// hears returns the subjects that who subscribes to: see [protocol.Party.Hears].
func hears(who protocol.Party) []string {
	own := []string{prefix + "*." + token(who) + ".*"}
	if who.Private() {
		return own
	}
	return append(own, prefix+"*."+all+".*")
}

// everything is the subject of a tap.
const everything = prefix + ">"

// Rights returns the subjects on which who may publish, and those that it may read:
// its own messages; messages to it or to all, and its own inbox, where the
// server's answers arrive.
func Rights(who protocol.Party) (publish, subscribe []string) {
	return []string{prefix + token(who) + ".>"}, append(hears(who), Inbox(who)+".>")
}

// TapRights returns the rights of a [Hub.Tap]: it may publish on a subject without
// subscribers. Denying all subjects instead would still admit subjects with empty
// tokens.
func TapRights() (publish, subscribe []string) { return []string{"nowhere"}, []string{everything} }

// Inbox returns the subject of the server's answers to who. Each party has its
// own, so that parties of one account cannot read each other's answers.
func Inbox(who protocol.Party) string { return "_INBOX_" + token(who) }

// permissions returns the permissions of the user of who.
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

// read decodes a message and checks it against the subject on which it came.
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
		return m, forged, fmt.Errorf("natsbus: message on %s claims to be %q %d to %q", subj, m.From, m.Seq, m.To)
	}
	return m, sound, nil
}

// named reports whether sender and receiver are valid names of parties. An invalid
// name can have the token of a valid one: "agent-oslo", which is no party, has
// that of "agent/oslo".
func named(m protocol.Message) bool {
	return bus.CheckParty(m.From) == nil && (m.To == "" || bus.CheckParty(m.To) == nil)
}
