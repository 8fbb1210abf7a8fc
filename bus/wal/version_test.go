package wal

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

var update = flag.Bool("update", false, "write the golden ledger of the current protocol version if there is none")

// goldenMessages are the protocol's golden messages of the current version, in the
// order of their files.
func goldenMessages(t *testing.T) (ms []protocol.Message) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("../../protocol/testdata/v%d/*.msgpack", protocol.Current))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := protocol.Decode(data)
		if errors.As(err, new(*protocol.UnknownKindError)) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		ms = append(ms, m)
	}
	return ms
}

// A ledger of the current version is read, and rewritten to the same bytes, for as
// long as the version lasts. Messages that were added since are not in it.
func TestGoldenLedgerOfTheCurrentVersionIsRead(t *testing.T) {
	file := fmt.Sprintf("testdata/v%d.ledger", protocol.Current)
	header := map[string]string{"policy": "auction", "protocol": fmt.Sprint(protocol.Current), "scenario": "golden"}
	if _, err := os.Stat(file); err != nil && *update {
		w, err := CreateFile(file, header)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goldenMessages(t) {
			if err := w.AppendMessage(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it once with go test ./bus/wal -run GoldenLedger -update", err)
	}
	r, err := NewReader(bytes.NewReader(want), file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	w, err := NewWriter(&got, file, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; ; n++ {
		m, err := r.ReadMessage()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n < 60 || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: %d messages, written again to other bytes: %v", file, n, !bytes.Equal(got.Bytes(), want))
	}
}

// A ledger of any older version is refused before a message of it is read.
func TestGoldenLedgersOfOtherVersionsAreRefused(t *testing.T) {
	for v := protocol.Version(1); v < protocol.Current; v++ {
		file := fmt.Sprintf("testdata/v%d.ledger", v)
		_, err := OpenReader(file)
		var version *protocol.VersionError
		if !errors.As(err, &version) || version.Version != v {
			t.Fatalf("Open(%s) = %v; want a VersionError of %d", file, err, v)
		}
		for _, part := range []string{file, fmt.Sprintf("version %d", v), "read by the release that wrote it"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("Open(%s) = %q; want it to say %q", file, err, part)
			}
		}
	}
}
