package arch

// module is the path that all our packages begin with.
const module = "github.com/gridbid/gridbid/"

// Columns of the plan.
const (
	pure  = true  // a function of what it is given
	shell = false // may read clocks and files, and start goroutines
)

// A line says what one package may do, and why.
type line struct {
	pkg    string
	pure   bool
	ours   string // packages of ours that it may import; "*" is all
	others string // third-party packages, and what pure packages otherwise lack
	why    string
}

// plan is the house, from the ground up: a package imports only what stands
// above it here.
var plan = []line{
	{"internal/yamlschema", shell, "", "go.yaml.in/yaml/v3 github.com/santhosh-tekuri/jsonschema/v6 github.com/santhosh-tekuri/jsonschema/v6/kind", "reads files that people write; what they mean is the caller's affair"},
	{"protocol", pure, "", "github.com/vmihailenco/msgpack/v5 sync unsafe", "the language alone; buffers are pooled, and short strings read without a copy"},
	{"internal/loopback", shell, "", "", "tells what comes from this machine; who serves it decides"},
	{"internal/ports", shell, "", "", "chooses ports for servers of tests and examples"},
	{"internal/atomicfile", shell, "", "", "puts a file in the place of another; what stands in it is the caller's affair"},
	{"bus", shell, "protocol", "", "runs machines by the clock, and carries what they say"},
	{"bus/bustest", shell, "protocol bus", "", "the test that every hub passes"},
	{"bus/membus", shell, "protocol bus", "", "a hub knows messages, not what they mean"},
	{"bus/natsbus", shell, "internal/yamlschema protocol bus", "github.com/nats-io/nats.go github.com/nats-io/nats-server/v2/server github.com/nats-io/nkeys golang.org/x/time/rate", "the door to NATS"},
	{"bus/eventlog", shell, "protocol bus/natsbus", "github.com/nats-io/nats.go github.com/nats-io/nats.go/jetstream", "facts on a stream; what they mean is the machine's affair"},
	{"lab/natsfloor", shell, "protocol bus/natsbus", "", "what the server takes by itself; it measures, and nobody else uses it"},
	{"bus/natsbus/federation", shell, "internal/atomicfile protocol bus bus/natsbus", "", "files by which servers and parties know each other; who serves and dials is natsbus"},
	{"bus/telemetry", shell, "protocol bus/natsbus", "github.com/prometheus/client_golang/* go.opentelemetry.io/otel/*", "only watches; no party decides by it"},
	{"internal/daemon", shell, "protocol bus/natsbus bus/telemetry", "", "starts and stops the binaries: flags, environment, logs, connection, metrics; it knows no market"},
	{"bus/wal", shell, "internal/atomicfile protocol", "", "a file of messages; it does not matter who said them"},

	{"agents/fgd", pure, "", "", "placement in plain numbers, so that it can be held to the published program"},
	{"agents/power", pure, "protocol", "", "what devices draw, whoever asks"},
	{"agents/forecast", pure, "protocol", "", "what was told of a grid; where it is from is the caller's affair"},
	{"agents/capacity", pure, "protocol agents/fgd agents/power", "", "the body; it knows no prices"},
	{"cluster-agent/signals", shell, "internal/atomicfile protocol bus", "", "reads services that tell of a grid; what a site makes of it is package grid's"},
	{"agents/runtimeest", pure, "protocol", "github.com/DataDog/sketches-go/ddsketch", "what a site remembers of the jobs it ran; who measured them is the caller's affair"},
	{"agents", pure, "protocol agents/capacity agents/forecast agents/runtimeest", "", "the mind asks its body by function call; it meets the market in protocol"},
	{"cluster-agent/podenergy", pure, "protocol", "", "what one pod's part of its cards drew, as it is written on the pod"},
	{"cluster-agent/promenergy", shell, "protocol cluster-agent/podenergy", "", "a Prometheus that knows what is drawn; whose it is, is the caller's affair"},
	{"cluster-agent/nvml/nvmltest", shell, "", "unsafe", "a stand-in for the driver's library; it knows no limits of ours"},
	{"cluster-agent/nvml", shell, "internal/atomicfile protocol agents/power", "github.com/NVIDIA/go-nvml/pkg/nvml", "the driver of GPUs: reads them, and sets limits that come back"},
	{"cluster-agent/gpuaccounting", shell, "protocol cluster-agent/podenergy cluster-agent/nvml", "", "one machine's cards and who holds them; where that is told is the caller's affair"},
	{"internal/kubeenv", shell, "internal/ports", "", "a Kubernetes control plane for tests and examples"},
	{"cluster-agent/kube/kubetest", shell, "protocol internal/kubeenv internal/ports", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/* sigs.k8s.io/yaml", "fixtures and an oracle that believes nobody; it knows no hands"},
	{"cluster-agent/kube", shell, "protocol", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "what the packages below it share: marks on the cluster's objects, ways of sharing GPUs, what pods ask for, a connection"},
	{"cluster-agent/kube/inventory", shell, "protocol agents/power cluster-agent/podenergy cluster-agent/kube", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "reads nodes and devices; it changes nothing, and knows no run"},
	{"cluster-agent/kube/external", shell, "protocol cluster-agent/podenergy cluster-agent/kube cluster-agent/kube/inventory", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "pods, claims and Jobs of others in the cluster"},
	{"cluster-agent/kube/binder", shell, "protocol cluster-agent/podenergy cluster-agent/kube cluster-agent/kube/inventory", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "binds pods to the node and devices that were sold; when is the executor's to say"},
	{"cluster-agent/kube/executor", shell, "protocol bus agents/power cluster-agent/podenergy cluster-agent/kube cluster-agent/kube/inventory cluster-agent/kube/external cluster-agent/kube/binder", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "runs a site's jobs on a real cluster; which job goes where was decided before"},
	{"cluster-agent/kube/node", shell, "protocol cluster-agent/gpuaccounting cluster-agent/kube cluster-agent/podenergy cluster-agent/nvml agents/power", "google.golang.org/grpc google.golang.org/grpc/credentials/insecure k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/* k8s.io/kubelet/pkg/apis/podresources/v1", "what runs on each GPU node; the hands know it by what it writes on pods"},
	{"cluster-agent/kube/queue", shell, "protocol bus cluster-agent/kube", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "takes in what people put into their own cluster; where it runs is the market's affair"},

	{"coordinator/accounts", pure, "protocol", "", "accounts and trust, whoever won"},
	{"coordinator/auction", pure, "protocol", "", "decides by what was offered, and knows no site from within"},
	{"explain/format", pure, "protocol", "", "prints values for people, whoever says them"},
	{"coordinator/policy", pure, "protocol explain/format", "", "what operators may want, and how they say it"},
	{"coordinator/market", pure, "protocol coordinator/auction coordinator/accounts coordinator/policy", "", "the coordinator's mind"},
	{"coordinator/snapshot", pure, "protocol coordinator/accounts coordinator/market", "", "makes less of facts, so that a restart reads little"},
	{"explain/counterfactual", pure, "protocol coordinator/auction coordinator/market coordinator/accounts", "", "makes recorded rounds again, by stepping a market over its ledger"},
	{"history", pure, "protocol", "", "knows a run only by what was said, so that any ledger can be read"},
	{"explain/narrate", pure, "protocol explain/format history", "", "tells what was recorded, and decides nothing"},
	{"explain/record", pure, "protocol explain/format coordinator/policy history explain/narrate", "", "one decision as a document, for whoever reads no ledger"},
	{"explain/constrained", pure, "protocol explain/record", "", "what a model may make of a decision record, and what holds it to that"},
	{"explain/ask", pure, "protocol explain/format explain/record", "embed", "a question becomes a typed query; its lexicon is a file in the binary"},
	{"explain/query", pure, "protocol explain/format history explain/narrate explain/record explain/counterfactual coordinator/auction coordinator/market coordinator/policy explain/ask", "", "a query becomes an answer from the record; nothing is guessed, nobody is asked again"},
	{"llm", shell, "", "github.com/tmc/langchaingo/llms github.com/tmc/langchaingo/llms/openai github.com/tmc/langchaingo/llms/anthropic", "the door to models; it knows nothing of the market"},
	{"explain/ask/translate", shell, "protocol llm explain/format explain/ask explain/query", "", "puts a question that the grammar does not read to a model, and checks the query that comes back"},

	{"explain/chart", pure, "protocol explain/format", "codeberg.org/go-fonts/liberation/* golang.org/x/image/*", "draws what it is given, as SVG and as PNG; it knows no run"},
	{"explain/timeline", pure, "protocol explain/query explain/record explain/narrate explain/format explain/ask history explain/chart", "", "a run that can be opened at any instant; it shows, and decides nothing"},
	{"explain/timeline/timelinetest", shell, "protocol", "", "a made-up run, for tests of all who show one"},
	{"explain/timeline/tail", shell, "protocol explain/timeline history", "", "reads a run while others look at it"},
	{"coordinator/archive", shell, "protocol bus/wal coordinator/auction coordinator/accounts coordinator/policy coordinator/market", "", "keeps what a coordinator heard and said, for its page; it decides nothing"},
	{"explain/mcp", shell, "protocol explain/query explain/record explain/timeline explain/timeline/tail explain/format explain/ask explain/ask/translate explain/chart", "github.com/modelcontextprotocol/go-sdk/mcp", "a run for models and their programs; the door to the protocol's SDK"},
	{"explain/page/pagetest", shell, "", "github.com/chromedp/*", "drives a page in a browser, for tests"},
	{"explain/page", shell, "internal/loopback protocol explain/query explain/timeline explain/timeline/tail explain/format explain/ask explain/ask/translate explain/chart", "", "the page: shows what the diary holds, and changes nothing"},

	{"coordinator/advisor", shell, "protocol bus llm explain/format coordinator/market explain/record explain/constrained", "", "puts the market's questions to a model, and reads what comes back"},
	{"llm/faultyserver", shell, "", "", "a server that misbehaves, to test the door and whoever stands behind it"},

	{"coordinator/jobstatus", pure, "protocol history", "", "how a market stands, as a view of a live history"},
	{"coordinator/api", shell, "internal/loopback internal/yamlschema protocol bus coordinator/jobstatus coordinator/policy", "", "people ask a coordinator by HTTP; it decides nothing"},
	{"coordinator/leader", shell, "protocol bus bus/natsbus bus/eventlog coordinator/auction coordinator/market coordinator/snapshot coordinator/api", "", "runs a market over a hub, with its books"},
	{"cluster-agent/runtime", shell, "protocol bus bus/membus bus/wal agents agents/capacity agents/fgd agents/forecast agents/power", "", "builds and runs the parties of a site, with their journals; the caller hands in its executor and its signals"},
	{"cluster-agent/program", shell, "internal/yamlschema internal/daemon protocol bus/natsbus bus/telemetry agents/forecast cluster-agent/runtime cluster-agent/signals", "", "configuration and process of programs that run one site; which executor it has is theirs to say"},
	{"cluster-agent/kubesite", shell, "protocol bus cluster-agent/kube cluster-agent/kube/executor cluster-agent/kube/queue cluster-agent/runtime", "", "builds a site whose executor is a Kubernetes cluster"},

	{"scenarios/trace", pure, "protocol agents/forecast", "", "reads what it is handed, so that hostile files can be tested as bytes"},
	{"scenarios/generate", pure, "protocol", "", "makes up by the seed alone"},
	{"scenarios/six-regions", shell, "", "", "files in the binary"},
	{"scenarios/real-days", shell, "", "", "files in the binary"},
	{"scenarios/spec", shell, "internal/yamlschema protocol agents/forecast agents/power scenarios/trace scenarios/generate scenarios/six-regions scenarios/real-days",
		"", "opens the files that a scenario names"},
	{"lab/packing", pure, "agents/fgd", "", "the published packing experiment; there is no market in it"},
	{"scenarios/sim", pure, "protocol agents/capacity agents/forecast agents/power", "", "physics; nobody who decides can see into it"},
	{"scenarios/baseline/published", pure, "", "", "published rules in plain numbers, so that they can be held to published figures"},
	{"lab/conformance", pure, "scenarios/baseline/published", "", "runs the published cases; there is no market in it"},
	{"scenarios/baseline", pure, "protocol coordinator/auction scenarios/baseline/published", "", "other rules for the same market"},
	{"scenarios/sim/loop", shell, "protocol bus", "", "simulated time over a real bus; machines that hear something at once live side by side"},
	{"scenarios/report", shell, "protocol explain/format history explain/chart", "", "writes pages and charts of what was recorded"},
	{"scenarios", shell, "*", "", "the one place of wiring: it sets coordinator and sites on one stage"},
	{"lab/clusters", shell, "*", "", "a live federation on real clusters, for tests and as an example"},

	{"lab/bound", shell, "protocol agents agents/capacity agents/power scenarios scenarios/spec", "", "what no policy can beat, by the physics of the stage"},
	{"lab/bench", shell, "internal/yamlschema internal/atomicfile bus/membus protocol coordinator/accounts history explain/query explain/record explain/narrate explain/format explain/ask explain/timeline explain/timeline/tail explain/mcp explain/page scenarios lab/bound scenarios/spec scenarios/report", "", "many replays in one table; it judges nothing itself"},

	{"scenarios/sim/executor", pure, "protocol scenarios/sim", "", "a cluster that is played, for sites that have none"},
	{"lab/faults", shell, "protocol bus agents agents/fgd agents/capacity agents/forecast scenarios/sim/executor agents/power coordinator/auction coordinator/accounts coordinator/market coordinator/snapshot scenarios/sim", "", "plays what befalls a federation; its oracle looks into nobody who decides"},
	{"cmd/coordinator", shell, "*", "", "a main: the market of a live federation"},
	{"cmd/cluster-agent", shell, "*", "", "a main: one site of a live federation"},
	{"lab/ledgerdiff", shell, "protocol bus/wal", "", "a main: holds two ledgers side by side; it judges neither"},
	{"lab/estimates", shell, "protocol agents/runtimeest", "", "replays public traces, to judge what sites foretell"},
	{"lab/adversary", shell, "*", "", "attacks the house from all sides, and counts what holds"},

	{"lab/live", shell, "*", "", "tests of a federation that lives: its ledgers answer as a replay's do"},
	{"lab/load", shell, "*", "", "a main: measures a live federation in one process"},
	{"cmd/gridbid", shell, "*", "golang.org/x/term github.com/spf13/cobra github.com/vbauerster/mpb/v8 github.com/vbauerster/mpb/v8/*", "a main: flags, files, words"},
	{"lab/housestats", shell, "", "", "measures how a Go tree reads, ours or another; it knows nothing of the market"},
	{"lab/bigrounds", shell, "", "", "a test of one round over every bus, and no part of the house"},
	{"lab/chaos", shell, "", "", "a test of real processes, and no part of the house"},
	{"internal/arch", shell, "", "", "reads the house, and is no part of it"},
}

// doors are libraries that the packages of the second column import, with those in
// their folders, and no other, so that they can be replaced in one place. A door need not stand yet.
var doors = []struct{ library, door, why string }{
	{"github.com/nats-io/", "bus/natsbus bus/eventlog lab/natsfloor", "a party speaks through a bus.Port"},
	{"github.com/prometheus/", "bus/telemetry", "what is measured, and under which names, is decided in one place"},
	{"go.opentelemetry.io/", "bus/telemetry", "a job is one trace, whoever speaks of it"},
	{"github.com/vmihailenco/msgpack/", "protocol", "what travels is decided in one place"},
	{"github.com/tmc/langchaingo", "llm", "a model is asked through one door, and knows nothing of the market"},
	{"golang.org/x/image", "explain/chart", "a chart is drawn by one piece of code"},
	{"github.com/NVIDIA/go-nvml", "cluster-agent/nvml", "the only code that needs a C compiler, and the only one that sets limits"},
	{"k8s.io/", "cluster-agent/kube", "a site's cluster is touched by its hands alone"},
	{"github.com/modelcontextprotocol/", "explain/mcp", "what programs may ask is said in one place"},
	{"github.com/spf13/cobra", "cmd/gridbid", "flags belong to a main"},
}

// sides are those who meet in protocol and nowhere else.
var sides = []struct {
	name string
	pkgs []string
}{
	{"the coordinator", []string{"coordinator", "coordinator/*", "history", "explain/*"}},
	{"a site", []string{"agents", "agents/*", "cluster-agent", "cluster-agent/*"}},
}
