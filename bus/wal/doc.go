// Package wal writes messages in order to a file that shows whether it was
// changed: the ledger of a run ([Writer], [Reader]), and the write-ahead log of an
// agent's events ([FileLog]). Package bus/eventlog stores a coordinator's events.
//
// # The file
//
//	gridbid journal 1\n    the 1 is the version of this format
//	frame of the header    a JSON object of strings: scenario, seed, policy, ...
//	frame of each message  as on the wire; see package protocol
//	end                    a zero, the number of messages, 32 bytes of chain
//
// A frame is its length (an unsigned varint, never zero), that many bytes, and
// 8 bytes of chain. The chain begins as the SHA-256 of the first line. After each
// frame it becomes the SHA-256 of its old value and of the frame's length and
// bytes; the file has its first 8 bytes. So a byte that was changed, removed,
// added or moved breaks the chain, and the reader reports the offset of the frame
// where it broke. There is a link after each frame, not each block, so that the
// reader can name the frame; they cost little, since bids, which are most of a
// file, take thousands of bytes. 8 bytes detect every accident. Someone who
// forges a file can compute the chain too; against that, compare the 32 bytes at
// its end with the writer's ChainDigest, stored elsewhere.
//
// A file without an end is torn: its run was interrupted, and all complete frames
// are valid. So is one that ends in zeros: power can fail after a file has grown
// and before its data is written.
//
// The same messages and header give the same bytes: the file holds no time of
// writing.
//
// A file may be compressed as a whole, by Zstandard (RFC 8878); chain, digest and
// offsets are of the plain file. Ledgers of replays are (decision 0292). The
// journals of an agent and of a coordinator are not: after a crash a compressed
// file lacks its last block, a plain one at most its last frame.
package wal
