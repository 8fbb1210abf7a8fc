package spec

import (
	_ "embed"
	"strings"

	"github.com/gridbid/gridbid/internal/yamlschema"
)

// Schema is the published JSON schema of a scenario.yaml.
//
//go:embed schema.json
var Schema []byte

var kind = yamlschema.Kind{
	By: "spec", What: "scenario", Docs: "docs/scenarios.md", Schema: Schema,
	Pattern: func(p string) string {
		if strings.HasPrefix(p, "^[0-9]{4}") {
			return "a whole hour as 2022-04-13T00:00:00Z"
		}
		return ""
	},
}

// mostPage is the maximum size of a scenario.yaml, in bytes.
const mostPage = 1 << 20
