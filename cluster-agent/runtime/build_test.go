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

// A machine that keeps facts is journaled, a service is run; a party that is
// neither, or both, is refused before anything starts.
func TestBuildSiteTakesMachinesAndServices(t *testing.T) {
	machine := LocalParty{Machine: new(greeter)}
	service := LocalParty{Service: func(context.Context, bus.Bus, uint32) error { return nil }}
	both := LocalParty{Machine: machine.Machine, Service: service.Service}
	hands, feed := protocol.ExecutorParty("oslo"), protocol.SignalParty("oslo")
	for _, tc := range []struct {
		name              string
		executor, signals LocalParty
		machines          []protocol.Party
		services          []protocol.Party
		wrong             string
	}{
		{"a simulated site", machine, machine, []protocol.Party{feed, hands}, nil, ""},
		{"a simulated cluster on a real grid", machine, service, []protocol.Party{hands}, []protocol.Party{feed}, ""},
		{"a real site", service, service, nil, []protocol.Party{feed, hands}, ""},
		{"no executor", LocalParty{}, service, nil, nil, string(hands)},
		{"signals of both kinds", service, both, nil, nil, string(feed)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := BuildSite(SiteConfig{Site: "oslo", Folder: "facts"}, tc.executor, tc.signals)
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
			if cfg.Agent == nil || cfg.Site != "oslo" || cfg.DataDir != "facts" {
				t.Errorf("agent %v, site %q, folder %q", cfg.Agent, cfg.Site, cfg.DataDir)
			}
		})
	}
}
