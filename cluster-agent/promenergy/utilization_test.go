package promenergy

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// told answers a query by its metric.
func told(values map[string]string) func(url.Values) (int, string) {
	return func(form url.Values) (int, string) {
		query := form.Get("query")
		if !strings.Contains(query, `namespace="jobs",pod=~"train-a-0|train-a-1"`) || !strings.Contains(query, "[7200s]") || form.Get("time") != formatSeconds(noon.Add(2*time.Hour)) {
			return 400, `{"status":"error","errorType":"bad_data","error":"unknown question"}`
		}
		for metric, v := range values {
			if strings.Contains(query, metric+"{") {
				return 200, fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1767362400,%q]}]}}`, v)
			}
		}
		return 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`
	}
}

func used(t *testing.T, answer func(url.Values) (int, string)) (protocol.Utilization, error) {
	t.Helper()
	at, _ := server(t, answer)
	return newMeter(t, Config{URL: at}).QueryUtilization(t.Context(), MeteredRun{Namespace: "jobs", Pods: []string{"train-a-0", "train-a-1"}, Since: noon, Until: noon.Add(2 * time.Hour)})
}

func TestWhatPodsUsedIsReadInItsUnits(t *testing.T) {
	u, err := used(t, told(map[string]string{
		"DCGM_FI_DEV_GPU_UTIL": "87.25", "DCGM_FI_DEV_FB_USED": "14000", "DCGM_FI_DEV_GPU_TEMP": "71",
		"container_cpu_usage_seconds_total": "3.25", "container_memory_working_set_bytes": "1073741824",
		"container_network_receive_bytes_total": "5242880", "container_network_transmit_bytes_total": "1048576.4",
	}))
	want := protocol.Utilization{GPU: 873, GPUMemory: 14_000, Temperature: 71, CPU: 3250, Memory: 1024, Received: 5, Sent: 1}
	if err != nil || u != want {
		t.Errorf("Use = %+v, %v; want %+v", u, err, want)
	}
}

func TestWhatIsNotScrapedIsNotKnown(t *testing.T) {
	u, err := used(t, told(map[string]string{"container_cpu_usage_seconds_total": "1"}))
	if want := (protocol.Utilization{CPU: 1000}); err != nil || u != want {
		t.Errorf("Use = %+v, %v; want %+v", u, err, want)
	}
}

func TestAUseThatCannotBeIsRefused(t *testing.T) {
	say := func(code int, text string) func(url.Values) (int, string) {
		return func(url.Values) (int, string) { return code, text }
	}
	for name, answer := range map[string]func(url.Values) (int, string){
		"401": say(401, ""), "500": say(500, ""), "text": say(200, "hello"), "an error": say(200, `{"status":"error","error":"no"}`),
		"two series":   say(200, `{"status":"success","data":{"resultType":"vector","result":[{"value":[1767362400,"1"]},{"value":[1767362400,"2"]}]}}`),
		"another unit": told(map[string]string{"DCGM_FI_DEV_GPU_UTIL": "8725"}),
		"negative":     told(map[string]string{"container_cpu_usage_seconds_total": "-1"}),
	} {
		if u, err := used(t, answer); err == nil {
			t.Errorf("%s: Use = %+v without an error", name, u)
		}
	}
}
