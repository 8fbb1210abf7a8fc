package chaos

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs are the binaries that tests start. Each is built once, as linking takes seconds.
var programs struct {
	sync.Mutex
	folder string          // "" before the first
	built  map[string]bool // by name
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.folder != "" {
		_ = os.RemoveAll(programs.folder)
	}
	os.Exit(code)
}

// programPath returns the path of a program: one of ours, or nats-server. It builds it if no test
// has yet.
func programPath(t *testing.T, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.folder == "" {
		dir, err := os.MkdirTemp("", "gridbid-chaos-")
		if err != nil {
			t.Fatal(err)
		}
		programs.folder, programs.built = dir, make(map[string]bool)
	}
	file := filepath.Join(programs.folder, name)
	if programs.built[name] {
		return file
	}
	from := "github.com/gridbid/gridbid/cmd/" + name
	if name == "nats-server" {
		from = "github.com/nats-io/nats-server/v2"
	}
	if out, err := exec.Command("go", "build", "-o", file, from).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	programs.built[name] = true
	return file
}
