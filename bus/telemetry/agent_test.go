package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/protocol"
)

// Whoever watches a site sees by what it bids, and what its machines do.
func TestAnAgentsSiteIsShown(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.AgentParty("oslo")})
	if err != nil {
		t.Fatal(err)
	}
	known := false
	tele.RegisterAgent(func() (telemetry.AgentStatus, bool) {
		return telemetry.AgentStatus{Site: "oslo", PriceUSDPerMWh: new(-12.5), PUE: new(1.2), GPUs: map[string]float64{"H100": 8}, HeldGPUs: map[string]float64{"H100": 1.5},
			IdleGPUs: 6.5, FragmentedGPUs: 0.5, RunningJobs: 2, CappedJobs: 1, WaitingGangs: 2, KeptGPUHours: 3.5, PowerWatts: 2100, CeilingWatts: 5000}, known
	})
	page := func() string {
		w := httptest.NewRecorder()
		tele.HTTPHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	if text := page(); strings.Contains(text, "gridbid_agent_gpus{") || !strings.Contains(text, `gridbid_build_info{goversion="go`) {
		t.Errorf("before anything is known:\n%s", text)
	}
	known = true
	text := page()
	for _, want := range []string{
		`gridbid_grid_price_dollars_per_megawatt_hour{site="oslo"} -12.5`, `gridbid_grid_pue_ratio{site="oslo"} 1.2`,
		`gridbid_agent_gpus{model="H100",site="oslo"} 8`, `gridbid_agent_held_gpus{model="H100",site="oslo"} 1.5`, `gridbid_agent_idle_gpus{site="oslo"} 6.5`,
		`gridbid_agent_fragmented_gpus{site="oslo"} 0.5`, `gridbid_agent_running_jobs{site="oslo"} 2`, `gridbid_agent_capped_jobs{site="oslo"} 1`, `gridbid_agent_waiting_gangs{site="oslo"} 2`, `gridbid_agent_kept_gpu_hours{site="oslo"} 3.5`, `gridbid_agent_power_watts{site="oslo"} 2100`, `gridbid_agent_power_ceiling_watts{site="oslo"} 5000`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(text, "gridbid_grid_carbon_grams_per_kilowatt_hour{") {
		t.Error("a carbon intensity that nobody has published is shown")
	}
}
