package proof_test

import (
	"bytes"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// anOffer is a message of some 20 kB.
func anOffer(seq uint64) protocol.Message {
	o := protocol.Bids{Round: 9}
	for i := range 64 {
		jb := protocol.JobBids{Job: protocol.JobID([]byte{'j', byte('a' + i%26), byte('a' + i/26)})}
		for range 4 {
			jb.Options = append(jb.Options, protocol.BidOption{Start: 1_700_000_000_000, Finish: 1_700_003_600_000, Model: "V100", Cap: 200_000, Energy: 720_000_000, Carbon: 12_345_678, Money: 17_000})
		}
		o.Jobs = append(o.Jobs, jb)
	}
	return protocol.Message{Version: protocol.Current, At: 1_700_000_000_000, From: "agent/oslo", Seq: seq, To: protocol.Coordinator, Body: o}
}

func BenchmarkCommitOffer(b *testing.B) {
	m, k := anOffer(7), proof.SaltKey("secret")
	data, _ := protocol.Encode(m)
	b.SetBytes(int64(len(data)))
	for i := range b.N {
		if _, err := proof.NewEntry(uint64(i), m.At, 9, k.SaltOf(uint64(i), m.At), &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommitSigned(b *testing.B) { // the digest came with the signature
	m, k := anOffer(7), proof.SaltKey("secret")
	m.Signature = &protocol.Signature{}
	for i := range b.N {
		e, err := proof.NewEntry(uint64(i), m.At, 9, k.SaltOf(uint64(i), m.At), &m)
		if err != nil {
			b.Fatal(err)
		}
		_ = e.Leaf()
	}
}

func BenchmarkAppend(b *testing.B) {
	tree, leaf := new(proof.Tree), leafOf(1)
	for i := range b.N {
		if err := tree.Append(leaf); err != nil {
			b.Fatal(err)
		}
		if i%1064 == 0 {
			tree.Prune()
		}
	}
}

// A log of 2^17 entries, as large as the benchmarks take at once.
func bigTree(b *testing.B) (*proof.Tree, proof.Head) {
	tree, leaf := new(proof.Tree), leafOf(1)
	for range 1 << 17 {
		if err := tree.Append(leaf); err != nil {
			b.Fatal(err)
		}
	}
	return tree, headAt(b, tree, tree.Size())
}

func BenchmarkProveInclusion(b *testing.B) {
	tree, _ := bigTree(b)
	for i := 0; b.Loop(); i++ {
		if _, err := tree.ProveInclusion(uint64(i)%tree.Size(), tree.Size()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckInclusion(b *testing.B) {
	tree, is := bigTree(b)
	path, err := tree.ProveInclusion(12_345, tree.Size())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := proof.CheckInclusion(path, is, 12_345, leafOf(1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckConsistency(b *testing.B) {
	tree, is := bigTree(b)
	path, err := tree.ProveConsistency(100_001, tree.Size())
	if err != nil {
		b.Fatal(err)
	}
	was := headAt(b, tree, 100_001)
	for b.Loop() {
		if err := proof.CheckConsistency(path, was, is); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignHead(b *testing.B) {
	key, _ := logKeys(b, 1)
	h := proof.Head{Size: 1064, Root: leafOf(1)}
	for b.Loop() {
		if _, err := proof.SignHead(key, h); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenHead(b *testing.B) {
	key, public := logKeys(b, 1)
	text, err := proof.SignHead(key, proof.Head{Size: 1064, Root: leafOf(1)})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := proof.OpenHead(public, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignOffer(b *testing.B) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, bytes.Repeat([]byte{1}, 32))
	if err != nil {
		b.Fatal(err)
	}
	m := anOffer(7)
	var buf []byte
	for b.Loop() {
		if buf, err = protocol.AppendSigned(buf[:0], m, pair.Sign); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckSignature(b *testing.B) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, bytes.Repeat([]byte{1}, 32))
	if err != nil {
		b.Fatal(err)
	}
	public, _ := pair.PublicKey()
	data, err := protocol.AppendSigned(nil, anOffer(7), pair.Sign)
	if err != nil {
		b.Fatal(err)
	}
	m, err := protocol.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := proof.CheckSignature([]string{public}, m); err != nil {
			b.Fatal(err)
		}
	}
}
