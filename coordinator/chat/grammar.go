package chat

import "strings"

// A form is how a query is said: a text with slots, and the optional parts
// that follow it.
type form struct{ text, parts string }

// forms are the canonical questions, by what is asked.
var forms = map[string]form{
	"why": {"why {target}", "site"}, "why-not": {"why not site {site} for {target}", ""},
	"why-not-greenest": {"why not the greenest site for {target}", ""}, "why-not-cheapest": {"why not the cheapest site for {target}", ""},
	"why-not-home": {"why not home for {target}", ""},
	"held":         {"why wait {target}", ""}, "where": {"where did {target} run", ""}, "decision": {"which decision placed {target}", ""},
	"times": {"when did {target} start and end", ""}, "waited": {"how long did {target} wait", ""},
	"offers": {"list the bids for {target}", ""}, "offer-count": {"how many sites bid on {target}", ""},
	"unable": {"which sites refused {target}", ""}, "differ": {"difference between site {site} and site {other} for {target}", ""},
	"elsewhere": {"what if {target} had run elsewhere", ""}, "elsewhere-at": {"what if {target} had run instead at site {site}", ""},
	"immediate": {"what would {target} have cost immediately", ""},
	"saved":     {"what did waiting save", "job tenant"}, "reprice": {"at a carbon price of {number} would {target} change", ""},
	"breakeven": {"break-even carbon price of site {site} for {target}", ""},
	"without":   {"what if {target} without site {site}", ""}, "slack": {"what if {target} could wait {long}", ""},
	"unbound": {"what if {target} without the residency rule", "site"}, "day-without": {"what if site {site} were down", "time"},
	"day-carbon": {"what if the carbon price were {number}", ""}, "policies": {"compare policies", "policies"},
	"bill": {"{bill} used", "by job site tenant time pick"}, "top": {"top {number} jobs by {metric}", "site tenant time"},
	"mix": {"average carbon intensity of our energy", "time"}, "late": {"late jobs", "site tenant time"},
	"waits": {"average wait", "site tenant time"}, "pending": {"which jobs wait", "site tenant time"},
	"intensity": {"carbon intensity", "by site time"}, "price": {"electricity price", "site time"},
	"greenest": {"greenest site", "time"}, "cheapest": {"electricity price cheapest site", "time"}, "dirtiest": {"dirtiest site now", "time"},
	"free": {"free gpus", "site time"}, "block": {"largest free block of gpus", "site time"}, "fit": {"would {number} gpus fit", "site time"},
	"power": {"power draw", "site time"}, "report": {"last report", "site"},
	"best-hour": {"when greenest in the next {within}", "site time"}, "best-price": {"when cheapest in the next {within}", "site time"},
	"forecast": {"forecast", "site time"}, "forecast-error": {"forecast error", "site time"},
	"best-start": {"when should i submit {long} in the next {within}", "time"},
	"weights":    {"rules in force", ""}, "shares": {"fair share by tenant", "tenant"},
	"bid-error": {"bid error", "site"}, "silent": {"silent agents", "time"}, "stuck": {"stuck jobs", ""},
	"history": {"what happened to {target}", ""}, "activity": {"what happened", "site time"},
	"advice": {"what should i change for {target}", ""}, "ahead": {"what is ahead of {target}", ""},
	"jobs": {"how many jobs ran", "site tenant time"}, "help": {"help", ""}, "summary": {"summary", "time"},
	"no-quota": {"quota", ""}, "no-preemption": {"preemption", ""}, "no-replicas": {"replicas", ""}, "no-arbitration": {"arbitration", ""},
	"no-priority": {"priority", ""}, "no-policy-log": {"last policy change", ""}, "no-rule": {"rule id", ""}, "no-day-before": {"day before", ""},
	"no-fragments": {"fragmentation", ""},
}

// A rule says which concepts make a question. Each word of needs has to be
// there, one of those that "|" joins; every other word of the question has to
// be one of may. "*" allows all that is known.
type rule struct{ ask, needs, may string }

const target = "JOB|DEC"

// about are the parts that sums may be asked of.
const about = " SITE TENANT WIN "

