package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// A comparison is what was found of two printed ledgers.
type comparison struct {
	messages int    // that both have, equal ones up to the first difference
	awards   int    // among them
	left     string // the first line that differs, as it was compared; "" is none
	right    string
}

func (c comparison) isEqual() bool { return c.left == "" && c.right == "" }

func (c comparison) describeResult(without string) string {
	if c.isEqual() {
		return fmt.Sprintf("%d messages, %d awards among them, are equal%s\n", c.messages, c.awards, without)
	}
	return fmt.Sprintf("message %d differs%s:\n< %s\n> %s\n", c.messages+1, without, c.left, c.right)
}

// comparePrinted compares two files of JSON lines, as `gridbid messages` prints a ledger, up
// to the first difference.
func comparePrinted(a, b string, ignore []keyPath) (comparison, error) {
	left, err := openPrinted(a, ignore)
	if err != nil {
		return comparison{}, err
	}
	defer left.file.Close()
	right, err := openPrinted(b, ignore)
	if err != nil {
		return comparison{}, err
	}
	defer right.file.Close()
	var c comparison
	for {
		x, err := left.nextMessage()
		if err != nil {
			return c, err
		}
		y, err := right.nextMessage()
		if err != nil {
			return c, err
		}
		switch {
		case !bytes.Equal(x, y):
			c.left, c.right = textOr(x, "(no more messages)"), textOr(y, "(no more messages)")
			return c, nil
		case x == nil:
			if c.messages == 0 {
				return c, fmt.Errorf("%s and %s hold no message", a, b)
			}
			return c, nil
		}
		c.messages++
		if left.kind == "award" {
			c.awards++
		}
	}
}

func textOr(line []byte, absent string) string {
	if line == nil {
		return absent
	}
	return string(line)
}

// A printed ledger is read line by line.
type printed struct {
	name   string
	file   *os.File
	lines  *bufio.Reader
	number int
	kind   string // of the message that was read last
	ignore []keyPath
}

func openPrinted(name string, ignore []keyPath) (*printed, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &printed{name: name, file: file, lines: bufio.NewReaderSize(file, 1<<20), ignore: ignore}, nil
}

// nextMessage returns the next message without the keys to ignore, its keys in order, or nil
// at the end of the file.
func (p *printed) nextMessage() ([]byte, error) {
	line, err := p.lines.ReadBytes('\n')
	if err == io.EOF && len(line) == 0 {
		return nil, nil
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	p.number++
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber() // a float64 would make equal what differs beyond 2^53
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s:%d: %w; print the ledger with gridbid messages FILE", p.name, p.number, err)
	}
	p.kind, _ = m["kind"].(string)
	for _, k := range p.ignore {
		k.removeFrom(m, p.kind)
	}
	return json.Marshal(m)
}

// A keyPath names a key to leave out: of every message's envelope, or of the body of
// the messages of a kind.
type keyPath struct{ kind, key string }

func (k keyPath) removeFrom(m map[string]any, kind string) {
	if k.kind == "" {
		delete(m, k.key)
		return
	}
	if body, ok := m["body"].(map[string]any); ok && k.kind == kind {
		delete(body, k.key)
	}
}

// parseKeys reads "version,call.planning".
func parseKeys(text string) (keys []keyPath, err error) {
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		kind, key, nested := strings.Cut(s, ".")
		if !nested {
			kind, key = "", s
		}
		if key == "" || nested && kind == "" || strings.Contains(key, ".") {
			return nil, fmt.Errorf("%q is no key: want KEY of the envelope, or KIND.KEY of a body, as gridbid messages prints them", s)
		}
		keys = append(keys, keyPath{kind, key})
	}
	return keys, nil
}
