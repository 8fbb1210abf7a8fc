package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	testclient "k8s.io/client-go/testing"

	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/protocol"
)

// A daemon was killed while the API server is silent: the one that follows keeps its
// cards out of what others have of the site's ceiling. Where it asks whose they are, they
// may be another's; its machine's own ceiling holds all the same.
func TestDaemonWithoutAPIServerStartsAtLowestLimits(t *testing.T) {
	for owned, want := range map[string]protocol.Milliwatts{"": 200_000, "oslo": 500_000} {
		gpu := &card{id: "GPU-0", limit: 700_000}
		keep, err := gpuaccounting.New([]nvml.Device{gpu}, gpuaccounting.Config{Caps: nvml.CapsConfig{MinChangeInterval: time.Nanosecond, Ceiling: 500_000}})
		if err != nil {
			t.Fatal(err)
		}
		client := fake.NewClientset()
		client.PrependReactor("list", "*", func(testclient.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
		ctx, cancel := context.WithCancel(t.Context())
		var limit protocol.Milliwatts
		d := New(Config{
			Node: "n1", Client: client, GPUs: keep, Owned: owned, Budget: &PowerBudget{Table: &memoryStore{away: true}, Node: "n1", Ceiling: 300_000},
			GuardHeartbeat: func() error { limit = gpu.limit; cancel(); return nil }, Now: func() protocol.Time { return noon },
		})
		if err := d.Run(ctx); !errors.Is(err, context.Canceled) || limit != want || gpu.limit != 700_000 {
			t.Errorf("owned by %q: %v; a limit of %d mW, want %d, and %d in the end", owned, err, limit, want, gpu.limit)
		}
	}
}
