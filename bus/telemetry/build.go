package telemetry

import (
	"cmp"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// newBuildInfo returns a gauge that is 1, with what was built as labels.
func newBuildInfo() prometheus.Collector {
	version, revision, language := "unknown", "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version, language = cmp.Or(info.Main.Version, version), info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gridbid_build_info", Help: "1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": language},
	}, func() float64 { return 1 })
}
