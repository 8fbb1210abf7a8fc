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

// A PowerBudget shares a site's power ceiling among its nodes as jobs start and end. The
// nodes agree by a table in a BudgetStore with one row for each node: the least and the most
// that its GPUs' limits can add up to, and the power that it has reserved.
//
// Invariant: once all nodes have a row, the reservations never exceed the ceiling in total,
// unless the lowest possible limits alone do. (A node that joins later may draw its lowest
// limits at once, until the others have made room.) A node lowers its limits before it
// releases power, and raises them only after its larger reservation is stored. The store
// rejects a write that is based on an older version of the table (optimistic locking).
//
// A row expires when it has not been renewed for RowTTL: its node is gone. Each node measures
// that by its own clock from when it first saw the row's content, because the clocks of nodes
// differ and may be set. A node that cannot renew its row for half of RowTTL lowers its GPUs
// to their lowest limits, so that it is there before the others redistribute its power.
type PowerBudget struct {
	Table   BudgetStore
	Node    string
	Ceiling protocol.Milliwatts
	RowTTL  time.Duration // default 10m

	reservedPower  protocol.Milliwatts // as stored in our row
	appliedLimit   protocol.Milliwatts // sum of limits that the GPUs are held to
	wanted         power.PowerDemand
	joined         bool
	lastReconciled protocol.Time          // last call of reconcileBudget
	sinceRenewed   time.Duration          // upper bound of the time since our row was renewed
	observedFor    time.Duration          // lower bound of the time for which we have observed the table
	observedRows   map[string]observedRow // rows of others
}

// An observedRow is another node's row, and the value of observedFor when it was first seen
// with this content.
type observedRow struct {
	text  string
	since time.Duration
}

// A BudgetStore stores the table. SaveRows fails if the table has changed since the version
// that LoadRows returned.
type BudgetStore interface {
	LoadRows(context.Context) (rows map[string]string, version string, err error)
	SaveRows(ctx context.Context, rows map[string]string, version string) error
}

// A budgetRow is the row of one node. Its JSON keys are read by daemons of other versions.
type budgetRow struct {
	GPUs  int                 `json:"gpus"`
	Least protocol.Milliwatts `json:"least_mw"`
	Most  protocol.Milliwatts `json:"most_mw"`
	Held  protocol.Milliwatts `json:"held_mw"`
	At    int64               `json:"at_ms"`
}

// reconcileBudget brings a node's limits and its row into agreement, after the power
// that its jobs want was set in caps. It returns when to call it again at the latest.
// The first call reads nothing from the store and holds the GPUs to their lowest
// limits.
func (b *PowerBudget) reconcileBudget(ctx context.Context, caps *nvml.PowerCaps, now protocol.Time, next time.Time) (time.Time, error) {
	if b.RowTTL == 0 {
		b.RowTTL = 10 * time.Minute
	}
	if caps.Len() == 0 { // no limits to set, for example in a virtual machine
		return next, nil
	}
	before := b.appliedLimit
	var err error
	if b.joined {
		b.advanceClock(now.Sub(b.lastReconciled))
		err = b.renewRow(ctx, caps, now)
	} else { // no reservation yet
		b.joined, b.appliedLimit = true, caps.PowerRange().Least
	}
	b.lastReconciled = now
	if err != nil && b.sinceRenewed > b.RowTTL/2 {
		b.appliedLimit = caps.PowerRange().Least
	}
	caps.SetSharedCeiling(b.appliedLimit)
	if b.appliedLimit != before {
		next = now.StdTime()
	}
	return next, err
}

// leaveBudget takes a node out of the ceiling, and resets the budget's state. Its row
// expires in the others' view.
func (b *PowerBudget) leaveBudget(caps *nvml.PowerCaps) {
	*b = PowerBudget{Table: b.Table, Node: b.Node, Ceiling: b.Ceiling, RowTTL: b.RowTTL}
	caps.SetSharedCeiling(0)
}

// advanceClock adds the time since the last call of reconcileBudget. If our clock was
// set or the machine was suspended, that time is unreliable: our own row is then taken
// to be older, and the rows of others to be younger, which errs on the safe side for
// both.
func (b *PowerBudget) advanceClock(d time.Duration) {
	b.sinceRenewed += max(d, 0)
	b.observedFor += min(max(d, 0), b.RowTTL/10)
}

