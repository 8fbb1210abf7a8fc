package natsbus

import (
	"io/fs"
	"testing"
)

// A pod that does not run as root reads a Secret of root's as one of its group: what its
// volume lets nobody else read is a key that is kept.
func TestAKeyIsKeptFromWhoNeedNotReadIt(t *testing.T) {
	for mode, want := range map[fs.FileMode]struct{ ours, anothers bool }{
		0o600: {true, true}, 0o400: {true, true}, 0o440: {false, true}, 0o640: {false, true},
		0o660: {false, false}, 0o644: {false, false}, 0o604: {false, false}, 0o444: {false, false},
	} {
		if ours, anothers := kept(mode, true), kept(mode, false); ours != want.ours || anothers != want.anothers {
			t.Errorf("%#o is kept if it is ours: %v; if it is another's: %v", mode, ours, anothers)
		}
	}
}
