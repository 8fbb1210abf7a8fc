package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/protocol"
)

const noon = protocol.Time(1_767_355_200_000) // 2026-01-02T12:00:00Z

// A card is one whose limit is a number. Real calls are tested in nvml, and a
// real ConfigMapStore in this package on a control plane.
type card struct {
	nvml.Device
	id    string
	limit protocol.Milliwatts
}

func (c *card) UUID() string { return c.id }
func (c *card) PowerLimits() (nvml.Limits, error) {
	return nvml.Limits{Least: 200_000, Most: 700_000, Default: 700_000, Now: c.limit}, nil
}
func (c *card) SetPowerLimit(l protocol.Milliwatts) error { c.limit = l; return nil }

// A memoryStore is a BudgetStore in memory, which can be unreachable.
type memoryStore struct {
	rows    map[string]string
	version int
	away    bool
}

func (b *memoryStore) LoadRows(context.Context) (map[string]string, string, error) {
	if b.away {
		return nil, "", errors.New("no answer")
	}
	return maps.Clone(b.rows), strconv.Itoa(b.version), nil
}

func (b *memoryStore) SaveRows(_ context.Context, rows map[string]string, version string) error {
	if b.away || version != strconv.Itoa(b.version) {
		return errors.New("conflict, or no answer")
	}
	b.rows, b.version = maps.Clone(rows), b.version+1
	return nil
}

func (b *memoryStore) held(t interface{ Fatal(...any) }) (sum protocol.Milliwatts) {
	for _, text := range b.rows {
		var r budgetRow
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		sum += r.Held
	}
	return sum
}

// A machine is one node's cards with its budget.
type machine struct {
	*PowerBudget
	caps *nvml.PowerCaps
}

func newMachine(t interface{ Fatal(...any) }, name string, cards int, store BudgetStore, ceiling protocol.Milliwatts) machine {
	var devices []nvml.Device
	for i := range cards {
		devices = append(devices, &card{id: fmt.Sprint(name, "/", i), limit: 700_000})
	}
	caps, err := nvml.NewPowerCaps(devices, nvml.CapsConfig{MinChangeInterval: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return machine{&PowerBudget{Table: store, Node: name, Ceiling: ceiling}, caps}
}

// round is what a daemon does in one: GPUs first, then the table.
func (m machine) round(t interface{ Fatal(...any) }, now protocol.Time) (again bool, err error) {
	if _, err := m.caps.ApplyLimits(now.StdTime()); err != nil {
		t.Fatal(err)
	}
	at, err := m.reconcileBudget(context.Background(), m.caps, now, time.Time{})
	return !at.IsZero(), err
}

// Whatever jobs come and go, in whatever order nodes read the table, and
// however often it cannot be reached: limits of all nodes together stay below
// the ceiling from when each has begun, and in the end all of it that is wanted
// is given out, evenly by card.
func TestCeilingHoldsAtEveryInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := &memoryStore{}
		sizes := []int{1, 2, 4}
		const ceiling = 2_800_000 // of 4.9 MW
		var all []machine
		for i, n := range sizes {
			all = append(all, newMachine(t, fmt.Sprint("n", i), n, store, ceiling))
		}
		now := noon
		total := func() (sum protocol.Milliwatts) {
			for _, m := range all {
				sum += m.caps.TotalPowerLimit()
			}
			return sum
		}
		for _, m := range all { // each comes down to its lowest before it asks for more
			_, _ = m.round(t, now)
			now = now.Add(time.Second)
			_, _ = m.round(t, now)
		}
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			m := rapid.SampledFrom(all).Draw(t, "node")
			if rapid.Bool().Draw(t, "a job comes or goes") {
				i := rapid.IntRange(0, m.caps.Len()-1).Draw(t, "card")
				_ = m.caps.RequestLimit(fmt.Sprint(m.Node, "/", i), protocol.Milliwatts(rapid.IntRange(0, 700).Draw(t, "watts"))*1000)
			}
			store.away = rapid.IntRange(0, 9).Draw(t, "away") == 0
			_, _ = m.round(t, now)
			if total() > ceiling || store.held(t) > ceiling {
				t.Fatalf("limits sum to %d, the table to %d mW", total(), store.held(t))
			}
		}
		store.away = false
		for i := 0; i < 40; i++ {
			now = now.Add(time.Second)
			for _, m := range all {
				_, _ = m.round(t, now)
			}
		}
		var most protocol.Milliwatts
		for _, m := range all {
			most += m.caps.PowerRange().Most
		}
		if got, want := total(), min(most, ceiling); got > ceiling || got < want-20_000 {
			t.Fatalf("limits sum to %d mW in the end; want nearly %d", got, want)
		}
	})
}

