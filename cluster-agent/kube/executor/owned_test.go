package executor

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/kube"
)

func TestPodsTolerateTheirSitesTaint(t *testing.T) {
	for _, o := range objects {
		u, _, err := New(Config{Site: "oslo", Sharing: kube.SharingDevicePlugin}).buildRunObject(launchOf(o.text, 2*o.pods))
		if err != nil {
			t.Fatal(err)
		}
		data, err := u.MarshalJSON()
		if err != nil || !strings.Contains(string(data), `{"key":"gridbid.io/owned","operator":"Equal","value":"oslo"}`) {
			t.Errorf("built %s, %v", data, err)
		}
	}
}
