package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/protocol"
)

// A Budget shares a site's ceiling in watts among its nodes as jobs come and go.
// The book is one ConfigMap with a row for each node: what its limits together
// could be at least and would be at most, and what it holds of the ceiling.
//
// Invariant: once all nodes are entered, the rows never hold more than the
// ceiling in all, unless the lowest limits alone are above it. (A node that comes
// later draws its lowest limits at once, until the others have gone down.) A node lowers its limits before it gives watts back,
// and raises them after it has written down that it took some; the API server
// refuses a row that was made from an older book.
//
// A row that was not renewed for as long as Forget counts no more: its node is
// gone. For how long that is, each node sees for itself: clocks differ, and are set
// anew. A node that cannot renew its own for half of that goes down to its lowest
// limits before the others count on it.
type Budget struct {
	Store   Store
	Node    string
	Ceiling protocol.Milliwatts
	Forget  time.Duration // default 10m

	held    protocol.Milliwatts // as the book says
	limit   protocol.Milliwatts // as the cards are told
	wanted  power.Want
	begun   bool
	looked  protocol.Time    // when keep was called last
	stale   time.Duration    // since our row was renewed, at most
	watched time.Duration    // for how long we have looked, at least
	seen    map[string]sight // rows of others
}

// A sight is a row as it was read, and how long we had looked when it became the same.
type sight struct {
	text  string
	since time.Duration
}

// A Store keeps the book. Save fails if the book is another than was loaded.
type Store interface {
	Load(context.Context) (rows map[string]string, version string, err error)
	Save(ctx context.Context, rows map[string]string, version string) error
}

// A row is one node's.
type row struct {
	GPUs  int                 `json:"gpus"`
	Least protocol.Milliwatts `json:"least_mw"`
	Most  protocol.Milliwatts `json:"most_mw"`
	Held  protocol.Milliwatts `json:"held_mw"`
	At    int64               `json:"at_ms"`
}

// keep brings a node's limits and its row together, after its cards were told
// what their jobs want. It returns when to come again at the latest.
func (b *Budget) keep(ctx context.Context, caps *nvml.Caps, now protocol.Time, again time.Time) (time.Time, error) {
	if b.Forget == 0 {
		b.Forget = 10 * time.Minute
	}
	if caps.Len() == 0 { // their limits cannot be read, as those of a virtual machine's cards
		return again, nil
	}
	before := b.limit
	var err error
	if b.begun {
		b.pass(now.Sub(b.looked))
		err = b.settle(ctx, caps, now)
	} else { // nothing is held yet, so nothing is taken yet
		b.begun, b.limit = true, caps.Wants().Least
	}
	b.looked = now
	if err != nil && b.stale > b.Forget/2 {
		b.limit = caps.Wants().Least
	}
	caps.SetPart(b.limit)
	if b.limit != before {
		again = now.Go()
	}
	return again, err
}

// leave takes a node's cards out of the ceiling. Its row is forgotten with time.
func (b *Budget) leave(caps *nvml.Caps) {
	*b = Budget{Store: b.Store, Node: b.Node, Ceiling: b.Ceiling, Forget: b.Forget}
	caps.SetPart(0)
}

// pass counts the time since keep was called last. What passed of it while our clock
// was set, or our machine stood still, nobody knows: our own row is taken to be older
// then, and nobody else's.
func (b *Budget) pass(d time.Duration) {
	b.stale += max(d, 0)
	b.watched += min(max(d, 0), b.Forget/10)
}

func (b *Budget) settle(ctx context.Context, caps *nvml.Caps, now protocol.Time) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, version, err := b.Store.Load(ctx)
	if err != nil {
		return err
	}
	if rows[b.Node] == "" { // struck out while we were silent
		b.held = 0
	}
	want := caps.Wants()
	fair, free, tight, err := b.fair(rows, row{GPUs: caps.Len(), Least: want.Least, Most: want.Most})
	if err != nil {
		return err
	}
	b.limit = max(want.Least, min(b.held, fair))
	next := b.held
	switch {
	case b.held == 0: // first it is entered: cards draw their lowest limits whatever the book says
	case fair < b.held: // down first, then give back
		next = min(b.held, max(fair, caps.Total()))
	default:
		next = max(b.held, min(fair, free))
	}
	next = max(next, want.Least)
	if next == b.held && want == b.wanted && b.stale < b.Forget/5 {
		return tight
	}
	text, err := json.Marshal(row{caps.Len(), want.Least, want.Most, next, int64(now)})
	if err != nil {
		return err
	}
	if rows == nil {
		rows = make(map[string]string)
	}
	rows[b.Node] = string(text)
	if err := b.Store.Save(ctx, rows, version); err != nil {
		return err
	}
	b.held, b.wanted, b.stale = next, want, 0
	b.limit = max(want.Least, min(next, fair))
	return tight
}

// fair returns a node's part of the ceiling by what all want, and what nobody
// else holds. Rows of nodes that are gone are taken out. If not even the lowest limits
// of all keep the ceiling, that is tight: all go down to those, and stay in the book, or
// the others would share what is not there.
func (b *Budget) fair(rows map[string]string, mine row) (fair, free protocol.Milliwatts, tight, err error) {
	free = b.Ceiling
	wants := mine.wants()
	maps.DeleteFunc(b.seen, func(node string, _ sight) bool { return rows[node] == "" })
	for _, node := range slices.Sorted(maps.Keys(rows)) {
		if node == b.Node {
			continue
		}
		var r row
		if err := json.Unmarshal([]byte(rows[node]), &r); err != nil || r.Least < 0 || r.Held < 0 || r.Most < r.Least || r.GPUs < 1 || r.GPUs > 64 {
			return 0, 0, nil, fmt.Errorf("node: row %s of the ceiling's book cannot be read: delete it from the ConfigMap", node)
		}
		if b.unchanged(node, rows[node]) > b.Forget {
			delete(rows, node)
			continue
		}
		free -= max(r.Held, r.Least)
		wants = append(wants, r.wants()...)
	}
	limits, ok := power.Share(b.Ceiling, wants)
	if !ok {
		tight = errors.New("the lowest limits of all nodes together are above the site's ceiling: raise it, or take nodes out")
	}
	for _, l := range limits[:mine.GPUs] {
		fair += l
	}
	return fair, max(0, free), tight, nil
}

// unchanged is for how long a row has been seen to be the same.
func (b *Budget) unchanged(node, text string) time.Duration {
	if b.seen[node].text != text {
		if b.seen == nil {
			b.seen = make(map[string]sight)
		}
		b.seen[node] = sight{text, b.watched}
	}
	return b.watched - b.seen[node].since
}

// wants are those of a node's cards, taken to be equal: no node is favoured for
// having more of them.
func (r row) wants() []power.Want {
	n := protocol.Milliwatts(r.GPUs)
	return slices.Repeat([]power.Want{{Least: (r.Least + n - 1) / n, Most: r.Most / n}}, r.GPUs)
}

// ConfigMap keeps the book in a cluster.
type ConfigMap struct {
	Client          kubernetes.Interface
	Namespace, Name string
}

// Load implements Store.
func (c ConfigMap) Load(ctx context.Context) (map[string]string, string, error) {
	m, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	return m.Data, m.ResourceVersion, nil
}

// Save implements Store. What others wrote beside the rows, as whose release it is, stays.
func (c ConfigMap) Save(ctx context.Context, rows map[string]string, version string) error {
	m, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	m.ResourceVersion, m.Data = version, rows
	_, err = c.Client.CoreV1().ConfigMaps(c.Namespace).Update(ctx, m, metav1.UpdateOptions{})
	return err
}
