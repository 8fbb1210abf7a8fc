// Package proof is the arithmetic of the coordinator's log: entries and their commitments, the Merkle
// tree over them, signed heads and receipts, and proofs. Whoever writes the log and whoever verifies
// it compute with the same functions, as both must follow one format; what a verifier concludes is
// its own (package verify).
//
// The tree is that of RFC 6962 and RFC 9162. A leaf is the hash of an entry's line:
//
//	gridbid entry 1
//	INDEX AT KIND FROM SEQ ROUND COMMITMENT SIGNATURE
//
// COMMITMENT is the SHA-256 of a salt and of the message's digest, so a leaf tells nobody what was
// said who does not know the salt: a manifest, like all of a message, is in the log as a salted hash
// only. SIGNATURE is the sender's, or "-". Without a message, of a tick of the clock, KIND is "tick".
//
// A head is a signed note (golang.org/x/mod/sumdb/note) in the form of a checkpoint (c2sp.org/tlog-checkpoint),
// so any witness of transparency logs reads it.
package proof
