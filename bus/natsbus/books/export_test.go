package books

import (
	"context"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Steal takes away whatever lease there is, as its end would.
func Steal(t *testing.T, b *Books) {
	t.Helper()
	if err := b.kv.Delete(t.Context(), leaseKey); err != nil {
		t.Fatal(err)
	}
}

// AppendUnawares appends as a writer does that has not noticed the end of its
// term.
func AppendUnawares(t *Term, ctx context.Context, ms []protocol.Message) error {
	blind := &Term{books: t.books, life: t.life, last: t.last, over: make(chan struct{})}
	return blind.Append(ctx, ms)
}
