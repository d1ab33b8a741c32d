// Judges objects as GitOps controllers do: Argo CD with a script of health.lua, Flux with the rules of kstatus. Reads a JSON
// list of {"script", "object"} and writes a list of {"health", "kstatus", "error"} in the same order.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"latchkey.local/test/argocd-health/lua"
)

type question struct {
	Script string          `json:"script"`
	Object json.RawMessage `json:"object"`
}

type answer struct {
	Health  *lua.Health `json:"health,omitempty"`
	Kstatus string      `json:"kstatus,omitempty"`
	Error   string      `json:"error,omitempty"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var questions []question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return err
	}
	answers := make([]answer, 0, len(questions))
	for _, asked := range questions {
		found, err := judge(asked)
		if err != nil {
			found = answer{Error: err.Error()}
		}
		answers = append(answers, found)
	}
	return json.NewEncoder(out).Encode(answers)
}

func judge(asked question) (answer, error) {
	// Its decoder makes whole numbers of numbers, as the controllers get them.
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(asked.Object); err != nil {
		return answer{}, err
	}
	computed, err := status.Compute(object)
	if err != nil {
		return answer{}, err
	}
	healthOf, err := lua.Judge(asked.Script, object)
	if err != nil {
		return answer{}, err
	}
	return answer{Health: healthOf, Kstatus: computed.Status.String()}, nil
}
