package natsbus

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// Subjects are gridbid.v1.SENDER.RECEIVER.KIND; everyoneToken stands for the receiver of a
// message to all.
const (
	subjectPrefix = "gridbid.v1."
	everyoneToken = "all"
)

// subjectToken returns p as a token of a subject. Roles have no hyphen, so two parties
// never have the same token: see [bus.ValidateParty].
func subjectToken(p protocol.Party) string {
	if p == "" {
		return everyoneToken
	}
	return strings.Replace(string(p), "/", "-", 1)
}

// SubjectBetween returns the subject of all messages from one party to another; to "" is
// to all.
func SubjectBetween(from, to protocol.Party) string {
	return subjectPrefix + subjectToken(from) + "." + subjectToken(to) + ".*"
}

// subjectTo returns the subject on which a message reaches a party; "": all.
func subjectTo(to protocol.Party, m protocol.Message) string {
	return subjectPrefix + subjectToken(m.From) + "." + subjectToken(to) + "." + m.KindName()
}

// isSubjectTo reports whether subj is the subject on which a message reaches a party; "": all.
func isSubjectTo(subj string, to protocol.Party, m protocol.Message) bool {
	rest, ok := strings.CutPrefix(subj, subjectPrefix)
	if ok {
		rest, ok = cutToken(rest, m.From)
	}
	if ok {
		rest, ok = cutToken(rest, to)
	}
	return ok && rest == m.KindName()
}

// cutToken returns a subject without the token of p and the dot after it; false if another token is there.
func cutToken(subj string, p protocol.Party) (rest string, ok bool) {
	token := string(p)
	if p == "" {
		token = everyoneToken
	}
	n := len(token)
	if len(subj) <= n || subj[n] != '.' {
		return subj, false
	}
	if i := strings.IndexByte(token, '/'); i >= 0 {
		ok = subj[:i] == token[:i] && subj[i] == '-' && subj[i+1:n] == token[i+1:]
	} else {
		ok = subj[:n] == token
	}
	return subj[n+1:], ok
}

// maxCopiedBytes bounds the copies of a broadcast for those whom it concerns alone. A longer call is asked of nearly
// all sites: one broadcast takes less of the sender's connection, and the others drop it.
const maxCopiedBytes = 4 << 20

// receiversOf returns on whose subjects a message of so many bytes is sent: its receiver's, or those of the
// parties that alone receive a broadcast.
func receiversOf(m protocol.Message, size int) []protocol.Party {
	only := m.OnlyTo()
	if only == nil || len(only)*size > maxCopiedBytes {
		return []protocol.Party{m.To}
	}
	return only
}

// A subjectCache holds the subjects on which one party sent lately.
type subjectCache map[cachedSubject]string

type cachedSubject struct {
	to   protocol.Party
	kind string
}

// maxCachedSubjects bounds a cache: some kinds to each of a thousand sites.
const maxCachedSubjects = 1 << 14

// subjectTo is the function of that name, for messages of one sender.
func (c subjectCache) subjectTo(to protocol.Party, m protocol.Message) string {
	key := cachedSubject{to, m.KindName()}
	subj, ok := c[key]
	if !ok {
		if len(c) >= maxCachedSubjects {
			clear(c)
		}
		subj = subjectTo(to, m)
		c[key] = subj
	}
	return subj
}

// copyNumber returns which of the copies of a broadcast a message on a subject is, from 0; -1: none.
func copyNumber(m protocol.Message, subj string) int {
	return slices.IndexFunc(m.OnlyTo(), func(to protocol.Party) bool { return isSubjectTo(subj, to, m) })
}

// subscribedSubjects returns the subjects that who subscribes to: see [protocol.Party.ShouldReceive].
func subscribedSubjects(who protocol.Party) []string {
	if who.TenantName() != "" { // no other party sends to a tenant
		return []string{SubjectBetween(protocol.Coordinator, who)}
	}
	own := []string{subjectPrefix + "*." + subjectToken(who) + ".*"}
	if who.IsPrivate() {
		return own
	}
	return append(own, subjectPrefix+"*."+everyoneToken+".*")
}

// allSubjects is the subject of a tap.
const allSubjects = subjectPrefix + ">"

// AllowedSubjects returns the subjects on which who may publish, and those that it may read:
// its own messages; messages to it or to all, and its own inbox, where the
// server's answers arrive. A tenant may publish submissions and cancellations, and has no inbox.
func AllowedSubjects(who protocol.Party) (publish, subscribe []string) {
	if who.TenantName() != "" {
		return SubmissionSubjects(who), subscribedSubjects(who)
	}
	return []string{subjectPrefix + subjectToken(who) + ".>"}, append(subscribedSubjects(who), InboxPrefix(who)+".>")
}

// SubmissionSubjects returns the subjects on which who submits and cancels jobs.
func SubmissionSubjects(who protocol.Party) (publish []string) {
	for _, kind := range protocol.KindsOfTenants() {
		publish = append(publish, subjectPrefix+subjectToken(who)+"."+subjectToken(protocol.Coordinator)+"."+kind)
	}
	return publish
}

// TapSubjects returns the rights of a [Bus.OpenTap]: it may publish on a subject without
// subscribers. Denying all subjects instead would still admit subjects with empty
// tokens.
func TapSubjects() (publish, subscribe []string) { return []string{"nowhere"}, []string{allSubjects} }

// InboxPrefix returns the subject of the server's answers to who. Each party has its
// own, so that parties of one account cannot read each other's answers.
func InboxPrefix(who protocol.Party) string { return "_INBOX_" + subjectToken(who) }

// serverPermissions returns the permissions of the user of who.
func serverPermissions(who protocol.Party) *server.Permissions {
	publish, subscribe := AllowedSubjects(who)
	switch who {
	case tap:
		publish, subscribe = TapSubjects()
	// Only the coordinator writes the event log.
	case protocol.Coordinator:
		publish = append(publish, eventLogSubjects...)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: subscribe},
	}
}

// decodeMessage decodes a message and checks it against the subject on which it came.
func decodeMessage(subj string, data []byte) (protocol.Message, dropReason, error) {
	m, err := protocol.Decode(data)
	var unknown *protocol.UnknownKindError
	var version *protocol.VersionError
	switch {
	case errors.As(err, &version):
		if version.Version > protocol.Current {
			return m, tooNew, err
		}
		return m, oldVersion, err
	case errors.As(err, &unknown):
		return m, unknownMessageKind, err
	case err != nil:
		return m, undecodable, err
	// A server that admits who sent it has checked the subject, but not what the bytes claim.
	case hasPartyNames(m) && (isSubjectTo(subj, m.To, m) || copyNumber(m, subj) >= 0):
		return m, delivered, nil
	}
	return m, forgedSender, fmt.Errorf("natsbus: message on %s claims to be %q %d to %q", subj, m.From, m.Seq, m.To)
}

// hasPartyNames reports whether sender and receiver are valid names of parties. An invalid
// name can have the token of a valid one: "agent-oslo", which is no party, has
// that of "agent/oslo".
func hasPartyNames(m protocol.Message) bool {
	return bus.ValidateParty(m.From) == nil && (m.To == "" || bus.ValidateParty(m.To) == nil)
}
