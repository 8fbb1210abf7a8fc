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
	{"internal/strict", shell, "", "go.yaml.in/yaml/v3 github.com/santhosh-tekuri/jsonschema/v6 github.com/santhosh-tekuri/jsonschema/v6/kind", "reads files that people write; what they mean is the caller's affair"},
	{"protocol", pure, "", "github.com/vmihailenco/msgpack/v5 sync unsafe", "the language alone; buffers are pooled, and short strings read without a copy"},
	{"internal/local", shell, "", "", "tells what comes from this machine; who serves it decides"},
	{"internal/ports", shell, "", "", "chooses ports for servers of tests and examples"},
	{"internal/whole", shell, "", "", "puts a file in the place of another; what stands in it is the caller's affair"},
	{"internal/process", shell, "", "", "flags, environment and logs of the binaries; it knows no market"},
	{"bus", shell, "protocol", "", "runs machines by the clock, and carries what they say"},
	{"bus/bustest", shell, "protocol bus", "", "the test that every hub passes"},
	{"bus/membus", shell, "protocol bus", "", "a hub knows messages, not what they mean"},
	{"bus/natsbus", shell, "internal/strict protocol bus", "github.com/nats-io/nats.go github.com/nats-io/nats-server/v2/server github.com/nats-io/nkeys golang.org/x/time/rate", "the door to NATS"},
	{"bus/natsbus/books", shell, "protocol bus/natsbus", "github.com/nats-io/nats.go github.com/nats-io/nats.go/jetstream", "facts on a stream; what they mean is the machine's affair"},
	{"bus/natsbus/floor", shell, "protocol bus/natsbus", "", "what the server takes by itself; it measures, and nobody else uses it"},
	{"bus/natsbus/federation", shell, "internal/whole protocol bus bus/natsbus", "", "files by which servers and parties know each other; who serves and dials is natsbus"},
	{"bus/telemetry", shell, "protocol bus/natsbus", "github.com/prometheus/client_golang/* go.opentelemetry.io/otel/*", "only watches; no party decides by it"},
	{"bus/journal", shell, "internal/whole protocol", "", "a file of messages; it does not matter who said them"},

	{"cluster-agent/fgd", pure, "", "", "placement in plain numbers, so that it can be held to the published program"},
	{"cluster-agent/power", pure, "protocol", "", "what devices draw, whoever asks"},
	{"cluster-agent/grid", pure, "protocol", "", "what was told of a grid; where it is from is the caller's affair"},
	{"cluster-agent/fleet", pure, "protocol cluster-agent/fgd cluster-agent/power", "", "the body; it knows no prices"},
	{"cluster-agent/feed", shell, "internal/whole protocol bus", "", "reads services that tell of a grid; what a site makes of it is package grid's"},
	{"cluster-agent/profile", pure, "protocol", "github.com/DataDog/sketches-go/ddsketch", "what a site remembers of the jobs it ran; who measured them is the caller's affair"},
	{"agents", pure, "protocol cluster-agent/fleet cluster-agent/grid cluster-agent/profile", "", "the mind asks its body by function call; it meets the market in protocol"},
	{"cluster-agent/meter", pure, "protocol", "", "what one pod's part of its cards drew, as it is written on the pod"},
	{"cluster-agent/meter/prom", shell, "protocol cluster-agent/meter", "", "a Prometheus that knows what is drawn; whose it is, is the caller's affair"},
	{"cluster-agent/nvml/nvmltest", shell, "", "unsafe", "a stand-in for the driver's library; it knows no limits of ours"},
	{"cluster-agent/nvml", shell, "internal/whole protocol cluster-agent/power", "github.com/NVIDIA/go-nvml/pkg/nvml", "the driver of GPUs: reads them, and sets limits that come back"},
	{"cluster-agent/cards", shell, "protocol cluster-agent/meter cluster-agent/nvml", "", "one machine's cards and who holds them; where that is told is the caller's affair"},
	{"internal/plane", shell, "internal/ports", "", "a Kubernetes control plane for tests and examples"},
	{"cluster-agent/kube/kubetest", shell, "protocol internal/plane internal/ports", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/* sigs.k8s.io/yaml", "fixtures and an oracle that believes nobody; it knows no hands"},
	{"cluster-agent/kube", shell, "protocol bus cluster-agent/meter cluster-agent/power", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "hands on a real cluster; which job goes where was decided before"},
	{"cluster-agent/kube/node", shell, "protocol cluster-agent/cards cluster-agent/kube cluster-agent/meter cluster-agent/nvml cluster-agent/power", "google.golang.org/grpc google.golang.org/grpc/credentials/insecure k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/* k8s.io/kubelet/pkg/apis/podresources/v1", "what runs on each GPU node; the hands know it by what it writes on pods"},
	{"cluster-agent/kube/queue", shell, "protocol bus cluster-agent/kube", "k8s.io/api/* k8s.io/apimachinery/* k8s.io/client-go/*", "takes in what people put into their own cluster; where it runs is the market's affair"},

	{"coordinator/ledger", pure, "protocol", "", "accounts and trust, whoever won"},
	{"coordinator/auction", pure, "protocol", "", "decides by what was offered, and knows no site from within"},
	{"coordinator/phrase", pure, "protocol", "", "prints values for people, whoever says them"},
	{"coordinator/policy", pure, "protocol coordinator/phrase", "", "what operators may want, and how they say it"},
	{"coordinator/market", pure, "protocol coordinator/auction coordinator/ledger coordinator/policy", "", "the coordinator's mind"},
	{"coordinator/summary", pure, "protocol coordinator/ledger coordinator/market", "", "makes less of facts, so that a restart reads little"},
	{"coordinator/again", pure, "protocol coordinator/auction coordinator/market coordinator/ledger", "", "makes recorded rounds again, by stepping a market over its ledger"},
	{"coordinator/record", pure, "protocol", "", "knows a run only by what was said, so that any ledger can be read"},
	{"coordinator/narrate", pure, "protocol coordinator/phrase coordinator/record", "", "tells what was recorded, and decides nothing"},
	{"coordinator/decision", pure, "protocol coordinator/phrase coordinator/policy coordinator/record coordinator/narrate", "", "one decision as a document, for whoever reads no ledger"},
	{"coordinator/wording", pure, "protocol coordinator/decision", "", "what a model may make of a decision record, and what holds it to that"},
	{"coordinator/question", pure, "protocol coordinator/phrase coordinator/decision", "", "a question becomes a typed query; what it comes to is the caller's affair"},
	{"coordinator/chat", pure, "protocol coordinator/phrase coordinator/record coordinator/narrate coordinator/decision coordinator/again coordinator/auction coordinator/market coordinator/policy coordinator/question", "", "a query becomes an answer from the record; nothing is guessed, nobody is asked again"},

	{"coordinator/scene", pure, "protocol coordinator/phrase", "codeberg.org/go-fonts/liberation/* golang.org/x/image/*", "draws what it is given, as SVG and as PNG; it knows no run"},
	{"coordinator/scene/screen", shell, "", "", "shows pictures where a terminal says that it can; waits for what it says"},
	{"coordinator/diary", pure, "protocol coordinator/chat coordinator/decision coordinator/narrate coordinator/phrase coordinator/question coordinator/record coordinator/scene", "", "a run that can be opened at any instant; it shows, and decides nothing"},
	{"coordinator/diary/diarytest", shell, "protocol", "", "a made-up run, for tests of all who show one"},
	{"coordinator/follow", shell, "protocol coordinator/diary coordinator/record", "", "reads a run while others look at it"},
	{"coordinator/notebook", shell, "protocol bus/journal coordinator/auction coordinator/ledger coordinator/policy coordinator/market", "", "keeps what a coordinator heard and said, for its page; it decides nothing"},
	{"coordinator/mcp", shell, "protocol coordinator/chat coordinator/decision coordinator/diary coordinator/follow coordinator/phrase coordinator/question coordinator/scene", "github.com/modelcontextprotocol/go-sdk/mcp", "a run for models and their programs; the door to the protocol's SDK"},
	{"coordinator/web/webtest", shell, "", "github.com/chromedp/*", "drives a page in a browser, for tests"},
	{"coordinator/web", shell, "internal/local protocol coordinator/chat coordinator/diary coordinator/follow coordinator/phrase coordinator/question coordinator/scene", "", "the page: shows what the diary holds, and changes nothing"},

	{"llm", shell, "", "github.com/tmc/langchaingo/llms github.com/tmc/langchaingo/llms/openai github.com/tmc/langchaingo/llms/anthropic", "the door to models; it knows nothing of the market"},
	{"coordinator/advise", shell, "protocol bus llm coordinator/phrase coordinator/market coordinator/decision coordinator/wording", "", "puts the market's questions to a model, and reads what comes back"},
	{"llm/rogue", shell, "", "", "a server that misbehaves, to test the door and whoever stands behind it"},

	{"coordinator/board", pure, "protocol", "", "how a market stands, from what was said; it forgets what is over"},
	{"coordinator/desk", shell, "internal/local internal/strict protocol bus coordinator/board coordinator/policy", "", "people ask a coordinator by HTTP; it decides nothing"},
	{"coordinator/lead", shell, "protocol bus bus/natsbus bus/natsbus/books coordinator/auction coordinator/market coordinator/summary coordinator/desk", "", "runs a market over a hub, with its books"},
	{"cluster-agent/site", shell, "protocol bus bus/membus bus/journal", "", "runs the parties of a site, with their journals; what they are is the caller's affair"},

	{"scenarios/trace", pure, "protocol cluster-agent/grid", "", "reads what it is handed, so that hostile files can be tested as bytes"},
	{"scenarios/invent", pure, "protocol", "", "makes up by the seed alone"},
	{"scenarios/six-regions", shell, "", "", "files in the binary"},
	{"scenarios/real-days", shell, "", "", "files in the binary"},
	{"scenarios/script", shell, "internal/strict protocol cluster-agent/grid cluster-agent/power scenarios/trace scenarios/invent scenarios/six-regions scenarios/real-days",
		"", "opens the files that a scenario names"},
	{"scenarios/pack", pure, "cluster-agent/fgd", "", "the published packing experiment; there is no market in it"},
	{"scenarios/world", pure, "protocol cluster-agent/fleet cluster-agent/grid cluster-agent/power", "", "physics; nobody who decides can see into it"},
	{"scenarios/shift", pure, "", "", "published rules in plain numbers, so that they can be held to published figures"},
	{"scenarios/conformance", pure, "scenarios/shift", "", "runs the published cases; there is no market in it"},
	{"scenarios/baseline", pure, "protocol coordinator/auction scenarios/shift", "", "other rules for the same market"},
	{"scenarios/replay", shell, "protocol bus", "", "simulated time over a real bus; machines that hear something at once live side by side"},
	{"scenarios/report", shell, "protocol coordinator/phrase coordinator/record coordinator/scene", "", "writes pages and charts of what was recorded"},
	{"scenarios", shell, "*", "", "the one place of wiring: it sets coordinator and sites on one stage"},
	{"scenarios/clusters", shell, "*", "", "a live federation on real clusters, for tests and as an example"},

	{"scenarios/bound", shell, "protocol agents cluster-agent/fleet cluster-agent/power scenarios scenarios/script", "", "what no policy can beat, by the physics of the stage"},
	{"scenarios/bench", shell, "internal/strict internal/whole bus/membus protocol coordinator/ledger coordinator/record coordinator/chat coordinator/decision coordinator/narrate coordinator/phrase coordinator/question coordinator/diary coordinator/follow coordinator/mcp coordinator/web scenarios scenarios/bound scenarios/script scenarios/report", "", "many replays in one table; it judges nothing itself"},

	{"cluster-agent/hands", pure, "protocol scenarios/world", "", "a cluster that is played, for sites that have none"},
	{"scenarios/faults", shell, "protocol bus agents cluster-agent/fgd cluster-agent/fleet cluster-agent/grid cluster-agent/hands cluster-agent/power coordinator/auction coordinator/ledger coordinator/market coordinator/summary scenarios/world", "", "plays what befalls a federation; its oracle looks into nobody who decides"},
	{"coordinator", shell, "*", "", "a main: the market of a live federation"},
	{"cluster-agent", shell, "*", "", "a main: one site of a live federation"},
	{"scenarios/profiling", shell, "protocol cluster-agent/profile", "", "replays public traces, to judge what sites foretell"},
	{"scenarios/attack", shell, "*", "", "attacks the house from all sides, and counts what holds"},

	{"scenarios/live", shell, "*", "", "tests of a federation that lives: its ledgers answer as a replay's do"},
	{"scenarios/load", shell, "*", "", "a main: measures a live federation in one process"},
	{"cmd/gridbid", shell, "*", "golang.org/x/term github.com/spf13/cobra github.com/vbauerster/mpb/v8 github.com/vbauerster/mpb/v8/*", "a main: flags, files, words"},
	{"internal/chaos", shell, "", "", "a test of real processes, and no part of the house"},
	{"internal/arch", shell, "", "", "reads the house, and is no part of it"},
}

// doors are libraries that one package imports, with those in its folder, and no
// other, so that they can be replaced in one place. A door need not stand yet.
var doors = []struct{ library, door, why string }{
	{"github.com/nats-io/", "bus/natsbus", "a party speaks through a bus.Port"},
	{"github.com/prometheus/", "bus/telemetry", "what is measured, and under which names, is decided in one place"},
	{"go.opentelemetry.io/", "bus/telemetry", "a job is one trace, whoever speaks of it"},
	{"github.com/vmihailenco/msgpack/", "protocol", "what travels is decided in one place"},
	{"github.com/tmc/langchaingo", "llm", "a model is asked through one door, and knows nothing of the market"},
	{"golang.org/x/image", "coordinator/scene", "a chart is drawn by one piece of code"},
	{"github.com/NVIDIA/go-nvml", "cluster-agent/nvml", "the only code that needs a C compiler, and the only one that sets limits"},
	{"k8s.io/", "cluster-agent/kube", "a site's cluster is touched by its hands alone"},
	{"github.com/modelcontextprotocol/", "coordinator/mcp", "what programs may ask is said in one place"},
	{"github.com/spf13/cobra", "cmd/gridbid", "flags belong to a main"},
}

// sides are those who meet in protocol and nowhere else.
var sides = []struct {
	name string
	pkgs []string
}{
	{"the coordinator", []string{"coordinator", "coordinator/*"}},
	{"a site", []string{"agents", "agents/*", "cluster-agent", "cluster-agent/*"}},
}
