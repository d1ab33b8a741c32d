// Judges alerts as Prometheus does, over scrapes that were recorded. Reads an input as JSON and writes a verdict. With the
// argument "definitions" it prints the custom resource definitions of the Prometheus operator instead.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	crd "github.com/prometheus-operator/prometheus-operator/example"
)

type input struct {
	// A file of rules, as YAML.
	Rules string `json:"rules"`
	// When the first scrapes were taken, seconds of the Unix epoch.
	Start   int64             `json:"start"`
	Targets map[string]target `json:"targets"`
	// What is different from the recording.
	Scenarios []scenario `json:"scenarios"`
}

// Something that Prometheus scrapes.
type target struct {
	// Those that Prometheus adds to each series.
	Labels map[string]string `json:"labels"`
	// The answers to one scrape after the other. The last one stands for all that follow.
	Scrapes []string `json:"scrapes"`
}

type scenario struct {
	// Targets that are not there.
	Gone []string `json:"gone"`
	// Series by target, each as promtool writes it: `name{label="value"} 0 1 2+3x4`. The last value stays.
	Series map[string][]string `json:"series"`
}

type verdict struct {
	// What is wrong with the rules, whatever the scenario.
	Problems []string `json:"problems"`
	// What fires in each scenario.
	Firing [][]firing `json:"firing"`
}

type firing struct {
	Alert       string            `json:"alert"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// As in config/monitoring/pod-monitors.yaml.
const scrapeInterval = 30 * time.Second

// Longer than the longest `for` and the longest range together.
const duration = 2 * time.Hour

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string, in io.Reader, out io.Writer) error {
	if len(arguments) == 1 && arguments[0] == "definitions" {
		return crd.PrintAll(out)
	}
	var asked input
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return err
	}
	found, err := judge(asked)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}

func judge(asked input) (verdict, error) {
	rules, problems := parseRules(asked.Rules)
	found := verdict{Problems: problems, Firing: [][]firing{}}
	if len(problems) > 0 {
		return found, nil
	}
	start := time.Unix(asked.Start, 0)
	recorded, err := recordAll(asked.Targets, start)
	if err != nil {
		return found, err
	}
	for i, each := range asked.Scenarios {
		changed, err := each.apply(recorded, asked.Targets, start)
		if err != nil {
			return found, fmt.Errorf("scenario %d: %w", i, err)
		}
		fired, err := evaluate(rules, changed, start)
		if err != nil {
			return found, fmt.Errorf("scenario %d: %w", i, err)
		}
		found.Firing = append(found.Firing, fired)
	}
	return found, nil
}
