// Package natsbus is a hub over NATS, and starts an embedded nats-server for
// those who have none.
//
// # Subjects
//
// A message travels on gridbid.v1.SPEAKER.LISTENER.KIND, as in
// gridbid.v1.agent-oslo.coordinator.offer; the listener "all" is everyone. The
// speaker stands in the subject so that the server holds a party to its own
// name: a party's user may publish on gridbid.v1.SPEAKER.> alone, and read only
// what is said to it or to all. The kind stands there so that people can listen
// to one. The 1 changes only when old readers could not read the bytes at all;
// see [protocol.Version] for changes that they survive.
//
// # What is not delivered
//
// A message whose From, To or kind differs from its subject, one that cannot be
// read, and one of an unknown kind are dropped and counted: see [Counts].
// NATS does not repeat what a listener missed. So a port fails, rather than
// leave a hole, when its connection breaks or when more than Pending messages
// wait for its party; whoever owns it joins again and rebuilds his state.
package natsbus
