package query

import (
	"strconv"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// energyText prints an energy in kWh.
func energyText(e protocol.Millijoules) string { return format.FormatKWh(e) + " kWh" }

// kilogramText prints a mass of carbon in kg.
func kilogramText(c protocol.Milligrams) string { return format.FormatKilograms(c) + " kg" }

// gramsPerKWh prints an intensity in milligrams per kWh as grams per kWh.
func gramsPerKWh(c protocol.Milligrams) string {
	return strconv.FormatFloat(float64(c)/1000, 'f', 1, 64) + " g/kWh"
}

// perMWh prints a price in microdollars per kWh as dollars per MWh.
func perMWh(p protocol.Microdollars) string {
	return "$" + strconv.FormatFloat(float64(p)/1000, 'f', 2, 64) + "/MWh"
}

// perTonne prints a price of carbon per kg as dollars per tonne, to the last digit
// that it has.
func perTonne(c protocol.Microdollars) string {
	return "$" + format.FormatThousandths(protocol.Milli(c))
}
