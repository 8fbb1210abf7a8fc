package protocol

import "time"

// A Variant is how one replica of a service does on GPUs of a model, as somebody measured or simulated
// (gridbid bench serving). The zero of a figure means that it is not known.
type Variant struct {
	Model   string        `msgpack:"md"`           // of its GPUs
	Goodput Milli         `msgpack:"gp,omitempty"` // thousandths of a request per second, served within the service level objective
	Power   Milliwatts    `msgpack:"pw,omitempty"` // that it adds to an awake node at that load, without the facility's overhead
	Start   time.Duration `msgpack:"st,omitempty"` // from when its node is awake until it serves
	Rates   []ServedRate  `msgpack:"rs,omitempty"` // how fast it answers, by load: with classes they say the goodput
}

// Bounds of a variant.
const (
	maxVariants = 64
	maxGoodput  = Milli(1_000_000_000)      // a million requests per second
	maxPower    = Milliwatts(1_000_000_000) // a megawatt
)

// VariantOn returns how a replica of s does on GPUs of a model; the zero Variant if that is not known.
func (s *Service) VariantOn(model string) Variant {
	for _, v := range s.Variants {
		if v.Model == model {
			return v
		}
	}
	return Variant{}
}

// PowerOn returns what a replica of s adds to an awake node: as its variant says, or else as planned.
func (s *Service) PowerOn(model string, planned Milliwatts) Milliwatts {
	if v := s.VariantOn(model); v.Power > 0 {
		return v.Power
	}
	return planned
}

// invalidVariants returns what is wrong with the variants of s, or "".
func (s *Service) invalidVariants() string {
	if len(s.Variants) > maxVariants {
		return "variants: more than 64"
	}
	seen := make(map[string]bool, len(s.Variants))
	for _, v := range s.Variants {
		switch {
		case v.Model == "" || nameTooLong(v.Model) || seen[v.Model]:
			return "variants: no GPU model, or one twice"
		case v.Goodput < 0 || v.Goodput > maxGoodput || v.Power < 0 || v.Power > maxPower || v.Start < 0 || v.Start > 24*time.Hour:
			return "variants: want a goodput of 0..1000000 requests per second, 0..1000000 W and a start of at most a day"
		}
		if why := v.invalidRates(); why != "" {
			return why
		}
		seen[v.Model] = true
	}
	return ""
}
