// Package sixregions carries the default scenario in the binary: six invented
// regions, so that a first replay needs no data and no path.
package sixregions

import "embed"

// Files holds scenario.yaml.
//
//go:embed scenario.yaml
var Files embed.FS
