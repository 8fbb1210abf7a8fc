package spec

import (
	_ "embed"
	"strings"

	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/yamlschema"
)

// ScenarioSchema is the published JSON schema of a scenario.yaml.
//
//go:embed schema.json
var ScenarioSchema []byte

var scenarioSchemaKind = yamlschema.SchemaKind{
	Reader: "spec", FileKind: "scenario", Docs: "docs/scenarios.md", Schema: ScenarioSchema,
	Pattern: func(p string) string {
		if strings.HasPrefix(p, "^[0-9]{4}") {
			return "a whole hour as 2022-04-13T00:00:00Z"
		}
		return jobfile.DescribePattern(p)
	},
}

// maxSpecBytes is the maximum size of a scenario.yaml, in bytes.
const maxSpecBytes = 1 << 20
