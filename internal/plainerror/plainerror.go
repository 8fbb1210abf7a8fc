// Package plainerror words errors for users. Errors of this module begin with the names of the
// packages that they passed through, which tell a developer where to look; a user does not
// know the packages. The programs and the HTTP API word each error by Text before anybody
// outside reads it; logs keep the names.
package plainerror

import (
	"regexp"
	"slices"
	"strings"
)

// names are the words that errors begin with: names of packages, former ones and of commands.
// A test holds that no prefix of the module is missing.
var names = strings.Fields(`
	adversary advisor agents api archive ask bench bound brief bus capacity certificate chart chat cluster-agent
	clusters compare config constrained coordinator counterfactual credentials division env estimates
	eventlog export faults faultyserver federation fgd forecast gpuaccounting grids import jobfile kube
	kubetest leader learn learned llm loop mcp mcpprobe messages natsbus natsfloor net node notary nvml packing
	page placement plane planning podenergy policy ports power printer promenergy proof propagation
	protocol queue quotas report rights rotate savings scenarios seat serviceday servicefile services serving shadow signals
	snapshot spec statement submit telemetry timeline trace up verify wal why
`)

// position matches a part of an error that ends with the line of a file. What follows is about
// the file's content, where any word may be the name of a key.
var position = regexp.MustCompile(`:\d+$`)

// Text returns the text of an error without the names of packages.
func Text(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = withoutNames(line)
	}
	return strings.Join(lines, "\n")
}

// withoutNames returns a line without the parts before a colon that are the name of a package.
// The last part always stays.
func withoutNames(line string) string {
	parts := strings.Split(line, ": ")
	var kept []string
	for i, part := range parts {
		if position.MatchString(part) {
			kept = append(kept, parts[i:]...)
			break
		}
		if i == len(parts)-1 || !slices.Contains(names, part) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ": ")
}
