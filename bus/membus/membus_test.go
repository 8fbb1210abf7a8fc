package membus_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus/bustest"
	"github.com/gridbid/gridbid/bus/membus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHub(t *testing.T) { bustest.TestBus(t, new(membus.Bus)) }
