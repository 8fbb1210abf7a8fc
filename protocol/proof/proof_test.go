package proof_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/transparency-dev/merkle/compact"
	merkle "github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

func leafOf(i uint64) protocol.Hash {
	e, err := proof.NewEntry(i, protocol.Time(i), 1, proof.SaltKey("k").SaltOf(i, protocol.Time(i)), nil)
	if err != nil {
		panic(err)
	}
	return e.Leaf()
}

func raw(t interface{ Fatal(...any) }, h protocol.Hash) []byte {
	data, err := base64.StdEncoding.DecodeString(string(h))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func raws(t interface{ Fatal(...any) }, all []protocol.Hash) (out [][]byte) {
	for _, h := range all {
		out = append(out, raw(t, h))
	}
	return out
}

func grow(t interface{ Fatal(...any) }, tree *proof.Tree, size uint64) {
	for i := tree.Size(); i < size; i++ {
		if err := tree.Append(leafOf(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func headAt(t interface{ Fatal(...any) }, tree *proof.Tree, size uint64) proof.Head {
	root, err := tree.Root(size)
	if err != nil {
		t.Fatal(err)
	}
	return proof.Head{Size: size, Root: root}
}

// Another implementation of RFC 6962 finds the same roots and accepts our proofs; and both refuse
// what was changed.
func TestASecondOpinionAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 300).Draw(t, "size")
		old, index := rapid.Uint64Range(1, size).Draw(t, "old"), rapid.Uint64Range(0, size-1).Draw(t, "index")
		tree := new(proof.Tree)
		grow(t, tree, size)
		other := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
		for i := range size {
			if err := other.Append(raw(t, leafOf(i)), nil); err != nil {
				t.Fatal(err)
			}
		}
		root, err := other.GetRootHash(nil)
		is := headAt(t, tree, size)
		if err != nil || base64.StdEncoding.EncodeToString(root) != string(is.Root) {
			t.Fatalf("%v: roots %x and %s", err, root, is.Root)
		}
		path, err := tree.ProveInclusion(index, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := merkle.VerifyInclusion(rfc6962.DefaultHasher, index, size, raw(t, leafOf(index)), raws(t, path), root); err != nil {
			t.Fatal(err)
		}
		if err := proof.CheckInclusion(path, is, index, leafOf(index)); err != nil {
			t.Fatal(err)
		}
		if proof.CheckInclusion(path, is, index, leafOf(size)) == nil {
			t.Fatal("another leaf is proved")
		}
		link, err := tree.ProveConsistency(old, size)
		if err != nil {
			t.Fatal(err)
		}
		was := headAt(t, tree, old)
		if err := merkle.VerifyConsistency(rfc6962.DefaultHasher, old, size, raws(t, link), raw(t, was.Root), root); err != nil {
			t.Fatal(err)
		}
		if err := proof.CheckConsistency(link, was, is); err != nil {
			t.Fatal(err)
		}
		was.Root = leafOf(1 << 40)
		if proof.CheckConsistency(link, was, is) == nil {
			t.Fatal("another beginning is proved")
		}
	})
}

// A coordinator that keeps only the edge, and one that goes on from it, sign the same heads and
// prove that each is the beginning of the next.
func TestATreeGoesOnFromItsEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, some := new(proof.Tree), new(proof.Tree)
		for range rapid.IntRange(1, 8).Draw(t, "heads") {
			old := some.Size()
			size := old + rapid.Uint64Range(1, 70).Draw(t, "more")
			grow(t, whole, size)
			if rapid.Bool().Draw(t, "restart") {
				var err error
				if some, err = proof.NewTree(old, some.Edge()); err != nil {
					t.Fatal(err)
				}
			}
			grow(t, some, size)
			is := headAt(t, some, size)
			if want := headAt(t, whole, size); is != want {
				t.Fatalf("%v, want %v", is, want)
			}
			if old > 0 {
				link, err := some.ProveConsistency(old, size)
				if err != nil {
					t.Fatal(err)
				}
				if err := proof.CheckConsistency(link, headAt(t, whole, old), is); err != nil {
					t.Fatal(err)
				}
			}
			if path, err := some.ProveInclusion(size-1, size); err != nil || proof.CheckInclusion(path, is, size-1, leafOf(size-1)) != nil {
				t.Fatalf("an entry since the edge is not proved: %v", err)
			}
			some.Prune()
		}
	})
}

