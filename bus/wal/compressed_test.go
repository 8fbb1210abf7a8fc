package wal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// writeCompressed is write for a compressed file.
func writeCompressed(t testing.TB, header map[string]string, ms []protocol.Message) ([]byte, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compressed.journal")
	w, err := CreateCompressedFile(path, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, w.ChainDigest()
}

func TestACompressedFileHoldsTheSameMessages(t *testing.T) {
	ms := offers(50)
	plain, digest := write(t, header, ms)
	packed, same := writeCompressed(t, header, ms)
	again, _ := writeCompressed(t, header, ms)
	if digest != same || !bytes.Equal(packed, again) {
		t.Errorf("digests %s and %s; the same bytes twice: %v", digest, same, bytes.Equal(packed, again))
	}
	if 2*len(packed) > len(plain) {
		t.Errorf("%d bytes became %d", len(plain), len(packed))
	}
	if got, err := read(packed); err != nil || !reflect.DeepEqual(got, ms) {
		t.Errorf("read %d messages, %v; want %d", len(got), err, len(ms))
	}
}

// A change may leave what is unpacked as it was; it never adds a message or alters one.
func TestAnyChangeOfACompressedFileIsHarmlessOrFound(t *testing.T) {
	want := offers(3)
	data, _ := writeCompressed(t, header, want)
	rapid.Check(t, func(t *rapid.T) {
		bad := bytes.Clone(data)
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "lose") {
			bad = append(bad[:at], bad[min(len(bad), at+rapid.IntRange(1, 80).Draw(t, "n")):]...)
		} else {
			bad[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		}
		got, err := read(bad)
		if len(got) > len(want) || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) || err == nil && len(got) < len(want) {
			t.Fatalf("read %d messages, %v; want those that were written, or an error", len(got), err)
		}
	})
}

func TestACompressedFileThatWasCutOffIsTorn(t *testing.T) {
	ms := offers(200) // several blocks
	data, _ := writeCompressed(t, header, ms)
	got, err := read(data[:len(data)/2])
	if !errors.Is(err, ErrTorn) || len(got) == 0 || !reflect.DeepEqual(got, ms[:len(got)]) {
		t.Errorf("half a file has %d messages, %v; want some, and ErrTorn", len(got), err)
	}
	if _, err := read(append(bytes.Clone(data), 1, 2, 3, 4)); !errors.Is(err, ErrDamaged) {
		t.Errorf("with bytes after the end: %v; want ErrDamaged", err)
	}
}

func TestWhatWasFlushedOfACompressedFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.journal")
	w, err := CreateCompressedFile(path, header)
	if err != nil {
		t.Fatal(err)
	}
	ms := messages(3)
	for _, m := range ms {
		err = errors.Join(err, w.AppendMessage(m))
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"growing", "given up"} {
		if name == "given up" {
			err = w.CloseWithoutEnd()
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(data); !errors.Is(err, ErrTorn) || !reflect.DeepEqual(got, ms) {
			t.Errorf("%s: read %d messages, %v; want 3, and ErrTorn", name, len(got), err)
		}
	}
}

func TestACompressedFileThatCannotBeReadIsNotCalledDamaged(t *testing.T) {
	data, _ := writeCompressed(t, header, offers(200))
	gone := errors.New("the disk is gone")
	r, err := NewReader(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(gone)), "run")
	for err == nil {
		_, err = r.ReadMessage()
	}
	if !errors.Is(err, gone) || errors.Is(err, ErrDamaged) {
		t.Errorf("%v; want %v", err, gone)
	}
}
