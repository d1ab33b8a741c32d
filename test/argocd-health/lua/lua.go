// Package lua runs a script of health.lua as Argo CD does.
package lua

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// As long as Argo CD gives a script.
const limit = time.Second

// Health is what a script says.
type Health struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// Judge says what Argo CD says of the object with this script.
func Judge(script string, object *unstructured.Unstructured) (*Health, error) {
	// Argo CD says so before it looks for any script.
	if object.GetDeletionTimestamp() != nil {
		return &Health{Status: "Progressing", Message: "Pending deletion"}, nil
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

func fromLua(table *lua.LTable) (*Health, error) {
	found := &Health{}
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
