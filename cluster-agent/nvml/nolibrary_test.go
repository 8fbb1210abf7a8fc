//go:build !linux || !cgo

package nvml

import (
	"errors"
	"strings"
	"testing"
)

func TestAProgramThatCannotReadGPUsSaysWhichCan(t *testing.T) {
	_, err := OpenLibrary("")
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "Linux") || !strings.Contains(err.Error(), "cgo") {
		t.Errorf("it says %v", err)
	}
}