// renewRow reads the table, computes our fair share of the ceiling, and stores our new
// reservation if it changed or a fifth of RowTTL has passed. It sets appliedLimit to what the
// GPUs may draw now.
func (b *PowerBudget) renewRow(ctx context.Context, caps *nvml.PowerCaps, now protocol.Time) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	rows, version, err := b.Table.LoadRows(ctx)
	if err != nil {
		return err
	}
	if rows[b.Node] == "" { // another node removed our row while we did not renew it
		b.reservedPower = 0
	}
	want := caps.PowerRange()
	fair, free, tight, err := b.fairShare(rows, budgetRow{GPUs: caps.Len(), Least: want.Least, Most: want.Most})
	if err != nil {
		return err
	}
	// Draw no more than what is reserved and what is our part now.
	b.appliedLimit = max(want.Least, min(b.reservedPower, fair))
	next := b.reservedPower
	switch {
	case b.reservedPower == 0: // join with the lowest limits, which the GPUs may draw in any case
	case fair < b.reservedPower: // lower the limits first; release only what they no longer allow
		next = min(b.reservedPower, max(fair, caps.TotalPowerLimit()))
	default:
		next = max(b.reservedPower, min(fair, free))
	}
	// The GPUs may draw their lowest limits in any case, so no less is reserved.
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
	// Store first, and raise the limits after it.
	rows[b.Node] = string(text)
	if err := b.Table.SaveRows(ctx, rows, version); err != nil {
		return err
	}
	b.reservedPower, b.wanted, b.sinceRenewed = next, want, 0
	b.appliedLimit = max(want.Least, min(next, fair))
	return tight
}

// fairShare returns a node's part of the ceiling by the demands of all nodes, and the
// power that no other node has reserved. It deletes expired rows from rows. tight is
// an error if even the lowest limits of all nodes exceed the ceiling: then every node
// goes down to those, and keeps its row, because the others would otherwise distribute
// power that is not there.
func (b *PowerBudget) fairShare(rows map[string]string, mine budgetRow) (fair, free protocol.Milliwatts, tight, err error) {
	free = b.Ceiling
	wants := mine.powerWants() // our GPUs come first: see the sum below
	maps.DeleteFunc(b.observedRows, func(node string, _ observedRow) bool { return rows[node] == "" })
	for _, node := range slices.Sorted(maps.Keys(rows)) {
		if node == b.Node {
			continue
		}
		var r budgetRow
		if err := json.Unmarshal([]byte(rows[node]), &r); err != nil || r.Least < 0 || r.Held < 0 || r.Most < r.Least || r.GPUs < 1 || r.GPUs > 64 {
			return 0, 0, nil, fmt.Errorf("node: row %s of the power budget is malformed: delete it from the ConfigMap", node)
		}
		if b.rowUnchangedFor(node, rows[node]) > b.RowTTL {
			delete(rows, node)
			continue
		}
		// A node may draw its lowest limits before it has reserved them.
		free -= max(r.Held, r.Least)
		wants = append(wants, r.powerWants()...)
	}
	limits, ok := power.ShareCeiling(b.Ceiling, wants)
	if !ok {
		tight = errors.New("the lowest power limits of all nodes together exceed the site's ceiling: raise the ceiling, or remove nodes")
	}
	for _, l := range limits[:mine.GPUs] {
		fair += l
	}
	return fair, max(0, free), tight, nil
}

// rowUnchangedFor returns for how long we have seen a row with this content.
func (b *PowerBudget) rowUnchangedFor(node, text string) time.Duration {
	if b.observedRows[node].text != text {
		if b.observedRows == nil {
			b.observedRows = make(map[string]observedRow)
		}
		b.observedRows[node] = observedRow{text, b.observedFor}
	}
	return b.observedFor - b.observedRows[node].since
}

// powerWants returns the demand of each GPU of a node. They are taken to be equal, and
// shared per GPU, so that a node's part does not depend on how GPUs are grouped into
// nodes.
func (r budgetRow) powerWants() []power.PowerDemand {
	n := protocol.Milliwatts(r.GPUs)
	return slices.Repeat([]power.PowerDemand{{Least: (r.Least + n - 1) / n, Most: r.Most / n}}, r.GPUs)
}

// A ConfigMapStore stores the table in a ConfigMap, with one key for each node.
type ConfigMapStore struct {
	Client          kubernetes.Interface
	Namespace, Name string
}

// LoadRows implements BudgetStore.
func (c ConfigMapStore) LoadRows(ctx context.Context) (map[string]string, string, error) {
	m, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	return m.Data, m.ResourceVersion, nil
}

// SaveRows implements BudgetStore. Metadata that others wrote, such as labels of the
// release, stays.
func (c ConfigMapStore) SaveRows(ctx context.Context, rows map[string]string, version string) error {
	m, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	m.ResourceVersion, m.Data = version, rows
	_, err = c.Client.CoreV1().ConfigMaps(c.Namespace).Update(ctx, m, metav1.UpdateOptions{})
	return err
}
