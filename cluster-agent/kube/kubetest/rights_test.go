package kubetest

import "testing"

// The templates of rights are rendered by the tests on a control plane, which only nightly CI runs:
// a function that these do not know is found here.
func TestTemplatesOfRightsAreParsed(t *testing.T) {
	for _, file := range []string{"rbac.yaml", "node-rbac.yaml"} {
		if _, err := parseChartTemplate("../../../deploy/chart/templates/" + file); err != nil {
			t.Error(err)
		}
	}
}
