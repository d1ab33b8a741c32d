// Judges objects as GitOps controllers do: Argo CD with a script of health.lua, Flux with the rules of kstatus. Reads a JSON
// list of {"script", "object"} and writes a list of {"health", "kstatus", "error"} in the same order.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// As long as Argo CD gives a script.
const limit = time.Second

type question struct {
	Script string          `json:"script"`
	Object json.RawMessage `json:"object"`
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

type answer struct {
	Health  *health `json:"health,omitempty"`
	Kstatus string  `json:"kstatus,omitempty"`
	Error   string  `json:"error,omitempty"`
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
	healthOf, err := argoHealth(asked.Script, object)
	if err != nil {
		return answer{}, err
	}
	return answer{Health: healthOf, Kstatus: computed.Status.String()}, nil
}

func argoHealth(script string, object *unstructured.Unstructured) (*health, error) {
	// Argo CD says so before it looks for any script.
	if object.GetDeletionTimestamp() != nil {
		return &health{Status: "Progressing", Message: "Pending deletion"}, nil
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("the script returned no table but %s", state.Get(-1).Type())
	}
	return fromLua(table)
}

func fromLua(table *lua.LTable) (*health, error) {
	found := &health{}
	var wrong error
	table.ForEach(func(key, value lua.LValue) {
		switch key.String() {
		case "status":
			found.Status = value.String()
		case "message":
			found.Message = value.String()
		default:
			wrong = fmt.Errorf("the script returned a field %q, which Argo CD does not know", key.String())
		}
	})
	switch found.Status {
	case "Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown":
		return found, wrong
	}
	return nil, fmt.Errorf("the script returned the status %q, which Argo CD does not know", found.Status)
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case bool:
		return lua.LBool(typed)
	case int64:
		return lua.LNumber(typed)
	case float64:
		return lua.LNumber(typed)
	case string:
		return lua.LString(typed)
	case []any:
		list := state.CreateTable(len(typed), 0)
		for _, item := range typed {
			list.Append(toLua(state, item))
		}
		return list
	case map[string]any:
		table := state.CreateTable(0, len(typed))
		for name, item := range typed {
			table.RawSetString(name, toLua(state, item))
		}
		return table
	}
	return lua.LNil
}
