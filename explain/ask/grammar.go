package ask

import (
	"maps"
	"slices"
	"strings"
)

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
	"breakeven": {"break-even carbon price of site {site}{and} for {target}", ""},
	"without":   {"what if {target} without site {site}", ""}, "slack": {"what if {target} could wait {long}", ""},
	"unbound": {"what if {target} without the residency rule", "site"}, "day-without": {"what if site {site} were down", "time"},
	"day-carbon": {"what if the carbon price were {number}", "time"}, "policies": {"compare policies", "policies time"},
	"bill": {"{bill} used", "by job site tenant time pick"}, "top": {"top {number} jobs by {metric}", "site tenant time"},
	"mix": {"average carbon intensity of our energy", "time"}, "late": {"late jobs", "site tenant time"},
	"waits": {"{pick} wait", "site tenant time"}, "pending": {"which jobs wait", "site tenant time"},
	"intensity": {"carbon intensity", "site time"}, "price": {"electricity price", "site time"},
	"greenest": {"greenest site", "time"}, "cheapest": {"electricity price cheapest site", "time"}, "dirtiest": {"dirtiest site now", "time"},
	"free": {"free gpus", "site time"}, "block": {"largest free block of gpus", "site time"}, "fit": {"would {number} gpus fit", "site time"},
	"power": {"power draw", "site time"}, "report": {"last report", "site"},
	"best-hour": {"when greenest{ahead}", "site time"}, "best-price": {"when cheapest{ahead}", "site time"},
	"forecast": {"forecast{ahead}", "site time"}, "forecast-error": {"forecast error", "site time"},
	"best-start": {"when should i submit {long}{ahead}", ""},
	"weights":    {"rules in force", ""}, "shares": {"fair share by tenant", "tenant"},
	"bid-error": {"bid error", "site"}, "silent": {"silent agents", "time"}, "stuck": {"stuck jobs", ""},
	"history": {"what happened to {target}", ""}, "activity": {"what happened", "site time"},
	"advice": {"what should i change for {target}", ""}, "ahead": {"what is ahead of {target}", ""},
	"jobs": {"how many jobs ran", "by site tenant time"}, "help": {"help", ""}, "summary": {"summary", "time"},
	"no-quota": {"quota", "tenant"}, "no-preemption": {"preemption", "job site tenant time"}, "no-replicas": {"replicas", ""}, "no-arbitration": {"arbitration", "job time"},
	"no-priority": {"priority", "job tenant"}, "no-policy-log": {"last policy change", ""}, "no-rule": {"rule id", ""}, "no-day-before": {"{metric} compared with the day before", "site tenant time"},
	"no-fragments": {"fragmentation", "site time"}, "overflow": {"why did site {site} not overflow", "tenant time"},
}

// Asks returns the names of all that can be asked, in order.
func Asks() []string { return slices.Sorted(maps.Keys(forms)) }

// A rule says which concepts make a question. Each word of needs has to be
// there, one of those that "|" joins; every other word of the question has to
// be one of may. "*" allows all that is known.
type rule struct{ ask, needs, may string }

const target = "JOB|DEC"

// about are the parts that sums may be asked of.
const about = " SITE TENANT WIN "

