package protocol

// DecommissionSite says that a site will not come back, by an operator who knows: its machines
// are off. Its jobs are sold again, or with End ended; should it come back after
// all, it is told to stop them, and what it reports of them is not settled.
type DecommissionSite struct {
	Site string `msgpack:"s"`
	By   string `msgpack:"by"`          // who says so
	Why  string `msgpack:"y,omitempty"` // in his words
	End  bool   `msgpack:"e,omitempty"`
}

func (DecommissionSite) messageKind() string { return "gone" }

// SiteDecommissioned is why a job left its site, or ended.
const SiteDecommissioned Code = "site-gone"
