// Package federation manages the members of a federation and generates what its
// servers and parties need: keys, certificates, permissions, and complete
// configuration files. The command is `gridbid federation`.
//
// # Permissions
//
// Each site has a NATS account on the hub, and the market has one. Messages do
// not pass between accounts, except on what the market's account imports and
// exports:
//
//   - a site's agent may send to the coordinator, on
//     gridbid.v1.agent-SITE.coordinator.*, which no other account imports;
//   - the coordinator's messages on gridbid.v1.coordinator.agent-SITE.* reach
//     that site alone, and those on gridbid.v1.coordinator.all.* all sites.
//
// So messages that a site sends in the name of another reach no party, and
// streams, key-value buckets and inboxes of the market are in an account that no
// site can reach. Messages between a site's agent, executor and signal source
// stay in the site's account. In addition the server limits each site's key to
// the subjects of its own parties, so that it refuses and logs an attempt.
//
// Tenants that submit by keys of their own share one account. It exports and imports streams
// alone, and a tenant's key may publish its submissions and cancellations, and hear what the
// coordinator answers to it.
//
// A site connects to the hub directly, or runs a nats-server of its own as a
// leaf. The hub enforces the rules, so a site cannot change them in its server.
//
// # Files
//
// A federation is a folder. federation.json is its state: names, public keys and
// limits, and no secret. hub/accounts.conf is generated from it at each change;
// hub/hub.conf is written once and belongs to the operator from then on. The
// folder of a site or of another member holds its secret key: hand it over on a
// secure channel, and then delete it here. Only the owner may read the files.
// Each is written atomically, and a key is never overwritten.
//
// Package bus/natsbus, the neighbour, connects parties by these files.
package federation