var rules = []rule{
	{"why", "why " + target, "where best behind SITE place run start jobs sites decision decide"},
	{"why", "happened DEC", ""},
	{"why", "how decide " + target, "why place"},
	{"why", "how place SITE " + target, "sites which"},
	{"why", "how place " + target, "run start decide which"},
	{"why", "why decide " + target, "place"},
	{"history", "happened JOB", "run where"},
	{"why", "decision DEC", "place"},
	{"why", "DEC", ""},
	{"offers", "DEC", ""},
	{"why", "JOB", "jobs"},
	{"bill", "JOB", "jobs"},
	{"history", "JOB", "jobs"},
	{"why-not", "why not|stuck SITE " + target, "end not stuck if free place run fit start instead SITE2 sites used unable bids asked"},
	{"why-not", "why unable SITE " + target, "place run start SITE2 sites which bids fit"},
	{"why-not", "hinder unable SITE " + target, "sites which"},
	{"why-not", "why instead SITE " + target, "place run start SITE2 sites used"},
	{"why-not", "not SITE " + target + " place|run|used|end", "if SITE2 sites"},
	{"why-not", "unable SITE " + target, "why place run sites SITE2 which"},
	{"why-not-home", "home why|not " + target, "why not run place sites start used"},
	{"why-not-greenest", "why not|stuck greenest " + target, "where power energy not stuck sites place used run bids start asked which carbon instead"},
	{"why-not-greenest", "why dirtiest " + target, "sites place used run start instead"},
	{"why-not-cheapest", "why not|unable cheapest " + target, "sites place used run bids asked which instead if not unable start"},
	{"why-not-cheapest", "not cheapest " + target, "sites place used run bids asked which instead if start"},
	{"why-not-greenest", "not|unable greenest " + target, "sites place used run bids asked which instead if why start not unable"},
	{"held", "why wait|defer|waitingfor|late " + target, "start run long end place back"},
	{"held", "why not start|run|place " + target, "advice run immediately now start place wait back"},
	{"held", "why stuck " + target, "run wait start back"},
	{"held", "why ahead " + target, ""},
	{"held", "hinder stuck " + target, "jobs start run why not back"},
	{"held", "defer " + target, "start run place long back"},
	{"held", "hinder " + target, "start run why place wait defer back"},
	{"held", "why not start " + target, "wait defer back"},
	{"why-not", "hinder SITE " + target, "run fit place start"},
	{"held", "waitingfor " + target, "which back"},
	{"held", "many defer " + target, " back"},
	{"where", "where " + target, "used run place start now sites end which"},
	{"where", "sites " + target, "which"},
	{"where", "sites place|run|start " + target, "which"},
	{"decision", "decision JOB", "behind emit which place run start where sites"},
	{"times", "hourword start|end " + target, "when run which"},
	{"times", "ever " + target + " end|start|run", "when"},
	{"times", "when " + target, "start end run place wait next now jobs"},
	{"times", "missed deadline " + target, "many"},
	{"times", "long run " + target, ""},
	{"times", "when asked " + target, ""},
	{"times", "late " + target, "long end"},
	{"times", "start|end " + target, "which"},
	{"waited", "hourword wait " + target, "start which"},
	{"waited", "wait long " + target, "run place start many defer"},
	{"waited", "wait " + target, "long start many defer"},
	{"waited", "long wait " + target, "hinder start many defer"},
	{"waited", "defer long " + target, "start wait"},
	{"offers", "bids " + target, "sites bysite which list place cost price asked"},
	{"offers", "compare bids " + target, "sites bysite which"},
	{"offers", "price asked " + target, "sites bysite which"},
	{"offers", "runnerup " + target, "which place sites bids"},
	{"offer-count", "bids many " + target, "sites bysite place"},
	{"unable", "not bids " + target, "why sites bysite which many place"},
	{"elsewhere-at", "bids SITE " + target, "which"},
	{"unable", "unable " + target, "decision why sites bysite which many place run start elsewhere bids fit"},
	{"unable", "why bysite unable " + target, ""},
	{"unable", "unable without " + target, "which why sites bysite"},
	{"differ", "differ|compare SITE SITE2 " + target, "sites place cost which most where why differ compare bids largest"},
	{"elsewhere-at", "place change SITE " + target, "if which cost carbon how"},
	{"elsewhere-at", "if instead SITE SITE2 " + target, "place run start cost carbon used"},
	{"elsewhere-at", "place differ SITE " + target, "which how"},
	{"elsewhere-at", "price SITE " + target, "place run start instead if used bids"},
	{"elsewhere-at", "if SITE " + target, "greenest dirtiest cheapest paidto end how place run start cost carbon energy instead many more emit used jobs sites change differ happened"},
	{"elsewhere-at", "more SITE " + target, "place run start cost carbon energy instead many if emit used bids"},
	{"elsewhere-at", "instead SITE " + target, "place run start cost carbon energy many if emit used more"},
	{"elsewhere-at", "cost|carbon|energy|emit SITE " + target, "place run start instead if used"},
	{"elsewhere", "elsewhere " + target, "cheapest greenest price bysite sites cost carbon energy emit run place if bids save instead used many more"},
	{"immediate", "immediately " + target, "price wait cost carbon energy emit if run start bids paidto instead place many more"},
	{"immediate", "cost now " + target, "start run if bids"},
	{"saved", "save " + target, "back ahead wait cost carbon defer long immediately instead start run many energy emit"},
	{"saved", "cheapest|greenest wait|defer|waitingfor " + target, "many place save"},
	{"saved", "more wait|defer|waitingfor " + target, "place cheapest greenest save cost carbon energy many"},
	{"saved", "save wait|defer|waitingfor", "cost carbon TENANT jobs long many"},
	{"reprice", "carbonprice NUM " + target, "decide elsewhere change tonne pert if place differ carbon cost happened when"},
	{"reprice", "carbon tonne NUM " + target, "change if place differ cost price happened when pert"},
	{"reprice", "pert NUM SITE " + target, "change if place not still carbon cost tonne carbonprice run"},
	{"reprice", "carbonprice NUM SITE " + target, "change if place carbon cost tonne pert run"},
	{"reprice", "pert NUM " + target, "under decide elsewhere change if place differ tonne cost price happened when"},
	{"breakeven", "carbonprice SITE " + target, "if next breakeven SITE2 place which where when change differ sites run start least how"},
	{"breakeven", "breakeven SITE SITE2 " + target, "which carbon carbonprice"},
	{"breakeven", "breakeven carbon SITE " + target, "many used fit if next carbonprice SITE2 place which sites price cost run"},
	{"without", "if not SITE " + target, "place run used which where happened"},
	{"without", "if unable SITE " + target, "next runnerup which sites place run where bids"},
	{"without", "without SITE " + target, "when next runnerup not if place run where legislate bids change which happened now"},
	{"slack", "extra " + target, "where which run hourword greenest cheapest carbon cost emit save DUR slack wait if many run start canwait defer change helped happened late more deadline place best"},
	{"slack", "slack|if|wait|helped DUR " + target, "greenest cheapest wait slack if many run start canwait defer change helped happened late more deadline"},
	{"unbound", "residency " + target, "differ helped cheapest greenest without if SITE place run where legislate change data cost carbon not unable happened rules which energy rulewords save emit many sites if"},
	{"day-without", "not SITE if", "WIN run jobs place policy happened"},
	{"day-without", "without SITE", "more summary change how cost carbon energy emit many used now if WIN run jobs legislate change policy happened place"},
	{"day-carbon", "carbonprice NUM", "everything if change tonne carbon used run sites decide happened jobs WIN cost"},
	{"day-carbon", "if NUM pert", "change tonne WIN jobs run everything"},
	{"day-carbon", "pert NUM run", "if change tonne WIN jobs"},
	{"day-carbon", "carbon tonne NUM if", "run jobs cost change happened price WIN"},
	{"policies", "POLICY compare|differ|carbon|emit|cost|energy|late|wait|policy|summary|save|instead", "POLICY WIN which used carbon if jobs best compare differ emit cost energy greenest cheapest least most dirtiest many more sites"},
	{"policies", "policy compare|differ|summary|best|place", "which WIN"},
	{"policies", "policy emit|carbon|cost|energy|greenest|cheapest|dirtiest|late|wait most|least|best|greenest|cheapest|dirtiest|less", "which emit carbon cost energy most least jobs used WIN compare"},
	{"policies", "POLICY if|under", "compare if under end how happened run jobs summary look WIN carbon emit cost energy used POLICY which"},
	{"policies", "POLICY less", "POLICY which carbon emit cost energy used compare more jobs"},
	{"bill", "carbon|energy|cost|emit|paidto|everything|used " + target, "power used run emit cost energy carbon jobs"},
	{"bill", "carbon|energy|cost|emit|paidto|everything", "course many TENANT WIN bysite bytenant byhour used emit jobs tenants sites run carbon energy cost power"},
	{"bill", "emit|energy|cost|paidto|everything SITE", "WIN TENANT used emit jobs carbon energy cost run sites byhour bytenant many"},
	{"bill", "carbon SITE", "sites"},
	{"bill", "carbon SITE WIN|TENANT|jobs|used|byhour|bytenant", "emit WIN used jobs run"},
	{"bill", "SITE", "sites"},
	{"bill", "TENANT", "tenants"},
	{"waits", "TENANT", "tenants"},
	{"bill", "most|least|greenest|cheapest|dirtiest carbon|energy|cost|emit|paidto|dirtiest sites|tenants|bytenant|bysite", "WIN used which energy carbon emit cost jobs"},
	{"bill", "dirtiest", "sites WIN emit"},
	{"bill", "most emit|carbon", "WIN which"},
	{"bill", "where most carbon|energy|cost", "WIN emit used run"},
	{"bill", "used SITE", "WIN TENANT energy"},
	{"bill", "cheapest", "sites which where"},
	{"top", "most jobs carbon|energy|cost|emit|wait|power", "NUM which emit long byjob used run cost carbon energy" + about},
	{"top", "most wait", "NUM long which" + about},
	{"top", "dirtiest jobs", "NUM carbon emit" + about},
	{"mix", "intensity ourenergy|average", "emit many WIN energy used average ourenergy"},
	{"mix", "ourenergy average", "WIN energy used carbon"},
	{"late", "late", "summary asked everything jobs many which list run end deadline" + about},
	{"late", "missed deadline", "jobs many which list run end late" + about},
	{"waits", "wait average|p95|median|long", "people jobs start run defer long many" + about},
	{"waits", "waitnoun", "wait defer average summary distribution how" + about},
	{"pending", "wait which|many|list jobs", "now AT SITE TENANT"},
	{"pending", "queue which|many|list jobs", "now AT"},
	{"pending", "queue AT", "which jobs many list now SITE TENANT"},
	{"pending", "line wait long", "which many list jobs now AT SITE TENANT sites"},
	{"pending", "line wait", "empty which many list jobs now AT SITE TENANT sites"},
	{"pending", "not start jobs", "which many list now AT SITE TENANT wait"},
	{"pending", "pends wait", "line which jobs many list now AT SITE TENANT sites start"},
	{"pending", "wait which", "now AT"},
	{"pending", "queue SITE", "long which list jobs many now AT wait"},
	{"pending", "wait SITE which|many|now", "jobs now AT"},
	{"pending", "wait now", "jobs which many SITE"},
	{"intensity", "intensity", "SITE now AT bysite sites which many"},
	{"intensity", "carbon SITE now|AT", "sites power"},
	{"intensity", "carbon SITE", "sites"},
	{"intensity", "greenest SITE", "how now AT power energy sites"},
	{"intensity", "intensity", "SITE now AT bysite sites which power energy"},
	{"intensity", "intensity forecast SITE AT", "carbon"},
	{"price", "price", "SITE now AT bysite sites which"},
	{"price", "price SITE cost|power|energy", "now AT"},
	{"price", "cost energy SITE", ""},
	{"price", "cost energy|power SITE now|AT", ""},
	{"bill", "cost energy SITE", "many used"},
	{"bill", "cost energy SITE WIN|used|jobs|TENANT", "used jobs TENANT WIN many"},
	{"greenest", "greenest", "sites now AT which where power energy run"},
	{"greenest", "best greenest where|now", "which sites where now power energy run used"},
	{"cheapest", "best cheapest where|now", "which sites where now power energy run used"},
	{"greenest", "best greenest|carbon sites", "greenest which where now AT power energy run used"},
	{"cheapest", "best cheapest sites", "which where now AT power energy run used"},
	{"greenest", "best intensity", "sites now AT which where power"},
	{"greenest", "least intensity", "sites now AT which where"},
	{"cheapest", "cheapest", "sites which where"},
	{"cheapest", "cheapest where", "sites which"},
	{"cheapest", "cheapest now|AT|price|power", "sites which where energy run"},
	{"cheapest", "least price", "sites now AT which where power energy"},
	{"cheapest", "cheapest energy|power", "sites now AT which where"},
	{"dirtiest", "dirtiest now|AT|power|energy|intensity", "sites which where"},
	{"dirtiest", "most intensity", "sites which where now AT"},
	{"free", "gpus where", "SITE now AT bysite sites which free fit place run"},
	{"free", "full SITE", "gpus now AT"},
	{"free", "many gpus fit|place SITE", "now AT"},
	{"free", "gpus left", "SITE now AT bysite sites where which many free"},
	{"free", "free", "place left gpus SITE now AT bysite sites where which many fit"},
	{"free", "SITE", "sites"},
	{"intensity", "SITE", "sites"},
	{"block", "largest jobs|gpus|free|fit", "many SITE now AT fit bysite sites free gpus jobs which where run place if"},
	{"block", "largest SITE", "now AT sites"},
	{"fit", "NUM gpus", "now where SITE sites"},
	{"fit", "NUM gpus fit|run|free|place|start|where", "jobs now AT SITE where why not free run place fit sites if start which"},
	{"power", "power", "SITE now AT bysite sites which many energy"},
	{"power", "power used", "SITE now AT bysite sites which many energy"},
	{"bill", "power energy kwh", "used many which" + about + "bysite bytenant byhour"},
	{"bill", "power used", "SITE TENANT WIN bysite bytenant byhour sites tenants which many energy jobs run"},
	{"report", "when|long silent SITE", "sites last now"},
	{"report", "report|stale", "bysite last not SITE when sites now which long report stale jobs rulewords"},
	{"best-hour", "when|hourword greenest SITE", "sites best besttime now power energy which run next hourword when used DUR forecast future emit carbon least"},
	{"best-hour", "when|besttime|next|hourword greenest", "where SITE next DUR WIN sites now when best power energy which run least carbon hourword used best besttime forecast if emit future"},
	{"best-hour", "besttime carbon", "SITE next DUR WIN sites now when best power energy which run least hourword best besttime forecast if emit future"},
	{"best-hour", "when|besttime|next least carbon|emit", "SITE next DUR WIN sites now when best power energy which run hourword best besttime forecast if emit future"},
	{"best-hour", "best hourword SITE", "next WIN when run start DUR hourword best besttime forecast future used"},
	{"best-hour", "besttime SITE", "next WIN when run start DUR hourword best besttime forecast if emit future"},
	{"best-price", "when|besttime|next|hourword cheapest", "where hourword used SITE next DUR WIN sites now when best power energy which run price best besttime forecast if emit future least"},
	{"forecast", "course intensity|carbon|greenest SITE", "future next AT DUR now how"},
	{"forecast", "future intensity|carbon|greenest|price SITE", "intensity carbon AT WIN next DUR price now power energy how"},
	{"forecast", "next SITE", "course happened how future intensity carbon price DUR"},
	{"forecast", "forecast SITE", "intensity carbon AT WIN next DUR price now power energy"},
	{"forecast-error", "forecast measured", "compare SITE WIN sites bysite carbon intensity price"},
	{"forecast-error", "forecast error", "SITE WIN carbon intensity how sites bysite price average"},
	{"best-start", "submit|best|besttime|start DUR", "hourword when jobs canwait start next wait submit best defer run long greenest cheapest least carbon many best besttime forecast if future emit"},
	{"best-start", "when greenest|cheapest jobs DUR", "canwait start next wait submit best besttime defer run long carbon future emit"},
	{"best-start", "DUR canwait jobs", "which next"},
	{"best-start", "when submit|best|besttime DUR", "asked jobs canwait start next wait submit best defer run long greenest cheapest least carbon many best besttime forecast if future emit"},
	{"weights", "rules", "error under run policy which list now carbonprice"},
	{"weights", "policy", "which now"},
	{"weights", "carbonprice", "used which rules now"},
	{"weights", "carbon pert cost|price", "rules now tonne"},
	{"shares", "fairshare", "TENANT tenants gpus bytenant many"},
	{"bid-error", "underbid", "bids sites bysite differ which SITE used energy"},
	{"bid-error", "bids differ sites", "which used SITE measured"},
	{"bid-error", "bids measured", "which used SITE sites bysite compare differ error underbid energy least"},
	{"bid-error", "underbid measured", "which bids used SITE sites bysite compare energy"},
	{"bid-error", "bids underbid", "which sites bysite differ SITE used energy measured"},
	{"bid-error", "bids error", "SITE sites bysite which"},
	{"silent", "silent", "sites bids which WIN now many"},
	{"silent", "bysite bids", "WIN now many which"},
	{"silent", "without", "which sites now bysite many"},
	{"silent", "not bids", "which sites bysite"},
	{"silent", "not report", "sites which now WIN"},
	{"stuck", "stuck", "jobs sites which long many now not wait"},
	{"history", "history " + target, "which run where now place jobs happened list"},
	{"activity", "happened|decide", "AT WIN which many list sites SITE change decide happened"},
	{"activity", "change WIN|AT", "which"},
	{"summary", "many decide", ""},
	{"advice", "advice " + target, "if which run start immediately cheapest greenest cost change place wait"},
	{"ahead", "ahead " + target, "which many defer fit long jobs tenants wait gpus sites hinder"},
	{"jobs", "jobs many|which|list", "run place asked start end sites bysite bytenant" + about},
	{"jobs", "run TENANT", "which"},
	{"jobs", "jobs TENANT", ""},
	{"jobs", "jobs run", "WIN many place"},
	{"jobs", "jobs bysite|bytenant", "run place asked start many" + about},
	{"jobs", "jobs run|place SITE", "bytenant start end" + about},
	{"jobs", "jobs run|asked TENANT", "bysite start end" + about},
	{"jobs", "jobs many|which|list SITE|TENANT|WIN run|place|asked|start|end", about},
	{"help", "help", ""},
	{"summary", "summary", "WIN which run jobs now"},
	{"no-quota", "quota", "*"}, {"no-preemption", "preempt", "rules price cost breakeven which many jobs when why JOB DEC" + about}, {"no-replicas", "replica", "*"}, {"no-arbitration", "arbitrated", "*"},
	{"!legislate", "priority rulewords", "*"}, {"no-priority", "priority", "helped rules jobs tenants which many change decide differ policy JOB DEC" + about}, {"no-policy-log", "changedby", "*"}, {"no-rule", "ruleid", "*"}, {"no-day-before", "daybefore", "compare differ summary change carbon energy cost emit used jobs happened more" + about},
	{"no-fragments", "frag", "which many free gpus now sites bysite most SITE AT"},
	{"overflow", "SITE not elsewhere", "why place full jobs run start"},
	{"overflow", "home SITE not", "why place run sites start used free jobs unable TENANT WIN"},
	{"offers", "bids unable " + target, "why not bysite which sites compare place"}, {"immediate", "bids|paidto now " + target, "start run cost if"},
	{"!unrecorded", "unrecorded", "*"}, {"!opinion", "opinion", "*"}, {"!beyond", "beyond", "*"},
	{"!legislate", "legislate", "*"}, {"!act", "act", "*"}, {"!policy", "policyname", "*"},
}

