package runtime

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A persistent machine is logged, a service is run; a party that is
// neither, or both, is refused before anything starts.
func TestBuildSiteTakesMachinesAndServices(t *testing.T) {
	machine := LocalParty{Machine: new(greeter)}
	service := LocalParty{Service: func(context.Context, bus.Bus, uint32) error { return nil }}
	both := LocalParty{Machine: machine.Machine, Service: service.Service}
	executor, signals := protocol.ExecutorParty("oslo"), protocol.SignalParty("oslo")
	for _, tc := range []struct {
		name              string
		executor, signals LocalParty
		machines          []protocol.Party
		services          []protocol.Party
		wrong             string
	}{
		{"a simulated site", machine, machine, []protocol.Party{signals, executor}, nil, ""},
		{"a simulated cluster on a real grid", machine, service, []protocol.Party{executor}, []protocol.Party{signals}, ""},
		{"a real site", service, service, nil, []protocol.Party{signals, executor}, ""},
		{"no executor", LocalParty{}, service, nil, nil, string(executor)},
		{"signals of both kinds", service, both, nil, nil, string(signals)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := BuildSite(SiteConfig{Site: "oslo", Folder: "data"}, tc.executor, tc.signals)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("BuildSite = %v; want an error that names %s", err, tc.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(cfg.SideParties)); !slices.Equal(got, tc.machines) {
				t.Errorf("machines %v; want %v", got, tc.machines)
			}
			if got := slices.Sorted(maps.Keys(cfg.More)); !slices.Equal(got, tc.services) {
				t.Errorf("services %v; want %v", got, tc.services)
			}
			if cfg.Agent == nil || cfg.Site != "oslo" || cfg.DataDir != "data" {
				t.Errorf("agent %v, site %q, folder %q", cfg.Agent, cfg.Site, cfg.DataDir)
			}
		})
	}
}
