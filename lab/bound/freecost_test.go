package bound

import (
	"context"
	"errors"
	"testing"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// The cost where capacity is free is that of a certificate, without its search.
func TestTheFreeCostIsThatOfACertificate(t *testing.T) {
	for name, s := range map[string]spec.Scenario{"whole jobs": day(60), "jobs in parts": broken(30), "no job": day(0)} {
		for _, idle := range []bool{false, true} {
			c, err := ComputeCertificate(s, Config{Steps: 1, Idle: idle})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := FreeCost(s, Config{Idle: idle}); err != nil || got != c.FreeUSD {
				t.Errorf("%s: capacity is free at $%v, %v; the certificate says $%v", name, got, err, c.FreeUSD)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FreeCost(day(3), Config{Stop: ctx.Err}); !errors.Is(err, context.Canceled) {
		t.Errorf("after a stop: %v", err)
	}
}
