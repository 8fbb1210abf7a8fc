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

// A PowerBudget shares a site's ceiling in watts among its nodes as jobs come and go.
// The book is one ConfigMapStore with a row for each node: what its limits together
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
type PowerBudget struct {
	Table   BudgetStore
	Node    string
	Ceiling protocol.Milliwatts
	RowTTL  time.Duration // default 10m

	reservedPower  protocol.Milliwatts // as the book says
	appliedLimit   protocol.Milliwatts // as the cards are told
	wanted         power.PowerDemand
	joined         bool
	lastReconciled protocol.Time          // when keep was called last
	sinceRenewed   time.Duration          // since our row was renewed, at most
	observedFor    time.Duration          // for how long we have looked, at least
	observedRows   map[string]observedRow // rows of others
}

// A observedRow is a row as it was read, and how long we had looked when it became the same.
type observedRow struct {
	text  string
	since time.Duration
}

// A BudgetStore keeps the book. Save fails if the book is another than was loaded.
type BudgetStore interface {
	LoadRows(context.Context) (rows map[string]string, version string, err error)
	SaveRows(ctx context.Context, rows map[string]string, version string) error
}

// A budgetRow is one node's.
type budgetRow struct {
	GPUs  int                 `json:"gpus"`
	Least protocol.Milliwatts `json:"least_mw"`
	Most  protocol.Milliwatts `json:"most_mw"`
	Held  protocol.Milliwatts `json:"held_mw"`
	At    int64               `json:"at_ms"`
}

// reconcileBudget brings a node's limits and its row together, after its cards were told
// what their jobs want. It returns when to come again at the latest.
func (b *PowerBudget) reconcileBudget(ctx context.Context, caps *nvml.PowerCaps, now protocol.Time, again time.Time) (time.Time, error) {
	if b.RowTTL == 0 {
		b.RowTTL = 10 * time.Minute
	}
	if caps.Len() == 0 { // their limits cannot be read, as those of a virtual machine's cards
		return again, nil
	}
	before := b.appliedLimit
	var err error
	if b.joined {
		b.advanceClock(now.Sub(b.lastReconciled))
		err = b.renewRow(ctx, caps, now)
	} else { // nothing is held yet, so nothing is taken yet
		b.joined, b.appliedLimit = true, caps.PowerRange().Least
	}
	b.lastReconciled = now
	if err != nil && b.sinceRenewed > b.RowTTL/2 {
		b.appliedLimit = caps.PowerRange().Least
	}
	caps.SetSharedCeiling(b.appliedLimit)
	if b.appliedLimit != before {
		again = now.StdTime()
	}
	return again, err
}

// leaveBudget takes a node's cards out of the ceiling. Its row is forgotten with time.
func (b *PowerBudget) leaveBudget(caps *nvml.PowerCaps) {
	*b = PowerBudget{Table: b.Table, Node: b.Node, Ceiling: b.Ceiling, RowTTL: b.RowTTL}
	caps.SetSharedCeiling(0)
}

// advanceClock counts the time since keep was called last. What passed of it while our clock
// was set, or our machine stood still, nobody knows: our own row is taken to be older
// then, and nobody else's.
func (b *PowerBudget) advanceClock(d time.Duration) {
	b.sinceRenewed += max(d, 0)
	b.observedFor += min(max(d, 0), b.RowTTL/10)
}

