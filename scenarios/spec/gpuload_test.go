package spec_test

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

func TestLoadCountsWorkAgainstTheFleetsOwnSpeeds(t *testing.T) {
	start := protocol.FromStdTime(time.Date(2022, 4, 13, 0, 0, 0, 0, time.UTC))
	s := spec.Scenario{Start: start, End: start.Add(10 * time.Hour), Sites: []spec.Site{
		{Nodes: []spec.Node{{GPUs: 4, Model: "V100"}, {GPUs: 2, Model: "A100"}, {}}}, // 4 + 2x2 GPUs of a V100
	}}
	if got := s.GPULoad(); got != 0 {
		t.Errorf("Load without jobs = %v", got)
	}
	s.Jobs = []protocol.Job{{GPUs: 2, Share: 1000, Run: 10 * time.Hour}, {GPUs: 1, Share: 500, Run: 40 * time.Hour}, {CPU: 9}}
	if got := s.GPULoad(); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("Load of 40 GPU-hours on 80 = %v; want 0.5", got)
	}
	if got := (&spec.Scenario{}).GPULoad(); got != 0 {
		t.Errorf("Load of nothing = %v", got)
	}
}
