package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gridbid/gridbid/coordinator/api"
)

// The file of people is replaced whole: who reads the old one meanwhile, or is left
// with it, has it whole; and whoever could read it still can.
func TestPeopleAreWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file, old := filepath.Join(dir, "people.json"), filepath.Join(dir, "old.json")
	add := func(name string) {
		t.Helper()
		if out, _, err := execute(newPolicyCommand(), "person", name, "--file", file); err != nil || out == "" {
			t.Fatalf("%s: %v", name, err)
		}
	}
	add("ada")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, old); err != nil {
		t.Skip(err)
	}
	add("ben")
	for path, want := range map[string]int{file: 2, old: 1} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := api.ReadPeople(path, text); err != nil || len(all) != want {
			t.Errorf("%s: %d people, %v; want %d", filepath.Base(path), len(all), err, want)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v; want the rights that it had", info.Mode(), err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("left behind: %v", all)
	}
}
