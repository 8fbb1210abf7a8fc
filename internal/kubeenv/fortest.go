package kubeenv

import (
	"context"
	"os"
	"time"
)

// A TestingT is the part of a test or a benchmark that StartForTest needs.
type TestingT interface {
	Helper()
	Fatal(...any)
	Skip(...any)
	Cleanup(func())
	TempDir() string
}

// StartForTest starts a control plane that is stopped when the test ends. The
// environment variable GRIDBID_PLANE names the folder of the binaries; without it the
// test is skipped, or fails if CI=true.
func StartForTest(t TestingT, o PlaneOptions) *ControlPlane {
	t.Helper()
	o.Assets = os.Getenv("GRIDBID_PLANE")
	if o.Assets == "" {
		const how = "plane: no control plane to test with: run make test-kube, or set GRIDBID_PLANE to what internal/kubeenv/controlplane/build.sh prints"
		if os.Getenv("CI") == "true" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	p, err := StartPlane(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.StopPlane)
	return p
}