// said is the words and names of a question, each with all that it may mean.
type said [][]string

// nounOf is the noun that may stand before a name.
var nounOf = map[string]string{"JOB": "jobs", "SITE": "sites", "TENANT": "tenants", "POLICY": "policy"}

// A pattern is a rule taken apart: all rules are tried on every question.
type pattern struct {
	rule
	needs   [][]string      // one of each has to be there
	allowed map[string]bool // concepts of which every word has one
}

var patterns = func() (all []pattern) {
	for _, r := range rules {
		p := pattern{rule: r, allowed: map[string]bool{"_": true, "which": true, "how": true, "list": true, "future": true, "total": true}}
		allow := func(concepts []string) {
			for _, c := range concepts {
				p.allowed[c], p.allowed[nounOf[c]] = true, true
			}
		}
		for group := range strings.FieldsSeq(r.needs) {
			p.needs = append(p.needs, strings.Split(group, "|"))
			allow(p.needs[len(p.needs)-1])
		}
		allow(strings.Fields(r.may))
		all = append(all, p)
	}
	return all
}()

// fits reports whether the rule reads the question, and with how many needs.
func (p *pattern) fits(s said) (int, bool) {
	for _, group := range p.needs {
		if !slices.ContainsFunc(group, s.has) {
			return 0, false
		}
	}
	if p.may == "*" {
		return 0, true
	}
	for _, word := range s {
		if !slices.ContainsFunc(word, func(concept string) bool { return p.allowed[concept] }) {
			return 0, false
		}
	}
	return len(p.needs), true
}

func (s said) has(concept string) bool {
	return slices.ContainsFunc(s, func(word []string) bool { return slices.Contains(word, concept) })
}

// best returns the rules that read the question with the most needs, one for
// each thing asked.
func best(s said) (all []rule) {
	most := -1
	for i := range patterns {
		r := patterns[i].rule
		n, ok := patterns[i].fits(s)
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
