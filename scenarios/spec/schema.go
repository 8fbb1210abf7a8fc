package spec

import (
	_ "embed"
	"strings"

	"github.com/gridbid/gridbid/internal/yamlschema"
)

// Schema is the JSON schema of a scenario.yaml, as published.
//
//go:embed schema.json
var Schema []byte

var kind = yamlschema.Kind{
	By: "script", What: "scenario", Docs: "docs/scenarios.md", Schema: Schema,
	Pattern: func(p string) string {
		if strings.HasPrefix(p, "^[0-9]{4}") {
			return "a whole hour as 2022-04-13T00:00:00Z"
		}
		return ""
	},
}

// mostPage is the most bytes of a scenario.yaml.
const mostPage = 1 << 20
