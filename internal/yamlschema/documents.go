package yamlschema

import (
	"bytes"
	"fmt"
	"strings"
)

// maxDocuments bounds the documents of a file, each of which is parsed on its own.
const maxDocuments = 1024

// SplitDocuments returns each document of a file of several, separated by lines of ---, on its own lines:
// those before it are empty, so that faults name the lines of the file.
func SplitDocuments(text []byte) (all [][]byte, err error) {
	if len(text) > maxPageBytes {
		return nil, fmt.Errorf("over %d bytes: split the file", maxPageBytes)
	}
	var one bytes.Buffer
	flush := func(line int) {
		if len(bytes.TrimSpace(one.Bytes())) > 0 {
			all = append(all, bytes.Clone(one.Bytes()))
		}
		one.Reset()
		one.WriteString(strings.Repeat("\n", line+1))
	}
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		if s := bytes.TrimRight(line, "\r\n\t "); bytes.Equal(s, []byte("---")) {
			flush(i)
			continue
		}
		one.Write(line)
	}
	flush(0)
	if len(all) > maxDocuments || len(all)*len(text) > 64*maxPageBytes {
		return nil, fmt.Errorf("%d documents: split the file", len(all))
	}
	return all, nil
}
