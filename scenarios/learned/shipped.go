package learned

import (
	_ "embed"
	"slices"

	"github.com/gridbid/gridbid/internal/net"
)

// shipped is the file of weights that programs have with them: `make learn` makes it.
//
//go:embed greensched.json
var shipped []byte

// Shipped returns the weights in the program, or why they are refused.
func Shipped() (net.File, error) { return ParseWeights(shipped) }

// ShippedBytes returns the file of the weights in the program.
func ShippedBytes() []byte { return slices.Clone(shipped) }