func TestRowOfLostNodeExpires(t *testing.T) {
	store := &memoryStore{}
	a, b := newMachine(t, "a", 4, store, 2_800_000), newMachine(t, "b", 4, store, 2_800_000)
	now := noon
	rounds := func(n int, ms ...machine) {
		for range n {
			now = now.Add(30 * time.Second)
			for _, m := range ms {
				_, _ = m.round(t, now)
			}
		}
	}
	rounds(10, a, b)
	if a.caps.TotalPowerLimit() != 1_400_000 || b.caps.TotalPowerLimit() != 1_400_000 {
		t.Fatalf("%d and %d, want half each", a.caps.TotalPowerLimit(), b.caps.TotalPowerLimit())
	}
	rounds(22, a) // b is silent for eleven minutes
	if a.caps.TotalPowerLimit() != 2_800_000 {
		t.Errorf("%d, want all of it", a.caps.TotalPowerLimit())
	}
	store.away = true
	rounds(12, b)
	if b.caps.TotalPowerLimit() != 800_000 {
		t.Errorf("a node that is cut off has %d, want its lowest", b.caps.TotalPowerLimit())
	}
	store.away = false
	rounds(10, a, b)
	if a.caps.TotalPowerLimit() != 1_400_000 || b.caps.TotalPowerLimit() != 1_400_000 {
		t.Errorf("%d and %d after it came back", a.caps.TotalPowerLimit(), b.caps.TotalPowerLimit())
	}
	low := newMachine(t, "c", 4, store, 2_000_000) // three times 800 W are too much
	_, _ = low.round(t, now)
	if _, err := low.round(t, now); err == nil || low.caps.TotalPowerLimit() != 800_000 {
		t.Errorf("a ceiling that cannot be kept: %v, %d", err, low.caps.TotalPowerLimit())
	}
	store.rows["x"] = "nonsense"
	if _, err := a.round(t, now.Add(time.Hour)); err == nil {
		t.Error("a row that cannot be read is passed over")
	}
}

// A node whose clock is ahead does not take others for gone, nor their watts.
func TestSkewedClockExpiresNoRow(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		store := &memoryStore{}
		a, b := newMachine(t, "a", 4, store, 2_800_000), newMachine(t, "b", 4, store, 2_800_000)
		now := noon
		for i := range 40 {
			now = now.Add(30 * time.Second)
			_, _ = a.round(t, now)
			_, _ = b.round(t, now.Add(ahead))
			if sum := a.caps.TotalPowerLimit() + b.caps.TotalPowerLimit(); i > 1 && sum > 2_800_000 {
				t.Fatalf("round %d, %v ahead: limits sum to %d mW", i, ahead, sum)
			}
		}
		if a.caps.TotalPowerLimit() != 1_400_000 || b.caps.TotalPowerLimit() != 1_400_000 {
			t.Errorf("%v ahead: %d and %d, want half each", ahead, a.caps.TotalPowerLimit(), b.caps.TotalPowerLimit())
		}
	}
}

// Cards of some virtual machines tell no limits; the daemon goes on without a part of
// the ceiling.
func TestNodeWithoutPowerLimitsHasNoRow(t *testing.T) {
	store := &memoryStore{}
	m := newMachine(t, "a", 0, store, 2_800_000)
	for i := range 3 {
		if again, err := m.round(t, noon.Add(time.Duration(i)*time.Second)); again || err != nil || len(store.rows) > 0 {
			t.Errorf("round %d: again %v, %v; the table is %v", i, again, err, store.rows)
		}
	}
}

