// Package realdays carries scenarios of recorded days in the binary: a folder
// for each. What they read (prices, carbon, jobs, nodes) is not in here but in
// the folder of --data.
package realdays

import "embed"

// Files holds a scenario.yaml in a folder for each day.
//
//go:embed */scenario.yaml
var Files embed.FS