func TestATreeRefusesWhatItDoesNotKnow(t *testing.T) {
	tree := new(proof.Tree)
	grow(t, tree, 9)
	edge := tree.Edge()
	for name, err := range map[string]error{
		"an edge of another size": second(proof.NewTree(8, edge)),
		"an edge of no hashes":    second(proof.NewTree(9, []protocol.Hash{"x", "y"})),
		"a huge size":             second(proof.NewTree(1<<63, edge[:1])),
		"a leaf that is no hash":  tree.Append("x"),
		"an entry beyond":         second(tree.ProveInclusion(9, 9)),
		"a log beyond":            second(tree.ProveConsistency(3, 10)),
		"a log from nothing":      second(tree.ProveConsistency(0, 9)),
		"a root beyond":           second(tree.Root(10)),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	some, err := proof.NewTree(9, edge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := some.ProveInclusion(3, 9); err == nil || !strings.Contains(err.Error(), "only later ones are here") {
		t.Errorf("an entry before the edge: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// fixedRandom makes keys that are the same in each run.
type fixedRandom byte

func (f fixedRandom) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}

func logKeys(t testing.TB, seed byte) (note.Signer, note.Verifier) {
	t.Helper()
	secret, public, err := note.GenerateKey(fixedRandom(seed), "hub.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return signer, verifier
}

func TestNotesSayWhatWasSigned(t *testing.T) {
	key, public := logKeys(t, 1)
	_, other := logKeys(t, 2)
	head, err := proof.SignHead(key, proof.Head{Size: 1064, Root: leafOf(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := proof.OpenHead(public, head); err != nil || got != (proof.Head{Size: 1064, Root: leafOf(1)}) {
		t.Errorf("head %+v, %v", got, err)
	}
	what := proof.Receipted{From: "agent/oslo", Seq: 7, Index: 12, Digest: leafOf(2)}
	receipt, err := proof.SignReceipt(key, what)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := proof.OpenReceipt(public, receipt); err != nil || got != what {
		t.Errorf("receipt %+v, %v", got, err)
	}
	for name, err := range map[string]error{
		"a head by another key":     second(proof.OpenHead(other, head)),
		"another size":              second(proof.OpenHead(public, strings.Replace(head, "1064", "1065", 1))),
		"a receipt as a head":       second(proof.OpenHead(public, receipt)),
		"a head as a receipt":       second(proof.OpenReceipt(public, head)),
		"another place":             second(proof.OpenReceipt(public, strings.Replace(receipt, "\n12\n", "\n13\n", 1))),
		"a note beyond every bound": second(proof.OpenHead(public, head+strings.Repeat("— x y\n", 9000))),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// What is signed is opened whatever it says, and what is not signed never; nothing panics.
func FuzzOpenNotes(f *testing.F) {
	key, public := logKeys(f, 1)
	head, _ := proof.SignHead(key, proof.Head{Size: 1064, Root: leafOf(1)})
	receipt, _ := proof.SignReceipt(key, proof.Receipted{From: "agent/oslo", Seq: 7, Index: 12, Digest: leafOf(2)})
	f.Add(head, "hub.example/log\n9\n"+string(leafOf(1))+"\n")
	f.Add(receipt, "gridbid receipt 1\nhub.example/log\na 07\n1\nx\n")
	f.Fuzz(func(t *testing.T, text, lines string) {
		if h, err := proof.OpenHead(public, text); err == nil && text != head && !strings.HasPrefix(text, strings.SplitAfter(head, "\n\n")[0]) {
			t.Errorf("a head that was not signed: %+v", h)
		}
		_, _ = proof.OpenReceipt(public, text)
		signed, err := note.Sign(&note.Note{Text: lines}, key)
		if err != nil {
			return // no text that can be a note
		}
		if h, err := proof.OpenHead(public, string(signed)); err == nil && !strings.HasPrefix(lines, fmt.Sprintf("hub.example/log\n%d\n%s\n", h.Size, h.Root)) {
			t.Errorf("head %+v of %q", h, lines)
		}
		if r, err := proof.OpenReceipt(public, string(signed)); err == nil && !strings.Contains(lines, fmt.Sprintf("%s %d\n%d\n%s\n", r.From, r.Seq, r.Index, r.Digest)) {
			t.Errorf("receipt %+v of %q", r, lines)
		}
	})
}

// A proof of any sizes and hashes is refused or right, and nothing panics.
func FuzzCheckProofs(f *testing.F) {
	tree := new(proof.Tree)
	grow(f, tree, 21)
	path, _ := tree.ProveInclusion(4, 21)
	f.Add(uint64(4), uint64(21), joined(path))
	link, _ := tree.ProveConsistency(9, 21)
	f.Add(uint64(9), uint64(21), joined(link))
	f.Fuzz(func(t *testing.T, a, b uint64, text string) {
		var hashes []protocol.Hash
		for h := range strings.SplitSeq(text, " ") {
			hashes = append(hashes, protocol.Hash(h))
		}
		// A root with another size than it was signed for proves nothing: a head is signed with both.
		of, is := proof.Head{Size: b, Root: headAt(t, tree, 21).Root}, headAt(t, tree, 21)
		_ = proof.CheckInclusion(hashes, of, a, leafOf(a))
		if proof.CheckInclusion(hashes, is, a, leafOf(a)) == nil && a >= 21 || proof.CheckInclusion(hashes, is, a, leafOf(a+100)) == nil {
			t.Errorf("an entry %d that is not there is proved", a)
		}
		_ = proof.CheckConsistency(hashes, proof.Head{Size: a, Root: leafOf(1)}, of)
		_, _ = proof.NewTree(a, hashes)
	})
}

func joined(all []protocol.Hash) string {
	var out []string
	for _, h := range all {
		out = append(out, string(h))
	}
	return strings.Join(out, " ")
}
