//go:build kube

package kubeenv_test

import (
	"context"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/kubeenv"
)

func TestControlPlaneSurvivesKilledAPIServer(t *testing.T) {
	p := kubeenv.StartForTest(t, kubeenv.PlaneOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.KillAndRestart(ctx, "kube-apiserver", 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := p.KillAndRestart(ctx, "kubelet", 0); err == nil {
		t.Error("restarted what does not run")
	}
}
