package federation_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
)

var update = flag.Bool("update", false, "write deploy/nats as it is now")

// deploy/nats shows what `gridbid federation` writes for a hub and a site, with
// keys and folders in words. Files that are served are tested beside this.
func TestDeployShowsTheConfigurationThatIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fed")
	fed, err := federation.InitFederation(dir, federation.Setup{Hosts: []string{"hub.example.org"}, Listen: "0.0.0.0"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fed.AddSite(federation.SiteSetup{Name: "oslo"}); err != nil {
		t.Fatal(err)
	}
	if _, err := fed.AddTenant(federation.TenantSetup{Name: "vision"}); err != nil {
		t.Fatal(err)
	}
	key, seed, account := regexp.MustCompile(`"U[A-Z2-7]{55}"`), regexp.MustCompile(`"S[A-Z2-7]{57}"`), regexp.MustCompile(`\bA[A-Z2-7]{55}\b`)
	for name, from := range map[string]string{"hub.conf": fed.HubConfigFile(0), "accounts.conf": filepath.Join(filepath.Dir(fed.HubConfigFile(0)), "accounts.conf"), "leaf.conf": filepath.Join(dir, "sites", "oslo", "leaf.conf")} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		masked := strings.ReplaceAll(string(text), dir, "/etc/gridbid")
		masked = key.ReplaceAllString(masked, `"U...PUBLIC-KEY"`)
		masked = seed.ReplaceAllString(masked, `"SU...SECRET-SEED"`)
		masked = account.ReplaceAllString(masked, "A...ACCOUNT")
		file := filepath.Join("../../../deploy/nats", name)
		if *update {
			if err := os.WriteFile(file, []byte(masked), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		shown, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(shown) != masked {
			t.Errorf("%s is another now; see what changed, then go test ./bus/natsbus/federation -run Deploy -update", file)
		}
		if regexp.MustCompile(`"S[A-Z2-7]{20,}"`).MatchString(masked) {
			t.Errorf("%s shows a secret", file)
		}
	}
}
