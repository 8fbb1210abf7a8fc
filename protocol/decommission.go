package protocol

// DecommissionSite decommissions a site: an operator declares that it will not come back. Its jobs
// are requeued, or with End ended. If it comes back after all, the market orders it to
// stop them and does not settle what it reports of them.
type DecommissionSite struct {
	Site string `msgpack:"s"`
	By   string `msgpack:"by"`          // the operator
	Why  string `msgpack:"y,omitempty"` // free text of the operator
	End  bool   `msgpack:"e,omitempty"`
}

func (DecommissionSite) messageKind() string { return "gone" }

// SiteDecommissioned is the reason that a job left a decommissioned site, or ended.
const SiteDecommissioned Code = "site-gone"