func (b *PowerBudget) renewRow(ctx context.Context, caps *nvml.PowerCaps, now protocol.Time) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	rows, version, err := b.Table.LoadRows(ctx)
	if err != nil {
		return err
	}
	if rows[b.Node] == "" { // struck out while we were silent
		b.reservedPower = 0
	}
	want := caps.PowerRange()
	fair, free, tight, err := b.fairShare(rows, budgetRow{GPUs: caps.Len(), Least: want.Least, Most: want.Most})
	if err != nil {
		return err
	}
	b.appliedLimit = max(want.Least, min(b.reservedPower, fair))
	next := b.reservedPower
	switch {
	case b.reservedPower == 0: // first it is entered: cards draw their lowest limits whatever the book says
	case fair < b.reservedPower: // down first, then give back
		next = min(b.reservedPower, max(fair, caps.TotalPowerLimit()))
	default:
		next = max(b.reservedPower, min(fair, free))
	}
	next = max(next, want.Least)
	if next == b.reservedPower && want == b.wanted && b.sinceRenewed < b.RowTTL/5 {
		return tight
	}
	text, err := json.Marshal(budgetRow{caps.Len(), want.Least, want.Most, next, int64(now)})
	if err != nil {
		return err
	}
	if rows == nil {
		rows = make(map[string]string)
	}
	rows[b.Node] = string(text)
	if err := b.Table.SaveRows(ctx, rows, version); err != nil {
		return err
	}
	b.reservedPower, b.wanted, b.sinceRenewed = next, want, 0
	b.appliedLimit = max(want.Least, min(next, fair))
	return tight
}

// fairShare returns a node's part of the ceiling by what all want, and what nobody
// else holds. Rows of nodes that are gone are taken out. If not even the lowest limits
// of all keep the ceiling, that is tight: all go down to those, and stay in the book, or
// the others would share what is not there.
func (b *PowerBudget) fairShare(rows map[string]string, mine budgetRow) (fair, free protocol.Milliwatts, tight, err error) {
	free = b.Ceiling
	wants := mine.powerWants()
	maps.DeleteFunc(b.observedRows, func(node string, _ observedRow) bool { return rows[node] == "" })
	for _, node := range slices.Sorted(maps.Keys(rows)) {
		if node == b.Node {
			continue
		}
		var r budgetRow
		if err := json.Unmarshal([]byte(rows[node]), &r); err != nil || r.Least < 0 || r.Held < 0 || r.Most < r.Least || r.GPUs < 1 || r.GPUs > 64 {
			return 0, 0, nil, fmt.Errorf("node: row %s of the ceiling's book cannot be read: delete it from the ConfigMap", node)
		}
		if b.rowUnchangedFor(node, rows[node]) > b.RowTTL {
			delete(rows, node)
			continue
		}
		free -= max(r.Held, r.Least)
		wants = append(wants, r.powerWants()...)
	}
	limits, ok := power.ShareCeiling(b.Ceiling, wants)
	if !ok {
		tight = errors.New("the lowest limits of all nodes together are above the site's ceiling: raise it, or take nodes out")
	}
	for _, l := range limits[:mine.GPUs] {
		fair += l
	}
	return fair, max(0, free), tight, nil
}

// rowUnchangedFor is for how long a row has been seen to be the same.
func (b *PowerBudget) rowUnchangedFor(node, text string) time.Duration {
	if b.observedRows[node].text != text {
		if b.observedRows == nil {
			b.observedRows = make(map[string]observedRow)
		}
		b.observedRows[node] = observedRow{text, b.observedFor}
	}
	return b.observedFor - b.observedRows[node].since
}

// powerWants are those of a node's cards, taken to be equal: no node is favoured for
// having more of them.
func (r budgetRow) powerWants() []power.PowerDemand {
	n := protocol.Milliwatts(r.GPUs)
	return slices.Repeat([]power.PowerDemand{{Least: (r.Least + n - 1) / n, Most: r.Most / n}}, r.GPUs)
}

// ConfigMapStore keeps the book in a cluster.
type ConfigMapStore struct {
	Client          kubernetes.Interface
	Namespace, Name string
}

// LoadRows implements Store.
func (c ConfigMapStore) LoadRows(ctx context.Context) (map[string]string, string, error) {
	m, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	return m.Data, m.ResourceVersion, nil
}

// SaveRows implements Store. What others wrote beside the rows, as whose release it is, stays.
func (c ConfigMapStore) SaveRows(ctx context.Context, rows map[string]string, version string) error {
	m, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	m.ResourceVersion, m.Data = version, rows
	_, err = c.Client.CoreV1().ConfigMaps(c.Namespace).Update(ctx, m, metav1.UpdateOptions{})
	return err
}