// A node whose clock is set by an hour to either side expires no row of others, and its own
// row is not expired by them.
func TestSetClockKeepsReservation(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		store := &memoryStore{}
		a, b := newMachine(t, "a", 4, store, 2_800_000), newMachine(t, "b", 4, store, 2_800_000)
		now, ahead := noon, time.Duration(0)
		for i := range 60 {
			now = now.Add(30 * time.Second)
			if i == 10 {
				ahead = step
			}
			_, _ = a.round(t, now.Add(ahead))
			_, _ = b.round(t, now)
			if a, b := a.caps.TotalPowerLimit(), b.caps.TotalPowerLimit(); i > 8 && (a != 1_400_000 || b != 1_400_000) {
				t.Fatalf("round %d, set by %v: %d and %d, want half each", i, step, a, b)
			}
		}
	}
}

// One node too many for a ceiling: all report it, and none draws more than it must,
// however long that lasts.
func TestTightCeilingForcesLowestLimits(t *testing.T) {
	store, now := &memoryStore{}, noon
	var all []machine
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, newMachine(t, name, 4, store, 2_000_000)) // of 3 times 800 W
	}
	for i := range 60 {
		now = now.Add(30 * time.Second)
		for _, m := range all {
			_, err := m.round(t, now)
			if i > 5 && (err == nil || m.caps.TotalPowerLimit() != 800_000) {
				t.Fatalf("round %d: node %s has %d mW, %v", i, m.Node, m.caps.TotalPowerLimit(), err)
			}
		}
	}
	for range 60 { // one is taken out
		now = now.Add(30 * time.Second)
		for _, m := range all[:2] {
			_, _ = m.round(t, now)
		}
	}
	if a, b := all[0].caps.TotalPowerLimit(), all[1].caps.TotalPowerLimit(); a != 1_000_000 || b != 1_000_000 {
		t.Errorf("%d and %d of two, want half each", a, b)
	}
}

// A machine may have a ceiling of its own, as of its supply, beside its part of the
// site's: it holds whatever the site would give, and nothing is held that it cannot use.
func TestMachineCeilingHoldsBesideSiteCeiling(t *testing.T) {
	var devices []nvml.Device
	for i := range 4 {
		devices = append(devices, &card{id: fmt.Sprint(i), limit: 700_000})
	}
	caps, err := nvml.NewPowerCaps(devices, nvml.CapsConfig{MinChangeInterval: time.Nanosecond, Ceiling: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	store := &memoryStore{}
	m := machine{&PowerBudget{Table: store, Node: "a", Ceiling: 2_800_000}, caps}
	now := noon
	for range 10 {
		now = now.Add(30 * time.Second)
		_, _ = m.round(t, now)
	}
	if caps.TotalPowerLimit() != 1_000_000 || store.held(t) != 1_000_000 {
		t.Errorf("its limits sum to %d mW, and it holds %d; want its own ceiling", caps.TotalPowerLimit(), store.held(t))
	}
	m.leaveBudget(caps)
	if _, err := caps.ApplyLimits(now.Add(time.Second).StdTime()); err != nil || caps.TotalPowerLimit() != 1_000_000 {
		t.Errorf("out of the site's ceiling: %d mW, %v", caps.TotalPowerLimit(), err)
	}
}

// Helm labels the ConfigMap that it installs, and finds it by those labels.
func TestSaveRowsKeepsForeignMetadata(t *testing.T) {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ceiling", Namespace: "gridbid", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}}}
	c := ConfigMapStore{Client: fake.NewClientset(m), Namespace: "gridbid", Name: "ceiling"}
	_, version, err := c.LoadRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SaveRows(t.Context(), map[string]string{"n1": "{}"}, version); err != nil {
		t.Fatal(err)
	}
	got, err := c.Client.CoreV1().ConfigMaps("gridbid").Get(t.Context(), "ceiling", metav1.GetOptions{})
	if err != nil || got.Labels["app.kubernetes.io/managed-by"] != "Helm" || got.Data["n1"] != "{}" {
		t.Errorf("the table is %+v, %v", got, err)
	}
}
