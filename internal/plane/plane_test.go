//go:build kube

package plane_test

import (
	"context"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/plane"
)

func TestAPlaneStartsAndSurvivesADeadServer(t *testing.T) {
	p := plane.ForTest(t, plane.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Restart(ctx, "kube-apiserver", 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := p.Restart(ctx, "kubelet", 0); err == nil {
		t.Error("restarted what does not run")
	}
}
