package arch

// module is the path that all our packages begin with.
const module = "github.com/gridbid/gridbid/"

// Columns of the plan.
const (
	pure  = true  // results depend on arguments only
	shell = false // may read clocks and files, and start goroutines
)

// A line says what one package may import, whether it must be pure, and what it is for.
type line struct {
	pkg    string
	pure   bool
	ours   string // packages of this module that it may import; "*" is all
	others string // third-party packages, and standard ones that pure packages otherwise may not import
	why    string // its responsibility, in one clause
}

// plan lists all packages, bottom-up: a package imports only packages above its own line.
var plan = []line{
	{"internal/nearest", pure, "", "", "the names that a mistyped one was meant as; callers know which names there are"},
	{"internal/yamlschema", shell, "internal/nearest", "go.yaml.in/yaml/v3 github.com/santhosh-tekuri/jsonschema/v6 github.com/santhosh-tekuri/jsonschema/v6/kind", "reads YAML files against a schema; callers interpret the values"},
	{"protocol", pure, "", "sync unsafe", "the messages and their encoding; buffers are pooled, and short strings are shared"},
	{"protocol/proof", pure, "protocol", "github.com/nats-io/nkeys golang.org/x/mod/sumdb/tlog golang.org/x/mod/sumdb/note", "entries, tree, signed heads and proofs of the coordinator's log; it knows neither market nor files"},
	{"internal/jobfile", shell, "internal/yamlschema protocol", "", "reads a job as people write it; callers know which sites and GPU models there are"},
	{"internal/quantity", pure, "", "", "parses quantities as Kubernetes writes them"},
	{"internal/servicefile", shell, "internal/jobfile internal/yamlschema protocol", "go.yaml.in/yaml/v3", "reads a service as people write it; callers know which sites and GPU models there are"},
	{"internal/propagation", shell, "internal/nearest internal/quantity internal/servicefile internal/yamlschema", "go.yaml.in/yaml/v3", "reads the propagation policies of Karmada and ACK One, and what they select, as services"},
	{"internal/certificate", shell, "", "", "TLS by a certificate of files that may be renewed; servers say of which"},
	{"internal/loopback", shell, "", "", "recognizes requests from this machine; servers decide what to do about it"},
	{"internal/boundedlog", shell, "", "golang.org/x/time/rate", "bounds the log lines that strangers can cause; servers say what they refuse"},
	{"internal/stats", pure, "", "", "mean and deviation of a sample, as several measurements print them"},
	{"internal/ports", shell, "", "", "chooses TCP ports for servers of tests and examples"},
	{"internal/plainerror", shell, "", "", "words errors for users, without names of packages"},
	{"internal/net", pure, "", "", "a small neural network and the file of its weights; it does not know what for"},
	{"internal/atomicfile", shell, "", "", "replaces files atomically; callers define the content"},
	{"bus", shell, "protocol", "", "runs state machines by the clock, and defines how messages are carried"},
	{"bus/bustest", shell, "protocol bus", "", "the conformance test of all buses"},
	{"bus/membus", shell, "protocol bus", "", "the in-memory bus; it does not look into messages"},
	{"bus/natsbus", shell, "internal/yamlschema internal/boundedlog protocol bus", "github.com/nats-io/nats.go github.com/nats-io/nats-server/v2/server github.com/nats-io/nkeys golang.org/x/time/rate", "the bus over NATS"},
	{"bus/eventlog", shell, "protocol bus/natsbus", "github.com/nats-io/nats.go github.com/nats-io/nats.go/jetstream", "an event log on JetStream, with fencing; machines interpret the events"},
	{"lab/natsfloor", shell, "protocol bus/natsbus", "", "measures the latency of NATS itself; no package imports it"},
	{"bus/natsbus/federation", shell, "internal/atomicfile internal/nearest protocol bus bus/natsbus", "golang.org/x/mod/sumdb/note", "writes the configuration and credentials of a federation; natsbus serves and connects"},
	{"bus/telemetry", shell, "protocol bus/natsbus", "github.com/prometheus/client_golang/* go.opentelemetry.io/otel/*", "observes messages for metrics and traces; no decision depends on it"},
	{"internal/daemon", shell, "internal/plainerror protocol bus/natsbus bus/telemetry", "", "what long-running binaries share: flags, environment, logs, connection, metrics; it does not know the market"},
	{"bus/wal", shell, "internal/atomicfile protocol", "github.com/klauspost/compress/zstd", "a write-ahead log of messages in files; it does not look into them"},

	{"protocol/quota", pure, "protocol", "", "divides GPUs among tenants by a quota tree; it knows neither jobs nor sites"},
	{"agents/fgd", pure, "", "", "placement on plain numbers, so that it can be compared with the published program"},
	{"agents/power", pure, "protocol", "", "power curves of GPUs and hosts"},
	{"internal/quotafile", pure, "agents/power internal/nearest internal/quantity internal/yamlschema protocol protocol/quota", "embed go.yaml.in/yaml/v3", "reads quota trees from files: our own list, ElasticQuotaTree, Kueue's objects"},
	{"agents/forecast", pure, "internal/net protocol", "embed", "forecasts of price and carbon from reported signals; it does not know their sources"},
	{"agents/capacity", pure, "protocol agents/fgd agents/power", "", "nodes, reservations and calendar of a site; it knows no prices"},
	{"cluster-agent/signals", shell, "internal/atomicfile protocol bus", "", "reads price and carbon services; agents/forecast interprets the values"},
	{"agents/runtimeest", pure, "protocol", "github.com/DataDog/sketches-go/ddsketch", "run time estimates from the jobs that ran at a site; callers measure them"},
	{"agents/serving", pure, "", "", "how fast a replica of an inference service answers at a load, and what it draws; it knows neither sites nor prices"},
	{"agents/terms", pure, "protocol agents/power", "", "on which terms a site runs jobs of others: whose, how many GPUs, when, at which tariff; it knows neither bids nor capacity"},
	{"agents", pure, "protocol agents/capacity agents/forecast agents/runtimeest agents/terms", "", "the bidding agent: it plans on agents/capacity and meets the market only through protocol"},
	{"cluster-agent/podenergy", pure, "protocol", "", "one pod's part of the energy of its GPUs, as written on the pod"},
	{"cluster-agent/promenergy", shell, "protocol cluster-agent/podenergy", "", "reads energy metrics from Prometheus"},
	{"cluster-agent/nvml/nvmltest", shell, "", "unsafe", "a fake of the NVIDIA driver library"},
	{"cluster-agent/nvml", shell, "internal/atomicfile protocol agents/power", "github.com/NVIDIA/go-nvml/pkg/nvml", "the NVIDIA driver: reads GPUs, and sets power limits that are always restored"},
	{"cluster-agent/gpuaccounting", shell, "protocol cluster-agent/podenergy cluster-agent/nvml", "", "attributes the energy of one machine's GPUs to pods; callers report it"},
	{"internal/kubeenv", shell, "internal/ports", "", "a Kubernetes control plane for tests and examples"},
	{"cluster-agent/kube/kubetest", shell, "protocol internal/kubeenv internal/ports", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/* sigs.k8s.io/yaml", "fixtures for tests on a control plane, and an oracle that is independent of the executor"},
	{"cluster-agent/kube", shell, "protocol", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "what the Kubernetes packages share: labels and annotations, GPU sharing modes, pod requests, the connection"},
	{"cluster-agent/kube/podsets", pure, "protocol cluster-agent/kube", "k8s.io/api/* k8s.io/apimachinery/*", "which pods an object of a kind creates at once, by role, and which of them a pod is; it touches no cluster"},
	{"cluster-agent/kube/inventory", shell, "protocol agents/power cluster-agent/podenergy cluster-agent/kube", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "reads nodes and devices from informer caches; it writes nothing, and does not know which pods are the site's"},
	{"cluster-agent/kube/external", shell, "protocol cluster-agent/podenergy cluster-agent/kube cluster-agent/kube/inventory", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "accounts for foreign pods and claims, and borrows Jobs of the cluster's users"},
	{"cluster-agent/kube/binder", shell, "protocol cluster-agent/podenergy cluster-agent/kube cluster-agent/kube/inventory", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "binds pods to the node and devices of their award; the executor decides when"},
	{"cluster-agent/kube/executor", shell, "protocol bus agents/power cluster-agent/podenergy cluster-agent/kube cluster-agent/kube/podsets cluster-agent/kube/inventory cluster-agent/kube/external cluster-agent/kube/binder", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "runs a site's jobs on a Kubernetes cluster; placement was decided before"},
	{"cluster-agent/kube/node", shell, "protocol cluster-agent/gpuaccounting cluster-agent/kube cluster-agent/podenergy cluster-agent/nvml agents/power", "google.golang.org/grpc google.golang.org/grpc/credentials/insecure k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/* k8s.io/kubelet/pkg/apis/podresources/v1", "the daemon on each GPU node; the executor reads what it writes on pods"},
	{"cluster-agent/kube/queue", shell, "protocol bus cluster-agent/kube cluster-agent/kube/podsets internal/propagation internal/servicefile", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "submits Jobs of the cluster's users to the market, which decides where they run"},

	{"coordinator/liveness", pure, "protocol", "", "turns heartbeats and silence of sites into conditions; by them the market decides whom it waits for"},
	{"coordinator/accounts", pure, "protocol", "", "accounts and reputation of sites"},
	{"coordinator/auction", pure, "protocol", "", "clears a round by the bids alone; it does not look into sites"},
	{"coordinator/division", pure, "protocol", "", "divides the replicas of a service over sites; it knows neither bids nor messages"},
	{"internal/format", pure, "protocol", "", "formats values for people"},
	{"internal/printer", shell, "internal/nearest protocol internal/format", "sigs.k8s.io/yaml", "prints rows as a table, JSON, YAML, CSV or names; commands say what the rows are"},
	{"coordinator/policy", pure, "protocol protocol/quota internal/format", "", "operators' rules, and the language in which they are written"},
	{"coordinator/services", pure, "protocol coordinator/division", "", "divides services among sites by their bids: the part of the market's state machine that is about services"},
	{"coordinator/market", pure, "internal/nearest protocol coordinator/auction coordinator/accounts coordinator/policy coordinator/services protocol/quota internal/format", "", "the coordinator's state machine"},
	{"coordinator/notary", pure, "protocol protocol/proof coordinator/auction", "golang.org/x/mod/sumdb/note", "keeps the log of a live coordinator, and signs its heads; it decides nothing"},
	{"coordinator/snapshot", pure, "protocol protocol/proof coordinator/notary coordinator/accounts coordinator/market", "", "compacts events, so that a restart reads few"},
	{"verify", pure, "protocol protocol/proof coordinator/accounts coordinator/auction coordinator/market", "golang.org/x/mod/sumdb/note", "verifies the log of a coordinator as a site, a tenant or an auditor; it shares no code with what answers questions"},
	{"explain/counterfactual", pure, "protocol coordinator/auction coordinator/market coordinator/accounts", "", "clears recorded rounds once more under changed conditions, by stepping a market over its ledger"},
	{"coordinator/shadow", pure, "protocol coordinator/auction coordinator/market explain/counterfactual internal/format", "", "has a policy that is not in force decide the rounds of a record, and compares; it reads only"},
	{"history", pure, "protocol", "", "the one fold of the message stream; it reads messages only, so it reads any ledger"},
	{"history/tenantview", pure, "protocol", "", "shows a tenant its own part of a record; history folds what it shows"},
	{"history/tables", shell, "internal/printer protocol history", "github.com/parquet-go/parquet-go", "a run's jobs, sites, bids, rounds and signals as tables, in CSV, JSON and Parquet; they are views of history"},
	{"explain/narrate", pure, "protocol internal/format history", "", "describes in sentences what was recorded; it decides nothing"},
	{"explain/record", pure, "protocol internal/format coordinator/policy history explain/narrate", "", "one decision as a document, for readers without the ledger"},
	{"coordinator/advisor/constrained", pure, "protocol explain/record", "", "checks what a model writes about a decision record against that record"},
	{"docs", pure, "", "embed", "pages of the documentation that the program shows, too"},
	{"explain/ask", pure, "docs internal/nearest protocol internal/format explain/record", "embed", "parses questions to typed queries; its lexicon is an embedded data file"},
	{"explain/query", pure, "protocol internal/format history explain/narrate explain/record explain/counterfactual coordinator/auction coordinator/market coordinator/policy explain/ask", "", "answers typed queries from the record only"},
	{"llm", shell, "", "github.com/tmc/langchaingo/llms github.com/tmc/langchaingo/llms/openai github.com/tmc/langchaingo/llms/anthropic", "the client of language models; it does not know the market"},
	{"explain/ask/translate", shell, "protocol llm internal/format explain/ask explain/query", "", "has a model translate questions that the grammar does not parse, and checks the resulting query"},

	{"internal/chart", pure, "protocol internal/format", "codeberg.org/go-fonts/liberation/* golang.org/x/image/* git.sr.ht/~sbinet/gg", "draws charts as SVG and PNG from the data it is given"},
	{"explain/timeline", pure, "protocol explain/query explain/record explain/narrate internal/format explain/ask history internal/chart", "", "a run that can be viewed at any instant; it decides nothing"},
	{"history/historytest", shell, "protocol", "", "a small recorded run for tests of viewers"},
	{"explain/timeline/tail", shell, "protocol history explain/query explain/ask explain/ask/translate explain/timeline", "", "follows a growing run while readers look at it and ask"},
	{"coordinator/rights", shell, "internal/loopback internal/boundedlog internal/plainerror", "github.com/coreos/go-oidc/v3/oidc github.com/go-jose/go-jose/v4", "who asks, and which endpoints each role may use; whose jobs a request is about is decided by its handler"},
	{"coordinator/archive", shell, "protocol bus/wal coordinator/auction coordinator/accounts coordinator/policy coordinator/market coordinator/notary coordinator/rights", "", "archives the messages that a coordinator received and sent, for its page; it decides nothing"},
	{"explain/mcp", shell, "protocol explain/narrate explain/query explain/record explain/timeline explain/timeline/tail internal/format explain/ask explain/ask/translate internal/chart", "github.com/modelcontextprotocol/go-sdk/mcp", "serves a run over the Model Context Protocol"},
	{"internal/browsertest", shell, "", "github.com/chromedp/*", "drives the page in a browser, for tests"},
	{"coordinator/rights/oidctest", shell, "", "github.com/go-jose/go-jose/v4 github.com/zitadel/oidc/v3/*", "a real OIDC provider for tests; no program links it"},
	{"explain/page", shell, "internal/loopback internal/plainerror protocol coordinator/rights explain/narrate explain/query explain/timeline explain/timeline/tail internal/format explain/ask explain/ask/translate internal/chart", "", "the web page: it shows the timeline; what visitors do is passed in"},

	{"coordinator/advisor", shell, "protocol bus llm internal/format coordinator/market explain/record coordinator/advisor/constrained", "", "puts the market's questions to a model, and validates the answers"},
	{"llm/faultyserver", shell, "", "", "a misbehaving model server, for tests"},

	{"coordinator/jobstatus", pure, "protocol history", "", "the status of jobs and sites, as a view of a live history"},
	{"coordinator/api", shell, "internal/jobfile internal/servicefile internal/nearest protocol coordinator/rights bus bus/telemetry history coordinator/jobstatus coordinator/liveness coordinator/policy protocol/quota history/tenantview internal/format", "github.com/google/jsonschema-go/jsonschema golang.org/x/time/rate", "the coordinator's HTTP API; it decides nothing"},
	{"coordinator/leader", shell, "protocol bus bus/natsbus bus/eventlog coordinator/auction coordinator/market coordinator/notary coordinator/snapshot coordinator/api history/tenantview", "", "elects a leader and runs the market on its event log"},
	{"cluster-agent/runtime", shell, "protocol bus bus/membus bus/wal agents agents/capacity agents/fgd agents/forecast agents/power agents/terms", "", "builds and runs the parties of a site with their event logs; the caller passes executor and signals in"},
	{"cluster-agent/program", shell, "internal/yamlschema internal/daemon protocol bus/natsbus bus/telemetry agents/capacity agents/forecast agents/power cluster-agent/runtime cluster-agent/signals agents/terms", "", "configuration and process of the binaries that run one site; they choose its executor"},
	{"cluster-agent/kubesite", shell, "protocol bus cluster-agent/kube cluster-agent/kube/executor cluster-agent/kube/queue cluster-agent/runtime", "", "builds a site whose executor is a Kubernetes cluster"},

	{"scenarios/trace", pure, "protocol agents/forecast", "", "parses traces from bytes, so that hostile files can be tested"},
	{"scenarios/generate", pure, "protocol", "", "generates workloads from a seed alone"},
	{"scenarios/six-regions", shell, "", "", "embedded files"},
	{"scenarios/real-days", shell, "", "", "embedded files"},
	{"scenarios/spec", shell, "internal/jobfile internal/propagation internal/servicefile internal/nearest internal/yamlschema protocol agents/forecast agents/power scenarios/trace scenarios/generate scenarios/six-regions scenarios/real-days agents/terms protocol/quota",
		"", "loads scenarios and the files that they name"},
	{"lab/packing", pure, "internal/stats agents/fgd scenarios/trace", "", "the published packing experiment; there is no market in it"},
	{"scenarios/sim", pure, "protocol agents/capacity agents/forecast agents/power", "", "simulates clusters and grids; deciding packages cannot import it"},
	{"scenarios/baseline/published", pure, "", "", "published rules on plain numbers, so that they can be compared with published results"},
	{"lab/conformance", pure, "scenarios/baseline/published", "", "runs the published cases; there is no market in it"},
	{"scenarios/baseline", pure, "protocol coordinator/auction scenarios/baseline/published", "", "baseline clearing rules for the same market"},
	{"scenarios/learned", pure, "protocol coordinator/auction internal/net", "embed", "decides rounds lot by lot, as a learner or its net says; what a learner sees is defined here"},
	{"scenarios/sim/loop", shell, "protocol bus", "", "simulated time over a real bus; machines with messages of the same instant run concurrently"},
	{"scenarios/report", shell, "protocol internal/format history internal/chart", "", "writes tables and charts of what was recorded"},
	{"scenarios/acceptance", pure, "protocol history scenarios/spec", "", "judges a run's history by what its scenario expects; beside it are the cases that every change must pass"},
	{"scenarios", shell, "*", "", "wires coordinator and sites for replays; the only library that imports both"},
	{"lab/clusters", shell, "*", "", "a live federation on real clusters, for tests and as an example"},

	{"lab/bound", shell, "protocol agents agents/capacity agents/power scenarios scenarios/spec", "", "a lower bound on the cost of any policy, from the physics of the scenario"},
	{"lab/mcpprobe", shell, "explain/mcp explain/timeline/tail", "github.com/modelcontextprotocol/go-sdk/mcp", "calls the tools that programs may call, for what attacks and measures them"},
	{"lab/bench", shell, "internal/stats internal/yamlschema internal/atomicfile bus/membus protocol coordinator/accounts coordinator/auction history explain/query explain/record explain/narrate internal/format explain/ask explain/timeline explain/timeline/tail lab/mcpprobe explain/page internal/chart scenarios lab/bound scenarios/spec scenarios/report", "", "compares many replays in one table"},

	{"lab/serviceday", shell, "agents/serving bus/membus protocol lab/bench scenarios scenarios/spec scenarios/trace", "", "replays days on which a service runs beside the jobs, under several rules of division"},
	{"lab/learn/fit", pure, "internal/net", "", "trains nets on steps and rewards; it does not know what they mean"},
	{"lab/learn/grids", shell, "agents/forecast internal/net protocol scenarios/spec scenarios/trace lab/learn/fit", "", "trains corrections of forecasts on recorded grids; nothing that decides imports it"},
	{"lab/learn", shell, "bus/membus coordinator/auction internal/net protocol scenarios scenarios/spec scenarios/learned lab/bound lab/learn/fit", "", "trains the policy greensched on invented days; nothing that decides imports it"},
	{"lab/seat", shell, "internal/plainerror protocol bus/membus coordinator/accounts coordinator/auction history scenarios scenarios/spec scenarios/learned lab/bound", "", "outside programs at a seat of a replay, by lines; what they see, and what they may do"},

	{"scenarios/sim/executor", pure, "protocol scenarios/sim", "", "a simulated cluster for sites without a real one"},
	{"lab/faults", shell, "protocol bus agents agents/fgd agents/capacity agents/forecast scenarios/sim/executor agents/power agents/terms coordinator/auction coordinator/accounts coordinator/market coordinator/snapshot scenarios/sim", "", "injects faults into a simulated federation; its oracle does not look into the deciding parties"},
	{"cmd/coordinator", shell, "*", "golang.org/x/mod/sumdb/note", "a main: the market of a live federation"},
	{"cmd/cluster-agent", shell, "*", "", "a main: one site of a live federation"},
	{"lab/ledgerdiff", shell, "protocol bus/wal", "", "a main: compares two ledgers"},
	{"lab/scale", shell, "protocol bus/wal scenarios/spec internal/chart", "", "a main: measures what replays cost, and how that grows with their jobs"},
	{"lab/estimates", shell, "protocol agents/runtimeest", "", "replays public traces, to evaluate run time estimates"},
	{"lab/adversary", shell, "*", "", "attacks the system on all surfaces, and reports what held"},

	{"lab/live", shell, "*", "", "tests of a live federation: its ledgers answer questions as a replay's do"},
	{"lab/load", shell, "*", "", "a main: measures a live federation in one process"},
	{"cmd/gridbid", shell, "*", "golang.org/x/mod/sumdb/note golang.org/x/term golang.org/x/oauth2 github.com/coreos/go-oidc/v3/oidc github.com/spf13/cobra github.com/spf13/cobra/doc github.com/spf13/pflag github.com/vbauerster/mpb/v8 github.com/vbauerster/mpb/v8/*", "a main: the command line"},
	{"lab/housestats", shell, "", "", "measures the code of a Go tree; it does not know the market"},
	{"lab/lies", shell, "", "", "tests hubs that lie, and who finds it; no package imports it"},
	{"lab/bigrounds", shell, "", "", "tests one large round over every bus; no package imports it"},
	{"lab/chaos", shell, "", "", "tests real processes under faults; no package imports it"},
	{"internal/arch", shell, "", "", "tests the architecture; no package imports it"},
}

// doors are libraries that only the packages of the second column (and packages in their
// folders) may import, so that a library can be replaced in one place. A package that is
// named here need not exist yet.
var doors = []struct{ library, door, why string }{
	{"github.com/nats-io/", "bus/natsbus bus/eventlog lab/natsfloor protocol/proof", "a party sends and receives through a bus.Conn"},
	{"github.com/prometheus/", "bus/telemetry", "metrics and their names are defined in one place"},
	{"go.opentelemetry.io/", "bus/telemetry", "one place defines the trace of a job, whichever party reports it"},
	{"github.com/vmihailenco/msgpack/", "protocol", "the wire format is defined in one place"},
	{"github.com/tmc/langchaingo", "llm", "one client bounds and checks all requests to models"},
	{"golang.org/x/image", "internal/chart", "one package draws all charts"},
	{"git.sr.ht/~sbinet/gg", "internal/chart", "one package draws all charts"},
	{"github.com/NVIDIA/go-nvml", "cluster-agent/nvml", "one package needs a C compiler and sets power limits"},
	{"k8s.io/", "cluster-agent/kube", "only the packages under cluster-agent/kube access a cluster"},
	{"github.com/modelcontextprotocol/", "explain/mcp lab/mcpprobe", "the tools that programs may call are defined in one place"},
	{"github.com/parquet-go/", "history/tables", "one package writes the tables of a run"},
	{"github.com/spf13/cobra", "cmd/gridbid", "only mains define flags"},
}

// sides are the two halves of the system, which share protocol and must not import each
// other.
var sides = []struct {
	name string
	pkgs []string
}{
	{"the coordinator", []string{"coordinator", "coordinator/*", "history", "explain/*"}},
	{"a site", []string{"agents", "agents/*", "cluster-agent", "cluster-agent/*"}},
}
