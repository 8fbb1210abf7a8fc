// Package wal keeps what was said in a run, in the order it was said, in a
// file that shows if it was touched.
//
// # The file
//
//	gridbid journal 1\n    the 1 is the version of this format
//	frame of the header    a JSON object of strings: scenario, seed, policy, ...
//	frame of each message  as it travels; see package protocol
//	end                    a zero, the number of messages, 32 bytes of chain
//
// A frame is its length (an unsigned varint, never zero), that many bytes, and
// 8 bytes of chain. The chain begins as the SHA-256 of the first line, and
// after each frame becomes the SHA-256 of what it was and of the frame's length
// and bytes; its first 8 bytes are written. So a byte that changed, is missing,
// was added or changed places breaks the chain, and the frame where it broke is
// known by its offset. There is one link per frame, not per block, because the
// frame is what a reader is told about, and they cost little: offers, which are
// most of a file, take thousands of bytes. 8 bytes find every accident; who
// would forge a file can compute the chain as we do, and must be held to the 32
// bytes at its end, which the writer's Digest returns to be kept elsewhere.
//
// A file without an end is torn: its run was cut off, and what is whole before
// that is good. So is one that ends in zeros: power may fail between the moment
// that a file grows and the one that it is written.
//
// The same messages and header give the same bytes: there is no time of writing in
// the file, and nothing is compressed. Compression would tear a block off a torn
// file, not a frame, and gzip makes offers only 2.4 times smaller at several times
// the cost of writing them; gzip -n serves those who keep many, and gives the same
// bytes too.
package wal