var rules = []rule{
	{"why", "why " + target, "SITE place run start jobs sites"},
	{"why", "happened DEC", ""},
	{"history", "happened JOB", "run where"},
	{"why", "DEC", ""},
	{"offers", "DEC", ""},
	{"why", "JOB", "jobs"},
	{"bill", "JOB", "jobs"},
	{"history", "JOB", "jobs"},
	{"why-not", "why not SITE " + target, "place run fit start instead SITE2 sites used unable bids"},
	{"why-not", "why instead SITE " + target, "place run start SITE2 sites used"},
	{"why-not", "not SITE " + target + " place|run|used", "SITE2 sites"},
	{"why-not", "unable SITE " + target, "why place run sites SITE2 which"},
	{"why-not-home", "home " + target, "why not run place sites start used"},
	{"why-not-greenest", "why not greenest " + target, "sites place used run bids start"},
	{"why-not-cheapest", "why not cheapest " + target, "sites place used run bids"},
	{"held", "why wait|defer|waitingfor|late " + target, "start run long end place"},
	{"held", "why not start " + target, "run immediately now"},
	{"held", "hinder " + target, "start run long"},
	{"held", "why not start " + target, "wait defer"},
	{"why-not", "hinder SITE " + target, "run fit place start"},
	{"held", "waitingfor " + target, "which"},
	{"held", "many defer " + target, ""},
	{"where", "where " + target, "run place start now sites end which"},
	{"where", "sites place|run|start " + target, "which"},
	{"decision", "decision JOB", "which place run start"},
	{"times", "when " + target, "start end run place wait next"},
	{"times", "long run " + target, ""},
	{"times", "when asked " + target, ""},
	{"times", "late " + target, "long end"},
	{"times", "start|end " + target, "which"},
	{"waited", "wait " + target, "long start"},
	{"offers", "bids " + target, "sites bysite which list place"},
	{"offer-count", "bids many " + target, "sites"},
	{"elsewhere-at", "bids SITE " + target, "which"},
	{"unable", "unable " + target, "why sites bysite which many place run start elsewhere"},
	{"unable", "why bysite unable " + target, ""},
	{"differ", "differ|compare SITE SITE2 " + target, "sites place cost which most where why"},
	{"elsewhere-at", "if SITE " + target, "place run start cost carbon energy instead"},
	{"elsewhere-at", "cost|carbon|energy|emit SITE " + target, "place run start instead if used"},
	{"elsewhere", "elsewhere " + target, "cost carbon energy emit run place if bids save instead used"},
	{"immediate", "immediately " + target, "cost carbon energy emit if run start bids paidto"},
	{"immediate", "cost now " + target, "start run if bids"},
	{"saved", "save " + target, "wait cost carbon defer long immediately instead start run"},
	{"saved", "save wait|defer|waitingfor", "cost carbon TENANT jobs long"},
	{"reprice", "carbonprice NUM " + target, "change tonne if place differ carbon"},
	{"reprice", "carbon tonne NUM " + target, "change if place differ"},
	{"breakeven", "carbonprice SITE " + target, "if next breakeven SITE2 place which differ sites"},
	{"without", "without SITE " + target, "if place run where legislate bids change"},
	{"slack", "slack|if|wait DUR " + target, "wait slack if many run start canwait defer change"},
	{"unbound", "residency " + target, "without if SITE place run where legislate change data"},
	{"day-without", "without SITE", "if WIN run jobs legislate change policy happened place"},
	{"day-carbon", "carbonprice NUM", "if change tonne carbon used run sites decide"},
	{"policies", "POLICY compare|differ|carbon|emit|cost|energy|late|wait|policy|summary", "POLICY WIN which used carbon if jobs best compare"},
	{"policies", "policy compare|differ|summary|best", "which"},
	{"bill", "carbon|energy|cost|emit|paidto|everything " + target, "used run wait long emit cost energy carbon jobs"},
	{"bill", "carbon|energy|cost|emit|paidto|everything", "many TENANT WIN bysite bytenant byhour used emit jobs tenants run carbon energy cost power"},
	{"bill", "emit|energy|cost|paidto|everything SITE", "WIN TENANT used emit jobs carbon energy cost run sites byhour bytenant"},
	{"bill", "carbon SITE", "sites"},
	{"bill", "carbon SITE WIN|TENANT|jobs|used|byhour|bytenant", "emit WIN used jobs run"},
	{"bill", "SITE", "sites"},
	{"bill", "TENANT", "tenants"},
	{"waits", "TENANT", "tenants"},
	{"bill", "most|least|greenest|cheapest carbon|energy|cost|emit|paidto sites|tenants|bytenant|bysite", "WIN used which energy"},
	{"bill", "dirtiest", "sites WIN emit"},
	{"bill", "most emit|carbon", "WIN which"},
	{"bill", "cheapest", "sites which where"},
	{"top", "most jobs carbon|energy|cost|emit|wait", "NUM which emit long byjob" + about},
	{"top", "dirtiest jobs", "NUM" + about},
	{"top", "byjob carbon|energy|cost|emit", "jobs used" + about},
	{"mix", "intensity ourenergy|average", "WIN energy used"},
	{"late", "late", "jobs many which list run end" + about},
	{"waits", "wait average|p95|median|long", "jobs start run" + about},
	{"waits", "wait", about},
	{"pending", "wait which|many|list jobs", "now AT SITE TENANT"},
	{"pending", "queue which|many|list jobs", "now AT"},
	{"pending", "wait which", "now AT"},
	{"pending", "queue SITE", "which jobs many now AT wait"},
	{"pending", "wait SITE which|many|now", "jobs now AT"},
	{"intensity", "intensity", "SITE now AT bysite sites which"},
	{"intensity", "carbon SITE now|AT", "sites"},
	{"intensity", "carbon SITE", "sites"},
	{"intensity", "greenest SITE", "how now AT power"},
	{"intensity", "intensity forecast SITE AT", "carbon"},
	{"price", "price", "SITE now AT bysite sites which"},
	{"price", "price SITE cost", "now AT"},
	{"greenest", "greenest", "sites now AT which where power"},
	{"greenest", "least intensity", "sites now AT which where"},
	{"cheapest", "cheapest", "sites which where"},
	{"cheapest", "cheapest now|AT|price", "sites which where"},
	{"dirtiest", "dirtiest now|AT", "sites"},
	{"free", "free", "gpus SITE now AT bysite sites where which many"},
	{"free", "SITE", "sites"},
	{"intensity", "SITE", "sites"},
	{"block", "largest jobs|gpus|free|fit", "SITE now AT fit bysite sites free gpus jobs which where run"},
	{"block", "largest SITE", "now AT sites"},
	{"fit", "NUM gpus fit|run|free|place|start", "jobs now AT SITE where why not free run place fit sites if"},
	{"power", "power", "SITE now AT bysite sites which"},
	{"report", "report", "SITE when sites now which long"},
	{"best-hour", "when|best|next greenest|carbon", "SITE next DUR WIN sites now"},
	{"best-hour", "best SITE", "next WIN when run start DUR"},
	{"best-price", "when|best|next cheapest", "SITE next DUR WIN sites now"},
	{"forecast", "forecast SITE", "intensity carbon AT next DUR price"},
	{"forecast-error", "forecast error", "SITE WIN carbon intensity how sites bysite"},
	{"best-start", "submit|best|start DUR", "when jobs canwait start next wait submit best defer"},
	{"weights", "rules", "policy which list"},
	{"weights", "carbonprice", "which rules now"},
	{"shares", "fairshare", "TENANT tenants gpus bytenant jobs"},
	{"bid-error", "underbid", "bids sites differ which SITE used energy"},
	{"bid-error", "bids differ sites", "which used SITE"},
	{"silent", "silent", "sites bids which WIN"},
	{"stuck", "stuck", "jobs sites which long many"},
	{"history", "history " + target, "which run where now place"},
	{"activity", "happened|decide", "AT WIN which many list sites SITE change"},
	{"activity", "change WIN|AT", "which"},
	{"summary", "many decide", ""},
	{"advice", "advice " + target, "which run start immediately"},
	{"ahead", "ahead " + target, "which many defer fit long"},
	{"jobs", "jobs many|which|list", "run place asked start end sites" + about},
	{"jobs", "jobs many|which|list SITE|TENANT|WIN run|place|asked|start|end", about},
	{"help", "help", ""},
	{"summary", "summary", "WIN which"},
	{"no-quota", "quota", "*"}, {"no-preemption", "preempt", "*"}, {"no-replicas", "replica", "*"}, {"no-arbitration", "arbitrated|extra", "*"},
	{"no-priority", "priority", "*"}, {"no-policy-log", "changedby", "*"}, {"no-rule", "ruleid", "*"}, {"no-day-before", "daybefore", "*"},
	{"no-fragments", "frag", "*"},
	{"!unrecorded", "unrecorded", "*"}, {"!opinion", "opinion", "*"}, {"!beyond", "beyond", "*"},
	{"!legislate", "legislate", "*"}, {"!act", "act", "*"}, {"!policy", "policyname", "*"},
}

