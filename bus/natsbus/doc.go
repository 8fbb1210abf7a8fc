// Package natsbus is the bus over NATS. It also starts an embedded nats-server
// for deployments that have none.
//
// # Subjects
//
// A message travels on gridbid.v1.SENDER.RECEIVER.KIND, such as
// gridbid.v1.agent-oslo.coordinator.offer; the receiver "all" is every party.
// The sender is in the subject so that the server can enforce it: a party's user
// may publish on gridbid.v1.SENDER.> only, and read only what is sent to it or to
// all. The kind is in the subject so that operators can subscribe to one kind.
// The 1 changes only when older readers could not decode the bytes at all; see
// [protocol.Version] for other changes.
//
// # What is not delivered
//
// The receiver drops and counts a message whose From, To or kind differs from its
// subject, one that it cannot decode, and one of an unknown kind: see [DeliveryCounts].
// NATS does not repeat what a subscriber missed. So a connection fails, rather than
// skip messages, when its connection breaks or when more than MaxPending messages
// wait for its party; its owner then connects anew and restores its state.
//
// Package bus/natsbus/federation writes keys and permissions.
package natsbus
