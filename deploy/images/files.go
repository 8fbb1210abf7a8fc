package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// certs is where a program finds authorities.
const certs = "/etc/ssl/certs/ca-certificates.crt"

// A file is one of an image, by its path there; a folder if it ends in a slash.
type file struct {
	path string
	mode int64
	data []byte
}

// files are those of a program: itself, who it runs as, whom it trusts, and, if it
// loads libraries, those of this machine.
func (s setup) files(program string) ([]file, error) {
	path := filepath.Join(s.bin, program)
	all := []file{
		{"/etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"/etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"/tmp/", 0o1777, nil},
	}
	for _, from := range []struct {
		to, from string
		mode     int64
	}{{"/" + program, path, 0o755}, {certs, s.certs, 0o644}, {"/LICENSE", s.license, 0o644}} {
		data, err := os.ReadFile(from.from)
		if err != nil {
			return nil, err
		}
		all = append(all, file{from.to, from.mode, data})
	}
	libraries, err := libraries(path)
	return append(all, libraries...), err
}

// driver is what a GPU driver's library needs beside what a program does that
// loads it: programs name libraries, and the driver's comes with the node.
var driver = []string{"libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}

// libraries are those that a program loads, from where this machine has them; none
// if it is static.
func libraries(program string) (all []file, err error) {
	loader, needs, err := linked(program)
	if err != nil || loader == "" {
		return nil, err
	}
	data, err := os.ReadFile(loader)
	if err != nil {
		return nil, err
	}
	all = append(all, file{loader, 0o755, data})
	needs = append(needs, driver...)
	for i := 0; i < len(needs); i++ { // grows as libraries need others
		if slices.Contains(needs[:i], needs[i]) || needs[i] == filepath.Base(loader) {
			continue
		}
		path, err := find(needs[i])
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, file{path, 0o755, data})
		_, more, err := linked(path)
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return all, nil
}

// linked reads which loader a file asks for, "" for none, and which libraries.
func linked(path string) (loader string, needs []string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text, err := io.ReadAll(p.Open())
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", path, err)
		}
		loader = string(bytes.TrimRight(text, "\x00"))
	}
	needs, err = f.ImportedLibraries()
	return loader, needs, err
}

// find looks for a library where Debian and others have them.
func find(library string) (string, error) {
	triple := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	for _, folder := range []string{"/lib/" + triple, "/usr/lib/" + triple, "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		path := filepath.Join(folder, library)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("no %s on this machine", library)
}

// archive writes files as a layer: in order of their paths, each folder before
// what it holds, nobody's but root's.
func archive(files []file) (func() (io.ReadCloser, error), error) {
	made := map[string]bool{"/": true}
	for _, f := range slices.Clone(files) {
		made[filepath.Clean(f.path)] = true
		for d := filepath.Dir(filepath.Clean(f.path)); !made[d]; d = filepath.Dir(d) {
			made[d] = true
			files = append(files, file{d + "/", 0o755, nil})
		}
	}
	slices.SortFunc(files, func(x, y file) int { return bytes.Compare([]byte(x.path), []byte(y.path)) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.path[1:], Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.path[len(f.path)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }, nil
}
