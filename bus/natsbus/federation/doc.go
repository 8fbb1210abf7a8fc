// Package federation keeps who belongs to a federation, and writes from that
// what its servers and parties need: keys, certificates, permissions, and
// configuration files that are ready to use. The command is `gridbid
// federation`.
//
// # Who may say what to whom
//
// Each site has an account of its own on the hub, and the market has one. What
// is said in one account is not heard in another, but for what the market's
// account exports:
//
//   - a site's agent may speak to the coordinator, on
//     gridbid.v1.agent-SITE.coordinator.*, which no other account imports;
//   - the coordinator is heard on gridbid.v1.coordinator.agent-SITE.* by that
//     site alone, and on gridbid.v1.coordinator.all.* by all.
//
// So a site that speaks in another's name is heard by nobody, and streams,
// key-value buckets and inboxes of the market stand in an account that it
// cannot reach. What a site's agent says to its hands and feed stays in the
// site's account. Beside that the server holds the site's key to the subjects
// of its own parties, so that an attempt is refused and logged, not ignored.
//
// A site connects to the hub itself, or has a server of its own that does, as a
// leaf. The rules stand at the hub, so a site cannot change them in its server.
//
// # Files
//
// A federation is a folder. federation.json is what is known: names, public
// keys and limits, and no secret. hub/accounts.conf follows from it and is
// written anew at each change; hub/hub.conf is written once and is the
// operator's from then on. The folder of a site or of another party holds its
// secret key; hand it over by a way that others cannot read, and then delete
// it here. All files are for their owner alone, a file appears whole or not at
// all, and a key is never written over.
package federation
