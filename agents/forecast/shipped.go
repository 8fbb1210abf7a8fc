package forecast

import (
	_ "embed"
	"slices"
)

// shipped is the file of weights that programs have with them: `make learn-grid` makes it.
//
//go:embed learned.json
var shipped []byte

// ShippedLearned returns the corrections by the weights in the program, or why those are refused.
func ShippedLearned() (*Learned, error) { return ParseLearned(shipped) }

// ShippedBytes returns the file of the weights in the program.
func ShippedBytes() []byte { return slices.Clone(shipped) }
