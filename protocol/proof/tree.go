package proof

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/gridbid/gridbid/protocol"
)

// A Tree is the Merkle tree of a log, or of its end: of the entries before its beginning it has the
// roots of subtrees only. The zero Tree is empty. Its memory is 64 bytes an entry and what the map
// adds, until Prune.
type Tree struct {
	size   uint64
	hashes map[int64]tlog.Hash // by tlog.StoredHashIndex
}

// MaxSize is the largest size of a log. It keeps arithmetic on the sizes that others claim from overflowing.
const MaxSize = 1 << 48

// NewTree returns the tree of a log of a size of which only the edge is known: see [Tree.Edge].
func NewTree(size uint64, edge []protocol.Hash) (*Tree, error) {
	if size > MaxSize || len(edge) != bits.OnesCount64(size) {
		return nil, fmt.Errorf("proof: %d hashes are not the edge of a log of %d entries", len(edge), size)
	}
	all, err := toHashes(edge)
	if err != nil {
		return nil, err
	}
	t := &Tree{size: size, hashes: make(map[int64]tlog.Hash)}
	for i, index := range edgeIndexes(size) {
		t.hashes[index] = all[i]
	}
	return t, nil
}

// edgeIndexes returns where the roots of the largest full subtrees of a tree lie, from the left.
func edgeIndexes(size uint64) (all []int64) {
	for from := uint64(0); from < size; {
		level := bits.Len64(size-from) - 1
		all = append(all, tlog.StoredHashIndex(level, int64(from>>level)))
		from += 1 << level
	}
	return all
}

// Size returns the number of entries.
func (t *Tree) Size() uint64 { return t.size }

// ReadHashes implements tlog.HashReader.
func (t *Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		h, ok := t.hashes[index]
		if !ok {
			level, n := tlog.SplitStoredHashIndex(index)
			return nil, fmt.Errorf("proof: the entries from %d on are needed, and only later ones are here", n<<level)
		}
		out[i] = h
	}
	return out, nil
}

// Append adds the leaf of the next entry. The error says that it is no hash.
func (t *Tree) Append(leaf protocol.Hash) error {
	h, err := toHash(leaf)
	if err != nil {
		return err
	}
	added, err := tlog.StoredHashesForRecordHash(int64(t.size), h, t)
	if err != nil {
		return err
	}
	if t.hashes == nil {
		t.hashes = make(map[int64]tlog.Hash)
	}
	for level, h := range added {
		t.hashes[tlog.StoredHashIndex(level, int64(t.size>>level))] = h
	}
	t.size++
	return nil
}

// Root returns the root of the first size entries.
func (t *Tree) Root(size uint64) (protocol.Hash, error) {
	if size > t.size {
		return "", fmt.Errorf("proof: the log has %d entries, and not %d", t.size, size)
	}
	h, err := tlog.TreeHash(int64(size), t)
	return fromHash(h), err
}

// Edge returns the roots of the largest full subtrees, from the left. With them a tree can go on.
func (t *Tree) Edge() []protocol.Hash {
	all, err := t.ReadHashes(edgeIndexes(t.size))
	if err != nil {
		return nil // cannot happen: the edge is never pruned
	}
	return fromHashes(all)
}

// Prune forgets what is not needed to append, and to prove that the present log is the beginning of
// a later one.
func (t *Tree) Prune() {
	keep := edgeIndexes(t.size)
	maps.DeleteFunc(t.hashes, func(index int64, _ tlog.Hash) bool { return !slices.Contains(keep, index) })
}

// ProveInclusion returns the proof that the entry of an index is in the log of a size.
func (t *Tree) ProveInclusion(index, size uint64) ([]protocol.Hash, error) {
	if index >= size || size > t.size {
		return nil, fmt.Errorf("proof: no entry %d in the first %d of %d", index, size, t.size)
	}
	p, err := tlog.ProveRecord(int64(size), int64(index), t)
	return fromHashes(p), err
}

// ProveConsistency returns the proof that the log of one size is the beginning of that of another.
func (t *Tree) ProveConsistency(old, size uint64) ([]protocol.Hash, error) {
	if old == 0 || old > size || size > t.size {
		return nil, fmt.Errorf("proof: no proof from %d entries to %d in a log of %d", old, size, t.size)
	}
	p, err := tlog.ProveTree(int64(size), int64(old), t)
	return fromHashes(p), err
}

// CheckInclusion returns an error unless path proves that a leaf is the entry of an index in the log
// of a head.
func CheckInclusion(path []protocol.Hash, of Head, index uint64, leaf protocol.Hash) error {
	if of.Size > MaxSize || index >= of.Size {
		return fmt.Errorf("proof: no entry %d in a log of %d", index, of.Size)
	}
	p, err := toHashes(path)
	if err != nil {
		return err
	}
	two, err := toHashes([]protocol.Hash{of.Root, leaf})
	if err != nil {
		return err
	}
	return tlog.CheckRecord(p, int64(of.Size), two[0], int64(index), two[1])
}

// CheckConsistency returns an error unless path proves that the log of one head is the beginning of
// that of another.
func CheckConsistency(path []protocol.Hash, old, of Head) error {
	if of.Size > MaxSize || old.Size == 0 || old.Size > of.Size {
		return fmt.Errorf("proof: no log of %d entries begins with one of %d", of.Size, old.Size)
	}
	if old.Size == of.Size {
		if old.Root != of.Root {
			return fmt.Errorf("proof: two logs of %d entries have different roots", old.Size)
		}
		return nil
	}
	p, err := toHashes(path)
	if err != nil {
		return err
	}
	two, err := toHashes([]protocol.Hash{old.Root, of.Root})
	if err != nil {
		return err
	}
	return tlog.CheckTree(p, int64(of.Size), two[1], int64(old.Size), two[0])
}