// said is the words and names of a question, each with all that it may mean.
type said [][]string

// nounOf is the noun that may stand before a name.
var nounOf = map[string]string{"JOB": "jobs", "SITE": "sites", "TENANT": "tenants", "POLICY": "policy"}

// fits reports whether the rule reads the question, and with how many needs.
func (r rule) fits(s said) (int, bool) {
	needs := strings.Fields(r.needs)
	allowed := make(map[string]bool)
	for _, group := range needs {
		found := false
		for concept := range strings.SplitSeq(group, "|") {
			allowed[concept] = true
			allowed[nounOf[concept]] = true
			found = found || s.has(concept)
		}
		if !found {
			return 0, false
		}
	}
	if r.may == "*" {
		return 0, true
	}
	for concept := range strings.FieldsSeq(r.may) {
		allowed[concept] = true
		allowed[nounOf[concept]] = true
	}
	for _, word := range s {
		covered := false
		for _, concept := range word {
			covered = covered || concept == "_" || allowed[concept] || concept == "which" || concept == "how"
		}
		if !covered {
			return 0, false
		}
	}
	return len(needs), true
}

func (s said) has(concept string) bool {
	for _, word := range s {
		for _, c := range word {
			if c == concept {
				return true
			}
		}
	}
	return false
}

// best returns the rules that read the question with the most needs, one for
// each thing asked.
func best(s said) (all []rule) {
	most := -1
	for _, r := range rules {
		n, ok := r.fits(s)
		if !ok || n < most {
			continue
		}
		if n > most {
			all, most = nil, n
		}
		if len(all) == 0 || !asks(all, r.ask) {
			all = append(all, r)
		}
	}
	return all
}

func asks(all []rule, ask string) bool {
	for _, r := range all {
		if r.ask == ask {
			return true
		}
	}
	return false
}
