// Images lays programs into container images, with no daemon and no base: an image
// is one program, what it must find beside it, and who it runs as. It writes
// archives as `docker save` does, which docker, podman, containerd, kind, skopeo
// and crane take. The same files make the same image, byte for byte.
//
// `make images` builds the programs and calls it.
//
// It is a module of its own, so that its library is no requirement of Gridbid.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// programs are what there is an image of, and what each is for.
var programs = []struct{ name, title string }{
	{"coordinator", "The market of a Gridbid federation"},
	{"gridbid", "The command line of Gridbid"},
	{"cluster-agent", "The agent of one site of a Gridbid federation, and the daemon of its GPU nodes"},
}

// nobody is who programs run as: the unprivileged user of common bases.
const nobody = "65532:65532"

func main() {
	var s setup
	flag.StringVar(&s.bin, "bin", "bin", "folder of the programs")
	flag.StringVar(&s.out, "out", "bin/images", "folder of the archives")
	flag.StringVar(&s.version, "version", "0.1.0", "tag of the images")
	flag.StringVar(&s.revision, "revision", "", "commit that the programs were built from")
	flag.StringVar(&s.registry, "registry", "ghcr.io/gridbid", "where the images are to be found")
	flag.StringVar(&s.certs, "certs", "/etc/ssl/certs/ca-certificates.crt", "certificates of authorities, for services over TLS")
	flag.StringVar(&s.license, "license", "LICENSE", "text of the license")
	flag.Parse()
	if err := s.all(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type setup struct{ bin, out, version, revision, registry, certs, license string }

// all writes an archive for each program.
func (s setup) all() error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	for _, p := range programs {
		ref, err := name.NewTag(s.registry + "/" + p.name + ":" + s.version)
		if err != nil {
			return fmt.Errorf("images: %w", err)
		}
		image, err := s.image(p.name, p.title)
		if err != nil {
			return fmt.Errorf("images: %s: %w", p.name, err)
		}
		file := filepath.Join(s.out, p.name+".tar")
		if err := tarball.WriteToFile(file, ref, image); err != nil {
			return fmt.Errorf("images: %s: %w", file, err)
		}
		id, err := image.Digest()
		if err != nil {
			return fmt.Errorf("images: %s: %w", p.name, err)
		}
		fmt.Println(file, ref, id)
	}
	return nil
}

// image is that of one program.
func (s setup) image(program, title string) (v1.Image, error) {
	files, err := s.files(program)
	if err != nil {
		return nil, err
	}
	data, err := archive(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(data)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "gridbid images", Created: v1.Time{Time: epoch}}})
	if err != nil {
		return nil, err
	}
	now, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg := now.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = "linux", runtime.GOARCH, v1.Time{Time: epoch}
	cfg.Config = v1.Config{
		Entrypoint: []string{"/" + program}, User: nobody, WorkingDir: "/",
		// Where device plugins put the driver's libraries that have no cache of names.
		Env: []string{"PATH=/", "SSL_CERT_FILE=" + certs, "LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/lib64"},
		Labels: map[string]string{
			"org.opencontainers.image.title": program, "org.opencontainers.image.description": title,
			"org.opencontainers.image.source": "https://github.com/gridbid/gridbid", "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version": s.version, "org.opencontainers.image.revision": s.revision,
		},
	}
	return mutate.ConfigFile(image, cfg)
}

// epoch is the time of all that is in an image: when it was made says nothing of it.
var epoch = time.Unix(0, 0).UTC()
