package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const root = "../.."

// build builds the programs as `make images` does, but for paths in them.
func build(t *testing.T) setup {
	t.Helper()
	s := setup{bin: t.TempDir(), out: t.TempDir(), version: "1.2.3", revision: "abc", registry: "registry.example.com/gridbid", certs: certs, license: root + "/LICENSE"}
	if _, err := os.Stat(s.certs); err != nil {
		t.Skip("no certificates of authorities on this machine: ", err)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler, without which the agent loads no driver")
	}
	for program, folder := range map[string]string{"coordinator": "./cmd/coordinator", "gridbid": "./cmd/gridbid", "cluster-agent": "./cmd/cluster-agent"} {
		cmd := exec.Command("go", "build", "-ldflags=-s", "-o", filepath.Join(s.bin, program), folder)
		cmd.Dir = root
		if program != "cluster-agent" {
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	return s
}

// Each archive is read back: it is a sound image of one program, that runs as
// nobody, says where it is from, and holds what it needs and nothing else. Then the
// program runs from it.
func TestImagesAreReadBackAndRun(t *testing.T) {
	s := build(t)
	if err := s.all(); err != nil {
		t.Fatal(err)
	}
	first := digests(t, s.out)
	if err := s.all(); err != nil {
		t.Fatal(err)
	}
	if again := digests(t, s.out); again != first {
		t.Errorf("made twice they differ:\n%s%s", first, again)
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			image, err := tarball.ImageFromPath(filepath.Join(s.out, p.name+".tar"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Image(image); err != nil {
				t.Error(err)
			}
			cfg, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if c := cfg.Config; fmt.Sprint(c.Entrypoint) != "[/"+p.name+"]" || c.User != nobody || len(c.ExposedPorts) > 0 || len(c.Volumes) > 0 ||
				c.Labels["org.opencontainers.image.version"] != "1.2.3" || c.Labels["org.opencontainers.image.revision"] != "abc" || c.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
				t.Errorf("its configuration is %+v", c)
			}
			folder := t.TempDir()
			files := unpack(t, mutate.Extract(image), folder)
			want := []string{"LICENSE", p.name, "etc/group", "etc/passwd", certs[1:]}
			libraries := slices.DeleteFunc(files, func(f string) bool { return slices.Contains(want, f) })
			if p.name == "cluster-agent" {
				if !slices.ContainsFunc(libraries, func(f string) bool { return strings.HasSuffix(f, "/libc.so.6") }) {
					t.Errorf("without its library among %v", libraries)
				}
				libraries = slices.DeleteFunc(libraries, func(f string) bool { return strings.Contains(filepath.Base(f), ".so") })
			}
			if len(libraries) > 0 {
				t.Errorf("it holds %v, too", libraries)
			}
			if out, err := run(t, folder, p.name, "--help"); err != nil || !strings.Contains(out, p.name) {
				t.Errorf("--help: %v\n%s", err, out)
			}
			if p.name == "cluster-agent" {
				loadsADriver(t, folder)
			}
		})
	}
}

func digests(t *testing.T, folder string) (all string) {
	t.Helper()
	for _, p := range programs {
		image, err := tarball.ImageFromPath(filepath.Join(folder, p.name+".tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		all += d.String() + "\n"
	}
	return all
}

// unpack lays an image's files under a folder, and returns those that are no
// folders.
func unpack(t *testing.T, layers io.ReadCloser, folder string) (files []string) {
	t.Helper()
	defer layers.Close()
	r := tar.NewReader(layers)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, filepath.FromSlash(h.Name))
		if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 && strings.Trim(h.Name, "/") != "tmp" {
			t.Errorf("%s is %d:%d's, mode %o", h.Name, h.Uid, h.Gid, h.Mode)
		}
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			files = append(files, h.Name)
			var data bytes.Buffer
			if _, err = io.Copy(&data, r); err == nil {
				err = os.WriteFile(path, data.Bytes(), os.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a program with an image's files as its whole world, as nobody.
func run(t *testing.T, folder, program string, args ...string) (out string, err error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a program another world; its files were checked")
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/"+program, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/", "LD_LIBRARY_PATH=/usr/lib64", "STANDIN_WORLD=/world"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: folder, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// loadsADriver puts the stand-in for a driver's library where nodes put the real
// one: with what is in the image the agent loads it, and without it says so.
func loadsADriver(t *testing.T, folder string) {
	t.Helper()
	if out, err := run(t, folder, "cluster-agent", "gpus"); err == nil || !strings.Contains(out, "no NVIDIA driver library here") {
		t.Errorf("without a driver: %v\n%s", err, out)
	}
	library := filepath.Join(folder, "usr/lib64/libnvidia-ml.so.1")
	if err := os.MkdirAll(filepath.Dir(library), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, root+"/cluster-agent/nvml/nvmltest/testdata/standin.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	world := make([]byte, 4096)
	world[0] = 1 // one card
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "world"), world, 0o600), os.Chmod(filepath.Join(folder, "world"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, folder, "cluster-agent", "gpus", "--json"); err != nil || !strings.Contains(out, `"uuid": "GPU-`) {
		t.Errorf("with a driver: %v\n%s", err, out)
	}
}
