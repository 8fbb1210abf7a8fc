package charttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// instructions reads a container file: each instruction as one line.
func instructions(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// What can be known of the container file without building it: bases are pinned,
// what is copied and built exists, and each image runs one program as nobody.
func TestTheContainerFileIsSound(t *testing.T) {
	stages, built := make(map[string]bool), make(map[string]bool)
	notices := make(map[string]bool)
	stage, user, entry := "", make(map[string]string), make(map[string]string)
	pinned := regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+:[\w.-]+$`)
	for _, line := range instructions(t, root+"/deploy/containers/Containerfile") {
		f := strings.Fields(line)
		switch f[0] {
		case "FROM":
			if len(f) != 4 || f[2] != "AS" || !pinned.MatchString(f[1]) || strings.HasSuffix(f[1], ":latest") {
				t.Errorf("%s: want a base with registry and version, and a name", line)
			}
			stage = f[len(f)-1]
			stages[stage] = true
		case "COPY":
			if from, ok := strings.CutPrefix(f[1], "--from="); ok {
				notices[stage] = notices[stage] || f[2] == "/out/NOTICES"
				if !stages[from] || !built[f[2]] {
					t.Errorf("%s: nothing made that before", line)
				}
				continue
			}
			for _, source := range f[1 : len(f)-1] {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		case "RUN":
			for _, m := range regexp.MustCompile(`-o (\S+) (\./\S+)`).FindAllStringSubmatch(line, -1) {
				built[m[1]] = true
				text, err := os.ReadFile(filepath.Join(root, m[2], "main.go"))
				if err != nil || !strings.Contains(string(text), "package main") {
					t.Errorf("%s: no program in %s", line, m[2])
				}
			}
			for _, m := range regexp.MustCompile(`bash (\S+) > (\S+)`).FindAllStringSubmatch(line, -1) {
				built[m[2]] = true
				if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		case "USER":
			user[stage] = f[1]
		case "ENTRYPOINT":
			entry[stage] = strings.Join(f[1:], " ")
		}
	}
	version, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(version); m == nil || !strings.Contains(strings.Join(instructions(t, root+"/deploy/containers/Containerfile"), "\n"), "golang:"+string(m[1])) {
		t.Errorf("built with another Go than go.mod's %s", m)
	}
	for _, name := range []string{"coordinator", "gridbid", "cluster-agent"} {
		if !stages[name] || user[name] != "65532:65532" || entry[name] != `["/`+name+`"]` {
			t.Errorf("image %s runs %s as %q", name, entry[name], user[name])
		}
		if !notices[name] {
			t.Errorf("image %s carries works of others without their licences", name)
		}
	}
}

// Every module that the programs link, and the fonts, come with their licence.
func TestNoticesNameWhatIsLinked(t *testing.T) {
	cmd := exec.Command("bash", "deploy/containers/notices")
	cmd.Dir = root
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	for _, want := range []string{"=== Go go1.", "=== codeberg.org/go-fonts/liberation", "SIL OPEN FONT LICENSE", "=== k8s.io/client-go", "=== github.com/NVIDIA/go-nvml", "=== github.com/nats-io/nats-server/v2", "Apache License"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(string(out), "=== github.com/gridbid/gridbid") {
		t.Error("its own module is among the works of others")
	}
}

// Built where there is something that builds and CONTAINERS=1 asks for it: it
// fetches bases from their registries.
func TestContainersAreBuilt(t *testing.T) {
	if os.Getenv("CONTAINERS") != "1" {
		t.Skip("set CONTAINERS=1 to build the images with docker, podman or buildah")
	}
	for _, builder := range []string{"docker", "podman", "buildah"} {
		if exec.Command(builder, "info").Run() != nil {
			continue
		}
		for _, target := range []string{"coordinator", "gridbid", "cluster-agent"} {
			cmd := exec.Command(builder, "build", "-q", "-f", "deploy/containers/Containerfile", "--target", target, ".")
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", builder, target, err, out)
			}
		}
		return
	}
	t.Skip("no docker, podman or buildah answers")
}
