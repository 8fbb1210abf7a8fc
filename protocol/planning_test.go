package protocol

import (
	"strings"
	"testing"
	"time"
)

func TestAPlanningThatMakesNoSenseIsNamed(t *testing.T) {
	if err := DefaultPlanning().Validate(); err != nil {
		t.Fatalf("the default is refused: %v", err)
	}
	if got := DefaultPlanning().SlotCount(); got != 288 {
		t.Errorf("the default has %d slots; want 288", got)
	}
	for _, tc := range []struct {
		name string
		with func(*Planning)
		want string // part of the error; "" for none
	}{
		{"all zero", func(p *Planning) { *p = Planning{} }, "slot is 0s"},
		{"no slot", func(p *Planning) { p.Slot = 0 }, "slot is 0s"},
		{"a negative slot", func(p *Planning) { p.Slot = -time.Minute }, "slot is -1m0s"},
		{"a slot under a minute", func(p *Planning) { p.Slot = time.Second; p.Horizon = time.Minute }, "slot is 1s"},
		{"a slot that divides no hour", func(p *Planning) { p.Slot = 25 * time.Minute }, "slot is 25m0s"},
		{"a slot of days", func(p *Planning) { p.Slot = 24 * time.Hour }, "slot is 24h0m0s"},
		{"no horizon", func(p *Planning) { p.Horizon = 0 }, "horizon is 0s"},
		{"a negative horizon", func(p *Planning) { p.Horizon = -72 * time.Hour }, "horizon is -72h0m0s"},
		{"a horizon of parts of slots", func(p *Planning) { p.Horizon = 100 * time.Minute }, "horizon is 1h40m0s"},
		{"an absurd horizon", func(p *Planning) { p.Horizon = 1 << 62 / time.Hour * time.Hour }, "horizon is"},
		{"one slot too many", func(p *Planning) { p.Horizon += p.Slot }, "horizon is 72h15m0s"},
		{"no delay", func(p *Planning) { p.MaxStartDelay = 0 }, "max start delay is 0s"},
		{"a delay beyond the horizon", func(p *Planning) { p.MaxStartDelay = p.Horizon + 1 }, "max start delay is"},
		{"a negative lead", func(p *Planning) { p.FirmLead = -1 }, "firm lead is -1ns"},
		{"a lead beyond the horizon", func(p *Planning) { p.FirmLead = p.Horizon + 1 }, "firm lead is"},
		{"coarser slots and a longer horizon", func(p *Planning) { p.Slot, p.Horizon = time.Hour, 288*time.Hour }, ""},
		{"finer slots and a shorter horizon", func(p *Planning) { p.Slot, p.Horizon = 5*time.Minute, 24*time.Hour }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := DefaultPlanning()
			tc.with(&p)
			err := p.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Validate(%+v) = %v; want %q", p, err, tc.want)
			}
		})
	}
}

func TestACallWithoutAPlanningMeansTheDefaults(t *testing.T) {
	m, err := Decode(golden(t, "call", func() []byte { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Body.(CallForBids).Planning; got != (Planning{}) || got.OrDefault() != DefaultPlanning() {
		t.Errorf("a Call of before the field has %+v, which means %+v", got, got.OrDefault())
	}
	own := Planning{Slot: time.Hour}
	if got := own.OrDefault(); got != own {
		t.Errorf("OrDefault of %+v = %+v: half a Planning is refused, not filled up", own, got)
	}
}
